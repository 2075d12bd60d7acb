//! A set of positions from which the next one is removed in ascending order: the dirty items of a sparse analysis.

use alloc::vec::Vec;

/// A set of positions below a bound, whose elements are found in ascending order: a tree of 64-bit words.
///
/// ```text
///   level 1        ...0101              bit i: word i of level 0 is not empty
///                     │ └─────┐
///   level 0    0..010   0..0   1..001   bit i of word w: position 64 w + i is in the set
/// ```
///
/// All operations on one element are logarithmic, with base 64, in the bound.
#[derive(Clone, Debug)]
pub(super) struct PositionSet {
    /// From the positions up to a level of one word.
    levels: Vec<Vec<u64>>,
    bound: u32,
}

impl PositionSet {
    /// The empty set.
    pub(super) fn new(bound: u32) -> Self {
        let mut levels = Vec::new();
        let mut words = bound.div_ceil(64).max(1);
        levels.push(vec![0; words as usize]);
        while words > 1 {
            words = words.div_ceil(64);
            levels.push(vec![0; words as usize]);
        }
        Self { levels, bound }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.levels
            .last()
            .is_none_or(|root| root.iter().all(|word| *word == 0))
    }

    pub(super) fn insert(&mut self, position: u32) {
        let mut index = position;
        for level in &mut self.levels {
            let Some(word) = level.get_mut(index as usize / 64) else {
                return;
            };
            let was_empty = *word == 0;
            *word |= 1 << (index % 64);
            if !was_empty {
                return;
            }
            index /= 64;
        }
    }

    pub(super) fn remove(&mut self, position: u32) {
        let mut index = position;
        for level in &mut self.levels {
            let Some(word) = level.get_mut(index as usize / 64) else {
                return;
            };
            *word &= !(1 << (index % 64));
            if *word != 0 {
                return;
            }
            index /= 64;
        }
    }

    /// The least element that is not below a position.
    pub(super) fn next_from(&self, position: u32) -> Option<u32> {
        let mut index = position;
        for (height, level) in self.levels.iter().enumerate() {
            let word = *level.get(index as usize / 64)?;
            let ahead = word & (u64::MAX << (index % 64));
            if ahead != 0 {
                return Some(self.first_below(height, index / 64 * 64 + ahead.trailing_zeros()));
            }
            index = index / 64 + 1;
        }
        None
    }

    /// The least element in the subtree of a bit of a level.
    fn first_below(&self, height: usize, mut index: u32) -> u32 {
        for level in self.levels.iter().take(height).rev() {
            let word = level.get(index as usize).copied().unwrap_or(0);
            index = index * 64 + word.trailing_zeros();
        }
        index
    }

    /// Adds all positions below the bound.
    pub(super) fn fill(&mut self) {
        let mut count = self.bound;
        for level in &mut self.levels {
            for (first, word) in (0..).step_by(64).zip(level.iter_mut()) {
                *word = match count.saturating_sub(first) {
                    0 => 0,
                    bits @ 1..64 => (1 << bits) - 1,
                    _ => u64::MAX,
                };
            }
            count = count.div_ceil(64);
        }
    }

    pub(super) fn clear(&mut self) {
        for level in &mut self.levels {
            level.fill(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::PositionSet;

    #[test]
    fn positions_agree_with_an_ordered_set() {
        let mut random = fastrand::Rng::with_seed(1);
        for bound in [1, 63, 64, 65, 4096, 4097, 300_000] {
            let (mut set, mut model) = (PositionSet::new(bound), BTreeSet::new());
            for step in 0..2000 {
                let position = random.u32(..bound);
                match random.u32(..5) {
                    0 | 1 => {
                        set.insert(position);
                        model.insert(position);
                    }
                    2 | 3 => {
                        let next = set.next_from(position);
                        assert_eq!(next, model.range(position..).next().copied());
                        if let Some(next) = next {
                            set.remove(next);
                            model.remove(&next);
                        }
                    }
                    _ if step % 400 == 0 => {
                        set.fill();
                        model.extend(0..bound);
                    }
                    _ if step % 399 == 0 => {
                        set.clear();
                        model.clear();
                    }
                    _ => {}
                }
                assert_eq!(set.is_empty(), model.is_empty());
            }
        }
    }
}
