//! Waits for mbarrier objects that never end, or that end at once (9.7.13.15.4).
//!
//! A wait never ends if no instruction of the kernel arrives at its object. A wait for the parity of a phase that is complete already ends at once:
//! the same parity in each iteration of a loop, the same parity again after the next phase began, and parity 1 of a new object to which copies
//! report.

use alloc::vec::Vec;

use ptx_ir::InstId;

use super::events::{Event, Events, Kind, ParityWait};
use super::mechanism::Mechanism;
use super::phases::{Objects, Phases, Waits};
use super::place::{Place, distinct};
use super::protocol::{Protocol, follow};
use super::{Certainty, Rule, Violation};
use crate::function_dataflow::FunctionDataflow;
use crate::graph::LoopId;

/// The maximum number of waits that are examined, and of arrivals that are told apart.
const MOST: usize = 64;

/// Adds the waits that never end. Only waits for asynchronous operations are examined.
///
/// Code that gets the address of an object may arrive at it, as may other CTAs of the cluster: then there are no violations.
pub(super) fn check_arrivals(events: &Events, violations: &mut Vec<Violation>) {
    let other_code_may_arrive = events.all().any(|event| {
        matches!(
            event.kind,
            Kind::Call | Kind::RemoteObject(_) | Kind::Report(_, None)
        )
    });
    if !events.is_kernel || other_code_may_arrive {
        return;
    }
    let Some(arrivals) = distinct(arrivals(events), MOST) else {
        return;
    };
    let mut starved: Vec<InstId> = Vec::new();
    for event in events.all() {
        let (Kind::Await(object) | Kind::Phase(object, _)) = event.kind else {
            continue;
        };
        let is_starved = object.root.is_some()
            && object.is_fixed()
            && !arrivals
                .iter()
                .any(|arrival| arrival.may_be_same_address(object))
            && is_for_operation(events, object)
            && is_initialized(events, object);
        if is_starved && starved.len() < MOST && !starved.contains(&event.inst) {
            starved.push(event.inst);
            violations.push(possible_violation(event.inst, Rule::MbarrierNotArrived));
        }
    }
}

/// The objects at which instructions arrive. Copies that report to an object add bytes to it and do not arrive.
fn arrivals(events: &Events) -> impl Iterator<Item = Place> {
    events.all().filter_map(|event| match event.kind {
        Kind::Signal(place) | Kind::Expect(place, _) => Some(place),
        Kind::Report(mechanism, place) if mechanism != Mechanism::Mbarrier => place,
        _ => None,
    })
}

/// Whether an asynchronous operation may report to an object. Products report to any object after a commit.
fn is_for_operation(events: &Events, object: Place) -> bool {
    events
        .operations
        .iter()
        .any(|operation| match operation.object {
            Some(reported) => reported.may_be_same_address(object),
            None => operation.mechanism == Mechanism::Tensor,
        })
}

fn is_initialized(events: &Events, object: Place) -> bool {
    events.all().any(
        |event| matches!(&event.kind, Kind::Initialize(place) if place.is_same_address(object)),
    )
}

/// Adds the waits that end at once.
pub(super) fn check_parities(
    events: &Events,
    analysis: &FunctionDataflow<'_>,
    violations: &mut Vec<Violation>,
) {
    let has_calls = events.all().any(|event| matches!(event.kind, Kind::Call));
    if !events.is_kernel || events.parity_waits.is_empty() || has_calls {
        return;
    }
    for wait in events.parity_waits.iter().take(MOST) {
        if is_early(events, wait) || is_repeated(events, analysis, wait) {
            violations.push(possible_violation(wait.inst, Rule::MbarrierPhase));
        }
    }
    let protocol = ParityProtocol {
        events,
        objects: Objects::new(events),
    };
    follow(&protocol, events, analysis.cfg(), violations);
}

fn possible_violation(inst: InstId, rule: Rule) -> Violation {
    Violation {
        inst,
        rule,
        certainty: Certainty::Possible,
        cause: None,
    }
}

/// Whether two places are one object, or objects of one array through which a loop runs.
fn is_same_object_or_array(a: Place, b: Place) -> bool {
    a.is_same_address(b)
        || a.root.is_some()
            && a.root == b.root
            && a.address
                .zip(b.address)
                .is_some_and(|(a, b)| (a.sum, a.constant) == (b.sum, b.constant))
}

