//! Performs asynchronous operations that were pending.

use super::super::block::{BARRIERS, Barrier, Block};
use super::super::execution::{Execution, Failed};
use super::super::grid::Grid;
use super::super::groups::CallFrame;
use super::super::probe::Probe;
use super::super::warp::Warp;
use super::super::warpgroup_order::{ProductOrder, warps_of_warpgroup};
use super::queue::{Completes, GroupKind, Origin, PendingOperation, SavedSource};
use super::{AsyncOperation, Pass};
use crate::account::Purpose;
use crate::lanes::LANES;

/// The number of steps of a launch after which a pending operation is performed, so that threads which wait for its effect without its completion
/// mechanism continue at some time.
const LONGEST: u64 = 1 << 20;

/// Performs the pending operations of a cluster that satisfy a condition, and returns whether there were any.
pub(super) fn perform_pending(
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

/// Performs an operation in a separate warp, which has the identity of the one that started it.
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
        products: ProductOrder::default(),
        turns: 0,
        cluster_state: core::mem::take(&mut block.cluster_state),
        releases_dependents: true,
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

/// Performs a product of a warp, which changes its registers, unless the call has ended to which these belong.
pub(super) fn perform_product(
    warp: &mut Warp,
    block: &mut Block,
    grid: &Grid<'_>,
    pending: &PendingOperation,
) -> Result<(), Failed> {
    let origin = &pending.origin;
    let AsyncOperation::WarpgroupProduct(product) = &pending.operation else {
        return Ok(());
    };
    let is_same_call = |frame: &mut CallFrame| frame.function == origin.function && frame.live != 0;
    if !warp.call(product.call).is_some_and(is_same_call) {
        return Ok(());
    }
    with_product(warp, block, grid, (origin, product.call), |execution| {
        execution.perform_warpgroup_product(product)
    })?;
    note_change(block);
    Ok(())
}

/// Reads the factors in shared memory of the products of the other warps of a warpgroup that are in the first groups.
pub(super) fn read_factors_of_others(
    warp: &mut Warp,
    block: &mut Block,
    grid: &Grid<'_>,
    groups: u64,
) -> Result<(), Failed> {
    let (rank, others) = (block.rank, warps_of_warpgroup(warp.first as usize / LANES));
    let Some(queue) = &mut block.cluster_state.queue else {
        return Ok(());
    };
    let mut all = core::mem::take(&mut queue.pending);
    let mut result = Ok(());
    for pending in &mut all {
        let origin = pending.origin;
        let is_due = pending.group < groups
            && origin.rank == rank
            && others.contains(&(origin.first as usize / LANES));
        let AsyncOperation::WarpgroupProduct(product) = &mut pending.operation else {
            continue;
        };
        if !is_due || product.is_read() {
            continue;
        }
        let bytes_before = product.memory();
        let call = product.call;
        result = with_product(warp, block, grid, (&origin, call), |execution| {
            execution.read_factors(product)
        });
        if result.is_err() {
            break;
        }
        let growth = product.memory() - bytes_before;
        if let Some(queue) = &mut block.cluster_state.queue {
            let taken = queue.held.take(growth, Purpose::AsynchronousOperations);
            result = taken.map_err(|reason| (reason, 0));
        }
    }
    if let Some(queue) = &mut block.cluster_state.queue {
        queue.pending = all;
    }
    result
}

/// Calls a function with a warp that performs a product which was started in a call.
fn with_product(
    warp: &mut Warp,
    block: &mut Block,
    grid: &Grid<'_>,
    (origin, call): (&Origin, usize),
    perform: impl FnOnce(&mut Execution<'_>) -> Result<(), Failed>,
) -> Result<(), Failed> {
    let Some(function) = grid.program.function(origin.function) else {
        return Ok(());
    };
    perform(&mut Execution {
        warp,
        block,
        grid,
        function,
        function_id: origin.function,
        group: 0,
        call,
        step_index: origin.step_index,
        mask: u32::MAX,
        active: u32::MAX,
        by_byte: false,
        pass: Pass::Perform,
    })
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
pub(super) fn note_change(block: &Block) {
    block.observe(|observer, _| {
        if let Some(probe) = Probe::of_observer(observer) {
            probe.changed = true;
        }
    });
}

/// Performs a pending operation of the cluster at random before a warp runs, and returns the most steps until this is called again; `None` if it has no
/// effect.
pub(in crate::execute) fn perform_at_random(
    warp: &mut Warp,
    block: &mut Block,
    grid: &Grid<'_>,
) -> Result<Option<u64>, Failed> {
    let Some(queue) = &mut block.cluster_state.queue else {
        return Ok(None);
    };
    let Some((steps, position)) = queue.choose() else {
        return Ok(None);
    };
    if let Some(position) = position {
        let is_other_product = |pending: &PendingOperation| {
            pending.is_product() && !pending.is_product_of(block.rank, warp.first)
        };
        if queue.pending.get(position).is_none_or(is_other_product) {
            return Ok(Some(steps));
        }
        // Products of a warp are performed in their order.
        let position = queue.first_of_sequence(position);
        let pending = queue.pending.remove(position);
        queue.held.release(pending.memory());
        if pending.is_product() {
            perform_product(warp, block, grid, &pending)?;
        } else {
            perform_with_earlier(block, grid, &pending)?;
        }
    }
    Ok(Some(steps))
}

/// Performs all pending operations of a cluster that other threads may see, and returns whether there were any. One of its CTAs owns the state of the
/// cluster.
pub(in crate::execute) fn perform_all(block: &mut Block, grid: &Grid<'_>) -> Result<bool, Failed> {
    perform_pending(block, grid, |pending| !pending.is_product())
}

/// Performs the operations of a cluster that have been pending for long.
pub(in crate::execute) fn perform_old(block: &mut Block, grid: &Grid<'_>) -> Result<bool, Failed> {
    let steps = grid.progress.steps();
    perform_pending(block, grid, |pending| {
        !pending.is_product() && steps.saturating_sub(pending.started) > LONGEST
    })
}
