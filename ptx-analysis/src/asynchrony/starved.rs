//! Waits for asynchronous operations at mbarrier objects at which no instruction of the kernel arrives.

use alloc::vec::Vec;

use super::events::{Events, Kind};
use super::mechanism::Mechanism;
use super::place::{Place, distinct};
use super::{Certainty, Rule, Violation};

/// Places of arrivals beyond these are not told apart.
const MOST: usize = 64;

/// Adds the waits. Other code may arrive at objects whose addresses it gets, and other CTAs at those of a cluster.
pub(super) fn check(events: &Events, found: &mut Vec<Violation>) {
    let is_open = |kind: &Kind| {
        matches!(
            kind,
            Kind::Call | Kind::RemoteObject(_) | Kind::Report(_, None)
        )
    };
    if !events.is_kernel || events.all().any(|e| is_open(&e.kind)) {
        return;
    }
    let Some(arrivals) = distinct(arrivals(events), MOST) else {
        return;
    };
    let initialized = |object: Place| {
        let mut all = events.all();
        all.any(|e| matches!(&e.kind, Kind::Initialize(place) if place.is_same_address(object)))
    };
    // Copies report their bytes only, and products nothing without a commit.
    let is_for_operation = |object: Place| {
        let mut all = events.operations.iter();
        all.any(|o| match o.object {
            Some(of) => of.may_be_same_address(object),
            None => o.mechanism == Mechanism::Tensor,
        })
    };
    let mut seen: Vec<ptx_ir::InstId> = Vec::new();
    for event in events.all() {
        let (Kind::Await(object) | Kind::Phase(object, _)) = event.kind else {
            continue;
        };
        let is_starved = object.root.is_some()
            && object.is_fixed()
            && !arrivals
                .iter()
                .any(|place| place.may_be_same_address(object))
            && is_for_operation(object)
            && initialized(object);
        if is_starved && seen.len() < MOST && !seen.contains(&event.inst) {
            seen.push(event.inst);
            found.push(Violation {
                inst: event.inst,
                rule: Rule::MbarrierNotArrived,
                certainty: Certainty::Possible,
                cause: None,
            });
        }
    }
}

/// The objects at which instructions arrive.
fn arrivals(events: &Events) -> impl Iterator<Item = Place> {
    events.all().filter_map(|event| match event.kind {
        Kind::Signal(place) | Kind::Expect(place, _) => Some(place),
        Kind::Report(mechanism, place) if mechanism != Mechanism::Mbarrier => place,
        _ => None,
    })
}
