//! A set of numbers out of a huge universe.

use super::JoinSemiLattice;
use super::bits::ones;
use alloc::vec::Vec;

/// A set that stores only the words of 64 bits that are not empty, ascending.
///
/// A function of 100,000 registers and 50,000 blocks would need 625 MB of [`BitSet`](super::BitSet)s; few registers are
/// live at a time. Memory is linear in the elements; operations on two sets are linear in both; those on one element
/// look it up in logarithmic time and move the words after it when a word is added or removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SparseSet {
    words: Vec<(u32, u64)>,
}

impl SparseSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self { words: Vec::new() }
    }

    fn find(&self, item: u32) -> Result<usize, usize> {
        self.words.binary_search_by_key(&(item / 64), |&(at, _)| at)
    }

    /// Whether the set contains `item`.
    #[must_use]
    pub fn contains(&self, item: u32) -> bool {
        self.find(item)
            .is_ok_and(|i| self.words[i].1 >> (item % 64) & 1 == 1)
    }

    /// Adds `item`; returns whether the set changed.
    pub fn insert(&mut self, item: u32) -> bool {
        let bit = 1 << (item % 64);
        match self.find(item) {
            Ok(i) => {
                let old = self.words[i].1;
                self.words[i].1 |= bit;
                old & bit == 0
            }
            Err(i) => {
                self.words.insert(i, (item / 64, bit));
                true
            }
        }
    }

    /// Removes `item`; returns whether the set changed.
    pub fn remove(&mut self, item: u32) -> bool {
        let bit = 1 << (item % 64);
        let Ok(i) = self.find(item) else { return false };
        let old = self.words[i].1;
        self.words[i].1 &= !bit;
        if self.words[i].1 == 0 {
            self.words.remove(i);
        }
        old & bit != 0
    }

    /// Adds the elements of `other`; returns whether the set changed. Allocates only if it grows.
    pub fn union(&mut self, other: &Self) -> bool {
        let (mut changed, mut missing, mut i) = (0, 0, 0);
        for &(at, word) in &other.words {
            while self.words.get(i).is_some_and(|&(mine, _)| mine < at) {
                i += 1;
            }
            match self.words.get_mut(i) {
                Some((mine, bits)) if *mine == at => {
                    changed |= word & !*bits;
                    *bits |= word;
                }
                _ => missing += 1,
            }
        }
        if missing > 0 {
            self.merge(other, missing);
        }
        changed != 0 || missing > 0
    }

    /// Adds the words that only `other` has, moving words to their new positions from the last one on.
    fn merge(&mut self, other: &Self, missing: usize) {
        let mut mine = self.words.len();
        let mut to = mine + missing;
        self.words.resize(to, (0, 0));
        for &(at, word) in other.words.iter().rev() {
            while mine > 0 && self.words[mine - 1].0 > at {
                (mine, to) = (mine - 1, to - 1);
                self.words[to] = self.words[mine];
            }
            if mine > 0 && self.words[mine - 1].0 == at {
                continue;
            }
            to -= 1;
            self.words[to] = (at, word);
        }
    }

    /// Removes what is not in `other`; returns whether the set changed.
    pub fn intersect(&mut self, other: &Self) -> bool {
        self.combine(other, |mine, theirs| mine & theirs)
    }

    /// Removes the elements of `other`; returns whether the set changed.
    pub fn subtract(&mut self, other: &Self) -> bool {
        self.combine(other, |mine, theirs| mine & !theirs)
    }

    fn combine(&mut self, other: &Self, new: impl Fn(u64, u64) -> u64) -> bool {
        let (mut changed, mut i) = (0, 0);
        self.words.retain_mut(|(at, word)| {
            while other.words.get(i).is_some_and(|&(theirs, _)| theirs < *at) {
                i += 1;
            }
            let theirs = other.words.get(i).filter(|w| w.0 == *at).map_or(0, |w| w.1);
            let old = core::mem::replace(word, new(*word, theirs));
            changed |= old ^ *word;
            *word != 0
        });
        changed != 0
    }

    /// Removes all elements.
    pub fn clear(&mut self) {
        self.words.clear();
    }

    /// The number of elements.
    #[must_use]
    pub fn count(&self) -> usize {
        self.words
            .iter()
            .map(|(_, word)| word.count_ones() as usize)
            .sum()
    }

    /// Whether the set has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The elements, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().flat_map(|&(at, word)| ones(at, word))
    }
}

impl FromIterator<u32> for SparseSet {
    fn from_iter<I: IntoIterator<Item = u32>>(items: I) -> Self {
        let mut set = Self::new();
        for item in items {
            set.insert(item);
        }
        set
    }
}

impl JoinSemiLattice for SparseSet {
    fn join(&mut self, other: &Self) -> bool {
        self.union(other)
    }
}
