//! The protocol of waiting: accesses to memory and registers of operations that may not be complete.

use alloc::vec::Vec;

use ptx_ir::InstId;
use ptx_isa::Action;

use super::addresses::Dependence;
use super::events::{Access, Event, Events, Kind, Operation};
use super::flags::Flags;
use super::mechanism::Mechanism;
use super::pending_set::{Pending, PendingSet};
use super::phases::{Objects, Phases, Waits};
use super::place::{Overlap, Place};
use super::protocol::{Protocol, follow, follow_once};
use super::reports::{Reported, reports};
use super::sources::early_writes;
use super::tensor_conflicts::{Product, TensorMemory};
use super::{Certainty, Rule, Violation};
use crate::dataflow::JoinSemiLattice;
use crate::function_dataflow::FunctionDataflow;
use crate::reg_lanes::VariableId;

/// Appends the accesses of a function to memory and registers of pending operations.
pub(super) fn check(
    events: &Events,
    analysis: &FunctionDataflow<'_>,
    violations: &mut Vec<Violation>,
) {
    if events.operations.is_empty() {
        return;
    }
    let protocol = Waiting {
        events,
        objects: Objects::new(events),
        reports: reports(events, analysis),
        waits_for_bulk: has_wait(events, Mechanism::Bulk),
        early_writes: early_writes(events, analysis),
        never_awaited: never_awaited(events),
        tensor: TensorMemory {
            waits_for_stores: has_wait(events, Mechanism::TensorStores),
            waits_for_mbarriers: has_wait(events, Mechanism::Mbarrier),
        },
    };
    follow(&protocol, events, analysis.cfg(), violations);
    if !analysis.loops().is_empty() {
        // A violation in the first iteration only is possible in the others.
        let mut in_first_iteration = Vec::new();
        follow_once(&protocol, events, analysis, &mut in_first_iteration);
        for violation in in_first_iteration {
            violations.push(Violation {
                certainty: Certainty::Possible,
                ..violation
            });
        }
    }
}

/// Returns whether a function, or one that it calls, may wait for operations of a mechanism.
fn has_wait(events: &Events, mechanism: Mechanism) -> bool {
    events.all().any(|event| match &event.kind {
        Kind::Wait(awaited, _) => *awaited == mechanism,
        Kind::Phase(..) => mechanism == Mechanism::Mbarrier,
        Kind::Call => true,
        _ => false,
    })
}

/// The mechanisms of copies for which a kernel never waits.
fn never_awaited(events: &Events) -> Vec<Mechanism> {
    if !events.is_kernel {
        return Vec::new();
    }
    let mut mechanisms = vec![Mechanism::Copies, Mechanism::Mbarrier];
    mechanisms.retain(|mechanism| {
        !events.all().any(|event| match &event.kind {
            Kind::Wait(awaited, _) | Kind::Report(awaited, _) => awaited == mechanism,
            Kind::Await(_) => *mechanism == Mechanism::Mbarrier,
            Kind::Call => true,
            _ => false,
        })
    });
    mechanisms
}

struct Waiting<'a> {
    events: &'a Events,
    objects: Objects,
    /// For each operation the places of the mbarrier objects to which it reports.
    reports: Vec<Reported>,
    /// The function may wait for bulk operations.
    waits_for_bulk: bool,
    /// For each of the first operations, the writes to its source before a wait.
    early_writes: Vec<Vec<InstId>>,
    /// The mechanisms of copies for which the kernel never waits.
    never_awaited: Vec<Mechanism>,
    tensor: TensorMemory,
}

#[derive(Clone, Debug)]
struct State {
    pending: PendingSet,
    /// The variables that contain data. The last flag belongs to tensor memory.
    contents: Flags,
    phases: Phases,
}

impl JoinSemiLattice for State {
    fn join(&mut self, other: &Self) -> bool {
        self.pending.join(&other.pending)
            | self.contents.join(&other.contents)
            | self.phases.join(&other.phases)
    }
}

fn certainty(pending: Pending) -> Certainty {
    if pending.on_all_paths() {
        Certainty::Definite
    } else {
        Certainty::Possible
    }
}

fn intersects(sorted: &[VariableId], variables: &[VariableId]) -> bool {
    let mut variables = variables.iter();
    variables.any(|variable| sorted.binary_search(variable).is_ok())
}

/// The place of an access in relation to a place of an operation.
fn overlap(access: Access, place: Option<Place>) -> Overlap {
    place.map_or(Overlap::Never, |place| access.place.overlap(place))
}

