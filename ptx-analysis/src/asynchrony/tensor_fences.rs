//! Operations on tensor memory that threads order by barriers without the fences that these need (9.7.16.6.4).

use alloc::vec::Vec;

use ptx_ir::InstId;
use ptx_isa::Action;

use super::events::{Event, Events, Kind, Operation};
use super::flags::Flags;
use super::mechanism::Mechanism;
use super::place::{Place, distinct};
use super::protocol::{Protocol, follow};
use super::{Certainty, Rule, Violation};
use crate::cfg::BlockId;
use crate::function_analysis::FunctionAnalysis;

/// Objects, and blocks with operations, beyond these are not followed.
const MOST: usize = 64;

/// Barriers beyond these are not followed.
const MOST_BARRIERS: usize = 256;

/// Adds the operations that need a fence, and the synchronizations that need one before them.
pub(super) fn check(events: &Events, analysis: &FunctionAnalysis<'_>, found: &mut Vec<Violation>) {
    if events.operations.iter().any(is_tensor) {
        let reports = events.all().filter_map(|e| match &e.kind {
            Kind::Report(Mechanism::Tensor, place) => *place,
            _ => None,
        });
        let fences = Fences {
            events,
            reports: distinct(reports, MOST).unwrap_or_default(),
            signals: signals(events, analysis),
            awaited: awaited(events, analysis),
            barriers: barriers(events),
        };
        follow(&fences, events, analysis.cfg(), found);
    }
}

/// The objects at which threads arrive after they accessed tensor memory.
fn signals(events: &Events, analysis: &FunctionAnalysis<'_>) -> Vec<Place> {
    let dominators = analysis.dominators();
    let blocks = blocks(events, is_access);
    let follows_access = |event: &Event| {
        blocks
            .iter()
            .any(|(block, first)| match *block == event.block {
                true => *first < events.order(event.inst),
                false => dominators.dominates(*block, event.block),
            })
    };
    let signals = events.all().filter_map(|e| match &e.kind {
        Kind::Signal(place) if follows_access(e) => Some(*place),
        _ => None,
    });
    distinct(signals, MOST).unwrap_or_default()
}

/// The objects that threads wait for before they start operations on tensor memory.
fn awaited(events: &Events, analysis: &FunctionAnalysis<'_>) -> Vec<Place> {
    let dominators = analysis.dominators();
    let blocks = blocks(events, is_tensor);
    let precedes = |event: &Event| {
        let mut blocks = blocks.iter();
        blocks.any(|(block, _)| dominators.strictly_dominates(event.block, *block))
    };
    let awaited = events.all().filter_map(|e| match &e.kind {
        Kind::Phase(place, _) if precedes(e) => Some(*place),
        _ => None,
    });
    distinct(awaited, MOST).unwrap_or_default()
}

/// The first blocks with some operations, and the position of the first one in each.
fn blocks(events: &Events, is: impl Fn(&Operation) -> bool) -> Vec<(BlockId, u32)> {
    let mut blocks: Vec<(BlockId, u32)> = Vec::new();
    for operation in events.operations.iter().filter(|o| is(o)) {
        // Operations are in the order of blocks.
        if blocks
            .last()
            .is_none_or(|(last, _)| *last != operation.block)
            && blocks.len() < MOST
        {
            blocks.push((operation.block, events.order(operation.inst)));
        }
    }
    blocks
}

/// The instructions that are barriers, by their numbers.
fn barriers(events: &Events) -> Vec<InstId> {
    let barriers = events.all().filter_map(|event| match event.kind {
        Kind::Barrier(number) => Some((number, event.inst)),
        _ => None,
    });
    let mut barriers: Vec<(u32, InstId)> = barriers.collect();
    barriers.sort_unstable();
    barriers
        .into_iter()
        .map(|(_, inst)| inst)
        .take(MOST_BARRIERS)
        .collect()
}

/// Whether an operation is a load or a store that all warps execute.
fn is_access(operation: &Operation) -> bool {
    is_tensor(operation) && operation.mechanism != Mechanism::Tensor
}

fn is_tensor(operation: &Operation) -> bool {
    matches!(
        operation.mechanism,
        Mechanism::Tensor | Mechanism::TensorLoads | Mechanism::TensorStores
    )
}

struct Fences<'a> {
    events: &'a Events,
    /// The mbarrier objects to which operations are committed.
    reports: Vec<Place>,
    signals: Vec<Place>,
    awaited: Vec<Place>,
    barriers: Vec<InstId>,
}

