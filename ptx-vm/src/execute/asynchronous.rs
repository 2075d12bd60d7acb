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
//! complete by that; at the end of the cluster; if no thread of the launch can continue otherwise; and at the latest after [`LONGEST`] steps.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptx_ir::FuncId;
use ptx_isa::{Action, Modifier};

use super::block::{BARRIERS, Barrier, Block, ClusterState};
use super::box_copy::BoxCopy;
use super::bulk::{AsyncReduction, AsyncStore, BulkCopy, BulkReduction};
use super::copy::CopyToShared;
use super::execution::{Control, Execution, Failed, Outcome};
use super::grid::Grid;
use super::groups::CallFrame;
use super::location::Location;
use super::order::mix;
use super::probe::Probe;
use super::tensor::{TensorCopy, TensorProduct, TensorShift, TensorStore};
use super::warp::Warp;
use crate::account::{Account, Held, Purpose};
use crate::asynchrony::Asynchrony;
use crate::lanes::{LANES, lanes};
use crate::program::Act;

/// The number of steps of a launch after which a pending operation is performed, so that threads which wait for its effect without its completion
/// mechanism continue at some time.
pub(super) const LONGEST: u64 = 1 << 20;

/// The most steps of lanes of a warp between two random choices.
const MOST_RANDOM_STEPS: u64 = 16;

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
            Self::BoxCopy(copy) => size_of_val(&**copy),
            Self::TensorStore(store) => store.memory(),
            Self::TensorCopy(copy) => size_of_val(&**copy),
            Self::TensorProduct(product) => size_of_val(&**product),
            _ => 0,
        };
        bytes as u64
    }
}

/// The kind of groups of asynchronous operations of a thread.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum GroupKind {
    /// Groups of `cp.async`.
    Copies,
    /// Bulk groups.
    Bulk,
    /// Products, copies and shifts in tensor memory, which a pair of CTAs performs in the order in which they were started. Arrivals at mbarrier objects follow them.
    TensorMemory,
    /// Stores of a warp to tensor memory.
    TensorStores,
}

/// The mechanism by which threads wait for the completion of an asynchronous operation.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Completes {
    /// A group of the thread that starts it.
    Group(GroupKind),
    /// Bytes of the transactions of an mbarrier object.
    Transactions { object: Location, bytes: u64 },
    /// An arrival at an mbarrier object.
    Arrival(Location),
}

/// Bytes of memory that an operation reads before it writes.
#[derive(Copy, Clone, Debug)]
pub(super) struct SourceRange {
    pub(super) start: Location,
    pub(super) bytes: u64,
}

/// The thread and the instruction that started an operation.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Origin {
    function: FuncId,
    step_index: u32,
    /// `%ctaid`.
    block: [u32; 3],
    /// The rank of the CTA in its cluster.
    rank: usize,
    /// `%clusterid`.
    cluster: [u32; 3],
    /// The index of the first thread of the warp.
    first: u32,
    lane: usize,
}

impl Origin {
    fn thread(&self) -> u32 {
        self.first + self.lane as u32
    }

    fn is_of_same_thread(&self, other: &Self) -> bool {
        (self.rank, self.thread()) == (other.rank, other.thread())
    }
}

/// The contents of shared memory when the source of an operation was read.
#[derive(Debug)]
struct SavedSource {
    rank: usize,
    offset: usize,
    bytes: Vec<u8>,
}

/// An operation that was started and is not performed.
#[derive(Debug)]
pub(super) struct PendingOperation {
    origin: Origin,
    /// The position in the order in which operations were started.
    number: u64,
    /// The number of groups that the thread had committed before.
    group: u64,
    pub(super) completes: Completes,
    source: Option<SourceRange>,
    saved: Option<SavedSource>,
    /// The number of steps of the launch when it was started.
    started: u64,
    operation: AsyncOperation,
}

impl PendingOperation {
    fn memory(&self) -> u64 {
        let saved = self.saved.as_ref().map_or(0, |saved| saved.bytes.len());
        (size_of::<Self>() + saved) as u64 + self.operation.memory()
    }
}

/// The groups of a kind of a thread.
type GroupsOfThread = (usize, u32, GroupKind);

