//! Many short lists of numbers in two flat tables.

use alloc::vec::Vec;

/// For each of so many keys a list of numbers, in the order in which they were given.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Lists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// Sorts pairs of key and number by key: two passes over the pairs. Keys from `keys` on are dropped.
    pub fn new(keys: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut starts = alloc::vec![0u32; keys + 1];
        for (key, _) in pairs.clone() {
            if let Some(count) = starts.get_mut(key as usize + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut items = alloc::vec![0; sum as usize];
        for (key, item) in pairs {
            if key as usize >= keys {
                continue;
            }
            if let Some(at) = next.get_mut(key as usize) {
                if let Some(slot) = items.get_mut(*at as usize) {
                    *slot = item;
                }
                *at += 1;
            }
        }
        Self { starts, items }
    }

    /// The list of a key.
    #[inline]
    pub fn get(&self, key: u32) -> &[u32] {
        let key = key as usize;
        match (self.starts.get(key), self.starts.get(key + 1)) {
            (Some(&start), Some(&end)) => {
                self.items.get(start as usize..end as usize).unwrap_or_default()
            }
            _ => &[],
        }
    }

    /// How many numbers all lists hold.
    pub fn total(&self) -> usize {
        self.items.len()
    }
}