/// An operation began, and no fence before a synchronization followed.
const UNORDERED: u32 = 0;
/// A load or a store began, and no fence before a synchronization followed.
const ACCESS_UNORDERED: u32 = 1;
/// An operation began on the path.
const BEGUN: u32 = 2;
/// A load or a store began on the path.
const ACCESSED: u32 = 3;
/// A synchronization followed an operation, and no fence after it.
const SYNCHRONIZED: u32 = 4;
/// A synchronization followed a load or a store, and no fence after it.
const ACCESS_SYNCHRONIZED: u32 = 5;
/// A product was waited for, and no fence followed.
const COMPLETED: u32 = 6;
/// The barriers that followed an operation without a fence before, by their numbers.
const LOST: u32 = 7;

impl Protocol for Fences<'_> {
    type State = Flags;
    const EDGES: bool = true;

    fn start(&self) -> Flags {
        Flags::none(LOST as usize + self.barriers.len())
    }

    fn apply(&self, event: &Event, state: &mut Flags) {
        match &event.kind {
            Kind::Start(number) => {
                if let Some(operation) = self.events.operation(*number).filter(|o| is_tensor(o)) {
                    self.start_operation(operation, state);
                }
            }
            Kind::Report(Mechanism::Tensor, _) => state.unset(UNORDERED),
            Kind::TensorFenceBefore => {
                state.unset(UNORDERED);
                state.unset(ACCESS_UNORDERED);
            }
            // Loads and stores are executed, and waited for, by a warp as a whole.
            Kind::Barrier(number) if self.events.barrier(*number) != Some(Action::WarpBarrier) => {
                transfer(state, UNORDERED, LOST + number);
                transfer(state, BEGUN, SYNCHRONIZED);
                transfer(state, ACCESSED, ACCESS_SYNCHRONIZED);
            }
            Kind::Phase(object, _) => {
                let mut reports = self.reports.iter();
                if reports.any(|place| place.may_be_same_address(*object)) {
                    state.set(COMPLETED);
                    self.forget_lost(state);
                } else if self.signals.iter().any(|p| p.is_same_address(*object)) {
                    state.set(ACCESS_SYNCHRONIZED);
                }
            }
            Kind::TensorFenceAfter => {
                [SYNCHRONIZED, ACCESS_SYNCHRONIZED, COMPLETED]
                    .into_iter()
                    .for_each(|flag| state.unset(flag));
            }
            Kind::Call => *state = self.start(),
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &Flags, found: &mut Vec<Violation>) {
        let violation = |inst: InstId, rule: Rule| Violation {
            inst,
            rule,
            certainty: Certainty::Possible,
            cause: None,
        };
        match &event.kind {
            Kind::Signal(place)
                if state.on_all_paths(ACCESS_UNORDERED)
                    && self.awaited.iter().any(|p| p.is_same_address(*place)) =>
            {
                found.push(violation(event.inst, Rule::TensorFenceBefore));
            }
            Kind::Start(number) => {
                let Some(operation) = self.events.operation(*number).filter(|o| is_tensor(o))
                else {
                    return;
                };
                let lost = state.iter().filter_map(|item| item.checked_sub(LOST));
                let barriers = lost.filter_map(|number| self.barrier(number));
                found.extend(barriers.map(|inst| violation(inst, Rule::TensorFenceBefore)));
                let flags: &[u32] = match is_access(operation) {
                    true => &[SYNCHRONIZED, COMPLETED],
                    // Products of one thread are executed in order.
                    false => &[ACCESS_SYNCHRONIZED],
                };
                if flags.iter().any(|flag| state.on_some_path(*flag)) {
                    found.push(violation(event.inst, Rule::TensorFence));
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
        if is_access(operation) {
            state.set(ACCESS_UNORDERED);
            state.set(ACCESSED);
        }
        // One violation for each missing fence.
        [SYNCHRONIZED, ACCESS_SYNCHRONIZED, COMPLETED]
            .into_iter()
            .for_each(|flag| state.unset(flag));
        self.forget_lost(state);
    }

    fn forget_lost(&self, state: &mut Flags) {
        (0..self.barriers.len() as u32).for_each(|number| state.unset(LOST + number));
    }

    /// The instruction that is a barrier.
    fn barrier(&self, number: u32) -> Option<InstId> {
        self.barriers.get(number as usize).copied()
    }
}

/// Where one property holds, another one holds from now on.
fn transfer(state: &mut Flags, from: u32, to: u32) {
    match (state.on_all_paths(from), state.on_some_path(from)) {
        (true, _) => state.set(to),
        (_, true) => state.set_possible(to),
        _ => {}
    }
}