/// Whether the first wait for an object to which copies report is for the phase before its first one.
fn is_early(events: &Events, wait: &ParityWait) -> bool {
    wait.first_parity == Some(1)
        && events
            .operations
            .iter()
            .filter(|operation| operation.mechanism == Mechanism::Mbarrier)
            .filter_map(|operation| operation.object)
            .any(|object| is_same_object_or_array(object, wait.object))
        && events
            .parity_waits
            .iter()
            .filter(|other| is_same_object_or_array(other.object, wait.object))
            .all(|other| other.first_parity == Some(1))
}

/// Whether each iteration of a loop waits for the same parity, although threads arrive in a loop.
fn is_repeated(events: &Events, analysis: &FunctionDataflow<'_>, wait: &ParityWait) -> bool {
    let loops = analysis.loops();
    let has_one_object = wait.object.distance(wait.object) == Some(0);
    if wait.parity.is_none() || wait.object.root.is_none() || !has_one_object && !wait.is_cyclic {
        return false;
    }
    let arrives_in_loop = events.all().any(|event| match &event.kind {
        Kind::Signal(place) | Kind::Expect(place, _) | Kind::Report(_, Some(place)) => {
            place.may_be_same_address(wait.object) && loops.innermost(event.block).is_some()
        }
        _ => false,
    });
    arrives_in_loop
        && core::iter::successors(loops.innermost(wait.block), |id| {
            loops.get(*id).and_then(|l| l.parent())
        })
        .any(|id| {
            let is_alike: fn(Place, Place) -> bool = if has_one_object {
                Place::may_be_same_address
            } else {
                is_same_object_or_array
            };
            repeats_parity(events, analysis, wait, id, is_alike)
        })
}

/// Whether each iteration of a loop waits for the same parity of the same object, or of the objects of an array. `is_alike` compares the objects of
/// other waits with that of `wait`.
fn repeats_parity(
    events: &Events,
    analysis: &FunctionDataflow<'_>,
    wait: &ParityWait,
    id: LoopId,
    is_alike: fn(Place, Place) -> bool,
) -> bool {
    let (loops, dominators) = (analysis.loops(), analysis.dominators());
    let events_of_loop = || events.all().filter(|event| loops.contains(id, event.block));
    // A loop that only waits is left when the phase is complete.
    let only_waits = !events_of_loop().any(|event| {
        matches!(
            event.kind,
            Kind::Memory(_)
                | Kind::Start(_)
                | Kind::Signal(_)
                | Kind::Expect(..)
                | Kind::Barrier(_)
        )
    });
    let initializes_object = events_of_loop().any(|event| match &event.kind {
        Kind::Initialize(place) | Kind::Invalidate(place) => place.may_be_same_address(wait.object),
        _ => false,
    });
    let has_one_parity = events
        .parity_waits
        .iter()
        .filter(|other| loops.contains(id, other.block) && is_alike(other.object, wait.object))
        .all(|other| other.parity == wait.parity);
    let is_in_each_iteration = |block| {
        loops.contains(id, block)
            && loops
                .latches(analysis.cfg(), id)
                .all(|latch| dominators.dominates(block, latch))
    };
    !only_waits
        && !initializes_object
        && has_one_parity
        && (is_in_each_iteration(wait.block)
            // Some threads wait in each iteration.
            || events
                .decided_by_thread(wait.block)
                .iter()
                .any(|block| is_in_each_iteration(*block)))
}

/// The protocol that a wait for a parity waits for the operations that were started last.
struct ParityProtocol<'a> {
    events: &'a Events,
    objects: Objects,
}

impl Protocol for ParityProtocol<'_> {
    type State = Phases;
    const EDGES: bool = true;

    fn start(&self) -> Phases {
        self.objects.start()
    }

    fn apply(&self, event: &Event, phases: &mut Phases) {
        match event.kind {
            Kind::Start(number) => {
                let object = self.events.operation(number).and_then(|o| o.object);
                if let Some(object) = object {
                    self.objects.begin(phases, object);
                }
            }
            Kind::Report(_, Some(object)) => self.objects.begin(phases, object),
            Kind::Phase(object, parity) => {
                self.objects.wait(phases, object, parity);
            }
            Kind::Initialize(object) => self.objects.initialize(phases, object),
            _ => {}
        }
    }

    fn check(&self, event: &Event, phases: &Phases, violations: &mut Vec<Violation>) {
        if !matches!(event.kind, Kind::Await(_)) {
            return;
        }
        let mut waits = self.events.parity_waits.iter().take(MOST);
        if let Some(wait) = waits.find(|w| w.inst == event.inst)
            && self
                .objects
                .wait(&mut phases.clone(), wait.object, wait.parity)
                == Waits::No
        {
            violations.push(possible_violation(wait.inst, Rule::MbarrierPhase));
        }
    }
}
