//! Ranges of addresses that are not allocated.

use std::collections::{BTreeMap, BTreeSet};

/// Free ranges. Neighbors are merged.
#[derive(Clone, Debug, Default)]
pub(super) struct FreeRanges {
    /// The end of each range, by its start.
    by_start: BTreeMap<u64, u64>,
    /// The size and the start of each range.
    by_size: BTreeSet<(u64, u64)>,
}

impl FreeRanges {
    /// Adds a range, which is apart from the others. Logarithmic.
    pub(super) fn insert(&mut self, mut start: u64, mut end: u64) {
        if start >= end {
            return;
        }
        if let Some((&before, &before_end)) = self.by_start.range(..start).next_back()
            && before_end == start
        {
            self.remove(before, before_end);
            start = before;
        }
        if let Some(&after_end) = self.by_start.get(&end) {
            self.remove(end, after_end);
            end = after_end;
        }
        self.by_start.insert(start, end);
        self.by_size.insert((end - start, start));
    }

    /// Takes bytes from the smallest range that certainly has as many at a multiple of `align`, and returns their address. Logarithmic.
    pub(super) fn take(&mut self, bytes: u64, align: u64) -> Option<u64> {
        // Most ranges begin at a multiple already.
        let fits = |&&(size, start): &&(u64, u64)| {
            let aligned = start.checked_next_multiple_of(align);
            aligned.is_some_and(|aligned| aligned - start <= size - bytes)
        };
        let &(size, start) = (self.by_size.range((bytes, 0)..).next())
            .filter(fits)
            .or_else(|| {
                let with_padding = bytes.checked_add(align)?;
                self.by_size.range((with_padding, 0)..).next()
            })?;
        let end = start + size;
        let address = start.next_multiple_of(align);
        self.remove(start, end);
        self.insert(start, address);
        self.insert(address + bytes, end);
        Some(address)
    }

    fn remove(&mut self, start: u64, end: u64) {
        self.by_start.remove(&start);
        self.by_size.remove(&(end - start, start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbors_are_merged_and_the_smallest_fitting_range_is_taken() {
        let mut free = FreeRanges::default();
        free.insert(0x1000, 0x1200);
        free.insert(0x2000, 0x2100);
        free.insert(0x1300, 0x1400);
        free.insert(0x1200, 0x1300);
        assert_eq!(
            free.by_start,
            BTreeMap::from([(0x1000, 0x1400), (0x2000, 0x2100)])
        );
        assert_eq!(free.take(0x100, 0x100), Some(0x2000));
        assert_eq!(free.take(0x100, 0x1000), Some(0x1000));
        assert_eq!(free.take(0x400, 0x100), None);
        assert_eq!(free.take(0x300, 0x100), Some(0x1100));
        assert_eq!(free.take(1, 1), None);
    }

    #[test]
    fn a_range_with_padding_is_aligned() {
        let mut free = FreeRanges::default();
        free.insert(0x100, 0x2000);
        assert_eq!(free.take(0x100, 0x1000), Some(0x1000));
        assert_eq!(
            free.by_start,
            BTreeMap::from([(0x100, 0x1000), (0x1100, 0x2000)])
        );
    }
}
