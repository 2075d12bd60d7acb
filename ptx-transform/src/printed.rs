//! Modules whose source is their text, as every rewriting of text needs.

use ptx_ir::{Diagnostic, Module, OffsetMap, Rewritten, Span};

/// A module whose source is its text: the original, or what was parsed from its printed or rewritten text.
pub(crate) struct Printed<'m> {
    original: &'m Module,
    /// The module with another text, and the map from the source of the original.
    changed: Option<(Module, OffsetMap)>,
}

impl<'m> Printed<'m> {
    /// A module that was edited or built is printed and parsed; another one is used as it is. Linear in the size of the former.
    pub(crate) fn of(original: &'m Module) -> Self {
        let mut printed = Self {
            original,
            changed: None,
        };
        if !original.has_current_source() {
            let (text, map) = ptx_print::verbatim_with_map(original);
            printed.then(&text, map);
        }
        printed
    }

    /// The module whose source is the text.
    pub(crate) fn module(&self) -> &Module {
        let changed = self.changed.as_ref();
        changed.map_or(self.original, |(module, _)| module)
    }

    /// A map from the text, as one from the source of the original.
    pub(crate) fn map_from_original(&self, next: OffsetMap) -> OffsetMap {
        match &self.changed {
            Some((_, before)) => before.then(&next),
            None => next,
        }
    }

    /// The result of a rewriting of the text, with a map from the source of the original.
    pub(crate) fn rewritten(&self, mut next: Rewritten) -> Rewritten {
        next.map = self.map_from_original(next.map);
        next
    }

    /// Replaces the text by one to which `map` leads from it.
    pub(crate) fn then(&mut self, text: &[u8], map: OffsetMap) {
        let map = self.map_from_original(map);
        self.changed = Some((ptx_parse::parse(text).module, map));
    }

    /// A span of the text in the source of the original; empty where that has no such text.
    pub(crate) fn to_original(&self, span: Span) -> Span {
        let Some((_, map)) = &self.changed else {
            return span;
        };
        let start = map.to_old(span.start).unwrap_or_default();
        let end = map.to_old(span.end.saturating_sub(1));
        Span::new(start, end.map_or(start, |e| e + 1).max(start))
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

/// Rewrites the text of a module as it is now.
pub(crate) fn rewrite(module: &Module, how: impl FnOnce(&Module) -> Rewritten) -> Rewritten {
    let printed = Printed::of(module);
    printed.rewritten(how(printed.module()))
}
