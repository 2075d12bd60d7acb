//! Barriers that make the state of mbarrier objects known to the threads that did not change it.
//!
//! A barrier tells each thread which objects other threads initialized and ended before it. These are found once per function, for paths that the
//! thread itself does not take.

use alloc::vec::Vec;

use super::Certainty;
use super::events::{Event, Events, Kind};
use super::paths::{reachable_from, reaching};
use super::place::Place;
use crate::cfg::{BlockId, Cfg};
use crate::dataflow::BitSet;
use crate::function_dataflow::FunctionDataflow;

/// The maximum number of invalidations of an object that are followed.
const MOST_INVALIDATIONS: usize = 16;

fn may_initialize(event: &Event, object: Place) -> bool {
    matches!(&event.kind, Kind::Initialize(place) if place.may_be_same_address(object))
}

/// For each barrier, the objects that other threads may have initialized: those that are initialized only on paths that do not contain the
/// barrier. Bit `i` is the object `objects[i]`; there are at most 64 objects.
pub(super) fn initialized_elsewhere(events: &Events, cfg: &Cfg, objects: &[Place]) -> Vec<u64> {
    let mut initialized = vec![0; events.barriers.len()];
    for (number, &object) in objects.iter().enumerate() {
        let initializing: Vec<BlockId> = cfg
            .blocks()
            .map(|(block, _)| block)
            .filter(|block| {
                let mut events = events.in_block(*block).iter();
                events.any(|event| may_initialize(event, object))
            })
            .collect();
        if initializing.is_empty() {
            continue;
        }
        let before = reaching(cfg, &initializing);
        let after = reachable_from(cfg, &initializing, |_| false);
        for (block, _) in cfg.blocks() {
            if before.contains(block.as_u32())
                || after.contains(block.as_u32())
                || initializing.contains(&block)
            {
                continue;
            }
            for event in events.in_block(block) {
                if let Kind::Barrier(barrier) = event.kind {
                    initialized[barrier as usize] |= 1 << number;
                }
            }
        }
    }
    initialized
}

/// An object that a thread ended before a barrier.
#[derive(Copy, Clone)]
pub(super) struct EndedObject {
    /// The index of the object.
    pub(super) object: u32,
    pub(super) certainty: Certainty,
}

/// For each barrier, the objects that are no longer valid after it, because a thread ended them before it.
pub(super) fn ended(
    events: &Events,
    analysis: &FunctionDataflow<'_>,
    objects: &[Place],
) -> Vec<Vec<EndedObject>> {
    let mut ended: Vec<Vec<EndedObject>> = vec![Vec::new(); events.barriers.len()];
    for (number, &object) in (0u32..).zip(objects) {
        let ends = events.all().filter(|event| {
            event.selected
                && matches!(&event.kind, Kind::Invalidate(place) if place.is_same_address(object))
        });
        for end in ends.take(MOST_INVALIDATIONS) {
            for (barrier, certainty) in barriers_after_end(events, analysis, object, end) {
                let ended_before = &mut ended[barrier as usize];
                match ended_before.iter_mut().find(|e| e.object == number) {
                    Some(ended) => ended.certainty = certainty.max(ended.certainty),
                    None => ended_before.push(EndedObject {
                        object: number,
                        certainty,
                    }),
                }
            }
        }
    }
    ended
}

/// The numbers of the barriers that are reached after an object was ended and before a thread may initialize it again.
fn barriers_after_end(
    events: &Events,
    analysis: &FunctionDataflow<'_>,
    object: Place,
    end: &Event,
) -> Vec<(u32, Certainty)> {
    // Threads that skip the initialization pass the branch that decides it.
    let mut stops = BitSet::new(analysis.cfg().len() as u32);
    for event in events.all().filter(|event| may_initialize(event, object)) {
        for block in events.decided_by_thread(event.block) {
            stops.insert(block.as_u32());
        }
    }
    let dominators = analysis.dominators();
    let deciders = events.decided_by_thread(end.block);
    // All threads that pass this block find the object ended later.
    let ending_block = deciders.first().copied().unwrap_or(end.block);
    let mut barriers = Vec::new();
    // Adds the barriers of consecutive events; returns whether the object is still ended after them.
    let mut scan = |events: &[Event], certainty| {
        for event in events {
            match event.kind {
                Kind::Barrier(number) => barriers.push((number, certainty)),
                _ if may_initialize(event, object) => return false,
                _ => {}
            }
        }
        true
    };
    let events_of_block = events.in_block(end.block);
    let next_index = events_of_block
        .iter()
        .rposition(|event| event.inst == end.inst)
        .map_or(0, |index| index + 1);
    let later_events = events_of_block.get(next_index..).unwrap_or_default();
    let mut worklist = Vec::new();
    if scan(later_events, Certainty::Definite) && !stops.contains(end.block.as_u32()) {
        worklist.push(end.block);
    }
    let mut seen = BitSet::new(analysis.cfg().len() as u32);
    while let Some(block) = worklist.pop() {
        for &successor in analysis.cfg().successors(block) {
            let certainty = if dominators.strictly_dominates(ending_block, successor) {
                Certainty::Definite
            } else {
                Certainty::Possible
            };
            let is_ended =
                seen.insert(successor.as_u32()) && scan(events.in_block(successor), certainty);
            if is_ended && !stops.contains(successor.as_u32()) {
                worklist.push(successor);
            }
        }
    }
    barriers
}
