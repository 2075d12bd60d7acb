//! Generates names that no module has.

use alloc::string::String;

use ptx_ir::Module;
use ptx_ir::raw::Interner;

/// Generates names that no module has.
pub(super) struct FreshNames<'m> {
    modules: &'m [&'m Module],
    /// The names that were generated before.
    generated: Interner,
}

impl<'m> FreshNames<'m> {
    pub(super) fn new(modules: &'m [&'m Module]) -> Self {
        Self {
            modules,
            generated: Interner::default(),
        }
    }

    /// Returns a new name for `old` in the module of this index: `old$2` in the second one.
    pub(super) fn name(&mut self, old: &str, input: usize) -> String {
        let mut number = input + 1;
        loop {
            let name = format!("{old}${number}");
            let is_used = self
                .modules
                .iter()
                .any(|module| module.find_name(name.as_bytes()).is_some());
            if !is_used && self.generated.intern(name.as_bytes()).1 {
                return name;
            }
            number += self.modules.len().max(1);
        }
    }
}
