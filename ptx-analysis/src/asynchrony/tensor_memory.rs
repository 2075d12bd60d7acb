//! Allocations of tensor memory: what is not freed, freed twice or otherwise than it was allocated, and used afterwards (9.7.16.7).

use alloc::vec::Vec;

use super::events::{Event, Events, Kind, Operation};
use super::flags::Flags;
use super::mechanism::Mechanism;
use super::order::always_follows;
use super::protocol::{Protocol, follow};
use super::reach::avoids;
use super::{Certainty, Rule, Violation};
use crate::dataflow::JoinSemiLattice;
use crate::function_analysis::FunctionAnalysis;

/// Adds allocations that break the protocol.
pub(super) fn check(events: &Events, analysis: &FunctionAnalysis<'_>, found: &mut Vec<Violation>) {
    let count = |is: fn(&Kind) -> bool| events.all().filter(|e| is(&e.kind)).count();
    let allocates = count(|k| matches!(k, Kind::Allocate(..)));
    let frees = count(|k| matches!(k, Kind::Free(..)));
    let relinquishes = count(|k| matches!(k, Kind::Relinquish));
    if !events.is_kernel || allocates + frees + relinquishes == 0 {
        return;
    }
    if count(|k| matches!(k, Kind::Call)) == 0 {
        leaks(events, analysis, found);
    }
    let columns = columns(events);
    let some = |is: fn(&Kind) -> bool| -> Vec<&Event> {
        events.all().filter(|e| is(&e.kind)).take(MOST).collect()
    };
    let allocations = Allocations {
        events,
        analysis,
        is_alone: allocates == 1,
        columns: columns.filter(|_| allocates == 1),
        allocations: some(|k| matches!(k, Kind::Allocate(..))),
        frees: some(|k| matches!(k, Kind::Free(..))),
    };
    follow(&allocations, events, analysis.cfg(), found);
}

/// Adds allocations that are not freed: never, or not where a parameter of the kernel decides so.
fn leaks(events: &Events, analysis: &FunctionAnalysis<'_>, found: &mut Vec<Violation>) {
    let frees = || events.all().filter(|e| matches!(e.kind, Kind::Free(..)));
    let slots: Vec<Option<u32>> = frees()
        .map(|e| match e.kind {
            Kind::Free(_, slot) => slot,
            _ => None,
        })
        .collect();
    for event in events.all() {
        let Kind::Allocate(place, _) = event.kind else {
            continue;
        };
        let slot = place.and_then(|p| p.root);
        let is_other =
            slot.is_some() && slots.iter().all(|other| other.is_some() && *other != slot);
        let certainty = match (slots.is_empty(), is_other) {
            (true, _) => Certainty::Definite,
            (_, true) => Certainty::Possible,
            _ if is_skipped(events, analysis, event) => Certainty::Possible,
            _ => continue,
        };
        found.push(violation(event, Rule::TensorMemoryNotFreed, certainty));
    }
}

/// Whether a parameter of the kernel decides that what was allocated is not freed.
fn is_skipped(events: &Events, analysis: &FunctionAnalysis<'_>, allocation: &Event) -> bool {
    let frees = || events.all().filter(|e| matches!(e.kind, Kind::Free(..)));
    let outermost = events.decided_by_thread(allocation.block).last();
    let at = outermost.copied().unwrap_or(allocation.block);
    let mut branches = frees().flat_map(|e| events.decided_by_launch(e.block));
    events.decided_by_launch(allocation.block).is_empty()
        && branches.any(|&branch| {
            let is_before = analysis.dominators().dominates(at, branch);
            is_before && avoids(events, analysis, branch, None, frees())
        })
}

/// The number of columns of the only allocation.
fn columns(events: &Events) -> Option<u64> {
    events.all().find_map(|e| match e.kind {
        Kind::Allocate(_, columns) => columns,
        _ => None,
    })
}

fn violation(event: &Event, rule: Rule, certainty: Certainty) -> Violation {
    Violation {
        inst: event.inst,
        rule,
        certainty,
        cause: None,
    }
}

/// Allocations, and instructions that free memory, beyond these are not looked at.
const MOST: usize = 64;

struct Allocations<'a> {
    events: &'a Events,
    allocations: Vec<&'a Event>,
    frees: Vec<&'a Event>,
    analysis: &'a FunctionAnalysis<'a>,
    /// Whether there is one allocation only.
    is_alone: bool,
    columns: Option<u64>,
}

/// The thread allocated tensor memory.
const ALLOCATED: u32 = 0;
/// The permit to allocate was given up.
const RELINQUISHED: u32 = 1;
/// Tensor memory was freed, and not allocated since.
const FREED: u32 = 2;
/// All threads accessed tensor memory after they met for the last time.
const ACCESSED: u32 = 3;

#[derive(Clone, Debug)]
struct State {
    flags: Flags,
    /// The variables that hold addresses which others do not know of.
    stored: Flags,
}

impl JoinSemiLattice for State {
    fn join(&mut self, other: &Self) -> bool {
        self.flags.join(&other.flags) | self.stored.join(&other.stored)
    }
}

