//! A list of items for each node, all in one allocation (compressed sparse rows).

use alloc::vec::Vec;

/// For each of `0..len` a slice of items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Csr<T = u32> {
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy> Csr<T> {
    /// Gathers `(row, item)` pairs by row, keeping their order inside a row. Pairs of rows from `len` on are left out.
    /// Linear: a counting sort.
    pub fn new(len: usize, pairs: impl Iterator<Item = (u32, T)> + Clone) -> Self {
        let mut starts = vec![0u32; len + 1];
        for (row, _) in pairs.clone().filter(|&(row, _)| (row as usize) < len) {
            starts[row as usize + 1] += 1;
        }
        for i in 0..len {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut items = Vec::new();
        for (row, item) in pairs.filter(|&(row, _)| (row as usize) < len) {
            if items.is_empty() {
                items.resize(starts[len] as usize, item);
            }
            let slot = &mut next[row as usize];
            items[*slot as usize] = item;
            *slot += 1;
        }
        Self { starts, items }
    }
}

impl<T> Csr<T> {
    /// The items of a row; empty for a row that does not exist.
    #[must_use]
    pub fn row(&self, row: u32) -> &[T] {
        let row = row as usize;
        match (self.starts.get(row), self.starts.get(row + 1)) {
            (Some(&start), Some(&end)) => &self.items[start as usize..end as usize],
            _ => &[],
        }
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
