//! Mbarrier objects that are used before they are initialized, or before the thread knows that they are, that are initialized twice, and whose
//! memory is overwritten (9.7.13.15.9).
//!
//! ```text
//!                   initialize                     barrier
//! not initialized ──────────────▶ known to the  ──────────────▶ known to all threads
//!        ▲                        initializing                           │
//!        │                        thread                                 │
//!        └───────────────────────────────────────────────────────────────┘
//!                  invalidate; a barrier makes that known as well
//! ```

use alloc::vec::Vec;

use ptx_isa::Action;

use super::events::{Access, Event, Events, Kind};
use super::flags::Flags;
use super::mbarrier_visibility::{EndedObject, ended, initialized_elsewhere};
use super::mechanism::Mechanism;
use super::paths::{always_follows, avoids};
use super::place::{Overlap, Place, distinct};
use super::protocol::{Protocol, follow};
use super::{Certainty, Rule, Violation};
use crate::dataflow::JoinSemiLattice;
use crate::function_dataflow::FunctionDataflow;

/// The maximum number of objects, of initializations of one object, and of calls that are followed. Objects are bits of `u64`.
const MOST: usize = 64;

/// Adds the uses of objects that break the protocol.
///
/// Functions that are not kernels use objects of their callers, and an initialization at an unknown address may be of any object: then there are no
/// violations.
pub(super) fn check(
    events: &Events,
    analysis: &FunctionDataflow<'_>,
    violations: &mut Vec<Violation>,
) {
    let initializes_unknown = events
        .all()
        .any(|event| matches!(&event.kind, Kind::Initialize(place) if place.root.is_none()));
    let uses_objects = events.all().any(|event| {
        matches!(
            event.kind,
            Kind::Object(_) | Kind::Await(_) | Kind::Initialize(_) | Kind::Invalidate(_)
        )
    });
    if !events.is_kernel || !uses_objects || initializes_unknown {
        return;
    }
    let objects = used_objects(events);
    let initializations = objects
        .iter()
        .map(|object| initializations_of(events, *object))
        .collect();
    let invalidated = events.all().filter_map(|event| match &event.kind {
        Kind::Invalidate(place) => Some(*place),
        _ => None,
    });
    let calls = events
        .all()
        .filter(|event| matches!(event.kind, Kind::Call));
    let protocol = Objects {
        initializations,
        invalidated: distinct(invalidated, MOST),
        calls: calls.take(MOST).collect(),
        initialized_elsewhere: initialized_elsewhere(events, analysis.cfg(), &objects),
        ended: ended(events, analysis, &objects),
        objects,
        events,
        analysis,
    };
    follow(&protocol, events, analysis.cfg(), violations);
}

/// The objects of which at least the variable is known. Objects of one variable with computed addresses are one object.
fn used_objects(events: &Events) -> Vec<Place> {
    let mut objects: Vec<Place> = Vec::new();
    for event in events.all() {
        if let Kind::Initialize(place)
        | Kind::Invalidate(place)
        | Kind::Object(place)
        | Kind::Await(place) = &event.kind
            && place.root.is_some()
            && objects.len() < MOST
            && !objects.iter().any(|object| is_same_object(*object, *place))
        {
            objects.push(*place);
        }
    }
    objects
}

/// Whether two places count as one object: all places of a variable with computed addresses do.
fn is_same_object(a: Place, b: Place) -> bool {
    let is_fixed = |place: Place| place.distance(place) == Some(0);
    a.is_same_address(b) || a.root == b.root && !is_fixed(a) && !is_fixed(b)
}

/// The first initializations of an object by the function itself.
fn initializations_of(events: &Events, object: Place) -> Vec<&Event> {
    events
        .all()
        .filter(|event| {
            matches!(&event.kind, Kind::Initialize(place) if place.may_be_same_address(object))
        })
        .take(MOST)
        .collect()
}

/// The protocol of mbarrier objects. Objects are numbered by their index in `objects`.
struct Objects<'a> {
    objects: Vec<Place>,
    /// The initializations of each object.
    initializations: Vec<Vec<&'a Event>>,
    /// The places of all invalidated objects; `None` if there are many.
    invalidated: Option<Vec<Place>>,
    /// The first calls.
    calls: Vec<&'a Event>,
    /// For each barrier, a bit for each object that other threads may have initialized.
    initialized_elsewhere: Vec<u64>,
    /// For each barrier, the objects that are no longer valid after it.
    ended: Vec<Vec<EndedObject>>,
    events: &'a Events,
    analysis: &'a FunctionDataflow<'a>,
}

