//! Waits for the parity of a phase of an mbarrier object that is complete already, which end at once (9.7.13.15.4): the same parity in each
//! iteration of a loop, or again after the next phase began, and parity 1 of a new object to which copies report.

use alloc::vec::Vec;

use super::events::{Event, Events, Kind, ParityWait};
use super::mechanism::Mechanism;
use super::phases::{Objects, Phases, Waits};
use super::place::Place;
use super::protocol::{Protocol, follow};
use super::{Certainty, Rule, Violation};
use crate::function_analysis::FunctionAnalysis;
use crate::graph::LoopId;

/// Waits beyond these are not looked at.
const MOST: usize = 64;

/// Adds the waits that end at once.
pub(super) fn check(events: &Events, analysis: &FunctionAnalysis<'_>, found: &mut Vec<Violation>) {
    let mut kinds = events.all().map(|e| &e.kind);
    if !events.is_kernel || events.waits.is_empty() || kinds.any(|k| matches!(k, Kind::Call)) {
        return;
    }
    let looked_at = events.waits.iter().take(MOST);
    let early =
        looked_at.filter(|wait| is_early(events, wait) || is_repeated(events, analysis, wait));
    found.extend(early.map(violation));
    let again = Again {
        events,
        objects: Objects::new(events),
    };
    follow(&again, events, analysis.cfg(), found);
}

fn violation(wait: &ParityWait) -> Violation {
    Violation {
        inst: wait.inst,
        rule: Rule::MbarrierPhase,
        certainty: Certainty::Possible,
        cause: None,
    }
}

/// Whether two places are the objects of one array that a loop goes through, or one object.
fn is_alike(a: Place, b: Place) -> bool {
    let of = |place: Place| place.address.map(|address| (address.sum, address.constant));
    a.is_same_address(b)
        || a.root.is_some() && a.root == b.root && of(a).is_some() && of(a) == of(b)
}

/// Whether the first wait for an object to which copies report is for the phase before its first one.
fn is_early(events: &Events, wait: &ParityWait) -> bool {
    let is_copied = || {
        let copies = events
            .operations
            .iter()
            .filter(|o| o.mechanism == Mechanism::Mbarrier);
        let mut objects = copies.filter_map(|o| o.object);
        objects.any(|object| is_alike(object, wait.object))
    };
    let mut waits = events
        .waits
        .iter()
        .filter(|w| is_alike(w.object, wait.object));
    wait.first == Some(1) && is_copied() && waits.all(|w| w.first == Some(1))
}

/// Whether each iteration of a loop waits for the same parity, although threads arrive again and again.
fn is_repeated(events: &Events, analysis: &FunctionAnalysis<'_>, wait: &ParityWait) -> bool {
    let loops = analysis.loops();
    let is_one = wait.object.distance(wait.object) == Some(0);
    if wait.parity.is_none() || wait.object.root.is_none() || !is_one && !wait.repeats {
        return false;
    }
    let arrives = |event: &Event| {
        let at = match &event.kind {
            Kind::Signal(place) | Kind::Expect(place, _) | Kind::Report(_, Some(place)) => place,
            _ => return false,
        };
        at.may_be_same_address(wait.object) && loops.innermost(event.block).is_some()
    };
    let outer = |id: &LoopId| loops.get(*id).and_then(|l| l.parent());
    let mut around = core::iter::successors(loops.innermost(wait.block), outer);
    events.all().any(arrives) && around.any(|id| repeats(events, analysis, wait, (id, is_one)))
}

/// Whether each iteration of a loop waits for the same parity of the same object, or of the objects of an array.
fn repeats(
    events: &Events,
    analysis: &FunctionAnalysis<'_>,
    wait: &ParityWait,
    (id, is_one): (LoopId, bool),
) -> bool {
    let (loops, dominators) = (analysis.loops(), analysis.dominators());
    let inside = || events.all().filter(|e| loops.contains(id, e.block));
    // A loop that only waits is left when the phase is complete.
    let does_more = inside().any(|e| {
        matches!(
            e.kind,
            Kind::Memory(_)
                | Kind::Start(_)
                | Kind::Signal(_)
                | Kind::Expect(..)
                | Kind::Barrier(_)
        )
    });
    let begins_again = inside().any(|e| match &e.kind {
        Kind::Initialize(place) | Kind::Invalidate(place) => place.may_be_same_address(wait.object),
        _ => false,
    });
    let waits = events.waits.iter().filter(|w| loops.contains(id, w.block));
    let mut waits = waits.filter(|w| match is_one {
        true => w.object.may_be_same_address(wait.object),
        false => is_alike(w.object, wait.object),
    });
    let always = |block| {
        let mut latches = loops.latches(analysis.cfg(), id);
        loops.contains(id, block) && latches.all(|latch| dominators.dominates(block, latch))
    };
    // Some threads wait in each iteration.
    let mut selected = events.decided_by_thread(wait.block).iter();
    does_more
        && !begins_again
        && waits.all(|w| w.parity == wait.parity)
        && (always(wait.block) || selected.any(|block| always(*block)))
}

/// Waits for a parity after something that the object has to wait for was started, on all paths.
struct Again<'a> {
    events: &'a Events,
    objects: Objects,
}

impl Protocol for Again<'_> {
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

    fn check(&self, event: &Event, phases: &Phases, found: &mut Vec<Violation>) {
        if !matches!(event.kind, Kind::Await(_)) {
            return;
        }
        let wait = self
            .events
            .waits
            .iter()
            .take(MOST)
            .find(|w| w.inst == event.inst);
        found.extend(wait.and_then(|wait| {
            let mut phases = phases.clone();
            let waits = self.objects.wait(&mut phases, wait.object, wait.parity);
            (waits == Waits::No).then(|| violation(wait))
        }));
    }
}
