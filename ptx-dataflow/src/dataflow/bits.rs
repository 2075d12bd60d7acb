//! A set of small numbers, one bit each. Unlike `fixedbitset`, operations report whether they changed the set, as the
//! solver needs it, without a second pass.

use super::JoinSemiLattice;
use alloc::vec::Vec;

/// A subset of `0..universe`, in `universe / 8` bytes. Operations on two sets expect the same universe and work on 64 numbers
/// at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitSet {
    words: Vec<u64>,
    universe: u32,
}

impl BitSet {
    /// The empty subset of `0..universe`.
    #[must_use]
    pub fn new(universe: u32) -> Self {
        Self {
            words: vec![0; universe.div_ceil(64) as usize],
            universe,
        }
    }

    /// The number of possible elements.
    #[doc(hidden)]
    #[must_use]
    pub fn universe(&self) -> u32 {
        self.universe
    }

    /// Returns whether the set contains `item`.
    #[must_use]
    pub fn contains(&self, item: u32) -> bool {
        self.words
            .get(item as usize / 64)
            .is_some_and(|word| word >> (item % 64) & 1 == 1)
    }

    /// Adds `item` unless it is outside of the universe; returns whether the set changed.
    pub fn insert(&mut self, item: u32) -> bool {
        if item >= self.universe {
            return false;
        }
        self.update(item, |word, bit| word | bit)
    }

    /// Removes `item`; returns whether the set changed.
    pub fn remove(&mut self, item: u32) -> bool {
        self.update(item, |word, bit| word & !bit)
    }

    fn update(&mut self, item: u32, new: impl Fn(u64, u64) -> u64) -> bool {
        let Some(word) = self.words.get_mut(item as usize / 64) else {
            return false;
        };
        let old = core::mem::replace(word, new(*word, 1 << (item % 64)));
        old != *word
    }

    /// Adds the elements of `other`; returns whether the set changed.
    pub fn union(&mut self, other: &Self) -> bool {
        self.combine(other, |old, word| old | word)
    }

    /// Removes the elements that `other` does not contain; returns whether the set changed.
    pub fn intersect(&mut self, other: &Self) -> bool {
        self.combine(other, |old, word| old & word)
    }

    /// Removes the elements of `other`; returns whether the set changed.
    pub fn subtract(&mut self, other: &Self) -> bool {
        self.combine(other, |old, word| old & !word)
    }

    fn combine(&mut self, other: &Self, new: impl Fn(u64, u64) -> u64) -> bool {
        let mut changed = 0;
        for (word, &operand) in self.words.iter_mut().zip(&other.words) {
            let old = core::mem::replace(word, new(*word, operand));
            changed |= old ^ *word;
        }
        changed != 0
    }

    /// Removes all elements.
    #[doc(hidden)]
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// The number of elements. Linear in the universe.
    #[must_use]
    pub fn count(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Returns whether the set has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// The elements, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0u32..)
            .zip(&self.words)
            .flat_map(|(index, &word)| ones(index, word))
    }
}

/// The elements in the word with this index: the numbers of its bits that are 1.
pub(super) fn ones(index: u32, mut word: u64) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        Some(index * 64 + bit)
    })
}

impl JoinSemiLattice for BitSet {
    fn join(&mut self, other: &Self) -> bool {
        self.union(other)
    }
}
