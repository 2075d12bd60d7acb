//! Allocation of columns of tensor memory (PTX ISA manual 9.7.16.7.1).
//!
//! With `.cta_group::2` a warp of each CTA of a pair requests the same number of columns. The one that comes later allocates them in both CTAs; the
//! other one finds them granted when it is executed again.

use std::sync::Arc;

use ptx_isa::Modifier;

use super::super::execution::{Control, Execution, Failed, Outcome};
use super::super::groups::State;
use super::{invalid, unknown_operands};
use crate::account::{Held, Purpose};
use crate::memory::tensor::{
    Allocation, Allocator, HOST_BYTES, PairRequest, TENSOR_COLUMNS, TENSOR_UNIT, TensorAddress,
    TensorMemory,
};
use crate::program::Act;

use super::super::order::mix;

impl Execution<'_> {
    /// Allocates columns, and writes their address to shared memory. Waits until there are as many free columns.
    pub(in crate::execute) fn tensor_allocate(&mut self, act: &Act) -> Outcome {
        self.collectively(act, |execution, act| {
            let columns = execution.column_count(act, 1)?;
            let rank = execution.block.rank;
            let is_relinquished = |memory: &TensorMemory| memory.is_relinquished;
            if execution.block.tensor(rank).is_some_and(is_relinquished) {
                let reason = "the CTA allocates tensor memory after it gave up the right to do so";
                return Err(invalid(reason, 0));
            }
            let start = if act.has(Modifier::CtaGroup2) {
                execution.allocate_in_pair(act, columns)?
            } else {
                execution.allocate_alone(columns)?
            };
            let Some(start) = start else {
                return Ok(Control::Wait(State::TensorColumns));
            };
            let addresses = act.addresses();
            let target = addresses.first().ok_or_else(|| unknown_operands(0))?;
            let target = execution.location(target, 0);
            execution.write(target, 4, start as u128, 0)?;
            Ok(Control::Next)
        })
    }

    /// Frees columns.
    pub(in crate::execute) fn tensor_free(&mut self, act: &Act) -> Outcome {
        self.collectively(act, |execution, act| {
            let bits = execution.common_value(act, 0, "the address of tensor memory")?;
            let address = TensorAddress::from_bits(bits as u32);
            let columns = execution.column_count(act, 1)?;
            // The CTAs exist whose warps have to free the columns together.
            execution.tensor_ranks(act, 0)?;
            execution.perform_tensor_operations()?;
            let rank = execution.block.rank;
            let memory = execution.block.tensor_mut(rank);
            let Some(memory) = memory else {
                return Ok(Control::Next);
            };
            if address.lane != 0 || !memory.free(address.column, columns) {
                let allocated = memory.describe_allocations();
                let reason = format!(
                    "{columns} columns of tensor memory are freed at {bits:#x}, where no allocation of this size starts; allocated are {allocated}"
                );
                return Err(invalid(reason, 0));
            }
            execution.block.cluster_state.tensor_changed = true;
            Ok(Control::Next)
        })
    }

    /// Gives up the right of the CTA to allocate columns.
    pub(in crate::execute) fn tensor_relinquish(&mut self, act: &Act) -> Outcome {
        self.collectively(act, |execution, _| {
            let rank = execution.block.rank;
            if let Some(memory) = execution.block.tensor_mut(rank) {
                memory.is_relinquished = true;
            }
            Ok(Control::Next)
        })
    }

    /// The operand with a number of columns.
    fn column_count(&self, act: &Act, index: usize) -> Result<usize, Failed> {
        let columns = self.common_value(act, index, "the number of columns")? as u32 as usize;
        if !columns.is_power_of_two() || !(TENSOR_UNIT..=TENSOR_COLUMNS).contains(&columns) {
            let reason = format!(
                "the number of columns of tensor memory is {columns}; it must be a power of two from 32 to 512"
            );
            return Err(invalid(reason, 0));
        }
        Ok(columns)
    }

    fn allocator(&self) -> Allocator {
        Allocator {
            function: self.function_id,
            step_index: self.step_index,
            thread: self.warp.first,
        }
    }

    /// Allocates columns in the CTA; `None` if not enough columns are free.
    fn allocate_alone(&mut self, columns: usize) -> Result<Option<usize>, Failed> {
        let rank = self.block.rank;
        let memory = self.block.tensor_mut(rank);
        let Some(start) = memory.and_then(|memory| memory.free_columns(columns, None)) else {
            return Ok(None);
        };
        let allocation = Allocation {
            start,
            columns,
            allocator: self.allocator(),
        };
        self.allocate_columns(rank, allocation)?;
        Ok(Some(start))
    }

    /// Allocates columns in both CTAs of the pair; `None` if not enough columns are free or the other CTA has not requested them.
    fn allocate_in_pair(&mut self, act: &Act, columns: usize) -> Result<Option<usize>, Failed> {
        self.tensor_ranks(act, 0)?;
        let (rank, peer_rank) = (self.block.rank, self.block.rank ^ 1);
        let allocator = self.allocator();
        let request = self.block.tensor(rank).and_then(|memory| memory.request);
        match request {
            Some(request) if request.allocator != allocator => return Ok(None),
            Some(request) if request.granted.is_some() => {
                self.set_request(rank, None);
                return Ok(request.granted);
            }
            _ => {}
        }
        let own_request = PairRequest {
            columns,
            allocator,
            granted: None,
        };
        self.set_request(rank, Some(own_request));
        let peer_request = self.block.tensor(peer_rank).and_then(|m| m.request);
        let Some(peer_request) = peer_request.filter(|request| request.granted.is_none()) else {
            return Ok(None);
        };
        if peer_request.columns != columns {
            let reason = format!(
                "the CTAs of a pair allocate {columns} and {} columns of tensor memory; both must allocate the same number",
                peer_request.columns
            );
            return Err(invalid(reason, 0));
        }
        let own_memory = self.block.tensor(rank);
        let start = own_memory
            .and_then(|memory| memory.free_columns(columns, self.block.tensor(peer_rank)));
        let Some(start) = start else {
            return Ok(None);
        };
        for (rank, allocator) in [(rank, allocator), (peer_rank, peer_request.allocator)] {
            let allocation = Allocation {
                start,
                columns,
                allocator,
            };
            self.allocate_columns(rank, allocation)?;
        }
        self.set_request(rank, None);
        let granted = Some(start);
        self.set_request(
            peer_rank,
            Some(PairRequest {
                granted,
                ..peer_request
            }),
        );
        Ok(granted)
    }

    fn set_request(&mut self, rank: usize, request: Option<PairRequest>) {
        if let Some(memory) = self.block.tensor_mut(rank) {
            memory.request = request;
        }
        self.block.cluster_state.tensor_changed |= request.is_none_or(|r| r.granted.is_some());
    }

    /// Allocates free columns in the CTA of a rank.
    fn allocate_columns(&mut self, rank: usize, allocation: Allocation) -> Result<(), Failed> {
        let account = self.grid.account();
        let seed = self.grid.shared_seed;
        let place = self.grid.linear(self.block.index) ^ rank as u64;
        let Some(memory) = self.block.tensor_mut(rank) else {
            return Ok(());
        };
        if memory.held.is_none() {
            let mut held = Held::new(Arc::clone(account));
            let taken = held.take(HOST_BYTES, Purpose::TensorMemory);
            taken.map_err(|reason| (reason, 0))?;
            memory.held = Some(held);
        }
        let content =
            seed.map(|seed| move |cell: usize| mix(mix(seed ^ place) ^ cell as u64) as u32);
        memory.allocate(allocation, content);
        Ok(())
    }
}
