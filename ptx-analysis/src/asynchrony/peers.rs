//! Mbarrier objects of other CTAs that are used before the CTAs met at the barrier of the cluster (9.7.13.15.9): the initialization of an
//! object is known to another CTA after the fence for it and that barrier only.

use alloc::vec::Vec;

use ptx_isa::Action;

use super::events::{Event, Events, Kind};
use super::flags::Flags;
use super::place::{Place, distinct};
use super::protocol::{Protocol, follow};
use super::{Certainty, Rule, Violation};
use crate::cfg::Cfg;
use crate::dataflow::JoinSemiLattice;

/// Adds the uses of objects that need not be initialized yet, and relaxed arrivals that do not publish them.
pub(super) fn check(events: &Events, cfg: &Cfg, found: &mut Vec<Violation>) {
    let initialized = || {
        events.all().filter_map(|e| match e.kind {
            Kind::Initialize(place) if place.root.is_some() => Some(place),
            _ => None,
        })
    };
    if events.is_kernel && initialized().next().is_some() {
        let has = |is: fn(&Kind) -> bool| events.all().any(|e| is(&e.kind));
        let variables = || distinct(initialized().map(of_variable), MOST);
        let peers = Peers {
            events,
            objects: (distinct(initialized(), MOST))
                .or_else(variables)
                .unwrap_or_default(),
            uses_remote: has(|kind| matches!(kind, Kind::RemoteObject(_))),
            is_of_cluster: has(|kind| matches!(kind, Kind::ClusterWait)),
        };
        follow(&peers, events, cfg, found);
    }
}

/// Objects beyond these are not told apart.
const MOST: usize = 64;

/// Any object in the same variable.
fn of_variable(place: Place) -> Place {
    Place {
        base: None,
        offset: None,
        address: None,
        ..place
    }
}

struct Peers<'a> {
    events: &'a Events,
    /// The objects that are initialized.
    objects: Vec<Place>,
    uses_remote: bool,
    /// Whether threads of the cluster wait for each other. Otherwise the kernel also runs with one CTA in each cluster, or only so.
    is_of_cluster: bool,
}

/// By objects.
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
        let none = || Flags::none(self.objects.len());
        State {
            apart: none(),
            unfenced: none(),
            lost: none(),
        }
    }

    fn apply(&self, event: &Event, state: &mut State) {
        match &event.kind {
            Kind::Initialize(place) => {
                let objects = (0u32..).zip(&self.objects);
                let same = objects.filter(|(_, o)| *o == place || **o == of_variable(*place));
                for (object, _) in same {
                    state.apart.set(object);
                    state.unfenced.set(object);
                    state.lost.unset(object);
                }
            }
            Kind::ScopeFence => state.unfenced.clear(),
            Kind::RelaxedArrive => state.lost = state.unfenced.clone(),
            Kind::ClusterWait => state.apart = state.lost.clone(),
            Kind::Barrier(number)
                if !self.is_of_cluster
                    && self.events.barrier(*number) != Some(Action::WarpBarrier) =>
            {
                state.apart.clear();
            }
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
            Kind::RemoteObject(place) => {
                let is_it = |object: u32| {
                    let object = self.objects.get(object as usize);
                    object.is_some_and(|object| object.may_be_same_address(place))
                };
                let apart = state.apart.iter().any(is_it);
                apart.then_some((Rule::MbarrierNotInitialized, Certainty::Possible))
            }
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
