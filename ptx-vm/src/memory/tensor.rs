//! Tensor memory: for each CTA 512 columns of 128 lanes with 32 bits each (PTX ISA manual 9.7.16.1), and the allocation of its columns.

use core::ops::Range;

use ptx_ir::FuncId;

use crate::account::Held;

/// The lanes of a column.
pub(crate) const TENSOR_LANES: usize = 128;
/// The columns of the tensor memory of a CTA.
pub(crate) const TENSOR_COLUMNS: usize = 512;
/// The columns that are allocated together.
pub(crate) const TENSOR_UNIT: usize = 32;
/// The lanes that one warp of a warpgroup can access.
pub(crate) const WARP_LANES: usize = 32;

/// The memory of the host for a tensor memory.
pub(crate) const HOST_BYTES: u64 =
    (TENSOR_LANES * TENSOR_COLUMNS * size_of::<u32>() + TENSOR_COLUMNS * size_of::<u128>()) as u64;

/// An address in tensor memory: the lane in the upper and the column in the lower half.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct TensorAddress {
    pub(crate) lane: usize,
    pub(crate) column: usize,
}

impl TensorAddress {
    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self {
            lane: (bits >> 16) as usize,
            column: (bits & 0xffff) as usize,
        }
    }
}

/// The instruction that allocated columns, and the first thread of the warp that executed it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Allocator {
    pub(crate) function: FuncId,
    pub(crate) step_index: u32,
    pub(crate) thread: u32,
}

/// Columns that were allocated together.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Allocation {
    pub(crate) start: usize,
    pub(crate) columns: usize,
    pub(crate) allocator: Allocator,
}

/// The request of a warp for columns in both CTAs of a pair, which waits for that of the other CTA.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct PairRequest {
    pub(crate) columns: usize,
    pub(crate) allocator: Allocator,
    /// The first column, once the columns are allocated.
    pub(crate) granted: Option<usize>,
}

/// The tensor memory of a CTA.
#[derive(Debug, Default)]
pub(crate) struct TensorMemory {
    /// The cells, lane by lane; none before the first allocation.
    cells: Vec<u32>,
    /// The lanes of each column that were written after its allocation.
    written: Vec<u128>,
    allocations: Vec<Allocation>,
    /// The CTA gave up the right to allocate columns.
    pub(crate) is_relinquished: bool,
    pub(crate) request: Option<PairRequest>,
    /// The memory of the host that it uses.
    pub(crate) held: Option<Held>,
}

impl TensorMemory {
    pub(crate) fn allocations(&self) -> &[Allocation] {
        &self.allocations
    }

    /// Whether some columns of a range are allocated.
    fn overlaps(&self, columns: &Range<usize>) -> bool {
        self.allocations
            .iter()
            .any(|a| a.start < columns.end && columns.start < a.start + a.columns)
    }

    /// The first place for a number of columns that is free here and in `peer`. Allocations start at multiples of their size, so that sizes that do not
    /// increase leave no gaps.
    pub(crate) fn free_columns(&self, columns: usize, peer: Option<&Self>) -> Option<usize> {
        let alignment = columns.next_power_of_two().max(TENSOR_UNIT);
        let starts = (0..TENSOR_COLUMNS).step_by(alignment);
        starts
            .map(|start| start..start + columns)
            .filter(|range| range.end <= TENSOR_COLUMNS)
            .find(|range| {
                !self.overlaps(range) && peer.is_none_or(|memory| !memory.overlaps(range))
            })
            .map(|range| range.start)
    }