impl Waiting<'_> {
    /// The violation of an access to the destination or the source of a pending operation.
    fn memory(
        &self,
        event: &Event,
        access: Access,
        pending: Pending,
        state: &State,
    ) -> Option<(Rule, Certainty)> {
        let operation = self.events.operation(pending.operation)?;
        // Reductions to one place may come in any order.
        let reduces = matches!(
            operation.action,
            Some(Action::BulkReduce | Action::TensorReduce)
        );
        let is_reduction = access.asynchronous && reduces;
        if !(is_reduction && access.writes) {
            match overlap(access, operation.destination) {
                Overlap::Certain => return Some((Rule::CopyNotAwaited, certainty(pending))),
                Overlap::Possible if self.may_read_copy(access, pending, operation, state) => {
                    return Some((Rule::CopyNotAwaited, Certainty::Possible));
                }
                _ => {}
            }
        }
        if !access.writes {
            return None;
        }
        match overlap(access, operation.source) {
            Overlap::Certain => Some((Rule::SourceNotAwaited, certainty(pending))),
            Overlap::Possible
                if access.is_shared
                    && operation.mechanism == Mechanism::Bulk
                    && (!self.waits_for_bulk || self.is_early(event.inst, pending.operation)) =>
            {
                Some((Rule::SourceNotAwaited, Certainty::Possible))
            }
            _ => None,
        }
    }

    /// Returns whether an access that possibly overlaps the destination of a copy probably reads what the copy writes.
    fn may_read_copy(
        &self,
        access: Access,
        pending: Pending,
        operation: &Operation,
        state: &State,
    ) -> bool {
        let root = access.place.root;
        let has_contents = root.is_some_and(|root| state.contents.on_some_path(root));
        let has_no_wait = self.never_awaited.contains(&operation.mechanism);
        access.reads
            && (!has_contents && pending.on_all_paths()
                || !access.asynchronous && has_no_wait
                || operation.mechanism == Mechanism::Mbarrier
                    && self.is_nearest(access.place, operation))
    }

    /// Returns whether an instruction writes to the source of an operation before a wait for the operation.
    fn is_early(&self, inst: InstId, operation: u32) -> bool {
        let writes = self.early_writes.get(operation as usize);
        writes.is_some_and(|writes| writes.contains(&inst))
    }

    /// Returns whether a read begins after the destination of an operation, and no other destination is between them. None of the destinations may be one of
    /// several buffers that a loop alternates between.
    fn is_nearest(&self, read: Place, operation: &Operation) -> bool {
        let fixed_offset = |place: Place| {
            let address = place.address?;
            (address.dependence != Dependence::Iteration).then_some(address.constant)
        };
        let start = operation.destination.and_then(fixed_offset);
        let (Some(read_start), Some(start)) = (fixed_offset(read), start) else {
            return false;
        };
        let operations = self.events.operations.iter();
        let mut destinations = operations
            .filter_map(|operation| operation.destination)
            .filter(|destination| destination.root == read.root);
        start <= read_start
            && destinations.all(|destination| {
                let other = fixed_offset(destination);
                other.is_some_and(|other| other <= start || other > read_start)
            })
    }

    /// The violation of an access to registers of a pending operation.
    fn registers(
        &self,
        reads: &[VariableId],
        writes: &[VariableId],
        pending: Pending,
    ) -> Option<(Rule, Certainty)> {
        let operation = self.events.operation(pending.operation)?;
        // Registers of loads from tensor memory are followed by themselves.
        if operation.mechanism == Mechanism::TensorLoads {
            return None;
        }
        let conflicts = intersects(&operation.written, reads)
            || intersects(&operation.written, writes)
            || intersects(&operation.read, writes);
        conflicts.then_some((Rule::ProductNotAwaited, certainty(pending)))
    }

    /// The violation of an operation that begins while another one is pending.
    fn start(&self, number: u32, pending: Pending, state: &State) -> Option<(Rule, Certainty)> {
        let started = self.events.operation(number)?;
        let operation = self.events.operation(pending.operation)?;
        let reports = self.reports.get(pending.operation as usize);
        let product = Product {
            arrived: state.contents.on_some_path(self.events.roots as u32),
            is_committed: !self.events.is_kernel || reports.is_none_or(|places| !places.is_empty()),
        };
        let conflict = self.tensor.conflict(started, operation, pending, product);
        if conflict.is_some() {
            return conflict;
        }
        // The matrices of a product are copied.
        let root = operation.destination.and_then(|place| place.root)?;
        let mut matrices = started.matrices.iter();
        let reads_copy = matrices.any(|matrix| matrix.root == Some(root));
        let is_first = pending.on_all_paths() && !state.contents.on_some_path(root);
        let is_violation =
            reads_copy && (is_first || self.never_awaited.contains(&operation.mechanism));
        is_violation.then_some((Rule::CopyNotAwaited, Certainty::Possible))
    }

    /// An execution of an operation is complete: its destination contains data.
    fn complete(&self, contents: &mut Flags, operation: u32) {
        let Some(operation) = self.events.operation(operation) else {
            return;
        };
        if let Some(root) = operation.destination.and_then(|place| place.root) {
            contents.set(root);
        }
        if operation.mechanism == Mechanism::Tensor {
            contents.set(self.events.roots as u32);
        }
    }

    /// A thread tests a phase of an mbarrier object.
    fn phase(&self, state: &mut State, object: Place, parity: Option<u64>) {
        let waits = self.objects.wait(&mut state.phases, object, parity);
        if waits == Waits::No {
            return;
        }
        let without_wait = (waits == Waits::Perhaps).then(|| state.clone());
        let reports_to_object = |pending: Pending| {
            self.reports
                .get(pending.operation as usize)
                .into_iter()
                .flat_map(|places| places.iter())
                .any(|place| place.is_none_or(|place| place.may_be_same_address(object)))
        };
        let contents = &mut state.contents;
        state.pending.phase(reports_to_object, |operation| {
            self.complete(contents, operation);
        });
        if let Some(without_wait) = without_wait {
            state.join(&without_wait);
        }
    }
}

