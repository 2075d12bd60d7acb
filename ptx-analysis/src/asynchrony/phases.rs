//! Phases of mbarrier objects: whether waiting for a parity waits for what was started last (9.7.13.15.4).
//!
//! A wait for the parity of a phase that is complete already ends at once: for parity 1 of a new object, and for the parity that was waited
//! for last. If something that the object has to wait for was started since, this is a mistake.

use alloc::vec::Vec;

use super::events::{Events, Kind};
use super::place::Place;
use crate::dataflow::JoinSemiLattice;

/// Objects beyond these are not followed.
const MOST: usize = 64;

/// The objects whose addresses are always the same.
#[derive(Debug)]
pub(super) struct Objects(Vec<Place>);

/// The parity of the last complete phase that is known: 0, 1 or unknown; and whether anything was started since, in bits.
const UNKNOWN: u8 = 2;

const fn bit(parity: u8, started: bool) -> u8 {
    1 << (parity * 2 + started as u8)
}

/// Whether a wait waits for what was started last.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Waits {
    Yes,
    Perhaps,
    No,
}

/// Of each object, what it may be in on some path each.
#[derive(Clone, Debug)]
pub(super) struct Phases(Vec<u8>);

impl JoinSemiLattice for Phases {
    fn join(&mut self, other: &Self) -> bool {
        let mut changed = false;
        for (ours, theirs) in self.0.iter_mut().zip(&other.0) {
            changed |= *theirs & !*ours != 0;
            *ours |= theirs;
        }
        changed
    }
}

impl Objects {
    pub(super) fn new(events: &Events) -> Self {
        let mut found: Vec<Place> = Vec::new();
        for event in events.all() {
            if let Kind::Initialize(place) | Kind::Phase(place, _) = &event.kind
                && place.distance(*place) == Some(0)
                && found.len() < MOST
                && !found.iter().any(|p| p.is_same_address(*place))
            {
                found.push(*place);
            }
        }
        Self(found)
    }

    pub(super) fn start(&self) -> Phases {
        Phases(vec![bit(UNKNOWN, false); self.0.len()])
    }

    /// Changes the phases of the objects that are, or may be, at a place.
    fn change(&self, phases: &mut Phases, at: Place, certain: impl Fn(u8) -> u8, perhaps: u8) {
        let is_known = self.0.iter().any(|p| p.is_same_address(at));
        for (place, phase) in self.0.iter().zip(&mut phases.0) {
            if place.is_same_address(at) {
                *phase = certain(*phase);
            } else if !is_known && place.may_be_same_address(at) {
                *phase |= perhaps;
            }
        }
    }

    pub(super) fn initialize(&self, phases: &mut Phases, at: Place) {
        self.change(phases, at, |_| bit(1, false), bit(UNKNOWN, false));
    }

    /// Something that the object waits for is started.
    pub(super) fn begin(&self, phases: &mut Phases, at: Place) {
        let begun = |states: u8| {
            let parities = 0..=UNKNOWN;
            let is = |p: u8| states & (bit(p, false) | bit(p, true)) != 0;
            parities
                .filter(|p| is(*p))
                .fold(0, |all, p| all | bit(p, true))
        };
        self.change(phases, at, begun, bit(UNKNOWN, true));
    }

    /// An object is waited for.
    pub(super) fn wait(&self, phases: &mut Phases, at: Place, parity: Option<u64>) -> Waits {
        let parity = parity.map_or(UNKNOWN, |p| (p & 1) as u8);
        let mut waits = Waits::Yes;
        if let Some(index) = self.0.iter().position(|p| p.is_same_address(at))
            && let Some(states) = phases.0.get(index)
            && parity != UNKNOWN
        {
            let early = bit(parity, true);
            waits = match states & early != 0 {
                true if *states == early => Waits::No,
                true => Waits::Perhaps,
                false => Waits::Yes,
            };
        }
        self.change(phases, at, |_| bit(parity, false), bit(UNKNOWN, false));
        waits
    }

    /// Nothing is known any more.
    pub(super) fn forget(&self, phases: &mut Phases) {
        phases.0.fill(bit(UNKNOWN, false));
    }
}
