//! Ordinary writes that asynchronous operations read without a fence between the proxies (9.7.13.4).

use alloc::vec::Vec;

use super::events::{Event, Events, Kind};
use super::flags::Flags;
use super::mechanism::Mechanism;
use super::protocol::{Protocol, follow};
use super::{Certainty, Rule, Violation};
use crate::cfg::Cfg;
use crate::dataflow::JoinSemiLattice;

/// Adds the asynchronous reads that need a fence.
pub(super) fn check(events: &Events, cfg: &Cfg, found: &mut Vec<Violation>) {
    let reads = |e: &Event| matches!(&e.kind, Kind::Memory(a) if a.asynchronous && a.reads);
    let products = events.operations.iter().any(|o| !o.matrices.is_empty());
    if products || events.all().any(reads) {
        let mut shared = vec![true; events.roots];
        for event in events.all() {
            if let Kind::Memory(access) = &event.kind
                && let Some(root) = access.place.root
                && let Some(slot) = shared.get_mut(root as usize)
            {
                *slot &= access.is_shared;
            }
        }
        let mut operations = events.operations.iter();
        let proxies = Proxies {
            events,
            shared,
            is_filled: operations.any(|o| o.mechanism == Mechanism::Mbarrier),
        };
        follow(&proxies, events, cfg, found);
    }
}

struct Proxies<'a> {
    events: &'a Events,
    /// Of each variable, whether it is in shared memory.
    shared: Vec<bool>,
    /// Whether asynchronous copies fill shared memory.
    is_filled: bool,
}

#[derive(Clone, Debug)]
struct State {
    /// The variables that were written after the last fence; after them, shared memory of which more is not known.
    written: Flags,
    /// The variables into which a thread copies by groups, which is an ordinary write when it is waited for.
    copied: Flags,
}

impl JoinSemiLattice for State {
    fn join(&mut self, other: &Self) -> bool {
        self.written.join(&other.written) | self.copied.join(&other.copied)
    }
}

impl Proxies<'_> {
    fn is_shared(&self, root: u32) -> bool {
        self.shared.get(root as usize).copied().unwrap_or(true)
    }

    /// How certainly a matrix in shared memory was written after the last fence.
    fn matrix(&self, root: Option<u32>, state: &State) -> Option<Certainty> {
        match root {
            Some(root) => state.written.certainty(root),
            // Some of the writes may be to other variables.
            None if self.is_filled => None,
            None => {
                let mut roots = 0..=self.events.roots as u32;
                let written = |r: u32| self.is_shared(r) && state.written.on_all_paths(r);
                roots.any(written).then_some(Certainty::Possible)
            }
        }
    }
}

impl Protocol for Proxies<'_> {
    type State = State;

    fn start(&self) -> State {
        State {
            written: Flags::none(self.events.roots + 1),
            copied: Flags::none(self.events.roots + 1),
        }
    }

    fn apply(&self, event: &Event, state: &mut State) {
        match &event.kind {
            Kind::Memory(access) if access.writes && !access.asynchronous => {
                match access.place.root {
                    Some(root) => state.written.set(root),
                    None => state.written.set_possible(self.events.roots as u32),
                }
            }
            Kind::Start(number) => {
                let operation = self.events.operation(*number);
                let operation = operation.filter(|o| o.mechanism == Mechanism::Copies);
                let place = operation.and_then(|o| o.destination);
                if let Some(root) = place.and_then(|p| p.root) {
                    state.copied.set(root);
                }
            }
            Kind::Wait(Mechanism::Copies, _) => {
                let State { written, copied } = state;
                for root in copied.iter() {
                    match copied.on_all_paths(root) {
                        true => written.set(root),
                        false => written.set_possible(root),
                    }
                }
                copied.clear();
            }
            Kind::ProxyFence { shared, global } => {
                let roots = 0..=self.events.roots as u32;
                let ordered = |root: &u32| match self.is_shared(*root) {
                    true => *shared,
                    false => *global,
                };
                roots
                    .filter(ordered)
                    .for_each(|root| state.written.unset(root));
            }
            Kind::Call => *state = self.start(),
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &State, found: &mut Vec<Violation>) {
        let certainty = match &event.kind {
            Kind::Memory(access) if access.asynchronous && access.reads => access
                .place
                .root
                .and_then(|root| state.written.certainty(root)),
            Kind::Start(number) => {
                let matrices = self
                    .events
                    .operation(*number)
                    .map(|o| o.matrices.as_slice());
                let matrices = matrices.unwrap_or_default().iter();
                matrices.filter_map(|&root| self.matrix(root, state)).max()
            }
            _ => None,
        };
        found.extend(certainty.map(|certainty| Violation {
            inst: event.inst,
            rule: Rule::ProxyFence,
            certainty,
            cause: None,
        }));
    }
}