/// The pending operations of a cluster. Waiting for some of them takes linear time in their number.
#[derive(Debug)]
pub(super) struct AsyncQueue {
    /// In the order in which they were started.
    pending: Vec<PendingOperation>,
    started: u64,
    /// The number of groups that threads committed.
    committed: BTreeMap<GroupsOfThread, u64>,
    /// The state of the random choices.
    random: Option<u64>,
    held: Held,
}

impl AsyncQueue {
    /// The queue of a cluster; `None` if operations are performed at once.
    pub(super) fn new(
        asynchrony: Asynchrony,
        cluster: u64,
        account: &Arc<Account>,
    ) -> Option<Box<Self>> {
        let random = match asynchrony {
            Asynchrony::Immediate => return None,
            Asynchrony::Late => None,
            Asynchrony::Random(seed) => Some(mix(seed ^ mix(cluster))),
        };
        Some(Box::new(Self {
            pending: Vec::new(),
            started: 0,
            committed: BTreeMap::new(),
            random,
            held: Held::new(Arc::clone(account)),
        }))
    }

    /// Removes the operations that satisfy a condition.
    fn take(&mut self, is_due: impl Fn(&PendingOperation) -> bool) -> Vec<PendingOperation> {
        if !self.pending.iter().any(&is_due) {
            return Vec::new();
        }
        let (due, pending): (Vec<_>, Vec<_>) = core::mem::take(&mut self.pending)
            .into_iter()
            .partition(|pending| is_due(pending));
        self.pending = pending;
        for operation in &due {
            self.held.release(operation.memory());
        }
        due
    }

    /// The operations that complete at an mbarrier object, in the order in which they were started.
    pub(super) fn completing_at(
        &self,
        object: Location,
    ) -> impl Iterator<Item = (u64, Completes)> + '_ {
        self.pending
            .iter()
            .filter(move |pending| pending.completes.object() == Some(object))
            .map(|pending| (pending.number, pending.completes))
    }

    /// Makes a random choice: the most steps until the next one, and whether an operation is performed now, by its position.
    fn choose(&mut self) -> Option<(u64, Option<usize>)> {
        let state = self.random.as_mut()?;
        *state = mix(*state);
        let steps = 1 + (*state >> 8) % MOST_RANDOM_STEPS;
        let count = self.pending.len();
        let is_performed = *state % 4 == 0 && count > 0;
        let position = is_performed.then(|| (*state >> 16) as usize % count);
        Some((steps, position))
    }
}

