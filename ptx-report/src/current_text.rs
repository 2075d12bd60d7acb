//! Modules whose source is their text, so that the lines in reports are lines of the text.

use ptx_ir::{EntityId as _, FuncId, Item, Module};

/// A module as its text: the module itself, or what the text of an edited or built module parses to.
pub(crate) struct CurrentText<'m> {
    original: &'m Module,
    /// The module of the text, and the original function of each function of it.
    parsed: Option<(Module, Vec<FuncId>)>,
}

impl<'m> CurrentText<'m> {
    /// Prints and parses a module that was edited or built. Linear in the size of such a module.
    pub(crate) fn new(original: &'m Module) -> Self {
        let parsed = (!original.has_current_source()).then(|| {
            let module = ptx_parse::parse(&ptx_print::verbatim(original)).module;
            let functions = original.items().filter_map(|(_, item)| match item {
                Item::Function(id) => Some(id),
                _ => None,
            });
            let functions = functions.collect();
            (module, functions)
        });
        Self { original, parsed }
    }

    /// The module of the text.
    pub(crate) fn module(&self) -> &Module {
        let parsed = self.parsed.as_ref();
        parsed.map_or(self.original, |(module, _)| module)
    }

    /// The function of the original that is a function of [`module`](Self::module).
    pub(crate) fn original(&self, function: FuncId) -> FuncId {
        let parsed = self.parsed.as_ref();
        let original = parsed.and_then(|(_, functions)| functions.get(function.index()));
        original.copied().unwrap_or(function)
    }
}
