//! Which of some items have a property, on some path and on all paths.

use crate::dataflow::{BitSet, JoinSemiLattice};

use super::Certainty;

/// Items with a property.
#[derive(Clone, Debug)]
pub(super) struct Flags {
    some: BitSet,
    all: BitSet,
}

impl Flags {
    /// No item has the property.
    pub(super) fn none(count: usize) -> Self {
        let none = BitSet::new(u32::try_from(count).unwrap_or(u32::MAX));
        Self {
            some: none.clone(),
            all: none,
        }
    }

    /// Every item has the property.
    pub(super) fn full(count: usize) -> Self {
        let mut flags = Self::none(count);
        (0..flags.some.universe()).for_each(|item| flags.set(item));
        flags
    }

    pub(super) fn set(&mut self, item: u32) {
        self.some.insert(item);
        self.all.insert(item);
    }

    /// The property holds for an item on some paths.
    pub(super) fn set_possible(&mut self, item: u32) {
        self.some.insert(item);
    }

    pub(super) fn unset(&mut self, item: u32) {
        self.some.remove(item);
        self.all.remove(item);
    }

    /// The property no longer holds for an item on all paths.
    pub(super) fn weaken(&mut self, item: u32) {
        self.all.remove(item);
    }

    pub(super) fn clear(&mut self) {
        self.some.clear();
        self.all.clear();
    }

    pub(super) fn on_some_path(&self, item: u32) -> bool {
        self.some.contains(item)
    }

    pub(super) fn on_all_paths(&self, item: u32) -> bool {
        self.all.contains(item)
    }

    /// How certainly an item has the property, if at all.
    pub(super) fn certainty(&self, item: u32) -> Option<Certainty> {
        match (self.on_all_paths(item), self.on_some_path(item)) {
            (true, _) => Some(Certainty::Definite),
            (_, true) => Some(Certainty::Possible),
            _ => None,
        }
    }

    /// The items that have the property on some path.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.some.iter()
    }
}

impl JoinSemiLattice for Flags {
    fn join(&mut self, other: &Self) -> bool {
        // Both have to be evaluated.
        self.some.union(&other.some) | self.all.intersect(&other.all)
    }
}
