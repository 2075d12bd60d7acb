//! Operations on tensor memory that threads order by synchronizations without the fences that these need (9.7.16.6.4).
//!
//! ```text
//! operation ──▶ fence::before_thread_sync ──▶ barrier or mbarrier object ──▶ fence::after_thread_sync ──▶ operation
//! ```
//!
//! The mechanisms of the memory consistency model also order operations on tensor memory (9.7.16.6.3): compilers wait for an operation, and then use
//! barriers and mbarrier objects with release and acquire semantics, without these fences. A missing fence is therefore reported only in a function that
//! orders other operations by `fence::after_thread_sync`. An operation that is not complete at the synchronization breaks other rules.

use alloc::vec::Vec;
use core::cell::Cell;

use ptx_ir::InstId;
use ptx_isa::Action;

use super::events::{Event, Events, Kind, Operation};
use super::flags::Flags;
use super::mechanism::Mechanism;
use super::place::{Place, distinct};
use super::protocol::{Protocol, follow};
use super::{Certainty, Rule, Violation};
use crate::cfg::BlockId;
use crate::function_dataflow::FunctionDataflow;

/// The maximum number of objects, and of blocks with operations, that are followed.
const MOST: usize = 64;

/// The maximum number of barriers that are followed.
const MOST_BARRIERS: usize = 256;

/// Adds the operations that need a fence, and the synchronizations that need one before them.
pub(super) fn check(
    events: &Events,
    analysis: &FunctionDataflow<'_>,
    violations: &mut Vec<Violation>,
) {
    if !events.operations.iter().any(is_tensor_operation) {
        return;
    }
    let commit_objects = events.all().filter_map(|event| match &event.kind {
        Kind::Report(Mechanism::Tensor, place) => *place,
        _ => None,
    });
    let fences = Fences {
        events,
        commit_objects: distinct(commit_objects, MOST).unwrap_or_default(),
        signaled_objects: signaled_objects(events, analysis),
        awaited_objects: awaited_objects(events, analysis),
        barriers: barriers(events),
        orders_operations: Cell::new(false),
    };
    let mut missing = Vec::new();
    follow(&fences, events, analysis.cfg(), &mut missing);
    if fences.orders_operations.get() {
        violations.append(&mut missing);
    }
}

/// The objects at which threads arrive after they loaded or stored tensor memory.
fn signaled_objects(events: &Events, analysis: &FunctionDataflow<'_>) -> Vec<Place> {
    let dominators = analysis.dominators();
    let blocks = blocks_with(events, is_load_or_store);
    let signaled = events.all().filter_map(|event| {
        let Kind::Signal(place) = &event.kind else {
            return None;
        };
        let follows_access = blocks.iter().any(|access| {
            if access.block == event.block {
                access.first_position < events.order(event.inst)
            } else {
                dominators.dominates(access.block, event.block)
            }
        });
        follows_access.then_some(*place)
    });
    distinct(signaled, MOST).unwrap_or_default()
}

/// The objects that threads wait for before they start operations on tensor memory.
fn awaited_objects(events: &Events, analysis: &FunctionDataflow<'_>) -> Vec<Place> {
    let dominators = analysis.dominators();
    let blocks = blocks_with(events, is_tensor_operation);
    let awaited = events.all().filter_map(|event| {
        let Kind::Phase(place, _) = &event.kind else {
            return None;
        };
        blocks
            .iter()
            .any(|operation| dominators.strictly_dominates(event.block, operation.block))
            .then_some(*place)
    });
    distinct(awaited, MOST).unwrap_or_default()
}

/// A block that contains operations.
struct OperationBlock {
    block: BlockId,
    /// The position of the first operation in the text.
    first_position: u32,
}

/// The first blocks that contain selected operations.
fn blocks_with(events: &Events, is_selected: impl Fn(&Operation) -> bool) -> Vec<OperationBlock> {
    let mut blocks: Vec<OperationBlock> = Vec::new();
    for operation in events.operations.iter().filter(|o| is_selected(o)) {
        // Operations are in the order of blocks.
        if blocks
            .last()
            .is_none_or(|last| last.block != operation.block)
            && blocks.len() < MOST
        {
            blocks.push(OperationBlock {
                block: operation.block,
                first_position: events.order(operation.inst),
            });
        }
    }
    blocks
}

/// The instructions of the first barriers, by the numbers of the barriers.
fn barriers(events: &Events) -> Vec<InstId> {
    let mut barriers: Vec<(u32, InstId)> = events
        .all()
        .filter_map(|event| match event.kind {
            Kind::Barrier(number) => Some((number, event.inst)),
            _ => None,
        })
        .collect();
    barriers.sort_unstable();
    barriers
        .into_iter()
        .map(|(_, inst)| inst)
        .take(MOST_BARRIERS)
        .collect()
}

/// Whether an operation is a load or a store that all warps execute.
fn is_load_or_store(operation: &Operation) -> bool {
    is_tensor_operation(operation) && operation.mechanism != Mechanism::Tensor
}

fn is_tensor_operation(operation: &Operation) -> bool {
    matches!(
        operation.mechanism,
        Mechanism::Tensor | Mechanism::TensorLoads | Mechanism::TensorStores
    )
}

/// The protocol that fences surround a synchronization between operations on tensor memory.
struct Fences<'a> {
    events: &'a Events,
    /// The mbarrier objects to which operations are committed.
    commit_objects: Vec<Place>,
    /// The objects at which threads arrive after they loaded or stored tensor memory.
    signaled_objects: Vec<Place>,
    /// The objects that threads wait for before they start operations.
    awaited_objects: Vec<Place>,
    /// The instruction of each barrier.
    barriers: Vec<InstId>,
    /// A fence after a synchronization orders operations.
    orders_operations: Cell<bool>,
}

