//! Accesses to memory and registers of operations that were not waited for.

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

/// Adds the accesses of a function to what is pending.
pub(super) fn check(events: &Events, analysis: &FunctionDataflow<'_>, found: &mut Vec<Violation>) {
    if !events.operations.is_empty() {
        let waits = |mechanism| {
            events.all().any(|e| match &e.kind {
                Kind::Wait(m, _) => *m == mechanism,
                Kind::Phase(..) => mechanism == Mechanism::Mbarrier,
                Kind::Call => true,
                _ => false,
            })
        };
        let protocol = Waiting {
            events,
            objects: Objects::new(events),
            reports: reports(events, analysis),
            waits_for_bulk: waits(Mechanism::Bulk),
            early: early_writes(events, analysis),
            unawaited: unawaited(events),
            tensor: TensorMemory {
                waits_for_stores: waits(Mechanism::TensorStores),
                waits_for_mbarriers: waits(Mechanism::Mbarrier),
            },
        };
        follow(&protocol, events, analysis.cfg(), found);
        if !analysis.loops().is_empty() {
            // Of a violation in the first iteration it is not known what others do.
            let mut first = Vec::new();
            follow_once(&protocol, events, analysis, &mut first);
            found.extend(first.into_iter().map(|violation| Violation {
                certainty: Certainty::Possible,
                ..violation
            }));
        }
    }
}

/// How copies are completed for which a kernel never waits.
fn unawaited(events: &Events) -> Vec<Mechanism> {
    let is_awaited = |mechanism: Mechanism| {
        events.all().any(|e| match &e.kind {
            Kind::Wait(m, _) | Kind::Report(m, _) => *m == mechanism,
            Kind::Await(_) => mechanism == Mechanism::Mbarrier,
            Kind::Call => true,
            _ => false,
        })
    };
    let mut all = vec![Mechanism::Copies, Mechanism::Mbarrier];
    all.retain(|mechanism| events.is_kernel && !is_awaited(*mechanism));
    all
}

struct Waiting<'a> {
    events: &'a Events,
    objects: Objects,
    reports: Vec<Reported>,
    waits_for_bulk: bool,
    /// Of each of the first operations, the writes to its source before a wait.
    early: Vec<Vec<InstId>>,
    /// How copies are completed for which the kernel never waits.
    unawaited: Vec<Mechanism>,
    tensor: TensorMemory,
}

#[derive(Clone, Debug)]
struct State {
    pending: PendingSet,
    /// The variables in which data arrived; after them, tensor memory.
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
    match pending.on_all_paths() {
        true => Certainty::Definite,
        false => Certainty::Possible,
    }
}

fn intersects(sorted: &[VariableId], variables: &[VariableId]) -> bool {
    variables.iter().any(|v| sorted.binary_search(v).is_ok())
}

