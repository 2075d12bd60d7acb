//! A list of numbers for each node, all in one allocation.

use alloc::vec;
use alloc::vec::Vec;

/// For each of `0..len` a slice of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Csr {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Csr {
    /// Gathers `(row, item)` pairs by row, keeping their order inside a row. Pairs of rows from `len` on are left out.
    /// Linear: a counting sort.
    pub fn new(len: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut starts = vec![0u32; len + 1];
        let inside = |&(row, _): &(u32, u32)| (row as usize) < len;
        for (row, _) in pairs.clone().filter(inside) {
            starts[row as usize + 1] += 1;
        }
        for i in 0..len {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut items = vec![0; starts[len] as usize];
        for (row, item) in pairs.filter(inside) {
            let slot = &mut next[row as usize];
            items[*slot as usize] = item;
            *slot += 1;
        }
        Self { starts, items }
    }

    /// The numbers of a row; none for a row that does not exist.
    pub fn row(&self, row: u32) -> &[u32] {
        let row = row as usize;
        match (self.starts.get(row), self.starts.get(row + 1)) {
            (Some(&from), Some(&to)) => &self.items[from as usize..to as usize],
            _ => &[],
        }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