impl Completes {
    /// The mbarrier object at which an operation completes.
    pub(super) const fn object(self) -> Option<Location> {
        match self {
            Self::Group(_) => None,
            Self::Transactions { object, .. } | Self::Arrival(object) => Some(object),
        }
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
        let Some(queue) = &mut self.block.cluster_state.queue else {
            return Ok(());
        };
        let committed = match completes {
            Completes::Group(kind) => queue.committed.get(&(origin.rank, origin.thread(), kind)),
            _ => None,
        };
        let pending = PendingOperation {
            origin,
            number: queue.started,
            group: committed.copied().unwrap_or(0),
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

/// Performs the pending operations of a cluster that satisfy a condition, and returns whether there were any.
fn perform_pending(
    block: &mut Block,
    grid: &Grid<'_>,
    is_due: impl Fn(&PendingOperation) -> bool,
) -> Result<bool, Failed> {
    let Some(queue) = &mut block.cluster_state.queue else {
        return Ok(false);
    };
    let due = queue.take(is_due);
    let any = !due.is_empty();
    for pending in due {
        perform_with_earlier(block, grid, &pending)?;
    }
    Ok(any)
}

/// Performs an operation that was pending, after those that come before it: an arrival follows the earlier copies of its thread, and operations on tensor memory
/// follow those that were started before.
fn perform_with_earlier(
    block: &mut Block,
    grid: &Grid<'_>,
    pending: &PendingOperation,
) -> Result<(), Failed> {
    let awaited_kind = match pending.operation {
        AsyncOperation::Arrival(_) => Some(GroupKind::Copies),
        AsyncOperation::TensorArrival(_)
        | AsyncOperation::TensorProduct(_)
        | AsyncOperation::TensorCopy(_)
        | AsyncOperation::TensorShift(_) => Some(GroupKind::TensorMemory),
        _ => None,
    };
    if let (Some(kind), Some(queue)) = (awaited_kind, &mut block.cluster_state.queue) {
        let earlier = queue.take(|other| {
            let (origin, other_origin) = (&pending.origin, &other.origin);
            let is_ordered = match kind {
                GroupKind::TensorMemory => origin.rank / 2 == other_origin.rank / 2,
                _ => origin.is_of_same_thread(other_origin),
            };
            other.completes == Completes::Group(kind) && is_ordered && other.number < pending.number
        });
        for other in &earlier {
            perform_one(block, grid, other)?;
        }
    }
    perform_one(block, grid, pending)
}

/// Performs an operation in a warp of its own, which has the identity of the one that started it.
fn perform_one(
    block: &mut Block,
    grid: &Grid<'_>,
    pending: &PendingOperation,
) -> Result<(), Failed> {
    let origin = &pending.origin;
    let Some(function) = grid.program.function(origin.function) else {
        return Ok(());
    };
    let mut warp = Warp::new(origin.first, grid.account());
    if pending.operation.needs_registers() {
        warp.groups.calls.push(Some(CallFrame {
            function: origin.function,
            registers: function.code.initial.clone(),
            base: 0,
            top: 0,
            live: 1 << origin.lane,
            caller: None,
            call_step: 0,
            depth: 0,
        }));
    }
    let mut unit = Block {
        index: origin.block,
        rank: origin.rank,
        cluster: origin.cluster,
        barriers: [Barrier::default(); BARRIERS],
        turns: 0,
        cluster_state: core::mem::take(&mut block.cluster_state),
    };
    let mut memory_now = pending.saved.as_ref().map(|saved| saved.bytes.clone());
    swap_source(&mut unit, pending.saved.as_ref(), &mut memory_now);
    let performed = Execution {
        warp: &mut warp,
        block: &mut unit,
        grid,
        function,
        function_id: origin.function,
        group: 0,
        call: 0,
        step_index: origin.step_index,
        mask: 1 << origin.lane,
        active: 1 << origin.lane,
        by_byte: false,
        pass: Pass::Perform,
    }
    .perform(&pending.operation, origin.lane);
    swap_source(&mut unit, pending.saved.as_ref(), &mut memory_now);
    block.cluster_state = unit.cluster_state;
    note_change(block);
    performed
}

/// Exchanges the bytes of the source of an operation in shared memory and those of a buffer.
fn swap_source(block: &mut Block, saved: Option<&SavedSource>, buffer: &mut Option<Vec<u8>>) {
    let (Some(saved), Some(buffer)) = (saved, buffer) else {
        return;
    };
    let memory = block.shared_mut(saved.rank);
    let end = saved.offset + buffer.len();
    if let Some(bytes) = memory.and_then(|memory| memory.get_mut(saved.offset..end)) {
        bytes.swap_with_slice(buffer);
    }
}

/// Tells an observer that looks whether threads only wait that something changed.
fn note_change(block: &Block) {
    block.observe(|observer, _| {
        if let Some(probe) = Probe::of_observer(observer) {
            probe.changed = true;
        }
    });
}

/// Performs a pending operation of the cluster at random, and returns the most steps until this is called again; `None` if it has no effect.
pub(super) fn perform_at_random(block: &mut Block, grid: &Grid<'_>) -> Result<Option<u64>, Failed> {
    let Some(queue) = &mut block.cluster_state.queue else {
        return Ok(None);
    };
    let Some((steps, position)) = queue.choose() else {
        return Ok(None);
    };
    if let Some(position) = position {
        let pending = queue.pending.remove(position);
        queue.held.release(pending.memory());
        perform_with_earlier(block, grid, &pending)?;
    }
    Ok(Some(steps))
}

/// Performs all pending operations of a cluster, and returns whether there were any. One of its CTAs owns the state of the cluster.
pub(super) fn perform_all(block: &mut Block, grid: &Grid<'_>) -> Result<bool, Failed> {
    perform_pending(block, grid, |_| true)
}

/// Performs the operations of a cluster that have been pending for long.
pub(super) fn perform_old(block: &mut Block, grid: &Grid<'_>) -> Result<bool, Failed> {
    let steps = grid.progress.steps();
    perform_pending(block, grid, |pending| steps - pending.started > LONGEST)
}
