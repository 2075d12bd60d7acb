//! Sets of numbers from a large universe.

use super::JoinSemiLattice;
use super::bits::ones;
use alloc::vec::Vec;

/// A set of numbers that stores only the words of 64 bits that are not empty, ascending.
///
/// A function of 100,000 registers and 50,000 blocks would need 625 MB of [`BitSet`](super::BitSet)s; few registers are
/// live at a time. Memory is linear in the elements; operations on two sets are linear in both. Operations on one element
/// look it up in logarithmic time, and move the words after it if a word is added or removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SparseSet {
    /// The words with their indices: word `i` has the numbers from `64 * i`.
    words: Vec<(u32, u64)>,
}

impl SparseSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self { words: Vec::new() }
    }

    /// The position of the word of an item, or the position where to insert it.
    fn find(&self, item: u32) -> Result<usize, usize> {
        self.words
            .binary_search_by_key(&(item / 64), |&(index, _)| index)
    }

    /// Returns whether the set contains `item`.
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
        let (mut added, mut missing_words, mut position) = (0, 0, 0);
        for &(index, new_word) in &other.words {
            while self.words.get(position).is_some_and(|&(i, _)| i < index) {
                position += 1;
            }
            match self.words.get_mut(position) {
                Some((i, word)) if *i == index => {
                    added |= new_word & !*word;
                    *word |= new_word;
                }
                _ => missing_words += 1,
            }
        }
        if missing_words > 0 {
            self.insert_missing(other, missing_words);
        }
        added != 0 || missing_words > 0
    }

    /// Adds the `missing_words` words that only `other` has, moving words to their new positions from the last one on.
    fn insert_missing(&mut self, other: &Self, missing_words: usize) {
        let mut source = self.words.len();
        let mut target = source + missing_words;
        self.words.resize(target, (0, 0));
        for &(index, word) in other.words.iter().rev() {
            while source > 0 && self.words[source - 1].0 > index {
                (source, target) = (source - 1, target - 1);
                self.words[target] = self.words[source];
            }
            if source > 0 && self.words[source - 1].0 == index {
                continue;
            }
            target -= 1;
            self.words[target] = (index, word);
        }
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
        let (mut changed, mut position) = (0, 0);
        self.words.retain_mut(|(index, word)| {
            while other.words.get(position).is_some_and(|&(i, _)| i < *index) {
                position += 1;
            }
            let operand = match other.words.get(position) {
                Some((i, operand)) if i == index => *operand,
                _ => 0,
            };
            let old = core::mem::replace(word, new(*word, operand));
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

    /// Returns whether the set has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The elements, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words
            .iter()
            .flat_map(|&(index, word)| ones(index, word))
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
