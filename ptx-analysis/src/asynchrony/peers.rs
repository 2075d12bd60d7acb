//! Mbarrier objects of other CTAs that are used before the CTAs met at the barrier of the cluster (9.7.13.15.9): the initialization of an
//! object is known to another CTA after the fence for it and that barrier only.

use alloc::vec::Vec;

use super::events::{Event, Events, Kind};
use super::flags::Flags;
use super::protocol::{Protocol, follow};
use super::{Certainty, Rule, Violation};
use crate::cfg::Cfg;
use crate::dataflow::JoinSemiLattice;

/// Adds the uses of objects that need not be initialized yet, and relaxed arrivals that do not publish them.
pub(super) fn check(events: &Events, cfg: &Cfg, found: &mut Vec<Violation>) {
    let initializes = events.all().any(|e| matches!(e.kind, Kind::Initialize(_)));
    if events.is_kernel && initializes {
        let mut remote = events.all();
        let peers = Peers {
            events,
            uses_remote: remote.any(|e| matches!(e.kind, Kind::RemoteObject(_))),
        };
        follow(&peers, events, cfg, found);
    }
}

struct Peers<'a> {
    events: &'a Events,
    uses_remote: bool,
}

/// By variables.
#[derive(Clone, Debug)]
struct State {
    /// An object was initialized, and the CTAs did not meet since.
    apart: Flags,
    /// No fence for other CTAs followed the initialization.
    unfenced: Flags,
    /// The thread arrived at the barrier of the cluster without a fence.
    lost: Flags,
}

impl JoinSemiLattice for State {
    fn join(&mut self, other: &Self) -> bool {
        self.apart.join(&other.apart)
            | self.unfenced.join(&other.unfenced)
            | self.lost.join(&other.lost)
    }
}

impl Protocol for Peers<'_> {
    type State = State;

    fn start(&self) -> State {
        let none = || Flags::none(self.events.roots);
        State {
            apart: none(),
            unfenced: none(),
            lost: none(),
        }
    }

    fn apply(&self, event: &Event, state: &mut State) {
        match &event.kind {
            Kind::Initialize(place) => {
                if let Some(root) = place.root {
                    state.apart.set(root);
                    state.unfenced.set(root);
                    state.lost.unset(root);
                }
            }
            Kind::ScopeFence => state.unfenced.clear(),
            Kind::RelaxedArrive => state.lost = state.unfenced.clone(),
            Kind::ClusterWait => state.apart = state.lost.clone(),
            Kind::Call => *state = self.start(),
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &State, found: &mut Vec<Violation>) {
        let violation = match event.kind {
            Kind::RelaxedArrive if !self.uses_remote => {
                let objects = state.unfenced.iter();
                let certainty = objects.filter_map(|object| state.unfenced.certainty(object));
                certainty.max().map(|c| (Rule::MbarrierNotPublished, c))
            }
            Kind::RemoteObject(root) => state
                .apart
                .on_some_path(root)
                .then_some((Rule::MbarrierNotInitialized, Certainty::Possible)),
            _ => None,
        };
        found.extend(violation.map(|(rule, certainty)| Violation {
            inst: event.inst,
            rule,
            certainty,
            cause: None,
        }));
    }
}