/// Sets of objects.
#[derive(Clone, Debug)]
struct State {
    /// The object was initialized, and not invalidated since.
    initialized: Flags,
    /// The thread knows that the object is initialized: it initialized it itself, or waited at a barrier after another thread did.
    known: Flags,
    /// The object was initialized by an instruction whose address is certainly that of the object.
    exact: Flags,
    /// Threads of other warps may not know that the object is initialized, because only the threads of a warp synchronized since.
    known_in_warp: Flags,
    /// The thread initialized the object, and no fence or barrier followed.
    unfenced: Flags,
}

impl JoinSemiLattice for State {
    fn join(&mut self, other: &Self) -> bool {
        self.initialized.join(&other.initialized)
            | self.known.join(&other.known)
            | self.exact.join(&other.exact)
            | self.known_in_warp.join(&other.known_in_warp)
            | self.unfenced.join(&other.unfenced)
    }
}

impl Objects<'_> {
    fn numbered(&self) -> impl Iterator<Item = (u32, Place)> + '_ {
        (0u32..).zip(self.objects.iter().copied())
    }

    fn initializations(&self, number: u32) -> &[&Event] {
        let initializations = self.initializations.get(number as usize);
        initializations.map_or(&[], Vec::as_slice)
    }

    /// Whether threads that did not initialize an object execute a use of it, as well as the thread that did.
    fn is_used_by_other_threads(&self, event: &Event, number: u32) -> bool {
        let dominators = self.analysis.dominators();
        let initializations = self.initializations(number);
        let candidates = if initializations.is_empty() {
            self.calls.as_slice()
        } else {
            initializations
        };
        !event.conditional
            && candidates.iter().any(|initialization| {
                let may_be_skipped = initialization.conditional
                    || !dominators.dominates(initialization.block, event.block);
                may_be_skipped
                    && initialization.selected
                    && always_follows(self.analysis, event.block, initialization.block)
            })
    }

    /// A use of an object that is not initialized, as far as the thread knows.
    fn check_use(&self, event: &Event, place: Place, state: &State) -> Option<(Rule, Certainty)> {
        place.root?;
        let (number, object) = self
            .numbered()
            .find(|(_, object)| is_same_object(*object, place))?;
        let certainty = match state.known.certainty(number) {
            None => Certainty::Definite,
            Some(Certainty::Definite) => {
                let is_of_all_threads = !event.selected && !event.conditional;
                if self.may_skip_initialization(event, number, object)
                    || is_of_all_threads && state.known_in_warp.on_some_path(number)
                {
                    Certainty::Possible
                } else {
                    return None;
                }
            }
            Some(Certainty::Possible)
                if matches!(event.kind, Kind::Await(_))
                    || self.is_used_by_other_threads(event, number) =>
            {
                Certainty::Possible
            }
            // The thread that initialized the object uses it under the same condition.
            Some(Certainty::Possible) => return None,
        };
        Some((Rule::MbarrierNotInitialized, certainty))
    }

    /// Makes known which objects other threads initialized and ended before a barrier. A thread that arrives without waiting learns nothing.
    fn synchronize(&self, barrier: u32, state: &mut State) {
        let action = self.events.barrier(barrier);
        if action == Some(Action::BarrierArrive) {
            return;
        }
        let State {
            initialized,
            known,
            exact,
            known_in_warp,
            ..
        } = state;
        if self.events.has_several_warps && action == Some(Action::WarpBarrier) {
            initialized
                .iter()
                .filter(|object| !known.on_all_paths(*object))
                .for_each(|object| known_in_warp.set(object));
        } else {
            known_in_warp.clear();
        }
        initialized.iter().for_each(|object| known.set(object));
        let elsewhere = self
            .initialized_elsewhere
            .get(barrier as usize)
            .copied()
            .unwrap_or_default();
        (0..self.objects.len() as u32)
            .filter(|object| elsewhere >> object & 1 == 1)
            .for_each(|object| known.set(object));
        for ended in self.ended.get(barrier as usize).into_iter().flatten() {
            for flags in [&mut *initialized, &mut *known, &mut *exact] {
                match ended.certainty {
                    Certainty::Definite => flags.unset(ended.object),
                    Certainty::Possible => flags.weaken(ended.object),
                }
            }
        }
    }

    /// Assumes that the called function initializes the objects that this function does not initialize. The other objects may be in any state.
    fn call(&self, state: &mut State) {
        state.exact.clear();
        for (number, _) in self.numbered() {
            if self.initializations(number).is_empty() {
                state.initialized.set(number);
            } else {
                state.initialized.unset(number);
            }
            state.known.set(number);
        }
    }

    /// Whether a condition on parameters of the kernel decides that no thread initializes an object before its use.
    fn may_skip_initialization(&self, event: &Event, number: u32, object: Place) -> bool {
        let initializations = self.initializations(number);
        let use_deciders = self.events.decided_by_parameters(event.block);
        if !object.is_fixed() || event.conditional {
            return false;
        }
        if let [initialization] = initializations
            && initialization.guarded_by_parameters
            && use_deciders.is_empty()
        {
            return true;
        }
        initializations
            .iter()
            .flat_map(|e| self.events.decided_by_parameters(e.block))
            .filter(|branch| !use_deciders.contains(branch))
            .any(|&branch| {
                let required = initializations.iter().copied();
                always_follows(self.analysis, event.block, branch)
                    && avoids(
                        self.events,
                        self.analysis,
                        branch,
                        Some(event.block),
                        required,
                    )
            })
    }

    /// A copy that reports to an object that the same thread initialized without a fence after it.
    fn check_report(&self, operation: u32, state: &State) -> Option<(Rule, Certainty)> {
        let operation = self.events.operation(operation)?;
        let object = operation
            .object
            .filter(|_| operation.mechanism == Mechanism::Mbarrier)?;
        self.numbered()
            .filter(|(_, other)| other.is_same_address(object))
            .any(|(number, _)| state.unfenced.on_some_path(number))
            .then_some((Rule::MbarrierNotFenced, Certainty::Possible))
    }

    /// An initialization of an object that is initialized already.
    fn check_initialization(
        &self,
        event: &Event,
        place: Place,
        state: &State,
    ) -> Option<(Rule, Certainty)> {
        let (number, _) = self
            .numbered()
            .find(|(_, object)| object.distance(place) == Some(0))?;
        let certainty = state.exact.certainty(number)?;
        if certainty == Certainty::Possible {
            // The threads that end an object before they initialize it again are not told apart from the others.
            let may_be_ended = self
                .invalidated
                .as_ref()
                .is_none_or(|places| places.iter().any(|p| p.is_same_address(place)));
            // The guards of neighboring initializations that parameters decide usually exclude each other.
            let is_alternative = event.guarded_by_parameters
                && self.initializations(number).iter().any(|other| {
                    other.guarded_by_parameters
                        && other.block == event.block
                        && other.inst != event.inst
                });
            if may_be_ended || is_alternative {
                return None;
            }
        }
        Some((Rule::MbarrierInitializedTwice, certainty))
    }

    /// A write to the memory of an object that is initialized.
    fn check_write(
        &self,
        event: &Event,
        access: Access,
        state: &State,
    ) -> Option<(Rule, Certainty)> {
        if !access.writes || !access.is_shared {
            return None;
        }
        let certainties = self.numbered().filter_map(|(number, object)| {
            let is_initialized = state.initialized.certainty(number)?;
            // Another thread initialized the object, and this thread does not know it.
            if is_initialized == Certainty::Possible && !state.known.on_all_paths(number) {
                return None;
            }
            let overlaps = match object.overlap(access.place) {
                Overlap::Certain => Certainty::Definite,
                // The access of one of the threads overlaps.
                Overlap::Possible
                    if !event.selected
                        && !event.conditional
                        && access.place.certainly_shares(object) =>
                {
                    Certainty::Possible
                }
                Overlap::Possible | Overlap::Never => return None,
            };
            Some(is_initialized.min(overlaps))
        });
        Some((Rule::MbarrierOverwritten, certainties.max()?))
    }
}