impl Protocol for Waiting<'_> {
    type State = State;
    const EDGES: bool = true;

    /// One thread initializes an object for all threads.
    fn is_for_all(&self, event: &Event) -> bool {
        matches!(event.kind, Kind::Initialize(_))
    }

    fn start(&self) -> State {
        State {
            pending: PendingSet::default(),
            contents: Flags::none(self.events.roots + 1),
            phases: self.objects.start(),
        }
    }

    fn apply(&self, event: &Event, state: &mut State) {
        match event.kind {
            Kind::Start(operation) => {
                if let Some(started) = self.events.operation(operation) {
                    state.pending.start(operation, started.mechanism);
                    if let Some(object) = started.object {
                        self.objects.begin(&mut state.phases, object);
                    }
                }
            }
            Kind::Commit(mechanism) => state.pending.commit(mechanism),
            Kind::Report(mechanism, object) => {
                state.pending.report(mechanism);
                if let Some(object) = object {
                    self.objects.begin(&mut state.phases, object);
                }
            }
            Kind::Wait(mechanism, groups) => {
                let contents = &mut state.contents;
                state.pending.wait(mechanism, groups, |operation| {
                    self.complete(contents, operation);
                });
            }
            Kind::Phase(object, parity) => self.phase(state, object, parity),
            Kind::Registers { ref reads, .. } if !reads.is_empty() => {
                state.pending.read(|operation| {
                    let operation = self.events.operation(operation);
                    operation.is_some_and(|operation| intersects(&operation.written, reads))
                });
            }
            Kind::Initialize(object) => self.objects.initialize(&mut state.phases, object),
            Kind::Memory(access) if access.writes && !access.asynchronous => {
                match access.place.root {
                    Some(root) => state.contents.set(root),
                    None => (0..self.events.roots as u32).for_each(|root| state.contents.set(root)),
                }
            }
            Kind::Call => {
                state.pending.clear();
                state.contents = Flags::full(self.events.roots + 1);
                self.objects.forget(&mut state.phases);
            }
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &State, violations: &mut Vec<Violation>) {
        for pending in state.pending.iter() {
            let violation = match &event.kind {
                Kind::Memory(access) => self.memory(event, *access, pending, state),
                // ptxas renames registers that are moved, or delays the move.
                Kind::Registers {
                    reads,
                    writes,
                    is_move,
                } => {
                    let reads = if *is_move { &[][..] } else { reads };
                    self.registers(reads, writes, pending)
                }
                Kind::Start(operation) => self.start(*operation, pending, state),
                Kind::Free(..) => TensorMemory::free(pending),
                _ => None,
            };
            if let Some((rule, certainty)) = violation {
                let cause = self.events.operation(pending.operation);
                violations.push(Violation {
                    inst: event.inst,
                    rule,
                    certainty,
                    cause: cause.map(|operation| operation.inst),
                });
            }
        }
    }
}
