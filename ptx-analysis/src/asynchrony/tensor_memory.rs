//! Allocations of tensor memory that are not freed, freed twice or with another size, or used after they were freed (9.7.16.7).

use alloc::vec::Vec;

use super::events::{Event, Events, Kind, Operation};
use super::flags::Flags;
use super::mechanism::Mechanism;
use super::paths::{always_follows, avoids};
use super::protocol::{Protocol, follow};
use super::{Certainty, Rule, Violation};
use crate::dataflow::JoinSemiLattice;
use crate::function_dataflow::FunctionDataflow;

/// The maximum number of allocations, and of deallocations, that are examined.
const MOST: usize = 64;

/// Adds allocations, deallocations and uses that break the protocol.
pub(super) fn check(
    events: &Events,
    analysis: &FunctionDataflow<'_>,
    violations: &mut Vec<Violation>,
) {
    let allocation_count = events.all().filter(is_allocation).count();
    let uses_protocol = events.all().any(|event| {
        matches!(
            event.kind,
            Kind::Allocate(..) | Kind::Free(..) | Kind::Relinquish
        )
    });
    if !events.is_kernel || !uses_protocol {
        return;
    }
    let has_calls = events.all().any(|event| matches!(event.kind, Kind::Call));
    if !has_calls {
        check_leaks(events, analysis, violations);
    }
    let is_only_allocation = allocation_count == 1;
    let columns = events.all().find_map(|event| match event.kind {
        Kind::Allocate(_, columns) => columns,
        _ => None,
    });
    let allocations = Allocations {
        events,
        analysis,
        is_only_allocation,
        columns: columns.filter(|_| is_only_allocation),
        allocations: events.all().filter(is_allocation).take(MOST).collect(),
        frees: events.all().filter(is_free).take(MOST).collect(),
    };
    follow(&allocations, events, analysis.cfg(), violations);
}

fn is_allocation(event: &&Event) -> bool {
    matches!(event.kind, Kind::Allocate(..))
}

fn is_free(event: &&Event) -> bool {
    matches!(event.kind, Kind::Free(..))
}

/// Adds allocations that are not freed: never, or not if a parameter of the kernel decides so.
fn check_leaks(events: &Events, analysis: &FunctionDataflow<'_>, violations: &mut Vec<Violation>) {
    let freed_roots: Vec<Option<u32>> = events
        .all()
        .filter_map(|event| match event.kind {
            Kind::Free(_, root) => Some(root),
            _ => None,
        })
        .collect();
    for event in events.all() {
        let Kind::Allocate(place, _) = event.kind else {
            continue;
        };
        let root = place.and_then(|p| p.root);
        let frees_others_only = root.is_some()
            && freed_roots
                .iter()
                .all(|freed| freed.is_some() && *freed != root);
        let certainty = if freed_roots.is_empty() {
            Certainty::Definite
        } else if frees_others_only || may_skip_free(events, analysis, event) {
            Certainty::Possible
        } else {
            continue;
        };
        violations.push(violation(event, Rule::TensorMemoryNotFreed, certainty));
    }
}

