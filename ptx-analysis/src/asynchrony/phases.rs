//! Phases of mbarrier objects: whether a wait for a parity waits for the operations that were started last (9.7.13.15.4).
//!
//! A new object is in phase 0. Phases have the parities 0, 1, 0, 1, …; a phase is complete when all threads arrived and all bytes were copied.
//!
//! ```text
//!            complete              complete              complete
//! phase 0 ──────────────▶ phase 1 ──────────────▶ phase 2 ──────────────▶ …
//! wait(1) ends at once    wait(0) ends at once    wait(1) ends at once
//! ```
//!
//! A wait for the parity of the last complete phase ends at once: a wait for parity 1 of a new object, and a second wait for the parity that was
//! awaited last. If an operation was started since that the object has to wait for, this is a mistake.

use alloc::vec::Vec;

use super::events::{Events, Kind};
use super::place::Place;
use crate::dataflow::JoinSemiLattice;

/// The maximum number of objects that are followed.
const MOST: usize = 64;

/// The mbarrier objects of a function whose addresses are always the same.
#[derive(Debug)]
pub(super) struct Objects(Vec<Place>);

/// The parity of the last complete phase, if it is neither 0 nor 1 on all paths to an event.
const UNKNOWN: u8 = 2;

/// The bit of a state of an object: the parity of its last complete phase, and whether an operation was started since that it has to wait for.
const fn state_bit(parity: u8, started: bool) -> u8 {
    1 << (parity * 2 + started as u8)
}

/// Whether a wait for a parity waits for the operations that were started last.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Waits {
    Yes,
    Perhaps,
    No,
}

/// The states in which each object may be: the union of the bits of its states on the paths to an event.
#[derive(Clone, Debug)]
pub(super) struct Phases(Vec<u8>);

impl JoinSemiLattice for Phases {
    fn join(&mut self, other: &Self) -> bool {
        let mut changed = false;
        for (states, other_states) in self.0.iter_mut().zip(&other.0) {
            changed |= *other_states & !*states != 0;
            *states |= other_states;
        }
        changed
    }
}

impl Objects {
    pub(super) fn new(events: &Events) -> Self {
        let mut objects: Vec<Place> = Vec::new();
        for event in events.all() {
            if let Kind::Initialize(place) | Kind::Phase(place, _) = &event.kind
                && place.distance(*place) == Some(0)
                && objects.len() < MOST
                && !objects.iter().any(|object| object.is_same_address(*place))
            {
                objects.push(*place);
            }
        }
        Self(objects)
    }

    /// The phases where the function begins: nothing is known.
    pub(super) fn start(&self) -> Phases {
        Phases(vec![state_bit(UNKNOWN, false); self.0.len()])
    }

    /// Maps the states of the object at a place by `transfer`. If no object is certainly there, adds `possible_state` to those that may be there.
    fn change(
        &self,
        phases: &mut Phases,
        place: Place,
        transfer: impl Fn(u8) -> u8,
        possible_state: u8,
    ) {
        let is_followed = self.0.iter().any(|object| object.is_same_address(place));
        for (object, states) in self.0.iter().zip(&mut phases.0) {
            if object.is_same_address(place) {
                *states = transfer(*states);
            } else if !is_followed && object.may_be_same_address(place) {
                *states |= possible_state;
            }
        }
    }

    /// Initializes the object at a place.
    pub(super) fn initialize(&self, phases: &mut Phases, place: Place) {
        let new_object = state_bit(1, false);
        self.change(phases, place, |_| new_object, state_bit(UNKNOWN, false));
    }

    /// Starts an operation that the object at a place has to wait for.
    pub(super) fn begin(&self, phases: &mut Phases, place: Place) {
        let started = |states: u8| {
            (0..=UNKNOWN)
                .filter(|p| states & (state_bit(*p, false) | state_bit(*p, true)) != 0)
                .fold(0, |started, p| started | state_bit(p, true))
        };
        self.change(phases, place, started, state_bit(UNKNOWN, true));
    }

    /// Completes the phase of the object at a place that has a parity. Returns whether the wait for it waits for the operations that were
    /// started last.
    pub(super) fn wait(&self, phases: &mut Phases, place: Place, parity: Option<u64>) -> Waits {
        let parity = parity.map_or(UNKNOWN, |p| (p & 1) as u8);
        let mut waits = Waits::Yes;
        if let Some(index) = self.0.iter().position(|p| p.is_same_address(place))
            && let Some(&states) = phases.0.get(index)
            && parity != UNKNOWN
        {
            let too_early = state_bit(parity, true);
            waits = if states == too_early {
                Waits::No
            } else if states & too_early != 0 {
                Waits::Perhaps
            } else {
                Waits::Yes
            };
        }
        let awaited = state_bit(parity, false);
        self.change(phases, place, |_| awaited, state_bit(UNKNOWN, false));
        waits
    }

    /// Forgets the states of all objects.
    pub(super) fn forget(&self, phases: &mut Phases) {
        phases.0.fill(state_bit(UNKNOWN, false));
    }
}