impl Allocations<'_> {
    fn free(&self, event: &Event, columns: Option<u64>, state: &State) -> Option<Violation> {
        let definite = |rule| Some(violation(event, rule, Certainty::Definite));
        let flags = &state.flags;
        if self.is_alone && flags.on_all_paths(FREED) {
            return definite(Rule::FreeWithoutAllocation);
        }
        if self.is_alone && flags.on_some_path(FREED) && self.is_freed_before(event) {
            let rule = Rule::FreeWithoutAllocation;
            return Some(violation(event, rule, Certainty::Possible));
        }
        // Another warp may have allocated it where only some paths do.
        if !flags.on_some_path(ALLOCATED) {
            return definite(Rule::FreeWithoutAllocation);
        }
        let differs = self.columns.zip(columns).is_some_and(|(a, b)| a != b);
        if differs {
            return definite(Rule::FreeOfOtherSize);
        }
        let is_early = event.selected && flags.on_all_paths(ACCESSED);
        is_early.then(|| violation(event, Rule::FreeWithoutBarrier, Certainty::Possible))
    }

    /// Whether fewer columns were allocated on every path before: the numbers must not increase.
    fn increases(&self, event: &Event, columns: u64) -> bool {
        let order = |e: &Event| self.events.order(e.inst);
        let dominators = self.analysis.dominators();
        let is_before = |e: &Event| match e.block == event.block {
            true => order(e) < order(event),
            false => dominators.dominates(e.block, event.block),
        };
        self.allocations.iter().any(|e| match e.kind {
            Kind::Allocate(_, Some(fewer)) => fewer < columns && is_before(e),
            _ => false,
        })
    }

    /// Whether some threads free memory before all of them come to an instruction, and allocate none in between.
    fn is_freed_for(&self, event: &Event) -> bool {
        let order = |e: &Event| self.events.order(e.inst);
        let at = order(event);
        let is_before = |e: &&Event| {
            let same = e.block == event.block;
            order(e) < at && (same || always_follows(self.analysis, event.block, e.block))
        };
        let frees = self.frees.iter().copied().filter(|e| e.selected);
        let last = frees.filter(is_before).map(order).max();
        last.is_some_and(|last| {
            let mut allocations = self.allocations.iter();
            !allocations.any(|e| order(e) > last && order(e) < at)
        })
    }

    /// Whether the threads that free memory under a condition free it again.
    fn is_freed_before(&self, event: &Event) -> bool {
        let others = self.frees.iter().copied();
        let mut others = others.filter(|e| e.block != event.block && !e.selected);
        let order = |e: &Event| self.events.order(e.inst);
        let is_before = |e: &Event| {
            order(e) < order(event) && always_follows(self.analysis, event.block, e.block)
        };
        !event.conditional && !event.selected && others.any(is_before)
    }

    /// A read of the stored address by warps that did not allocate.
    fn address(&self, event: &Event, root: u32, state: &State) -> Option<Violation> {
        let is_known = !state.stored.on_some_path(root);
        let mut allocations = self.allocations.iter().filter(|e| {
            let dominators = self.analysis.dominators();
            let few = e.conditional || !dominators.dominates(e.block, event.block);
            few && matches!(&e.kind, Kind::Allocate(Some(place), _) if place.root == Some(root))
        });
        if is_known || event.conditional {
            return None;
        }
        allocations.next()?;
        Some(violation(
            event,
            Rule::TensorAddressNotVisible,
            Certainty::Possible,
        ))
    }
}

/// Whether the threads of each warp access tensor memory themselves.
fn is_of_all_threads(operation: &Operation) -> bool {
    let loads_or_stores = [Mechanism::TensorLoads, Mechanism::TensorStores];
    uses_tensor_memory(operation) && loads_or_stores.contains(&operation.mechanism)
}

fn uses_tensor_memory(operation: &Operation) -> bool {
    !operation.tensor_reads.is_empty() || !operation.tensor_writes.is_empty()
}

impl Protocol for Allocations<'_> {
    type State = State;

    fn start(&self) -> State {
        State {
            flags: Flags::none(4),
            stored: Flags::none(self.events.roots),
        }
    }

    fn apply(&self, event: &Event, state: &mut State) {
        match event.kind {
            Kind::Allocate(place, _) => {
                state.flags.set(ALLOCATED);
                state.flags.unset(FREED);
                if let Some(root) = place.and_then(|p| p.root) {
                    state.stored.set(root);
                }
            }
            Kind::Free(..) => state.flags.set(FREED),
            Kind::Relinquish => state.flags.set(RELINQUISHED),
            Kind::Barrier(_) => {
                state.stored.clear();
                state.flags.unset(ACCESSED);
            }
            Kind::Start(number) if !event.selected => {
                let operation = self.events.operation(number);
                if operation.is_some_and(is_of_all_threads) {
                    state.flags.set(ACCESSED);
                }
            }
            Kind::Phase(..) | Kind::Await(_) | Kind::Signal(_) | Kind::ClusterWait => {
                state.flags.unset(ACCESSED);
            }
            Kind::Call => {
                state.flags.set_possible(ALLOCATED);
                state.flags.unset(FREED);
                state.flags.unset(ACCESSED);
                state.stored.clear();
            }
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &State, found: &mut Vec<Violation>) {
        match &event.kind {
            Kind::Allocate(_, columns) => {
                if columns.is_some_and(|columns| self.increases(event, columns)) {
                    let rule = Rule::AllocationOfMore;
                    found.push(violation(event, rule, Certainty::Definite));
                }
                let certainty = state.flags.certainty(RELINQUISHED);
                let rule = Rule::AllocationAfterRelinquish;
                found.extend(certainty.map(|c| violation(event, rule, c)));
            }
            Kind::Free(columns, _) => found.extend(self.free(event, *columns, state)),
            Kind::Start(number) => {
                let operation = self.events.operation(*number);
                let is_use = operation.is_some_and(uses_tensor_memory);
                let certainty = state.flags.certainty(FREED).filter(|certainty| {
                    *certainty == Certainty::Definite || self.is_freed_for(event)
                });
                if is_use && self.is_alone {
                    let rule = Rule::TensorMemoryFreed;
                    found.extend(certainty.map(|c| violation(event, rule, c)));
                }
            }
            Kind::Memory(access) if access.reads => {
                let root = access.place.root;
                found.extend(root.and_then(|root| self.address(event, root, state)));
            }
            _ => {}
        }
    }
}