impl Protocol for Objects<'_> {
    type State = State;

    fn start(&self) -> State {
        State {
            initialized: Flags::none(self.objects.len()),
            known: Flags::none(self.objects.len()),
            exact: Flags::none(self.objects.len()),
            known_in_warp: Flags::none(self.objects.len()),
            unfenced: Flags::none(self.objects.len()),
        }
    }

    fn apply(&self, event: &Event, state: &mut State) {
        match &event.kind {
            Kind::Initialize(place) => {
                for (number, object) in self.numbered() {
                    if object.may_be_same_address(*place) {
                        state.initialized.set(number);
                        state.known.set(number);
                        state.unfenced.set(number);
                    }
                    if object.distance(*place) == Some(0) {
                        state.exact.set(number);
                    }
                }
            }
            Kind::Invalidate(place) => {
                for (number, object) in self.numbered() {
                    if is_same_object(object, *place) {
                        state.initialized.unset(number);
                        state.known.unset(number);
                        state.exact.unset(number);
                    }
                }
            }
            Kind::Barrier(number) => {
                state.unfenced.clear();
                self.synchronize(*number, state);
            }
            Kind::ProxyFence { .. } | Kind::ScopeFence => state.unfenced.clear(),
            Kind::Call => {
                state.unfenced.clear();
                self.call(state);
            }
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &State, violations: &mut Vec<Violation>) {
        let violation = match &event.kind {
            Kind::Object(place) | Kind::Await(place) => self.check_use(event, *place, state),
            Kind::Invalidate(place) => self
                .check_use(event, *place, state)
                .filter(|(_, certainty)| *certainty == Certainty::Definite),
            Kind::Initialize(place) => self.check_initialization(event, *place, state),
            Kind::Start(number) => self.check_report(*number, state),
            Kind::Memory(access) => self.check_write(event, *access, state),
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