/// Whether a condition on parameters of the kernel decides that the memory of an allocation is not freed.
fn may_skip_free(events: &Events, analysis: &FunctionDataflow<'_>, allocation: &Event) -> bool {
    // All threads that pass this block find the memory allocated later.
    let allocating_block = events
        .decided_by_thread(allocation.block)
        .last()
        .copied()
        .unwrap_or(allocation.block);
    events.decided_by_parameters(allocation.block).is_empty()
        && events
            .all()
            .filter(is_free)
            .flat_map(|event| events.decided_by_parameters(event.block))
            .any(|&branch| {
                let frees = events.all().filter(is_free);
                analysis.dominators().dominates(allocating_block, branch)
                    && avoids(events, analysis, branch, None, frees)
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

/// The protocol of allocations of tensor memory.
struct Allocations<'a> {
    events: &'a Events,
    /// The first allocations.
    allocations: Vec<&'a Event>,
    /// The first deallocations.
    frees: Vec<&'a Event>,
    analysis: &'a FunctionDataflow<'a>,
    /// The kernel has one allocation only.
    is_only_allocation: bool,
    /// The number of columns of the only allocation.
    columns: Option<u64>,
}

/// The flag that the thread allocated tensor memory.
const ALLOCATED: u32 = 0;
/// The flag that the permit to allocate was given up.
const RELINQUISHED: u32 = 1;
/// The flag that tensor memory was freed, and not allocated since.
const FREED: u32 = 2;
/// The flag that all threads accessed tensor memory since their last synchronization.
const ACCESSED: u32 = 3;

#[derive(Clone, Debug)]
struct State {
    flags: Flags,
    /// The variables that contain addresses of tensor memory that other warps do not see yet.
    stored: Flags,
}

impl JoinSemiLattice for State {
    fn join(&mut self, other: &Self) -> bool {
        self.flags.join(&other.flags) | self.stored.join(&other.stored)
    }
}

impl Allocations<'_> {
    /// A deallocation that breaks the protocol.
    fn check_free(&self, event: &Event, columns: Option<u64>, state: &State) -> Option<Violation> {
        let flags = &state.flags;
        let is_freed_on_some_path = flags.on_some_path(FREED) && self.is_freed_before(event);
        let has_other_size = self.columns.zip(columns).is_some_and(|(a, b)| a != b);
        let (rule, certainty) = if self.is_only_allocation && flags.on_all_paths(FREED) {
            (Rule::FreeWithoutAllocation, Certainty::Definite)
        } else if self.is_only_allocation && is_freed_on_some_path {
            (Rule::FreeWithoutAllocation, Certainty::Possible)
        } else if !flags.on_some_path(ALLOCATED) {
            // Another warp may have allocated the memory where only some paths allocate it.
            (Rule::FreeWithoutAllocation, Certainty::Definite)
        } else if has_other_size {
            (Rule::FreeOfOtherSize, Certainty::Definite)
        } else if event.selected && flags.on_all_paths(ACCESSED) {
            (Rule::FreeWithoutBarrier, Certainty::Possible)
        } else {
            return None;
        };
        Some(violation(event, rule, certainty))
    }

    fn order(&self, event: &Event) -> u32 {
        self.events.order(event.inst)
    }

    /// Whether fewer columns were allocated on every path before an allocation: the numbers of columns must not increase.
    fn increases_columns(&self, event: &Event, columns: u64) -> bool {
        let dominators = self.analysis.dominators();
        self.allocations.iter().any(|other| {
            let is_before = if other.block == event.block {
                self.order(other) < self.order(event)
            } else {
                dominators.dominates(other.block, event.block)
            };
            matches!(other.kind, Kind::Allocate(_, Some(fewer)) if fewer < columns) && is_before
        })
    }

    /// Whether some threads free memory before all threads execute an event, and allocate none in between.
    fn is_freed_for_all_threads(&self, event: &Event) -> bool {
        let position = self.order(event);
        let last_free = self
            .frees
            .iter()
            .filter(|free| {
                free.selected
                    && self.order(free) < position
                    && (free.block == event.block
                        || always_follows(self.analysis, event.block, free.block))
            })
            .map(|free| self.order(free))
            .max();
        last_free.is_some_and(|last_free| {
            !self
                .allocations
                .iter()
                .any(|allocation| (last_free + 1..position).contains(&self.order(allocation)))
        })
    }

    /// Whether all threads execute a deallocation before another one that all threads execute.
    fn is_freed_before(&self, event: &Event) -> bool {
        !event.conditional
            && !event.selected
            && self.frees.iter().any(|free| {
                free.block != event.block
                    && !free.selected
                    && self.order(free) < self.order(event)
                    && always_follows(self.analysis, event.block, free.block)
            })
    }

    /// A read of the stored address by warps that did not allocate the memory, without a barrier after the allocation.
    fn check_address(&self, event: &Event, root: u32, state: &State) -> Option<Violation> {
        if event.conditional || !state.stored.on_some_path(root) {
            return None;
        }
        let dominators = self.analysis.dominators();
        self.allocations
            .iter()
            .any(|allocation| {
                let is_of_some_threads =
                    allocation.conditional || !dominators.dominates(allocation.block, event.block);
                let stored_root = match allocation.kind {
                    Kind::Allocate(place, _) => place.and_then(|place| place.root),
                    _ => None,
                };
                is_of_some_threads && stored_root == Some(root)
            })
            .then(|| {
                let rule = Rule::TensorAddressNotVisible;
                violation(event, rule, Certainty::Possible)
            })
    }
}

/// Whether an operation is a load or a store of tensor memory, which all threads of each warp execute.
fn is_load_or_store(operation: &Operation) -> bool {
    uses_tensor_memory(operation)
        && matches!(
            operation.mechanism,
            Mechanism::TensorLoads | Mechanism::TensorStores
        )
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
                if operation.is_some_and(is_load_or_store) {
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

    fn check(&self, event: &Event, state: &State, violations: &mut Vec<Violation>) {
        match &event.kind {
            Kind::Allocate(_, columns) => {
                if columns.is_some_and(|columns| self.increases_columns(event, columns)) {
                    let rule = Rule::AllocationOfMore;
                    violations.push(violation(event, rule, Certainty::Definite));
                }
                if let Some(certainty) = state.flags.certainty(RELINQUISHED) {
                    let rule = Rule::AllocationAfterRelinquish;
                    violations.push(violation(event, rule, certainty));
                }
            }
            Kind::Free(columns, _) => violations.extend(self.check_free(event, *columns, state)),
            Kind::Start(number) => {
                let operation = self.events.operation(*number);
                if self.is_only_allocation
                    && operation.is_some_and(uses_tensor_memory)
                    && let Some(certainty) = state.flags.certainty(FREED)
                    && (certainty == Certainty::Definite || self.is_freed_for_all_threads(event))
                {
                    violations.push(violation(event, Rule::TensorMemoryFreed, certainty));
                }
            }
            Kind::Memory(access) if access.reads => {
                let root = access.place.root;
                violations.extend(root.and_then(|root| self.check_address(event, root, state)));
            }
            _ => {}
        }
    }
}
