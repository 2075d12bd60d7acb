//! Modules whose source is their text, as required by every pass on the text.

use ptx_edit::Rewriting;
use ptx_ir::{Diagnostic, Module, OffsetMap, Rewritten, Span};

/// A module whose source is its text: the original, or a module that was parsed from its printed or rewritten text.
pub(crate) struct Printed<'m> {
    original: &'m Module,
    /// The module with another text, and the map from the source of the original.
    changed: Option<(Module, OffsetMap)>,
}

impl<'m> Printed<'m> {
    /// Prints and parses a module that was edited or built, which takes time linear in its size. Another module is used unchanged.
    pub(crate) fn of(original: &'m Module) -> Self {
        let mut printed = Self {
            original,
            changed: None,
        };
        if !original.has_current_source() {
            printed.then(reparse(original));
        }
        printed
    }

    /// The module whose source is the text.
    pub(crate) fn module(&self) -> &Module {
        self.changed
            .as_ref()
            .map_or(self.original, |(module, _)| module)
    }

    /// Converts a map from the text to a map from the source of the original.
    pub(crate) fn map_from_original(&self, next: OffsetMap) -> OffsetMap {
        match &self.changed {
            Some((_, map)) => map.then(&next),
            None => next,
        }
    }

    /// The module that a pass on the text makes, with the map from the source of the original.
    pub(crate) fn rewriting(&self, mut next: Rewritten) -> Rewriting {
        next.map = self.map_from_original(next.map);
        next.into()
    }

    /// Replaces the module by one that a pass made from it.
    pub(crate) fn then(&mut self, next: Rewriting) {
        let map = self.map_from_original(next.map);
        self.changed = Some((next.module, map));
    }

    /// The span in the source of the original that corresponds to a span of the text; empty if the text was inserted.
    pub(crate) fn to_original(&self, span: Span) -> Span {
        let Some((_, map)) = &self.changed else {
            return span;
        };
        to_old(map, span)
    }

    /// Replaces the spans of a diagnostic about the text by those in the source of the original. A fix of a text that is not the
    /// source is removed.
    pub(crate) fn diagnostic_to_original(&self, diagnostic: &mut Diagnostic) {
        if self.changed.is_none() {
            return;
        }
        let labels = diagnostic.labels.iter_mut().map(|label| &mut label.span);
        let spans = labels.chain(&mut diagnostic.repeats);
        for span in spans.chain([&mut diagnostic.span]) {
            *span = self.to_original(*span);
        }
        diagnostic.fix = Default::default();
    }
}

/// The span in the old text that corresponds to a span of the new text; empty if the text was inserted.
pub(crate) fn to_old(map: &OffsetMap, span: Span) -> Span {
    let start = map.to_old(span.start).unwrap_or_default();
    let last = map.to_old(span.end.saturating_sub(1));
    Span::new(start, last.map_or(start, |last| last + 1).max(start))
}

/// Rewrites the current text of a module.
pub(crate) fn rewrite(module: &Module, pass: impl FnOnce(&Module) -> Rewritten) -> Rewriting {
    let printed = Printed::of(module);
    printed.rewriting(pass(printed.module()))
}

/// Prints an edited or built module and parses the text, for what needs a module whose source is its text, such as
/// [`Renaming`](ptx_edit::Renaming). A module that was not edited is cloned.
///
/// ```
/// use ptx_edit::EditModule as _;
/// use ptx_isa::Target;
/// let mut module = ptx_parse::parse(b".version 8.0\n.target sm_80 // A100\n").module;
/// module.editor().set_target(Target::Sm90)?;
/// assert_eq!(ptx_transform::reparse(&module).text(), b".version 8.0\n.target sm_90 // A100\n");
/// # Ok::<(), ptx_edit::EditError>(())
/// ```
#[must_use]
pub fn reparse(module: &Module) -> Rewriting {
    if module.has_current_source() {
        // A clone shares the tables.
        let map = OffsetMap::identity(module.source().len() as u32);
        return Rewriting::new(module.clone(), map);
    }
    ptx_print::verbatim_with_map(module).into()
}
