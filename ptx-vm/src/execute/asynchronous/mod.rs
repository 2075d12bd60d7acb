//! Asynchronous operations: when they are performed.
//!
//! An operation has the values of its operands. [`Execution::start`] performs it at once, or puts it into the queue of the cluster:
//!
//! ```text
//!   start ──▶ announced to observers ──▶ pending ──▶ performed
//!                                          │ wait for its group, with `.read`
//!                                          └──▶ source saved ──▶ performed
//! ```
//!
//! The announcement makes all accesses visible to observers and checks their addresses, without writing anything. Observers therefore attribute them to
//! the instruction that starts the operation, at whatever time it is performed. Performing it does not fail: accesses that are impossible are skipped,
//! since the announcement has reported them.
//!
//! A pending operation is performed when a thread waits for its group; when a thread tests the mbarrier object at which it completes and the phase becomes
//! complete by that; at the end of the cluster; if no thread of the launch can continue otherwise; and at the latest after 2^20 steps.

mod perform;
mod queue;

use ptx_isa::{Action, Modifier};

use super::block::ClusterState;
use super::box_copy::BoxCopy;
use super::bulk::{AsyncReduction, AsyncStore, BulkCopy, BulkReduction};
use super::copy::CopyToShared;
use super::execution::{Control, Execution, Failed, Outcome};
use super::location::Location;
use super::tensor::{TensorCopy, TensorProduct, TensorShift, TensorStore};
use super::warpgroup::WarpgroupProduct;
use crate::account::Purpose;
use crate::lanes::{LANES, lanes};
use crate::program::Act;

use perform::{note_change, perform_pending, perform_product, read_factors_of_others};
pub(super) use perform::{perform_all, perform_at_random, perform_old};
pub(super) use queue::{AsyncQueue, Completes, GroupKind, SourceRange};
use queue::{Origin, PendingOperation, SavedSource};

/// The part of an asynchronous operation that an execution performs.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Pass {
    /// The announcement and the accesses.
    Whole,
    /// The announcement: observers see the accesses, but nothing is written.
    Announce,
    /// The accesses, which observers do not see.
    Perform,
}

/// An asynchronous operation of a lane with the values of its operands.
#[derive(Clone, Debug)]
pub(super) enum AsyncOperation {
    Copy(CopyToShared),
    BulkCopy(BulkCopy),
    BulkReduction(BulkReduction),
    BoxCopy(Box<BoxCopy>),
    Store(AsyncStore),
    Reduction(AsyncReduction),
    /// The arrival at an mbarrier object after the earlier copies of the thread.
    Arrival(Location),
    TensorStore(Box<TensorStore>),
    TensorCopy(Box<TensorCopy>),
    TensorShift(TensorShift),
    TensorProduct(Box<TensorProduct>),
    /// The part of a product of a warpgroup that a warp computes in its registers.
    WarpgroupProduct(Box<WarpgroupProduct>),
    /// The arrival at an mbarrier object after the earlier operations on tensor memory.
    TensorArrival(Location),
}

impl AsyncOperation {
    /// Whether performing it needs registers for intermediate values.
    const fn needs_registers(&self) -> bool {
        matches!(self, Self::BulkReduction(_) | Self::Reduction(_))
    }

    /// The memory of its parts that are not in it.
    fn memory(&self) -> u64 {
        let bytes = match self {
            Self::WarpgroupProduct(product) => {
                return size_of_val(&**product) as u64 + product.memory();
            }
            Self::BoxCopy(copy) => size_of_val(&**copy),
            Self::TensorStore(store) => store.memory(),
            Self::TensorCopy(copy) => size_of_val(&**copy),
            Self::TensorProduct(product) => size_of_val(&**product),
            Self::Store(_) | Self::Reduction(_) | Self::BulkReduction(_) => 128,
            _ => 0,
        };
        bytes as u64
    }
}

