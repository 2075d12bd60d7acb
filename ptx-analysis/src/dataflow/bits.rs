//! A set of small numbers, one bit each.

use super::JoinSemiLattice;
use alloc::vec;
use alloc::vec::Vec;

/// A subset of `0..universe`. Memory is the universe's; all operations on whole sets go word by word and
/// want both sets to be of one universe.
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

    /// How many numbers could be in.
    #[must_use]
    pub fn universe(&self) -> u32 {
        self.universe
    }

    /// Whether `item` is in.
    #[must_use]
    pub fn contains(&self, item: u32) -> bool {
        self.words
            .get(item as usize / 64)
            .is_some_and(|word| word >> (item % 64) & 1 == 1)
    }

    /// Puts `item` in; says whether that is news. A number outside the universe never gets in.
    pub fn insert(&mut self, item: u32) -> bool {
        if item >= self.universe {
            return false;
        }
        self.update(item, |word, bit| word | bit)
    }

    /// Takes `item` out; says whether it was in.
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

    /// Adds what is in `other`; says whether anything changed.
    pub fn union(&mut self, other: &Self) -> bool {
        self.combine(other, |a, b| a | b)
    }

    /// Keeps what is in `other` too; says whether anything changed.
    pub fn intersect(&mut self, other: &Self) -> bool {
        self.combine(other, |a, b| a & b)
    }

    /// Takes out what is in `other`; says whether anything changed.
    pub fn subtract(&mut self, other: &Self) -> bool {
        self.combine(other, |a, b| a & !b)
    }

    fn combine(&mut self, other: &Self, new: impl Fn(u64, u64) -> u64) -> bool {
        let mut changed = 0;
        for (word, &theirs) in self.words.iter_mut().zip(&other.words) {
            let old = core::mem::replace(word, new(*word, theirs));
            changed |= old ^ *word;
        }
        changed != 0
    }

    /// Takes everything out.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// How many are in.
    #[must_use]
    pub fn count(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Whether none is in.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// What is in, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0u32..)
            .zip(&self.words)
            .flat_map(|(at, &word)| ones(at, word))
    }
}

/// The numbers of the bits set in the word of this index.
pub(super) fn ones(at: u32, mut word: u64) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        Some(at * 64 + bit)
    })
}

impl JoinSemiLattice for BitSet {
    fn join(&mut self, other: &Self) -> bool {
        self.union(other)
    }
}