/// The flag that an operation began, and no fence before a synchronization followed.
const UNORDERED: u32 = 0;
/// The flag that a load or a store began, and no fence before a synchronization followed.
const ACCESS_UNORDERED: u32 = 1;
/// The flag that an operation began on the path.
const BEGUN: u32 = 2;
/// The flag that a load or a store began on the path.
const ACCESSED: u32 = 3;
/// The flag that a synchronization followed an operation, and no fence after the synchronization.
const SYNCHRONIZED: u32 = 4;
/// The flag that a synchronization followed a load or a store, and no fence after the synchronization.
const ACCESS_SYNCHRONIZED: u32 = 5;
/// The flag that the thread waited for a product, and no fence followed.
const COMPLETED: u32 = 6;
/// The first of the flags of barriers: the barrier with this number followed an operation without a fence between them.
const FIRST_UNFENCED_BARRIER: u32 = 7;

impl Protocol for Fences<'_> {
    type State = Flags;
    const EDGES: bool = true;

    fn start(&self) -> Flags {
        Flags::none(FIRST_UNFENCED_BARRIER as usize + self.barriers.len())
    }

    fn apply(&self, event: &Event, state: &mut Flags) {
        match &event.kind {
            Kind::Start(number) => {
                if let Some(operation) = self
                    .events
                    .operation(*number)
                    .filter(|o| is_tensor_operation(o))
                {
                    self.start_operation(operation, state);
                }
            }
            Kind::Report(Mechanism::Tensor, _) => state.unset(UNORDERED),
            Kind::TensorFenceBefore => {
                state.unset(UNORDERED);
                state.unset(ACCESS_UNORDERED);
            }
            // A warp executes loads and stores, and waits for them, as a whole.
            Kind::Barrier(number) if self.events.barrier(*number) != Some(Action::WarpBarrier) => {
                transfer(state, UNORDERED, FIRST_UNFENCED_BARRIER + number);
                transfer(state, BEGUN, SYNCHRONIZED);
                transfer(state, ACCESSED, ACCESS_SYNCHRONIZED);
            }
            Kind::Phase(object, _) => {
                if self
                    .commit_objects
                    .iter()
                    .any(|place| place.may_be_same_address(*object))
                {
                    state.set(COMPLETED);
                    self.forget_unfenced_barriers(state);
                } else if self
                    .signaled_objects
                    .iter()
                    .any(|place| place.is_same_address(*object))
                {
                    state.set(ACCESS_SYNCHRONIZED);
                }
            }
            Kind::TensorFenceAfter => {
                for flag in [SYNCHRONIZED, ACCESS_SYNCHRONIZED, COMPLETED] {
                    state.unset(flag);
                }
            }
            Kind::Call => *state = self.start(),
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &Flags, violations: &mut Vec<Violation>) {
        let violation = |inst: InstId, rule: Rule| Violation {
            inst,
            rule,
            certainty: Certainty::Possible,
            cause: None,
        };
        match &event.kind {
            Kind::TensorFenceAfter => {
                let synchronized = [SYNCHRONIZED, ACCESS_SYNCHRONIZED, COMPLETED];
                if synchronized.iter().any(|flag| state.on_some_path(*flag)) {
                    self.orders_operations.set(true);
                }
            }
            Kind::Signal(place)
                if state.on_all_paths(ACCESS_UNORDERED)
                    && self
                        .awaited_objects
                        .iter()
                        .any(|object| object.is_same_address(*place)) =>
            {
                violations.push(violation(event.inst, Rule::TensorFenceBefore));
            }
            Kind::Start(number) => {
                let Some(operation) = self
                    .events
                    .operation(*number)
                    .filter(|operation| is_tensor_operation(operation))
                else {
                    return;
                };
                for flag in state.iter() {
                    if let Some(number) = flag.checked_sub(FIRST_UNFENCED_BARRIER)
                        && let Some(&barrier) = self.barriers.get(number as usize)
                    {
                        violations.push(violation(barrier, Rule::TensorFenceBefore));
                    }
                }
                let unfenced: &[u32] = if is_load_or_store(operation) {
                    &[SYNCHRONIZED, COMPLETED]
                } else {
                    // Products of one thread are executed in order.
                    &[ACCESS_SYNCHRONIZED]
                };
                if unfenced.iter().any(|flag| state.on_some_path(*flag)) {
                    violations.push(violation(event.inst, Rule::TensorFence));
                }
            }
            _ => {}
        }
    }
}

impl Fences<'_> {
    fn start_operation(&self, operation: &Operation, state: &mut Flags) {
        state.set(UNORDERED);
        state.set(BEGUN);
        if is_load_or_store(operation) {
            state.set(ACCESS_UNORDERED);
            state.set(ACCESSED);
        }
        // One violation for each missing fence.
        for flag in [SYNCHRONIZED, ACCESS_SYNCHRONIZED, COMPLETED] {
            state.unset(flag);
        }
        self.forget_unfenced_barriers(state);
    }

    fn forget_unfenced_barriers(&self, state: &mut Flags) {
        for number in 0..self.barriers.len() as u32 {
            state.unset(FIRST_UNFENCED_BARRIER + number);
        }
    }
}

/// Sets the flag `to` on the paths on which `from` is set.
fn transfer(state: &mut Flags, from: u32, to: u32) {
    if state.on_all_paths(from) {
        state.set(to);
    } else if state.on_some_path(from) {
        state.set_possible(to);
    }
}
