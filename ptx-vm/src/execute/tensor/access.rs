//! Loads from tensor memory to registers and stores to it (PTX ISA manual 9.7.16.8, with the fragments of 9.7.16.2.3).

use ptx_analysis::internals::fragments::TensorShape;
use ptx_isa::Modifier;

use super::super::asynchronous::{AsyncOperation, Completes, GroupKind};
use super::super::exchange::reduce_words;
use super::super::execution::{Control, Execution, Failed, Outcome};
use super::super::matrix::Fragment;
use super::{invalid, unknown_operands};
use crate::lanes::{Double, LANES, Place, lanes_where};
use crate::memory::tensor::{TensorAddress, WARP_LANES, lane_mask};
use crate::program::{Act, ActOperand};

/// A load or a store of a warp, with the values of its operands.
#[derive(Clone, Debug)]
struct Transfer {
    shape: TensorShape,
    /// The first cells of both parts.
    parts: [TensorAddress; 2],
    /// Each register has two elements of 16 bits, which are in neighboring columns.
    packed: bool,
    /// The registers of each thread.
    registers: Vec<Place>,
    /// The register for the combination of the loaded values.
    combination: Option<Place>,
}

/// A store with the values of its registers.
#[derive(Clone, Debug)]
pub(in crate::execute) struct TensorStore {
    transfer: Transfer,
    values: Fragment,
}

impl TensorStore {
    #[expect(
        clippy::missing_const_for_fn,
        reason = "the minimum Rust version does not allow it"
    )]
    pub(in crate::execute) fn memory(&self) -> usize {
        size_of::<Self>() + self.values.len() * (size_of::<Place>() + size_of::<Double>())
    }
}

impl Transfer {
    /// The place of the lowest element of a register of a thread.
    fn place(&self, thread: usize, register: usize) -> TensorAddress {
        let cell = self.shape.cell(thread, register);
        let part = self.parts[usize::from(cell.is_second)];
        TensorAddress {
            lane: part.lane + cell.row,
            column: part.column + self.columns_per_register() * cell.column,
        }
    }

    const fn columns_per_register(&self) -> usize {
        if self.packed { 2 } else { 1 }
    }

    /// The number of columns of each part.
    fn columns(&self) -> usize {
        self.columns_per_register() * self.shape.columns(self.registers.len())
    }

    /// The parts, of which most shapes have one.
    fn parts(&self) -> &[TensorAddress] {
        match self.shape {
            TensorShape::Lanes16x32Twice => &self.parts,
            _ => &self.parts[..1],
        }
    }
}

