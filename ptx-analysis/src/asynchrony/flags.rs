//! Sets of items that have a property, on some path and on all paths.

use crate::dataflow::{BitSet, JoinSemiLattice};

use super::Certainty;

/// The items that have a property. `on_all_paths` is a subset of `on_some_path`.
#[derive(Clone, Debug)]
pub(super) struct Flags {
    on_some_path: BitSet,
    on_all_paths: BitSet,
}

impl Flags {
    /// `count` items without the property.
    pub(super) fn none(count: usize) -> Self {
        let none = BitSet::new(u32::try_from(count).unwrap_or(u32::MAX));
        Self {
            on_some_path: none.clone(),
            on_all_paths: none,
        }
    }

    /// `count` items with the property.
    pub(super) fn full(count: usize) -> Self {
        let mut flags = Self::none(count);
        (0..flags.on_some_path.universe()).for_each(|item| flags.set(item));
        flags
    }

    pub(super) fn set(&mut self, item: u32) {
        self.on_some_path.insert(item);
        self.on_all_paths.insert(item);
    }

    /// Notes that an item has the property on some path.
    pub(super) fn set_possible(&mut self, item: u32) {
        self.on_some_path.insert(item);
    }

    pub(super) fn unset(&mut self, item: u32) {
        self.on_some_path.remove(item);
        self.on_all_paths.remove(item);
    }

    /// Notes that an item need not have the property on all paths.
    pub(super) fn weaken(&mut self, item: u32) {
        self.on_all_paths.remove(item);
    }

    pub(super) fn clear(&mut self) {
        self.on_some_path.clear();
        self.on_all_paths.clear();
    }

    pub(super) fn on_some_path(&self, item: u32) -> bool {
        self.on_some_path.contains(item)
    }

    pub(super) fn on_all_paths(&self, item: u32) -> bool {
        self.on_all_paths.contains(item)
    }

    /// The certainty with which an item has the property; `None` if it has it on no path.
    pub(super) fn certainty(&self, item: u32) -> Option<Certainty> {
        match (self.on_all_paths(item), self.on_some_path(item)) {
            (true, _) => Some(Certainty::Definite),
            (_, true) => Some(Certainty::Possible),
            _ => None,
        }
    }

    /// The items that have the property on some path.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.on_some_path.iter()
    }
}

impl JoinSemiLattice for Flags {
    fn join(&mut self, other: &Self) -> bool {
        // `|` evaluates both sides, unlike `||`.
        self.on_some_path.union(&other.on_some_path)
            | self.on_all_paths.intersect(&other.on_all_paths)
    }
}