impl Waiting<'_> {
    fn memory(
        &self,
        event: &Event,
        access: Access,
        pending: Pending,
        state: &State,
    ) -> Option<(Rule, Certainty)> {
        let operation = self.events.operation(pending.operation)?;
        let overlap = |of: Option<_>| of.map_or(Overlap::Never, |p| access.place.overlap(p));
        let root = access.place.root;
        let has_contents = root.is_some_and(|r| state.contents.on_some_path(r));
        // Reductions to one place may come in any order.
        let reduces = access.asynchronous && operation.action == Some(Action::BulkReduce);
        match overlap(operation.destination) {
            _ if reduces && access.writes => {}
            Overlap::Certain => return Some((Rule::CopyNotAwaited, certainty(pending))),
            Overlap::Possible
                if access.reads
                    && (!has_contents && pending.on_all_paths()
                        || !access.asynchronous
                            && self.unawaited.contains(&operation.mechanism)
                        || operation.mechanism == Mechanism::Mbarrier
                            && self.is_nearest(access.place, operation)) =>
            {
                return Some((Rule::CopyNotAwaited, Certainty::Possible));
            }
            _ => {}
        }
        match overlap(operation.source) {
            Overlap::Certain if access.writes => Some((Rule::SourceNotAwaited, certainty(pending))),
            Overlap::Possible
                if access.writes
                    && access.is_shared
                    && operation.mechanism == Mechanism::Bulk
                    && !self.waits_for_bulk =>
            {
                Some((Rule::SourceNotAwaited, Certainty::Possible))
            }
            Overlap::Possible
                if access.writes
                    && access.is_shared
                    && operation.mechanism == Mechanism::Bulk
                    && self.is_early(event.inst, pending.operation) =>
            {
                Some((Rule::SourceNotAwaited, Certainty::Possible))
            }
            _ => None,
        }
    }

    /// Whether an instruction writes to the source of an operation before a wait for the operation.
    fn is_early(&self, inst: InstId, operation: u32) -> bool {
        let early = self.early.get(operation as usize);
        early.is_some_and(|of| of.contains(&inst))
    }

    /// Whether what is read begins after the destination of an operation, and no other destination is between them. None of them
    /// may be one of several buffers that a loop changes between.
    fn is_nearest(&self, read: Place, operation: &Operation) -> bool {
        let fixed = |place: Place| {
            let address = place
                .address
                .filter(|a| a.dependence != Dependence::Iteration);
            address.map(|a| a.constant)
        };
        let (Some(at), Some(begin)) = (fixed(read), operation.destination.and_then(fixed)) else {
            return false;
        };
        let others = self.events.operations.iter().filter_map(|o| o.destination);
        let mut others = others.filter(|d| d.root == read.root);
        begin <= at
            && others.all(|other| fixed(other).is_some_and(|other| other <= begin || other > at))
    }

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

    /// An operation begins while another one is pending.
    fn start(&self, number: u32, pending: Pending, state: &State) -> Option<(Rule, Certainty)> {
        let started = self.events.operation(number)?;
        let operation = self.events.operation(pending.operation)?;
        let reports = self.reports.get(pending.operation as usize);
        let product = Product {
            arrived: state.contents.on_some_path(self.events.roots as u32),
            is_committed: !self.events.is_kernel || reports.is_none_or(|of| !of.is_empty()),
        };
        let tensor = self.tensor.conflict(started, operation, pending, product);
        tensor.or_else(|| {
            // The matrices of a product are copied.
            let root = operation.destination.and_then(|d| d.root)?;
            let reads = started.matrices.iter().any(|m| m.root == Some(root));
            let is_first = pending.on_all_paths() && !state.contents.on_some_path(root);
            let first = reads && (is_first || self.unawaited.contains(&operation.mechanism));
            first.then_some((Rule::CopyNotAwaited, Certainty::Possible))
        })
    }

    fn complete(&self, contents: &mut Flags, operation: u32) {
        let Some(operation) = self.events.operation(operation) else {
            return;
        };
        if let Some(root) = operation.destination.and_then(|p| p.root) {
            contents.set(root);
        }
        if operation.mechanism == Mechanism::Tensor {
            contents.set(self.events.roots as u32);
        }
    }

    fn phase(&self, state: &mut State, object: Place, parity: Option<u64>) {
        let waits = self.objects.wait(&mut state.phases, object, parity);
        let before = (waits == Waits::Perhaps).then(|| state.clone());
        if waits == Waits::No {
            return;
        }
        let reports = |pending: Pending| {
            let of = self.reports.get(pending.operation as usize);
            let mut of = of.into_iter().flat_map(|of| of.iter());
            of.any(|place| place.is_none_or(|p| p.may_be_same_address(object)))
        };
        let State {
            pending, contents, ..
        } = state;
        pending.phase(reports, |operation| self.complete(contents, operation));
        if let Some(before) = before {
            state.join(&before);
        }
    }
}

impl Protocol for Waiting<'_> {
    type State = State;
    const EDGES: bool = true;

    /// One thread initializes an object for all.
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
                if let Some(of) = self.events.operation(operation) {
                    state.pending.start(operation, of.mechanism);
                    if let Some(object) = of.object {
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
                let complete = |operation| self.complete(contents, operation);
                state.pending.wait(mechanism, groups, complete);
            }
            Kind::Phase(object, parity) => self.phase(state, object, parity),
            Kind::Registers { ref reads, .. } if !reads.is_empty() => {
                let of = |operation| self.events.operation(operation);
                let is_read =
                    |operation| of(operation).is_some_and(|o| intersects(&o.written, reads));
                state.pending.read(is_read);
            }
            Kind::Initialize(object) => self.objects.initialize(&mut state.phases, object),
            Kind::Memory(access) if access.writes && !access.asynchronous => {
                match access.place.root {
                    Some(root) => state.contents.set(root),
                    None => (0..self.events.roots as u32).for_each(|r| state.contents.set(r)),
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

    fn check(&self, event: &Event, state: &State, found: &mut Vec<Violation>) {
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
            let cause = self.events.operation(pending.operation).map(|o| o.inst);
            if let Some((rule, certainty)) = violation {
                found.push(Violation {
                    inst: event.inst,
                    rule,
                    certainty,
                    cause,
                });
            }
        }
    }
}
