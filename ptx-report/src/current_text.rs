//! Modules whose source is their text, so that the lines in reports are lines of the text.

use ptx_ir::{EntityId as _, FuncId, Item, Module};

/// A module as its text: the module itself, or the module that the text of an edited or built module is parsed to.
pub(crate) struct CurrentText<'m> {
    original: &'m Module,
    parsed: Option<ParsedText>,
}

struct ParsedText {
    module: Module,
    /// The original function of each function of `module`.
    originals: Vec<FuncId>,
}

impl<'m> CurrentText<'m> {
    /// Prints and parses a module that was edited or built. Linear in the size of such a module.
    pub(crate) fn new(original: &'m Module) -> Self {
        let parsed = (!original.has_current_source()).then(|| ParsedText {
            module: ptx_parse::parse(&ptx_print::verbatim(original)).module,
            originals: original
                .items()
                .filter_map(|(_, item)| match item {
                    Item::Function(id) => Some(id),
                    _ => None,
                })
                .collect(),
        });
        Self { original, parsed }
    }

    /// The module of the text.
    pub(crate) fn module(&self) -> &Module {
        self.parsed
            .as_ref()
            .map_or(self.original, |parsed| &parsed.module)
    }

    /// The function of the original module that corresponds to a function of [`module`](Self::module).
    pub(crate) fn original(&self, function: FuncId) -> FuncId {
        self.parsed
            .as_ref()
            .and_then(|parsed| parsed.originals.get(function.index()))
            .copied()
            .unwrap_or(function)
    }
}
