//! Generates names that no module has.

use alloc::string::String;

use ptx_ir::Module;
use ptx_ir::raw::Interner;

/// Generates names that no module has.
pub(super) struct FreshNames<'m> {
    modules: &'m [&'m Module],
    given: Interner,
}

impl<'m> FreshNames<'m> {
    pub(super) fn new(modules: &'m [&'m Module]) -> Self {
        let given = Interner::default();
        Self { modules, given }
    }

    /// A new name for `old` in a module: `old$2` in the second one.
    pub(super) fn name(&mut self, old: &str, input: usize) -> String {
        let mut number = input + 1;
        loop {
            let name = format!("{old}${number}");
            let has = |m: &&Module| m.find_name(name.as_bytes()).is_some();
            if !self.modules.iter().any(has) && self.given.intern(name.as_bytes()).1 {
                return name;
            }
            number += self.modules.len().max(1);
        }
    }
}
