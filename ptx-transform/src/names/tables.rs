//! The first member of each range of variables: it stands for the range.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::{Body, EntityId, Module, SymbolId, VarId};

/// For each member of a range its first one.
pub(super) struct Ranges<K> {
    /// By id; itself for plain names. Empty where there are no ranges.
    first: Vec<K>,
}

impl<K: EntityId + Copy> Ranges<K> {
    pub(super) const fn none() -> Self {
        Self { first: Vec::new() }
    }

    pub(super) fn first(&self, id: K) -> K {
        self.first.get(id.index()).copied().unwrap_or(id)
    }

    fn new<T: Ord>(all: impl Iterator<Item = (K, Option<T>)>) -> Self {
        let mut seen: BTreeMap<T, K> = BTreeMap::new();
        let mut first = Vec::new();
        for (id, range) in all {
            first.push(range.map_or(id, |r| *seen.entry(r).or_insert(id)));
        }
        if seen.is_empty() {
            first.clear();
        }
        Self { first }
    }
}

impl Ranges<SymbolId> {
    pub(super) fn of_module(module: &Module) -> Self {
        // A name is declared once with a number behind it.
        let range = |s: &ptx_ir::Symbol| s.number.map(|_| s.name);
        Self::new(module.symbols.iter().map(|(id, s)| (id, range(s))))
    }
}

impl Ranges<VarId> {
    pub(super) fn of_body(body: &Body) -> Self {
        let range = |v: &ptx_ir::Var| v.number.map(|_| (v.name, v.scope, v.stmt));
        Self::new(body.vars.iter().map(|(id, v)| (id, range(v))))
    }
}