impl Execution<'_> {
    /// Starts an asynchronous operation of a lane: performs it now, or announces it and performs it later.
    pub(super) fn start(
        &mut self,
        operation: AsyncOperation,
        completes: Completes,
        source: Option<SourceRange>,
        lane: usize,
    ) -> Result<(), Failed> {
        if self.block.cluster_state.queue.is_none() {
            return self.perform(&operation, lane);
        }
        self.pass = Pass::Announce;
        let announced = self.perform(&operation, lane);
        self.pass = Pass::Whole;
        announced?;
        let origin = Origin {
            function: self.function_id,
            step_index: self.step_index,
            block: self.block.index,
            rank: self.block.rank,
            cluster: self.block.cluster,
            first: self.warp.first,
            lane,
        };
        let started = self.grid.progress.steps();
        let products_committed = self.block.products.committed(self.warp_index());
        let Some(queue) = &mut self.block.cluster_state.queue else {
            return Ok(());
        };
        let committed = match completes {
            Completes::Group(GroupKind::Products) => Some(products_committed),
            Completes::Group(kind) => {
                let groups = (origin.rank, origin.thread(), kind);
                queue.committed.get(&groups).copied()
            }
            _ => None,
        };
        let pending = PendingOperation {
            origin,
            number: queue.started,
            group: committed.unwrap_or(0),
            completes,
            source,
            saved: None,
            started,
            operation,
        };
        let taken = queue
            .held
            .take(pending.memory(), Purpose::AsynchronousOperations);
        taken.map_err(|reason| (reason, lane))?;
        queue.started += 1;
        queue.pending.push(pending);
        note_change(self.block);
        Ok(())
    }

    /// Performs an operation, or the part of it that `self.pass` says.
    fn perform(&mut self, operation: &AsyncOperation, lane: usize) -> Result<(), Failed> {
        match operation {
            AsyncOperation::Copy(copy) => self.perform_copy(copy, lane),
            AsyncOperation::BulkCopy(copy) => self.perform_bulk_copy(copy, lane),
            AsyncOperation::BulkReduction(reduction) => {
                self.perform_bulk_reduction(reduction, lane)
            }
            AsyncOperation::BoxCopy(copy) => self.perform_box_copy(copy, lane),
            AsyncOperation::Store(store) => self.perform_async_store(store, lane),
            AsyncOperation::Reduction(reduction) => self.perform_async_reduction(reduction, lane),
            AsyncOperation::Arrival(object) => self.arrive_after_copies(*object, lane),
            AsyncOperation::WarpgroupProduct(product) => self.perform_warpgroup_product(product),
            AsyncOperation::TensorStore(store) => self.perform_tensor_store(store),
            AsyncOperation::TensorCopy(copy) => self.perform_tensor_copy(copy),
            AsyncOperation::TensorShift(shift) => self.perform_tensor_shift(shift),
            AsyncOperation::TensorProduct(product) => self.perform_product(product),
            AsyncOperation::TensorArrival(object) => self.complete_arrival(*object, lane),
        }
    }

    /// Commits the operations of the active lanes that are in no group to a new one.
    pub(super) fn commit_group(&mut self, act: &Act) -> Outcome {
        let (rank, first) = (self.block.rank, self.warp.first);
        if let Some(queue) = &mut self.block.cluster_state.queue {
            for lane in lanes(self.active) {
                let groups = (rank, first + lane as u32, group_kind(act.action));
                *queue.committed.entry(groups).or_default() += 1;
            }
        }
        Ok(Control::Next)
    }

    /// Waits until at most a number of groups of each active lane are pending, or none of its operations.
    pub(super) fn wait_for_groups(&mut self, act: &Act) -> Outcome {
        let Some(queue) = &self.block.cluster_state.queue else {
            return Ok(Control::Next);
        };
        let kind = group_kind(act.action);
        let (rank, first, active) = (self.block.rank, self.warp.first, self.active);
        // For each lane, the number of groups that have to be complete.
        let mut complete = [u64::MAX; LANES];
        if let Some(place) = act.place(0) {
            for lane in lanes(active) {
                let committed = queue.committed.get(&(rank, first + lane as u32, kind));
                let still_pending = self.get(place, lane) as u64;
                complete[lane] = committed.map_or(0, |all| all.saturating_sub(still_pending));
            }
        }
        let is_due = |pending: &PendingOperation| {
            let origin = &pending.origin;
            pending.completes == Completes::Group(kind)
                && (origin.rank, origin.first) == (rank, first)
                && active >> origin.lane & 1 == 1
                && pending.group < complete[origin.lane % LANES]
        };
        if act.has(Modifier::Read) {
            return self.save_sources(is_due);
        }
        self.perform_pending(is_due)?;
        Ok(Control::Next)
    }

    /// Commits the products of the warp that are in no group to a new one.
    pub(super) fn commit_products(&mut self) {
        let warp = self.warp_index();
        self.block.products.commit(warp);
    }

    /// Waits until at most a number of groups of products of the warp are pending, and all warps of the warpgroup have started the others. The parts of the
    /// other warps have then read shared memory; they write their registers when these warps wait.
    pub(super) fn wait_for_products(&mut self, still_pending: u64) -> Outcome {
        let committed = self.block.products.committed(self.warp_index());
        let complete = committed.saturating_sub(still_pending);
        let control = self.wait_for_warpgroup(complete)?;
        if let Control::Wait(_) = control {
            return Ok(control);
        }
        let (rank, first) = (self.block.rank, self.warp.first);
        let Some(queue) = &mut self.block.cluster_state.queue else {
            return Ok(Control::Next);
        };
        let due =
            queue.take(|pending| pending.is_product_of(rank, first) && pending.group < complete);
        for pending in &due {
            perform_product(self.warp, self.block, self.grid, pending)?;
        }
        read_factors_of_others(self.warp, self.block, self.grid, complete)?;
        Ok(Control::Next)
    }

    /// Performs the pending operations on tensor memory of all CTAs of the cluster.
    pub(super) fn perform_tensor_operations(&mut self) -> Result<(), Failed> {
        self.perform_pending(|pending| {
            pending.completes == Completes::Group(GroupKind::TensorMemory)
        })
    }

    /// Reads the sources of pending operations, which are performed later.
    fn save_sources(&mut self, is_due: impl Fn(&PendingOperation) -> bool) -> Outcome {
        let first = self.first();
        let ClusterState { shared, queue, .. } = &mut self.block.cluster_state;
        let Some(queue) = queue else {
            return Ok(Control::Next);
        };
        for pending in &mut queue.pending {
            let Some(SourceRange {
                start: Location::Shared(rank, offset),
                bytes,
            }) = pending.source
            else {
                continue;
            };
            if pending.saved.is_some() || !is_due(pending) {
                continue;
            }
            let memory = shared.get(rank).map_or(&[][..], Vec::as_slice);
            let start = (offset as usize).min(memory.len());
            let end = start.saturating_add(bytes as usize).min(memory.len());
            let taken = queue
                .held
                .take((end - start) as u64, Purpose::AsynchronousOperations);
            taken.map_err(|reason| (reason, first))?;
            pending.saved = Some(SavedSource {
                rank,
                offset: start,
                bytes: memory[start..end].to_vec(),
            });
        }
        Ok(Control::Next)
    }

    /// Performs the pending stores of the warp to tensor memory.
    pub(super) fn perform_tensor_stores(&mut self) -> Result<(), Failed> {
        let warp = (self.block.rank, self.warp.first);
        self.perform_pending(|pending| {
            pending.completes == Completes::Group(GroupKind::TensorStores)
                && (pending.origin.rank, pending.origin.first) == warp
        })
    }

    /// Performs the pending operations of the cluster that satisfy a condition.
    pub(super) fn perform_pending(
        &mut self,
        is_due: impl Fn(&PendingOperation) -> bool,
    ) -> Result<(), Failed> {
        let first = self.first();
        let performed = perform_pending(self.block, self.grid, is_due);
        performed.map_err(|(reason, _)| (reason, first)).map(|_| ())
    }

    /// Performs the pending operations that complete at an mbarrier object, up to one of them.
    pub(super) fn perform_at_object(&mut self, object: Location, last: u64) -> Result<(), Failed> {
        self.perform_pending(|pending| {
            pending.completes.object() == Some(object) && pending.number <= last
        })
    }
}

/// The kind of groups that an instruction commits or waits for.
const fn group_kind(action: Action) -> GroupKind {
    match action {
        Action::BulkCommit | Action::BulkWait => GroupKind::Bulk,
        _ => GroupKind::Copies,
    }
}