    /// Allocates free columns. `content` gives the cells, which are undefined; without it they keep their values.
    pub(crate) fn allocate(
        &mut self,
        allocation: Allocation,
        content: Option<impl Fn(usize) -> u32>,
    ) {
        self.cells.resize(TENSOR_LANES * TENSOR_COLUMNS, 0);
        self.written.resize(TENSOR_COLUMNS, 0);
        let columns = allocation.start..allocation.start + allocation.columns;
        for column in columns.clone() {
            self.written[column] = 0;
        }
        if let Some(content) = content {
            for lane in 0..TENSOR_LANES {
                for column in columns.clone() {
                    let cell = lane * TENSOR_COLUMNS + column;
                    self.cells[cell] = content(cell);
                }
            }
        }
        self.allocations.push(allocation);
    }

    /// Frees an allocation; returns whether there was one with these columns.
    pub(crate) fn free(&mut self, start: usize, columns: usize) -> bool {
        let mut allocations = self.allocations.iter();
        match allocations.position(|a| (a.start, a.columns) == (start, columns)) {
            Some(index) => {
                self.allocations.remove(index);
                true
            }
            None => false,
        }
    }

    /// Returns the reason why cells cannot be accessed, if there is one: the lanes do not exist or a column is not allocated.
    pub(crate) fn fault(&self, lanes: &Range<usize>, columns: &Range<usize>) -> Option<String> {
        if lanes.end > TENSOR_LANES {
            let last = lanes.end - 1;
            return Some(format!(
                "lane {last} of tensor memory is accessed, which has lanes 0 to 127"
            ));
        }
        let mut column = columns.start;
        while column < columns.end {
            let allocation = self
                .allocations
                .iter()
                .find(|a| (a.start..a.start + a.columns).contains(&column));
            match allocation {
                Some(allocation) => column = allocation.start + allocation.columns,
                None => {
                    let allocated = self.describe_allocations();
                    return Some(format!(
                        "column {column} of tensor memory is accessed; allocated are {allocated}"
                    ));
                }
            }
        }
        None
    }

    /// The allocated columns, in words.
    pub(crate) fn describe_allocations(&self) -> String {
        let mut ranges: Vec<(usize, usize)> = self
            .allocations
            .iter()
            .map(|a| (a.start, a.start + a.columns - 1))
            .collect();
        ranges.sort_unstable();
        let ranges: Vec<String> = ranges
            .iter()
            .map(|(first, last)| format!("{first} to {last}"))
            .collect();
        match ranges.is_empty() {
            true => "no columns".into(),
            false => format!("the columns {}", ranges.join(" and ")),
        }
    }

    /// The cells of a lane in some columns; none of them where there are no such cells.
    pub(crate) fn row(&self, lane: usize, columns: Range<usize>) -> &[u32] {
        let first = lane * TENSOR_COLUMNS;
        self.cells
            .get(first + columns.start..first + columns.end)
            .unwrap_or_default()
    }

    /// A cell; 0 where there is none.
    pub(crate) fn cell(&self, lane: usize, column: usize) -> u32 {
        let cell = self.cells.get(lane * TENSOR_COLUMNS + column);
        cell.copied().unwrap_or(0)
    }

    /// Writes the cells of a lane from a column on, without marking them.
    pub(crate) fn write_row(&mut self, lane: usize, column: usize, values: &[u32]) {
        let first = lane * TENSOR_COLUMNS + column;
        if let Some(cells) = self.cells.get_mut(first..first + values.len()) {
            cells.copy_from_slice(values);
        }
    }

    /// Marks the cells of a lane in some columns as written.
    pub(crate) fn mark_written(&mut self, lane: usize, columns: Range<usize>) {
        for lanes in self.written.get_mut(columns).unwrap_or_default() {
            *lanes |= 1 << (lane % TENSOR_LANES);
        }
    }

    /// The first cell of some columns, column by column, that was not written in a lane of a mask.
    pub(crate) fn first_unwritten(
        &self,
        lanes: u128,
        mut columns: Range<usize>,
    ) -> Option<TensorAddress> {
        columns.find_map(|column| {
            let missing = lanes & !self.written.get(column)?;
            (missing != 0).then(|| TensorAddress {
                lane: missing.trailing_zeros() as usize,
                column,
            })
        })
    }