impl Execution<'_> {
    /// Loads cells to the registers of a warp.
    pub(in crate::execute) fn tensor_load(&mut self, act: &Act) -> Outcome {
        self.collectively(act, |execution, act| {
            // The address is the first operand after the results.
            let address = act
                .operands
                .iter()
                .position(|operand| matches!(operand, Some(ActOperand::Address(_))))
                .ok_or_else(|| unknown_operands(0))?;
            let combination = (address == 2).then(|| act.place(1)).flatten();
            let transfer = execution.transfer(act, 0, address, combination)?;
            execution.check_transfer(&transfer)?;
            execution.perform_load(act, &transfer)?;
            Ok(Control::Next)
        })
    }

    /// Stores the registers of a warp to cells.
    pub(in crate::execute) fn tensor_store(&mut self, act: &Act) -> Outcome {
        self.collectively(act, |execution, act| {
            let data = act.operands.len().saturating_sub(1);
            let transfer = execution.transfer(act, data, 0, None)?;
            execution.check_transfer(&transfer)?;
            let values = execution.fragment(&transfer.registers);
            let store = Box::new(TensorStore { transfer, values });
            let completes = Completes::Group(GroupKind::TensorStores);
            execution.start(AsyncOperation::TensorStore(store), completes, None, 0)?;
            Ok(Control::Next)
        })
    }

    /// The operands of a load or a store. `data` and `address` are the indices of its registers and of its address, after which the distance of the second part
    /// follows.
    fn transfer(
        &self,
        act: &Act,
        data: usize,
        address: usize,
        combination: Option<Place>,
    ) -> Result<Transfer, Failed> {
        let shape = TensorShape::of(&act.modifiers).ok_or_else(|| unknown_operands(0))?;
        let mut addresses = [0; LANES];
        for (lane, bits) in addresses.iter_mut().enumerate() {
            *bits = self.tensor_operand(act, address, lane)?.into();
        }
        self.check_common(&addresses, "the address of tensor memory")?;
        let bits = addresses[0] as u32;
        let distance = match shape {
            TensorShape::Lanes16x32Twice => self.lane_value(act, address + 1, 0).unwrap_or(0),
            _ => 0,
        };
        let first = TensorAddress::from_bits(bits);
        let second = TensorAddress::from_bits(bits.wrapping_add(distance as u32));
        Ok(Transfer {
            shape,
            parts: [first, second],
            packed: act.has(Modifier::Pack16b) || act.has(Modifier::Unpack16b),
            registers: act.all_places(data).to_vec(),
            combination,
        })
    }

    /// An error if a warp may not access the cells.
    fn check_transfer(&self, transfer: &Transfer) -> Result<(), Failed> {
        let quarter = self.warp.first as usize / LANES % 4;
        let accessible = quarter * WARP_LANES..(quarter + 1) * WARP_LANES;
        let rows = transfer.shape.rows();
        for part in transfer.parts() {
            let lanes = part.lane..part.lane + rows;
            if lanes.start < accessible.start || lanes.end > accessible.end || part.lane % rows != 0
            {
                let (first, last) = (lanes.start, lanes.end - 1);
                let reason = format!(
                    "warp {quarter} of a warpgroup accesses lanes {first} to {last} of tensor memory; it can access {rows} lanes from a multiple of {rows} on within lanes {} to {}",
                    accessible.start,
                    accessible.end - 1
                );
                return Err(invalid(reason, 0));
            }
            let columns = part.column..part.column + transfer.columns();
            self.tensor_cells(self.block.rank, &lanes, &columns, 0)?;
        }
        Ok(())
    }

    /// Shows to the observer that a load reads cells which were not written: the registers that it writes from them, or the load itself if it combines
    /// registers.
    fn show_unwritten_parts(&self, transfer: &Transfer) {
        let rank = self.block.rank;
        let memory = self.block.tensor(rank);
        let (Some(memory), Some(_)) = (memory, &self.block.cluster_state.observer) else {
            return;
        };
        let first_unwritten = transfer.parts().iter().find_map(|part| {
            let lanes = lane_mask(part.lane, transfer.shape.rows());
            memory.first_unwritten(lanes, part.column..part.column + transfer.columns())
        });
        let Some(cell) = first_unwritten else {
            return;
        };
        if transfer.combination.is_some() {
            self.observe(|observer, execution| {
                observer.unwritten_tensor_cell(execution, 0, rank, cell);
            });
            return;
        }
        let width = if transfer.packed { 2 } else { 1 };
        let mut registers = Vec::new();
        for (register, place) in transfer.registers.iter().enumerate() {
            let threads = lanes_where(u32::MAX, |thread| {
                let first = transfer.place(thread, register);
                let columns = first.column..first.column + width;
                memory.first_unwritten(1 << first.lane, columns).is_some()
            });
            if threads != 0 {
                registers.push((*place, threads));
            }
        }
        self.observe(|observer, execution| {
            observer.unwritten_tensor_registers(execution, &registers, cell);
        });
    }

    fn perform_load(&mut self, act: &Act, transfer: &Transfer) -> Result<(), Failed> {
        let rank = self.block.rank;
        self.show_unwritten_parts(transfer);
        let Some(memory) = self.block.tensor(rank) else {
            return Ok(());
        };
        let mut fragment = Vec::with_capacity(transfer.registers.len());
        for register in 0..transfer.registers.len() {
            fragment.push(core::array::from_fn(|thread| {
                let place = transfer.place(thread, register);
                let cell = memory.cell(place.lane, place.column);
                let bits = if transfer.packed {
                    let upper = memory.cell(place.lane, place.column + 1);
                    cell & 0xffff | upper << 16
                } else {
                    cell
                };
                u64::from(bits)
            }));
        }
        if let Some(combination) = transfer.combination {
            let mut combined = [0; LANES];
            for (thread, result) in combined.iter_mut().enumerate() {
                let words: Vec<u32> = fragment
                    .iter()
                    .map(|register: &[u64; LANES]| register[thread] as u32)
                    .collect();
                let word = reduce_words(act, &words).ok_or_else(|| unknown_operands(0))?;
                *result = word.into();
            }
            self.set_fragment(&[combination], &[combined]);
        }
        self.set_fragment(&transfer.registers, &fragment);
        Ok(())
    }

    pub(in crate::execute) fn perform_tensor_store(
        &mut self,
        store: &TensorStore,
    ) -> Result<(), Failed> {
        let TensorStore { transfer, values } = store;
        let rank = self.block.rank;
        for (register, values) in values.iter().enumerate() {
            for (thread, &bits) in values.iter().enumerate() {
                let bits = bits as u32;
                let cells = [bits & 0xffff, bits >> 16];
                let cells = if transfer.packed { &cells[..] } else { &[bits] };
                self.write_tensor_row(rank, transfer.place(thread, register), cells);
            }
        }
        Ok(())
    }
}
