//! Copies from shared memory to tensor memory, and shifts of its lanes (PTX ISA manual 9.7.16.9).

use core::ops::Range;

use ptx_isa::Modifier;

use super::super::asynchronous::{AsyncOperation, Completes, GroupKind, Pass};
use super::super::execution::{Control, Execution, Failed, Outcome};
use super::{invalid, unknown_operands};
use crate::lanes::lanes;
use crate::matrix::shared::{Major, SharedMatrix};
use crate::matrix::units::UnitFormat;
use crate::memory::tensor::{TensorAddress, TensorMemory, WARP_LANES};
use crate::program::Act;

/// The columns of a unit of 16 bytes.
const UNIT_COLUMNS: usize = 4;

/// The lanes that a row of a copied tile is written to.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum RowLanes {
    /// One lane, with the number of the row.
    One,
    /// The same lane of each warp: rows are 32 lanes apart.
    OnePerWarp,
    /// The lane and the one 64 lanes later.
    FirstAndThirdWarp,
    /// Two warps: those of 64 lanes.
    NeighboringWarps,
    /// All four warps.
    AllWarps,
}

impl RowLanes {
    /// The lanes of a row, from the first lane of the tile on.
    fn of(self, row: usize) -> impl Iterator<Item = usize> {
        let (first, distance, count) = match self {
            Self::One => (row, 0, 1),
            Self::OnePerWarp => (row * WARP_LANES, 0, 1),
            Self::FirstAndThirdWarp => (row, 2 * WARP_LANES, 2),
            Self::NeighboringWarps => (
                row / WARP_LANES * 2 * WARP_LANES + row % WARP_LANES,
                WARP_LANES,
                2,
            ),
            Self::AllWarps => (row, WARP_LANES, 4),
        };
        (0..count).map(move |copy| first + copy * distance)
    }
}

/// A copy from shared to tensor memory, with the values of its operands.
#[derive(Clone, Debug)]
pub(in crate::execute) struct TensorCopy {
    /// The CTAs, each of which copies from its own shared memory.
    ranks: Vec<usize>,
    source: SharedMatrix,
    target: TensorAddress,
    rows: usize,
    /// The units of 16 bytes of a row.
    units: usize,
    row_lanes: RowLanes,
    format: UnitFormat,
    lane: usize,
}

/// A shift of lanes, with the values of its operands.
#[derive(Clone, Debug)]
pub(in crate::execute) struct TensorShift {
    ranks: Vec<usize>,
    first: TensorAddress,
    lane: usize,
}

