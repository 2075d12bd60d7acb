//! Numbers for the names and mnemonics of two modules: equal text has one number.

use alloc::vec::Vec;

use hashbrown::HashMap;
use ptx_ir::{EntityId, Module, NameId, SigId};

/// The numbers of one module.
pub(crate) struct Numbers {
    names: Vec<u32>,
    mnemonics: Vec<u32>,
}

impl Numbers {
    /// Numbers both modules.
    pub(crate) fn both(left: &Module, right: &Module) -> (Self, Self) {
        let mut known: HashMap<Vec<u8>, u32> = HashMap::new();
        let mut names = HashMap::new();
        let mut mnemonics = |module: &Module| {
            let signatures = module.signatures();
            let all = signatures.ids().map(|id| {
                let mut text = Vec::new();
                signatures.get(id).write_canonical(&mut text);
                let next = known.len() as u32;
                *known.entry(text).or_insert(next)
            });
            all.collect()
        };
        let (a, b) = (mnemonics(left), mnemonics(right));
        let left_names = number(left, &mut names);
        let right_names = number(right, &mut names);
        let of = |names, mnemonics| Self { names, mnemonics };
        (of(left_names, a), of(right_names, b))
    }

    pub(crate) fn name(&self, id: NameId) -> u32 {
        self.names.get(id.index()).copied().unwrap_or(u32::MAX)
    }

    pub(crate) fn mnemonic(&self, id: SigId) -> u32 {
        self.mnemonics.get(id.index()).copied().unwrap_or(u32::MAX)
    }
}

fn number<'m>(module: &'m Module, known: &mut HashMap<&'m [u8], u32>) -> Vec<u32> {
    let ids = (0..module.name_count()).map(NameId::from_index);
    let numbers = ids.map(|id| {
        let next = known.len() as u32;
        *known.entry(module.name_bytes(id)).or_insert(next)
    });
    numbers.collect()
}
