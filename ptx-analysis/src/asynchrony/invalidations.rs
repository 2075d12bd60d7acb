//! Barriers after which an mbarrier object is no longer valid, because a thread ended it before.

use alloc::vec::Vec;

use super::Certainty;
use super::events::{Event, Events, Kind};
use super::place::Place;
use crate::dataflow::BitSet;
use crate::function_analysis::FunctionAnalysis;

/// Invalidations of an object beyond these are not followed.
const MOST: usize = 16;

/// For each barrier, what it tells other threads about objects that were ended: their numbers.
pub(super) fn ended(
    events: &Events,
    analysis: &FunctionAnalysis<'_>,
    objects: &[Place],
) -> Vec<Vec<(u32, Certainty)>> {
    let mut ended = vec![Vec::new(); events.barriers()];
    for (number, &object) in (0u32..).zip(objects) {
        let ends = events.all().filter(|event| {
            let is = |place: Place| place.is_same_address(object);
            event.selected && matches!(&event.kind, Kind::Invalidate(place) if is(*place))
        });
        for end in ends.take(MOST) {
            for (barrier, certainty) in barriers(events, analysis, object, end) {
                let list: &mut Vec<(u32, Certainty)> = &mut ended[barrier as usize];
                match list.iter_mut().find(|(other, _)| *other == number) {
                    Some((_, known)) => *known = certainty.max(*known),
                    None => list.push((number, certainty)),
                }
            }
        }
    }
    ended
}

/// The barriers that are reached after an object was ended and before a thread may initialize it again.
fn barriers(
    events: &Events,
    analysis: &FunctionAnalysis<'_>,
    object: Place,
    end: &Event,
) -> Vec<(u32, Certainty)> {
    let initializes =
        |e: &Event| matches!(&e.kind, Kind::Initialize(p) if p.may_be_same_address(object));
    // Threads that skip the initialization pass the branch that decides.
    let again = events.all().filter(|e| initializes(e));
    let mut stops = BitSet::new(analysis.cfg().len() as u32);
    for block in again.flat_map(|e| events.decided_by_thread(e.block)) {
        stops.insert(block.as_u32());
    }
    let dominators = analysis.dominators();
    let decides = events.decided_by_thread(end.block).first();
    let at = decides.copied().unwrap_or(end.block);
    let mut found = Vec::new();
    let mut scan = |list: &[Event], certainty| {
        for event in list {
            match event.kind {
                Kind::Barrier(number) => found.push((number, certainty)),
                _ if initializes(event) => return false,
                _ => {}
            }
        }
        true
    };
    let own = events.of(end.block);
    let next = own.iter().rposition(|e| e.inst == end.inst);
    let mut open = Vec::new();
    let rest = own.get(next.map_or(0, |at| at + 1)..);
    if scan(rest.unwrap_or_default(), Certainty::Definite) && !stops.contains(end.block.as_u32()) {
        open.push(end.block);
    }
    let mut seen = BitSet::new(analysis.cfg().len() as u32);
    while let Some(block) = open.pop() {
        for &to in analysis.cfg().successors(block) {
            let certainty = match dominators.strictly_dominates(at, to) {
                true => Certainty::Definite,
                false => Certainty::Possible,
            };
            let passes = seen.insert(to.as_u32()) && scan(events.of(to), certainty);
            if passes && !stops.contains(to.as_u32()) {
                open.push(to);
            }
        }
    }
    found
}
