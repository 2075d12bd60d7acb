//! Numbers for the names and mnemonics of two modules: equal texts have the same number.

use alloc::vec::Vec;

use hashbrown::HashMap;
use ptx_ir::{EntityId, Module, NameId, SigId};

/// The numbers of one module.
pub(crate) struct Numbers {
    names: Vec<u32>,
    mnemonics: Vec<u32>,
}

impl Numbers {
    /// Numbers the names and mnemonics of both modules.
    pub(crate) fn of_modules(left: &Module, right: &Module) -> (Self, Self) {
        let mut names = HashMap::new();
        let mut mnemonics = HashMap::new();
        let left_numbers = Self {
            names: number_names(left, &mut names),
            mnemonics: number_mnemonics(left, &mut mnemonics),
        };
        let right_numbers = Self {
            names: number_names(right, &mut names),
            mnemonics: number_mnemonics(right, &mut mnemonics),
        };
        (left_numbers, right_numbers)
    }

    pub(crate) fn name(&self, id: NameId) -> u32 {
        self.names.get(id.index()).copied().unwrap_or(u32::MAX)
    }

    pub(crate) fn mnemonic(&self, id: SigId) -> u32 {
        self.mnemonics.get(id.index()).copied().unwrap_or(u32::MAX)
    }
}

/// Numbers the names of a module. `numbers` contains the numbers of texts that occurred before.
fn number_names<'m>(module: &'m Module, numbers: &mut HashMap<&'m [u8], u32>) -> Vec<u32> {
    (0..module.name_count())
        .map(|index| {
            let next = numbers.len() as u32;
            let text = module.name_bytes(NameId::from_index(index));
            *numbers.entry(text).or_insert(next)
        })
        .collect()
}

/// Numbers the mnemonics of a module by their canonical spelling.
fn number_mnemonics(module: &Module, numbers: &mut HashMap<Vec<u8>, u32>) -> Vec<u32> {
    let signatures = module.signatures();
    signatures
        .ids()
        .map(|id| {
            let mut text = Vec::new();
            signatures.get(id).write_canonical(&mut text);
            let next = numbers.len() as u32;
            *numbers.entry(text).or_insert(next)
        })
        .collect()
}