    /// Copies the marks of written cells from one lane to another one.
    pub(crate) fn copy_marks(&mut self, from: usize, to: usize, columns: Range<usize>) {
        for lanes in self.written.get_mut(columns).unwrap_or_default() {
            let mark = *lanes >> (from % TENSOR_LANES) & 1;
            let bit = to % TENSOR_LANES;
            *lanes = *lanes & !(1 << bit) | mark << bit;
        }
    }
}

/// The mask of consecutive lanes.
pub(crate) const fn lane_mask(first: usize, count: usize) -> u128 {
    let ones = match count {
        TENSOR_LANES.. => u128::MAX,
        _ => (1 << count) - 1,
    };
    ones << (first % TENSOR_LANES)
}

#[cfg(test)]
mod tests {
    use super::{Allocation, Allocator, TensorAddress, TensorMemory, lane_mask};
    use ptx_ir::{EntityId as _, FuncId};

    fn allocator() -> Allocator {
        Allocator {
            function: FuncId::from_index(0),
            step_index: 0,
            thread: 0,
        }
    }

    fn allocate(memory: &mut TensorMemory, columns: usize) -> Option<usize> {
        let start = memory.free_columns(columns, None)?;
        let allocation = Allocation {
            start,
            columns,
            allocator: allocator(),
        };
        memory.allocate(allocation, None::<fn(usize) -> u32>);
        Some(start)
    }

    #[test]
    fn columns_are_allocated_until_all_are_used() {
        let mut memory = TensorMemory::default();
        assert_eq!(allocate(&mut memory, 256), Some(0));
        assert_eq!(allocate(&mut memory, 128), Some(256));
        assert_eq!(allocate(&mut memory, 32), Some(384));
        assert_eq!(allocate(&mut memory, 64), Some(448));
        assert_eq!(allocate(&mut memory, 64), None);
        assert_eq!(allocate(&mut memory, 32), Some(416));
        assert_eq!(allocate(&mut memory, 32), None);
        assert!(!memory.free(0, 128));
        assert!(memory.free(0, 256));
        assert_eq!(allocate(&mut memory, 64), Some(0));
        assert!(memory.fault(&(0..128), &(0..64)).is_none());
        assert!(memory.fault(&(0..129), &(0..64)).is_some());
        assert!(memory.fault(&(0..1), &(63..65)).is_some());
        assert!(memory.fault(&(0..1), &(256..512)).is_none());
        assert!(memory.fault(&(0..1), &(511..513)).is_some());
    }

    #[test]
    fn a_pair_allocates_columns_that_are_free_in_both() {
        let (mut first, mut second) = (TensorMemory::default(), TensorMemory::default());
        allocate(&mut first, 64);
        allocate(&mut second, 128);
        assert_eq!(first.free_columns(64, Some(&second)), Some(128));
        assert_eq!(first.free_columns(512, Some(&second)), None);
    }

    #[test]
    fn unwritten_cells_are_found() {
        let mut memory = TensorMemory::default();
        allocate(&mut memory, 32);
        memory.write_row(3, 4, &[7, 8]);
        memory.mark_written(3, 4..6);
        assert_eq!(memory.row(3, 4..6), [7, 8]);
        assert_eq!(memory.first_unwritten(1 << 3, 4..6), None);
        let missing = TensorAddress { lane: 3, column: 6 };
        assert_eq!(memory.first_unwritten(1 << 3, 4..7), Some(missing));
        let missing = TensorAddress { lane: 0, column: 4 };
        assert_eq!(
            memory.first_unwritten(lane_mask(0, 32), 4..6),
            Some(missing)
        );
        // A new allocation of the columns has no written cells.
        memory.free(0, 32);
        allocate(&mut memory, 32);
        assert!(memory.first_unwritten(1 << 3, 4..5).is_some());
    }
}
