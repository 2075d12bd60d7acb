//! Sets of typed ids.

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use crate::entity::EntityId;

/// A set of ids of one kind, with one bit for each number up to the largest id in the set.
///
/// ```
/// use ptx_ir::SymbolId;
/// use ptx_ir::raw::EntitySet;
/// let mut set = EntitySet::new();
/// assert!(set.insert(SymbolId::new(70)) && !set.insert(SymbolId::new(70)));
/// set.insert(SymbolId::new(3));
/// assert_eq!(set.iter().collect::<Vec<_>>(), [SymbolId::new(3), SymbolId::new(70)]);
/// ```
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq)]
pub struct EntitySet<K> {
    words: Vec<u64>,
    key: PhantomData<fn() -> K>,
}

/// The word of an id, and its bit there.
fn word_and_bit(index: usize) -> (usize, u64) {
    (index / 64, 1 << (index % 64))
}

impl<K: EntityId> EntitySet<K> {
    /// An empty set; does not allocate.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            words: Vec::new(),
            key: PhantomData,
        }
    }

    /// Adds an id; returns whether it is new.
    pub fn insert(&mut self, id: K) -> bool {
        let (word, bit) = word_and_bit(id.index());
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let word = &mut self.words[word];
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Removes an id; returns whether it was in the set.
    pub fn remove(&mut self, id: K) -> bool {
        let (word, bit) = word_and_bit(id.index());
        let was_contained = self.contains(id);
        if let Some(word) = self.words.get_mut(word) {
            *word &= !bit;
        }
        was_contained
    }

    /// Whether an id is in the set.
    #[must_use]
    pub fn contains(&self, id: K) -> bool {
        let (word, bit) = word_and_bit(id.index());
        self.words.get(word).is_some_and(|w| w & bit != 0)
    }

    /// Whether no id is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|w| *w == 0)
    }

    /// The ids in their order.
    pub fn iter(&self) -> impl Iterator<Item = K> + '_ {
        let ids = (0..self.words.len() * 64).map(K::from_index);
        ids.filter(|id| self.contains(*id))
    }
}

impl<K: EntityId> Default for EntitySet<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: EntityId> Extend<K> for EntitySet<K> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, ids: I) {
        for id in ids {
            self.insert(id);
        }
    }
}

impl<K: EntityId> FromIterator<K> for EntitySet<K> {
    fn from_iter<I: IntoIterator<Item = K>>(ids: I) -> Self {
        let mut set = Self::new();
        set.extend(ids);
        set
    }
}

impl<K: EntityId + fmt::Debug> fmt::Debug for EntitySet<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NameId;

    #[test]
    fn ids_are_removed() {
        let mut set: EntitySet<NameId> = [1, 64, 200].map(NameId::new).into_iter().collect();
        assert!(set.remove(NameId::new(64)) && !set.remove(NameId::new(64)));
        assert!(!set.remove(NameId::new(1000)) && !set.contains(NameId::new(65)));
        assert!(set.iter().eq([1, 200].map(NameId::new)));
        assert!(set.remove(NameId::new(1)) && set.remove(NameId::new(200)) && set.is_empty());
    }
}
