//! The result of a pass: a new module and the offset map to it.

use ptx_ir::{Limits, Module, OffsetMap, Rewritten};

/// A module that a pass created from another one.
///
/// The source of the new module is its text, so that the next pass can start from it. A pass outside of this project creates
/// patches of the source and converts the result, which is parsed in time linear in the size of the text.
///
/// ```
/// use ptx_edit::Rewriting;
/// use ptx_ir::Span;
/// use ptx_ir::raw::TextPatches;
/// let module = ptx_parse::parse(b".version 8.0\n.target sm_80\n// old\n.entry k() { ret; }\n").module;
/// let mut patches = TextPatches::new();
/// patches.remove(Span::new(27, 34));
/// let rewriting = Rewriting::from(patches.apply(module.source()));
/// assert_eq!(rewriting.text(), b".version 8.0\n.target sm_80\n.entry k() { ret; }\n");
/// assert_eq!(rewriting.module.functions().len(), 1);
/// assert_eq!(rewriting.map.to_new(34), Some(27));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Rewriting<R = ()> {
    /// The new module, parsed from its text.
    pub module: Module,
    /// The map from the source of the old module to the source of the new one.
    pub map: OffsetMap,
    /// The report of the pass. Its ids and spans refer to the old module.
    pub report: R,
}

impl<R> Rewriting<R> {
    /// The text of the new module.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        self.module.source()
    }

    /// Replaces the report.
    #[must_use]
    pub fn with_report<S>(self, report: S) -> Rewriting<S> {
        Rewriting {
            module: self.module,
            map: self.map,
            report,
        }
    }

    /// Combines this pass with `next`, which rewrote the module of this pass. Returns the module and the report of `next`,
    /// with the map from the source before this pass.
    #[must_use]
    pub fn then<S>(&self, next: Rewriting<S>) -> Rewriting<S> {
        Rewriting {
            map: self.map.then(&next.map),
            ..next
        }
    }
}

impl Rewriting {
    /// A new module, which was parsed from its text, with the map from the source of the old module.
    #[must_use]
    pub const fn new(module: Module, map: OffsetMap) -> Self {
        Self {
            module,
            map,
            report: (),
        }
    }
}

impl From<Rewritten> for Rewriting {
    /// Parses the text. Errors in it are not reported.
    fn from(rewritten: Rewritten) -> Self {
        let parsed = ptx_parse::parse_with(rewritten.text, &Limits::default());
        Self::new(parsed.module, rewritten.map)
    }
}