impl Execution<'_> {
    /// Copies tiles of shared memory to tensor memory.
    pub(in crate::execute) fn tensor_copy(&mut self, act: &Act) -> Outcome {
        for lane in lanes(self.active) {
            let copy = self.tensor_copy_of_lane(act, lane)?;
            let operation = AsyncOperation::TensorCopy(Box::new(copy));
            self.start(
                operation,
                Completes::Group(GroupKind::TensorMemory),
                None,
                lane,
            )?;
        }
        Ok(Control::Next)
    }

    fn tensor_copy_of_lane(&self, act: &Act, lane: usize) -> Result<TensorCopy, Failed> {
        let shapes = [
            (Modifier::D128x256b, 128, 2),
            (Modifier::D4x256b, 4, 2),
            (Modifier::D128x128b, 128, 1),
            (Modifier::D64x128b, 64, 1),
            (Modifier::D32x128b, 32, 1),
        ];
        let shape = shapes.into_iter().find(|(modifier, ..)| act.has(*modifier));
        let (_, rows, units) = shape.ok_or_else(|| unknown_operands(lane))?;
        let row_lanes = if act.has(Modifier::Warpx4) {
            RowLanes::AllWarps
        } else if act.has(Modifier::Warpx2_02_13) {
            RowLanes::FirstAndThirdWarp
        } else if act.has(Modifier::Warpx2_01_23) {
            RowLanes::NeighboringWarps
        } else if rows == 4 {
            RowLanes::OnePerWarp
        } else {
            RowLanes::One
        };
        let format = if act.has(Modifier::B4x16P64) {
            UnitFormat::Fours
        } else if act.has(Modifier::B6x16P32) {
            UnitFormat::Sixes
        } else {
            UnitFormat::Plain
        };
        let descriptor = self.lane_value(act, 1, lane).unwrap_or(0);
        let source = SharedMatrix::of_tensor_core(descriptor);
        Ok(TensorCopy {
            ranks: self.tensor_ranks(act, lane)?,
            source: source.map_err(|reason| invalid(reason, lane))?,
            target: TensorAddress::from_bits(self.tensor_operand(act, 0, lane)?),
            rows,
            units,
            row_lanes,
            format,
            lane,
        })
    }

    pub(in crate::execute) fn perform_tensor_copy(
        &mut self,
        copy: &TensorCopy,
    ) -> Result<(), Failed> {
        let TensorAddress {
            lane: first,
            column,
        } = copy.target;
        let columns = column..column + UNIT_COLUMNS * copy.units;
        for &rank in &copy.ranks {
            let last = copy.row_lanes.of(copy.rows - 1).last().unwrap_or(0);
            let lanes = first..first + last + 1;
            self.tensor_cells(rank, &lanes, &columns, copy.lane)?;
            for row in 0..copy.rows {
                let mut cells = Vec::with_capacity(UNIT_COLUMNS * copy.units);
                for unit in 0..copy.units {
                    let address = copy.source.unit_address(Major::K, row as u64, unit as u64);
                    let bytes = self.read_unit(rank, address, copy.format, copy.lane)?;
                    cells.extend((0..UNIT_COLUMNS).map(|index| (bytes >> (32 * index)) as u32));
                }
                for lane in copy.row_lanes.of(row) {
                    let lane = first + lane;
                    self.write_tensor_row(rank, TensorAddress { lane, column }, &cells);
                }
            }
        }
        Ok(())
    }

    /// Moves the cells of each of 32 lanes but the first one to the lane before it.
    pub(in crate::execute) fn tensor_shift(&mut self, act: &Act) -> Outcome {
        for lane in lanes(self.active) {
            let shift = TensorShift {
                ranks: self.tensor_ranks(act, lane)?,
                first: TensorAddress::from_bits(self.tensor_operand(act, 0, lane)?),
                lane,
            };
            let operation = AsyncOperation::TensorShift(shift);
            self.start(
                operation,
                Completes::Group(GroupKind::TensorMemory),
                None,
                lane,
            )?;
        }
        Ok(Control::Next)
    }

    pub(in crate::execute) fn perform_tensor_shift(
        &mut self,
        shift: &TensorShift,
    ) -> Result<(), Failed> {
        let first = shift.first.lane;
        if !first.is_multiple_of(WARP_LANES) {
            let reason = format!(
                "lanes of tensor memory are shifted from lane {first} on; it must be a multiple of 32"
            );
            return Err(invalid(reason, shift.lane));
        }
        // 32 bytes.
        let columns = shift.first.column..shift.first.column + 8;
        for &rank in &shift.ranks {
            self.tensor_cells(rank, &(first..first + WARP_LANES), &columns, shift.lane)?;
            if self.pass != Pass::Announce
                && let Some(memory) = self.block.tensor_mut(rank)
            {
                shift_lanes(memory, first, &columns);
            }
        }
        Ok(())
    }
}

/// Moves the cells of 32 lanes to the lanes before them, with the marks of those that were not written. The last lane keeps its cells.
fn shift_lanes(memory: &mut TensorMemory, first: usize, columns: &Range<usize>) {
    for lane in first..first + WARP_LANES - 1 {
        let cells = memory.row(lane + 1, columns.clone()).to_vec();
        memory.write_row(lane, columns.start, &cells);
        memory.copy_marks(lane + 1, lane, columns.clone());
    }
}
