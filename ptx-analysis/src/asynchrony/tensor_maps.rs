//! Tensor maps that are changed and used without fences of the tensormap proxy (9.7.13.4, 9.7.9.26).

use alloc::vec::Vec;

use super::events::{Event, Events, Kind};
use super::flags::Flags;
use super::place::{Overlap, Place};
use super::protocol::{Protocol, follow};
use super::{Rule, Violation};
use crate::cfg::Cfg;
use crate::dataflow::JoinSemiLattice;

/// Maps beyond these are not followed.
const MOST: usize = 64;

/// The bytes of a map.
const BYTES: u64 = 128;

/// Whether ordinary stores to the memory of a map change it.
fn is_stored(events: &Events, map: Place) -> bool {
    let mut all = events.all();
    map.root.is_some() && all.any(|e| stored(e).is_some_and(|place| place.root == map.root))
}

/// What an ordinary store to global memory writes.
fn stored(event: &Event) -> Option<Place> {
    match &event.kind {
        Kind::Memory(access) if access.writes && !access.asynchronous && !access.is_shared => {
            Some(access.place)
        }
        _ => None,
    }
}

/// Adds the uses of maps that need a fence.
pub(super) fn check(events: &Events, cfg: &Cfg, found: &mut Vec<Violation>) {
    let mut maps: Vec<Place> = Vec::new();
    for event in events.all() {
        let place = match event.kind {
            Kind::MapWrite(place) => place,
            Kind::MapRead(place) if is_stored(events, place) => place,
            _ => continue,
        };
        if maps.len() < MOST && !maps.iter().any(|m| m.is_same_address(place)) {
            maps.push(Place {
                bytes: Some(BYTES),
                ..place
            });
        }
    }
    if !maps.is_empty() {
        follow(&Maps(maps), events, cfg, found);
    }
}

/// The maps that are changed.
struct Maps(Vec<Place>);

#[derive(Clone, Debug)]
struct State {
    /// Those that were changed and not released since.
    changed: Flags,
    /// Those that were changed and not acquired since.
    stale: Flags,
}

impl JoinSemiLattice for State {
    fn join(&mut self, other: &Self) -> bool {
        self.changed.join(&other.changed) | self.stale.join(&other.stale)
    }
}

impl Maps {
    fn at(&self, place: Place) -> Option<u32> {
        let at = self.0.iter().position(|m| m.is_same_address(place))?;
        Some(at as u32)
    }
}

impl Protocol for Maps {
    type State = State;

    fn start(&self) -> State {
        State {
            changed: Flags::none(self.0.len()),
            stale: Flags::none(self.0.len()),
        }
    }

    fn apply(&self, event: &Event, state: &mut State) {
        match &event.kind {
            Kind::MapWrite(place) => {
                if let Some(map) = self.at(*place) {
                    state.changed.set(map);
                    state.stale.set(map);
                }
            }
            Kind::MapRelease => state.changed.clear(),
            Kind::MapAcquire(place) => {
                let maps = (0u32..).zip(&self.0);
                for (number, map) in maps {
                    if map.may_be_same_address(*place) {
                        state.stale.unset(number);
                    }
                }
            }
            Kind::Call => *state = self.start(),
            Kind::Memory(_) => {
                let place = stored(event);
                let maps = (0u32..).zip(&self.0);
                for (number, map) in maps {
                    if place.is_some_and(|place| map.overlap(place) != Overlap::Never) {
                        state.changed.set_possible(number);
                        state.stale.set_possible(number);
                    }
                }
            }
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &State, found: &mut Vec<Violation>) {
        let Kind::MapRead(place) = &event.kind else {
            return;
        };
        let Some(map) = self.at(*place) else {
            return;
        };
        let certainty = state.changed.certainty(map).max(state.stale.certainty(map));
        found.extend(certainty.map(|certainty| Violation {
            inst: event.inst,
            rule: Rule::TensorMapFence,
            certainty,
            cause: None,
        }));
    }
}
