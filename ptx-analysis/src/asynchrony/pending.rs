//! Accesses to memory and registers of operations that were not waited for.

use alloc::vec::Vec;

use super::events::{Access, Event, Events, Kind, Operation};
use super::flags::Flags;
use super::mechanism::Mechanism;
use super::pending_set::{Pending, PendingSet};
use super::places::Overlap;
use super::protocol::{Protocol, follow};
use super::{Certainty, Rule, Violation};
use crate::cfg::Cfg;
use crate::dataflow::JoinSemiLattice;

/// Adds the accesses of a function to what is pending.
pub(super) fn check(events: &Events, cfg: &Cfg, found: &mut Vec<Violation>) {
    if !events.operations.is_empty() {
        let waits = |mechanism| {
            let mut kinds = events.all().iter().map(|e| &e.kind);
            kinds.any(|k| {
                matches!(k, Kind::Wait(m, _) if *m == mechanism) || matches!(k, Kind::Call)
            })
        };
        let protocol = Waiting {
            events,
            waits_for_bulk: waits(Mechanism::Bulk),
            waits_for_stores: waits(Mechanism::TensorStores),
            waits_for_mbarriers: waits(Mechanism::Mbarrier),
        };
        follow(&protocol, events, cfg, found);
    }
}

struct Waiting<'a> {
    events: &'a Events,
    waits_for_bulk: bool,
    waits_for_stores: bool,
    waits_for_mbarriers: bool,
}

#[derive(Clone, Debug)]
struct State {
    pending: PendingSet,
    /// The variables in which data arrived.
    contents: Flags,
}

impl JoinSemiLattice for State {
    fn join(&mut self, other: &Self) -> bool {
        self.pending.join(&other.pending) | self.contents.join(&other.contents)
    }
}

fn certainty(pending: Pending) -> Certainty {
    match pending.on_all_paths() {
        true => Certainty::Definite,
        false => Certainty::Possible,
    }
}

fn intersects(sorted: &[u32], variables: &[u32]) -> bool {
    variables.iter().any(|v| sorted.binary_search(v).is_ok())
}

impl Waiting<'_> {
    fn memory(&self, access: Access, pending: Pending, state: &State) -> Option<(Rule, Certainty)> {
        let operation = self.events.operation(pending.operation)?;
        let overlap = |of: Option<_>| of.map_or(Overlap::Never, |p| access.place.overlap(p));
        let has_contents = access
            .place
            .root
            .is_some_and(|r| state.contents.on_some_path(r));
        match overlap(operation.destination) {
            Overlap::Certain => return Some((Rule::CopyNotAwaited, certainty(pending))),
            Overlap::Possible if access.reads && !has_contents && pending.on_all_paths() => {
                return Some((Rule::CopyNotAwaited, Certainty::Possible));
            }
            _ => {}
        }
        match overlap(operation.source) {
            Overlap::Certain if access.writes => Some((Rule::SourceNotAwaited, certainty(pending))),
            Overlap::Possible
                if access.writes
                    && operation.mechanism == Mechanism::Bulk
                    && !self.waits_for_bulk =>
            {
                Some((Rule::SourceNotAwaited, Certainty::Possible))
            }
            _ => None,
        }
    }

    fn registers(
        &self,
        reads: &[u32],
        writes: &[u32],
        pending: Pending,
    ) -> Option<(Rule, Certainty)> {
        let operation = self.events.operation(pending.operation)?;
        let rule = match operation.mechanism {
            Mechanism::TensorLoads => Rule::TensorLoadNotAwaited,
            _ => Rule::ProductNotAwaited,
        };
        let conflicts = intersects(&operation.written, reads)
            || intersects(&operation.written, writes)
            || intersects(&operation.read, writes);
        conflicts.then_some((rule, certainty(pending)))
    }

    /// A load from tensor memory while it is written.
    fn tensor_load(&self, load: &Operation, pending: Pending) -> Option<(Rule, Certainty)> {
        let operation = self.events.operation(pending.operation)?;
        let is_awaited = match operation.mechanism {
            Mechanism::TensorStores => self.waits_for_stores,
            Mechanism::Tensor => self.waits_for_mbarriers,
            _ => return None,
        };
        let same = load.source.zip(operation.destination);
        let certainty = match same.is_some_and(|(a, b)| a.is_same_address(b)) {
            true => certainty(pending),
            false if !is_awaited => Certainty::Possible,
            false => return None,
        };
        Some((Rule::TensorMemoryNotAwaited, certainty))
    }
}

impl Protocol for Waiting<'_> {
    type State = State;

    fn start(&self) -> State {
        State {
            pending: PendingSet::default(),
            contents: Flags::none(self.events.roots),
        }
    }

    fn apply(&self, event: &Event, state: &mut State) {
        match event.kind {
            Kind::Start(operation) => {
                if let Some(of) = self.events.operation(operation) {
                    state.pending.start(operation, of.mechanism);
                }
            }
            Kind::Commit(mechanism) => state.pending.commit(mechanism),
            Kind::Report(mechanism) => state.pending.report(mechanism),
            Kind::Wait(mechanism, groups) => {
                let contents = &mut state.contents;
                state.pending.wait(mechanism, groups, |operation| {
                    let of = self.events.operation(operation);
                    let place = of.and_then(|o| o.destination);
                    if let Some(root) = place.and_then(|p| p.root) {
                        contents.set(root);
                    }
                });
            }
            Kind::Memory(access) if access.writes && !access.asynchronous => {
                match access.place.root {
                    Some(root) => state.contents.set(root),
                    None => (0..self.events.roots as u32).for_each(|r| state.contents.set(r)),
                }
            }
            Kind::Call => {
                state.pending.clear();
                state.contents = Flags::full(self.events.roots);
            }
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &State, found: &mut Vec<Violation>) {
        for pending in state.pending.iter() {
            let violation = match &event.kind {
                Kind::Memory(access) => self.memory(*access, pending, state),
                Kind::Registers { reads, writes, .. } => self.registers(reads, writes, pending),
                Kind::Start(operation) => match self.events.operation(*operation) {
                    Some(load) if load.loads_tensor_memory => self.tensor_load(load, pending),
                    _ => None,
                },
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
