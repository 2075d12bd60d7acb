//! Synchronization of the CTAs of a cluster: the barrier of the cluster (9.7.13.3), and mbarrier objects of other CTAs (9.7.13.15.9).
//!
//! Each thread waits at the barrier of the cluster once for each time that it arrives:
//!
//! ```text
//!           arrive
//!        ┌──────────▶┐
//!      idle        arrived
//!        └◀──────────┘
//!            wait
//! ```
//!
//! The initialization of an mbarrier object is visible to another CTA only after the fence for it and this barrier.

use alloc::vec::Vec;

use ptx_isa::Action;

use super::events::{Event, Events, Kind};
use super::flags::Flags;
use super::place::{Place, distinct};
use super::protocol::{Protocol, follow};
use super::{Certainty, Rule, Violation};
use crate::cfg::Cfg;
use crate::dataflow::JoinSemiLattice;

/// Adds arrivals without a wait between them, waits without an arrival, and uses of objects of other CTAs that may not be initialized.
pub(super) fn check(events: &Events, cfg: &Cfg, violations: &mut Vec<Violation>) {
    if !events.is_kernel {
        return;
    }
    if events
        .all()
        .any(|event| matches!(event.kind, Kind::ClusterArrive | Kind::ClusterWait))
    {
        follow(&ClusterBarrier, events, cfg, violations);
    }
    if let Some(objects) = initialized_objects(events) {
        let protocol = RemoteObjects {
            events,
            objects,
            uses_remote_objects: events
                .all()
                .any(|event| matches!(event.kind, Kind::RemoteObject(_))),
            has_cluster_barrier: events
                .all()
                .any(|event| matches!(event.kind, Kind::ClusterWait)),
        };
        follow(&protocol, events, cfg, violations);
    }
}

/// The protocol that arrivals and waits at the barrier of the cluster alternate.
struct ClusterBarrier;

/// The flag of a thread that arrived and did not wait since.
const ARRIVED: u32 = 0;
/// The flag of a thread that did not arrive since it waited.
const IDLE: u32 = 1;

impl Protocol for ClusterBarrier {
    type State = Flags;

    fn start(&self) -> Flags {
        let mut flags = Flags::none(2);
        flags.set(IDLE);
        flags
    }

    fn apply(&self, event: &Event, state: &mut Flags) {
        match event.kind {
            Kind::ClusterArrive => {
                state.set(ARRIVED);
                state.unset(IDLE);
            }
            Kind::ClusterWait => {
                state.set(IDLE);
                state.unset(ARRIVED);
            }
            Kind::Call => state.clear(),
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &Flags, violations: &mut Vec<Violation>) {
        let wrong_state = match event.kind {
            Kind::ClusterArrive => ARRIVED,
            Kind::ClusterWait => IDLE,
            _ => return,
        };
        // A guarded arrival is usually followed by a wait with the same guard.
        if state.on_all_paths(wrong_state) {
            violations.push(Violation {
                inst: event.inst,
                rule: Rule::ClusterBarrier,
                certainty: Certainty::Definite,
                cause: None,
            });
        }
    }
}

/// The maximum number of objects that are told apart.
const MOST_OBJECTS: usize = 64;

/// The mbarrier objects that a kernel initializes, or their variables if there are many objects; `None` without objects.
fn initialized_objects(events: &Events) -> Option<Vec<Place>> {
    let initialized = events.all().filter_map(|event| match event.kind {
        Kind::Initialize(place) if place.root.is_some() => Some(place),
        _ => None,
    });
    initialized.clone().next()?;
    let variables = initialized.clone().map(whole_variable);
    distinct(initialized, MOST_OBJECTS)
        .or_else(|| distinct(variables, MOST_OBJECTS))
        .or_else(|| Some(Vec::new()))
}

/// The place of any object in the variable of an object.
fn whole_variable(place: Place) -> Place {
    Place {
        base: None,
        offset: None,
        address: None,
        ..place
    }
}

/// The protocol that objects of other CTAs are used after a barrier that follows their initialization.
struct RemoteObjects<'a> {
    events: &'a Events,
    /// The objects that the kernel initializes.
    objects: Vec<Place>,
    uses_remote_objects: bool,
    /// Threads wait at the barrier of the cluster. Otherwise the kernel also, or only, runs with one CTA in each cluster.
    has_cluster_barrier: bool,
}

/// Sets of objects.
#[derive(Clone, Debug)]
struct RemoteState {
    /// The object was initialized, and other CTAs may not know it.
    unknown: Flags,
    /// No fence for other CTAs followed the initialization of the object.
    unfenced: Flags,
    /// The thread arrived at the barrier of the cluster without publishing the initialization: the barrier does not make it known.
    unpublished: Flags,
}

impl JoinSemiLattice for RemoteState {
    fn join(&mut self, other: &Self) -> bool {
        self.unknown.join(&other.unknown)
            | self.unfenced.join(&other.unfenced)
            | self.unpublished.join(&other.unpublished)
    }
}

impl Protocol for RemoteObjects<'_> {
    type State = RemoteState;

    fn start(&self) -> RemoteState {
        RemoteState {
            unknown: Flags::none(self.objects.len()),
            unfenced: Flags::none(self.objects.len()),
            unpublished: Flags::none(self.objects.len()),
        }
    }

    fn apply(&self, event: &Event, state: &mut RemoteState) {
        match &event.kind {
            Kind::Initialize(place) => {
                for (number, object) in (0u32..).zip(&self.objects) {
                    if object == place || *object == whole_variable(*place) {
                        state.unknown.set(number);
                        state.unfenced.set(number);
                        state.unpublished.unset(number);
                    }
                }
            }
            Kind::ScopeFence => state.unfenced.clear(),
            Kind::RelaxedArrive => state.unpublished = state.unfenced.clone(),
            Kind::ClusterWait => state.unknown = state.unpublished.clone(),
            Kind::Barrier(number)
                if !self.has_cluster_barrier
                    && self.events.barrier(*number) != Some(Action::WarpBarrier) =>
            {
                state.unknown.clear();
            }
            Kind::Call => *state = self.start(),
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &RemoteState, violations: &mut Vec<Violation>) {
        let violation = match event.kind {
            Kind::RelaxedArrive if !self.uses_remote_objects => state
                .unfenced
                .iter()
                .filter_map(|object| state.unfenced.certainty(object))
                .max()
                .map(|certainty| (Rule::MbarrierNotPublished, certainty)),
            Kind::RemoteObject(place) => state
                .unknown
                .iter()
                .filter_map(|number| self.objects.get(number as usize))
                .any(|object| object.may_be_same_address(place))
                .then_some((Rule::MbarrierNotInitialized, Certainty::Possible)),
            _ => None,
        };
        violations.extend(violation.map(|(rule, certainty)| Violation {
            inst: event.inst,
            rule,
            certainty,
            cause: None,
        }));
    }
}
