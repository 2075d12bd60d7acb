//! Instructions of the fifth generation of tensor cores (PTX ISA manual 9.7.16).
//!
//! [`allocate`] manages the columns of tensor memory, [`access`] moves cells between them and registers, [`copy`] fills them from shared memory,
//! [`product`] has the operands of products, which [`multiply`] computes, and [`commit`] starts arrivals at mbarrier objects.
//!
//! Loads are performed at once, since the first use of a register waits for its load. All others are [asynchronous operations](super::asynchronous). When
//! they are announced, the cells are marked as written, without changing their values.

mod access;
mod allocate;
mod commit;
mod copy;
mod multiply;
mod product;

use core::ops::Range;

use ptx_isa::{Action, Modifier};

use super::asynchronous::Pass;
use super::execution::{Control, Execution, Failed, Outcome};
use super::location::Location;
use crate::error::StopReason;
use crate::matrix::shared::UNIT;
use crate::matrix::units::UnitFormat;
use crate::memory::tensor::{TensorAddress, TensorMemory};
use crate::program::{Act, ActOperand, Address, Base};

pub(super) use access::TensorStore;
pub(super) use copy::{TensorCopy, TensorShift};
pub(super) use product::TensorProduct;

/// The error of an operand whose value the PTX ISA manual does not allow.
fn invalid(reason: impl Into<String>, lane: usize) -> Failed {
    (StopReason::Invalid(reason.into()), lane)
}

fn unknown_operands(lane: usize) -> Failed {
    (StopReason::Unsupported("unknown operands".into()), lane)
}

impl Execution<'_> {
    /// Waits until all lanes of the warp are at the instruction, and for their loads or stores.
    pub(super) fn tensor_wait(&mut self, act: &Act) -> Outcome {
        self.collectively(act, |execution, act| {
            if act.action == Action::TensorStoreWait {
                execution.perform_tensor_stores()?;
            }
            Ok(Control::Next)
        })
    }

    /// The value of an address of tensor memory in a lane.
    fn tensor_bits(&self, address: &Address, lane: usize) -> u32 {
        let base = match address.base {
            Base::Register(place) => self.get(place, lane) as u32,
            Base::Zero | Base::Frame => 0,
        };
        base.wrapping_add(address.offset as u32)
    }

    /// An operand that is an address of tensor memory, in a lane.
    fn tensor_operand(&self, act: &Act, index: usize, lane: usize) -> Result<u32, Failed> {
        match act.operands.get(index) {
            Some(Some(ActOperand::Address(address))) => Ok(self.tensor_bits(address, lane)),
            _ => Err(unknown_operands(lane)),
        }
    }

    /// The value of an operand in a lane; `None` if the operand is absent.
    fn lane_value(&self, act: &Act, index: usize, lane: usize) -> Option<u64> {
        Some(self.get(act.place(index)?, lane) as u64)
    }

    /// The value of an operand that all lanes of the warp have to agree on.
    fn common_value(&self, act: &Act, index: usize, name: &str) -> Result<u64, Failed> {
        let place = act
            .place(index)
            .ok_or_else(|| unknown_operands(self.first()))?;
        let values = self.warp.values(self.call, place);
        self.check_common(&values, name)?;
        Ok(values[0])
    }

    /// An error if not all lanes of the warp have the same value of an operand.
    fn check_common(&self, values: &[u64; 32], name: &str) -> Result<(), Failed> {
        match values.iter().position(|value| *value != values[0]) {
            None => Ok(()),
            Some(lane) => {
                let (expected, found) = (values[0], values[lane]);
                let reason = format!(
                    "{name} differs between the lanes of the warp: {expected:#x} in lane 0, {found:#x} in lane {lane}"
                );
                Err(invalid(reason, lane))
            }
        }
    }

    /// The ranks of the CTAs whose tensor memory an instruction accesses: that of the thread or both of its pair, the even one first.
    fn tensor_ranks(&self, act: &Act, lane: usize) -> Result<Vec<usize>, Failed> {
        let rank = self.block.rank;
        if !act.has(Modifier::CtaGroup2) {
            return Ok(vec![rank]);
        }
        let pair = vec![rank & !1, rank | 1];
        if self.block.shared(pair[1]).is_none() {
            let reason = format!(
                "`.cta_group::2` needs a pair of CTAs; the cluster has no CTA of rank {}",
                pair[1]
            );
            return Err(invalid(reason, lane));
        }
        Ok(pair)
    }

    /// The tensor memory of the CTA of a rank, some cells of which are accessed.
    fn tensor_cells(
        &self,
        rank: usize,
        lanes: &Range<usize>,
        columns: &Range<usize>,
        lane: usize,
    ) -> Result<&TensorMemory, Failed> {
        let Some(memory) = self.block.tensor(rank) else {
            let reason = "tensor memory is accessed before any of it was allocated";
            return Err(invalid(reason, lane));
        };
        // The columns of a pending operation may have been freed.
        if self.pass == Pass::Perform {
            return Ok(memory);
        }
        match memory.fault(lanes, columns) {
            Some(fault) => Err(invalid(fault, lane)),
            None => Ok(memory),
        }
    }

    /// Shows a cell of a read that was not written to the observer.
    fn show_unwritten(&self, rank: usize, lanes: u128, columns: Range<usize>, lane: usize) {
        if self.block.cluster_state.observer.is_none() || self.pass == Pass::Perform {
            return;
        }
        let memory = self.block.tensor(rank);
        if let Some(cell) = memory.and_then(|memory| memory.first_unwritten(lanes, columns)) {
            self.observe(|observer, execution| {
                observer.unwritten_tensor_cell(execution, lane, rank, cell);
            });
        }
    }

    /// Reads the elements of a unit of 16 bytes in the shared memory of a CTA, with a byte for each that has less than 8 bits.
    fn read_unit(
        &mut self,
        rank: usize,
        address: u64,
        format: UnitFormat,
        lane: usize,
    ) -> Result<u128, Failed> {
        self.handle(UNIT, lane)?;
        let location = Location::Shared(rank, address);
        let unit = match format.used_bytes() {
            12 => {
                let upper = self.read(location.plus(8), 4, lane)?;
                self.read(location, 8, lane)? | upper << 64
            }
            bytes => self.read(location, bytes, lane)?,
        };
        Ok(format.expand(unit))
    }

    /// Writes cells of a lane of tensor memory, which are allocated. If the operation is announced, they are only marked as written.
    fn write_tensor_row(&mut self, rank: usize, address: TensorAddress, values: &[u32]) {
        let is_announced = self.pass == Pass::Announce;
        let Some(memory) = self.block.tensor_mut(rank) else {
            return;
        };
        if !is_announced {
            memory.write_row(address.lane, address.column, values);
        }
        let end = address.column + values.len();
        memory.mark_written(address.lane, address.column..end);
    }
}
