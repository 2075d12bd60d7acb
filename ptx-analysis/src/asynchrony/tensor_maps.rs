//! Tensor maps that are changed and used without fences of the tensormap proxy (9.7.13.4, 9.7.9.26).

use alloc::vec::Vec;

use super::events::{Event, Events, Kind};
use super::flags::Flags;
use super::place::{Overlap, Place};
use super::protocol::{Protocol, follow};
use super::{Rule, Violation};
use crate::cfg::Cfg;
use crate::dataflow::JoinSemiLattice;

/// The maximum number of maps that are followed.
const MOST_MAPS: usize = 64;

/// The bytes of a map.
const MAP_BYTES: u64 = 128;

/// Whether ordinary stores to the memory of a map change it.
fn is_stored(events: &Events, map: Place) -> bool {
    map.root.is_some()
        && events
            .all()
            .filter_map(global_store)
            .any(|place| place.root == map.root)
}

/// The place that an event writes, if it is an ordinary store to global memory.
fn global_store(event: &Event) -> Option<Place> {
    match &event.kind {
        Kind::Memory(access) if access.writes && !access.asynchronous && !access.is_shared => {
            Some(access.place)
        }
        _ => None,
    }
}

/// Adds the uses of maps that need a fence.
pub(super) fn check(events: &Events, cfg: &Cfg, violations: &mut Vec<Violation>) {
    let mut maps: Vec<Place> = Vec::new();
    for event in events.all() {
        let place = match event.kind {
            Kind::MapWrite(place) => place,
            Kind::MapRead(place) if is_stored(events, place) => place,
            _ => continue,
        };
        if maps.len() < MOST_MAPS && !maps.iter().any(|m| m.is_same_address(place)) {
            maps.push(Place {
                bytes: Some(MAP_BYTES),
                ..place
            });
        }
    }
    if !maps.is_empty() {
        follow(&Maps(maps), events, cfg, violations);
    }
}

/// The protocol that a release and an acquire lie between a change of a map and its use. The maps are those that the function changes.
struct Maps(Vec<Place>);

/// Sets of maps.
#[derive(Clone, Debug)]
struct State {
    /// The map was changed and not released since.
    unreleased: Flags,
    /// The map was changed and not acquired since.
    unacquired: Flags,
}

impl JoinSemiLattice for State {
    fn join(&mut self, other: &Self) -> bool {
        self.unreleased.join(&other.unreleased) | self.unacquired.join(&other.unacquired)
    }
}

impl Maps {
    /// The number of the map at a place.
    fn number(&self, place: Place) -> Option<u32> {
        let index = self.0.iter().position(|map| map.is_same_address(place))?;
        u32::try_from(index).ok()
    }
}

impl Protocol for Maps {
    type State = State;

    fn start(&self) -> State {
        State {
            unreleased: Flags::none(self.0.len()),
            unacquired: Flags::none(self.0.len()),
        }
    }

    fn apply(&self, event: &Event, state: &mut State) {
        match &event.kind {
            Kind::MapWrite(place) => {
                if let Some(map) = self.number(*place) {
                    state.unreleased.set(map);
                    state.unacquired.set(map);
                }
            }
            Kind::MapRelease => state.unreleased.clear(),
            Kind::MapAcquire(place) => {
                for (number, map) in (0u32..).zip(&self.0) {
                    if map.may_be_same_address(*place) {
                        state.unacquired.unset(number);
                    }
                }
            }
            Kind::Call => *state = self.start(),
            Kind::Memory(_) => {
                let stored = global_store(event);
                for (number, map) in (0u32..).zip(&self.0) {
                    if stored.is_some_and(|place| map.overlap(place) != Overlap::Never) {
                        state.unreleased.set_possible(number);
                        state.unacquired.set_possible(number);
                    }
                }
            }
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &State, violations: &mut Vec<Violation>) {
        let Kind::MapRead(place) = &event.kind else {
            return;
        };
        let Some(map) = self.number(*place) else {
            return;
        };
        let is_unreleased = state.unreleased.certainty(map);
        let certainty = is_unreleased.max(state.unacquired.certainty(map));
        violations.extend(certainty.map(|certainty| Violation {
            inst: event.inst,
            rule: Rule::TensorMapFence,
            certainty,
            cause: None,
        }));
    }
}
