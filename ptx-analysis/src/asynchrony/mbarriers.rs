//! Mbarrier objects that are used before they are initialized, or before other threads know that they are, that are initialized twice, and
//! whose memory is overwritten (9.7.13.15.9).

use alloc::vec::Vec;

use ptx_isa::Action;

use super::events::{Access, Event, Events, Kind};
use super::flags::Flags;
use super::invalidations::ended;
use super::mechanism::Mechanism;
use super::order::always_follows;
use super::place::{Overlap, Place, distinct};
use super::protocol::{Protocol, follow};
use super::reach::{after, avoids};
use super::{Certainty, Rule, Violation};
use crate::cfg::{BlockId, Cfg};
use crate::dataflow::{BitSet, JoinSemiLattice};
use crate::function_analysis::FunctionAnalysis;

/// Adds the uses of objects that break the protocol.
pub(super) fn check(events: &Events, analysis: &FunctionAnalysis<'_>, found: &mut Vec<Violation>) {
    let kinds = || events.all().map(|e| &e.kind);
    // Functions use objects of their callers, and those whose address is computed may be any.
    let initializes_unknown =
        kinds().any(|k| matches!(k, Kind::Initialize(place) if place.root.is_none()));
    let uses = kinds().any(|k| {
        matches!(
            k,
            Kind::Object(_) | Kind::Await(_) | Kind::Initialize(_) | Kind::Invalidate(_)
        )
    });
    if events.is_kernel && uses && !initializes_unknown {
        let objects = all_objects(events);
        let initializations = objects
            .iter()
            .map(|object| initializations(events, *object));
        let invalidated = events.all().filter_map(|e| match &e.kind {
            Kind::Invalidate(place) => Some(*place),
            _ => None,
        });
        let calls = events.all().filter(|e| matches!(e.kind, Kind::Call));
        let objects = Objects {
            initializations: initializations.collect(),
            invalidated: distinct(invalidated, MOST),
            calls: calls.take(MOST).collect(),
            published: published(events, analysis.cfg(), &objects),
            ended: ended(events, analysis, &objects),
            all: objects,
            events,
            analysis,
        };
        follow(&objects, events, analysis.cfg(), found);
    }
}

/// Objects beyond these are not followed.
const MOST: usize = 64;

/// The objects at addresses that are always the same, or of which at least the variable is known.
fn all_objects(events: &Events) -> Vec<Place> {
    let mut all: Vec<Place> = Vec::new();
    for event in events.all() {
        if let Kind::Initialize(place)
        | Kind::Invalidate(place)
        | Kind::Object(place)
        | Kind::Await(place) = &event.kind
            && place.root.is_some()
            && all.len() < MOST
            && !all.iter().any(|other| is_same(*other, *place))
        {
            all.push(*place);
        }
    }
    all
}

/// Whether two places are one object: of a variable with computed addresses, all of them are.
fn is_same(a: Place, b: Place) -> bool {
    let is_fixed = |place: Place| place.distance(place) == Some(0);
    a.is_same_address(b) || a.root == b.root && !is_fixed(a) && !is_fixed(b)
}

/// The first initializations of an object by the function itself.
fn initializations(events: &Events, object: Place) -> Vec<&Event> {
    let initializes =
        |e: &&Event| matches!(&e.kind, Kind::Initialize(p) if p.may_be_same_address(object));
    events.all().filter(initializes).take(MOST).collect()
}

/// For each barrier, which objects it tells threads about that did not initialize them: those that are initialized on
/// other paths. One bit for each object.
fn published(events: &Events, cfg: &Cfg, objects: &[Place]) -> Vec<u64> {
    let mut published = vec![0; events.barriers()];
    for (number, &object) in objects.iter().enumerate() {
        let initializes =
            |e: &Event| matches!(&e.kind, Kind::Initialize(p) if p.may_be_same_address(object));
        let blocks = || cfg.blocks().map(|(id, _)| id);
        let with = blocks().filter(|&b| events.of(b).iter().any(initializes));
        let with: Vec<BlockId> = with.collect();
        if with.is_empty() {
            continue;
        }
        let before = before(cfg, &with);
        let after = after(cfg, &with, |_| false);
        let apart = |b: &BlockId| {
            !before.contains(b.as_u32()) && !after.contains(b.as_u32()) && !with.contains(b)
        };
        for event in blocks().filter(apart).flat_map(|b| events.of(b)) {
            if let Kind::Barrier(barrier) = event.kind {
                published[barrier as usize] |= 1 << number;
            }
        }
    }
    published
}

/// The blocks from which an edge or more lead to one of some blocks.
fn before(cfg: &Cfg, blocks: &[BlockId]) -> BitSet {
    let mut seen = BitSet::new(cfg.len() as u32);
    let mut open = blocks.to_vec();
    while let Some(block) = open.pop() {
        for &from in cfg.predecessors(block) {
            if seen.insert(from.as_u32()) {
                open.push(from);
            }
        }
    }
    seen
}

struct Objects<'a> {
    all: Vec<Place>,
    /// Of each object, where it is initialized.
    initializations: Vec<Vec<&'a Event>>,
    /// What is invalidated; `None` if there are many.
    invalidated: Option<Vec<Place>>,
    /// The first calls.
    calls: Vec<&'a Event>,
    published: Vec<u64>,
    ended: Vec<Vec<(u32, Certainty)>>,
    events: &'a Events,
    analysis: &'a FunctionAnalysis<'a>,
}

/// By objects.
#[derive(Clone, Debug)]
struct State {
    /// An object was initialized, and not invalidated since.
    initialized: Flags,
    /// The thread knows that it is: it did so itself, or met other threads at a barrier after one of them did.
    known: Flags,
    /// An instruction that names just this object initialized it.
    exact: Flags,
    /// Threads of other warps do not know, because only the threads of a warp met since.
    in_warp: Flags,
    /// The thread initialized it, and no fence or barrier followed.
    fresh: Flags,
}

impl JoinSemiLattice for State {
    fn join(&mut self, other: &Self) -> bool {
        self.initialized.join(&other.initialized)
            | self.known.join(&other.known)
            | self.exact.join(&other.exact)
            | self.in_warp.join(&other.in_warp)
            | self.fresh.join(&other.fresh)
    }
}

impl Objects<'_> {
    fn numbers(&self) -> impl Iterator<Item = (u32, Place)> + '_ {
        (0u32..).zip(self.all.iter().copied())
    }

    /// Whether threads that did not initialize an object use it, where the one that did does so too.
    fn is_used_by_others(&self, event: &Event, number: u32) -> bool {
        let dominators = self.analysis.dominators();
        let of_others = |e: &Event| {
            let few = e.conditional || !dominators.dominates(e.block, event.block);
            few && e.selected && always_follows(self.analysis, event.block, e.block)
        };
        let own = self.initializations_of(number);
        let mut calls = self.calls.iter();
        !event.conditional
            && match own.is_empty() {
                true => calls.any(|e| of_others(e)),
                false => own.iter().any(|e| of_others(e)),
            }
    }

    fn initializations_of(&self, number: u32) -> &[&Event] {
        let of = self.initializations.get(number as usize);
        of.map_or(&[], Vec::as_slice)
    }

    /// A use of an object that is not initialized, as far as the thread knows.
    fn unknown(&self, event: &Event, place: Place, state: &State) -> Option<(Rule, Certainty)> {
        place.root?;
        let at = |&(_, object): &(u32, Place)| is_same(object, place);
        let (number, object) = self.numbers().find(at)?;
        let waits = matches!(event.kind, Kind::Await(_));
        let certainty = match state.known.certainty(number) {
            Some(Certainty::Definite) if self.is_skipped(event, (number, object)) => {
                Certainty::Possible
            }
            Some(Certainty::Definite)
                if state.in_warp.on_some_path(number) && !event.selected && !event.conditional =>
            {
                Certainty::Possible
            }
            Some(Certainty::Definite) => return None,
            Some(Certainty::Possible) if waits || self.is_used_by_others(event, number) => {
                Certainty::Possible
            }
            // The thread that initialized the object, under the same condition.
            Some(Certainty::Possible) => return None,
            None => Certainty::Definite,
        };
        Some((Rule::MbarrierNotInitialized, certainty))
    }

    /// A barrier tells what other threads initialized and ended. Threads that only arrive there are told nothing.
    fn meet(&self, barrier: u32, state: &mut State) {
        if self.events.barrier(barrier) == Some(Action::BarrierArrive) {
            return;
        }
        let State {
            initialized,
            known,
            in_warp,
            ..
        } = state;
        if self.events.has_warps && self.events.barrier(barrier) == Some(Action::WarpBarrier) {
            let unknown = initialized
                .iter()
                .filter(|object| !known.on_all_paths(*object));
            unknown.for_each(|object| in_warp.set(object));
        } else {
            in_warp.clear();
        }
        initialized.iter().for_each(|object| known.set(object));
        let published = self.published.get(barrier as usize).copied();
        let published = published.unwrap_or_default();
        let objects = 0..self.all.len() as u32;
        objects
            .filter(|object| published >> object & 1 == 1)
            .for_each(|object| known.set(object));
        let ended = self.ended.get(barrier as usize);
        for &(object, certainty) in ended.into_iter().flatten() {
            let of_state = [&mut state.initialized, &mut state.known, &mut state.exact];
            for flags in of_state {
                match certainty {
                    Certainty::Definite => flags.unset(object),
                    Certainty::Possible => flags.weaken(object),
                }
            }
        }
    }

    /// A function that is called initializes the objects that this one does not. Of others, nothing is known after it.
    fn call(&self, state: &mut State) {
        state.exact.clear();
        for (number, _) in self.numbers() {
            match self.initializations_of(number).is_empty() {
                true => state.initialized.set(number),
                false => state.initialized.unset(number),
            }
            state.known.set(number);
        }
    }

    /// Whether a parameter of the kernel decides that no thread initializes an object before its use.
    fn is_skipped(&self, event: &Event, (number, object): (u32, Place)) -> bool {
        let all = || self.initializations_of(number).iter().copied();
        let own = self.events.decided_by_launch(event.block);
        let branches = all().flat_map(|e| self.events.decided_by_launch(e.block));
        let mut branches = branches.filter(|b| !own.contains(b));
        let is_guarded = own.is_empty() && all().count() == 1 && all().all(|e| e.by_launch);
        object.is_fixed()
            && !event.conditional
            && (is_guarded
                || branches.any(|&branch| {
                    always_follows(self.analysis, event.block, branch)
                        && avoids(self.events, self.analysis, branch, Some(event.block), all())
                }))
    }

    /// A copy that reports to an object which the thread has just initialized.
    fn not_fenced(&self, operation: u32, state: &State) -> Option<(Rule, Certainty)> {
        let operation = self.events.operation(operation)?;
        let object = operation
            .object
            .filter(|_| operation.mechanism == Mechanism::Mbarrier)?;
        let mut objects = self
            .numbers()
            .filter(|(_, other)| other.is_same_address(object));
        let is_fresh = objects.any(|(number, _)| state.fresh.on_some_path(number));
        is_fresh.then_some((Rule::MbarrierNotFenced, Certainty::Possible))
    }

    fn again(&self, event: &Event, place: Place, state: &State) -> Option<(Rule, Certainty)> {
        let mut objects = self.numbers();
        let (number, _) = objects.find(|(_, object)| object.distance(place) == Some(0))?;
        let certainty = state.exact.certainty(number)?;
        // The threads that end an object before they initialize it again are not told apart from the others.
        let ended = self.invalidated.as_ref().is_none_or(|all| {
            let mut all = all.iter();
            all.any(|p| p.is_same_address(place))
        });
        // Guards of neighboring initializations that parameters decide usually exclude each other.
        let is_beside = |e: &&Event| e.by_launch && e.block == event.block && e.inst != event.inst;
        let mut others = self.initializations_of(number).iter();
        let is_either = event.by_launch && others.any(is_beside);
        if certainty == Certainty::Possible && (ended || is_either) {
            return None;
        }
        Some((Rule::MbarrierInitializedTwice, certainty))
    }

    fn overwritten(
        &self,
        event: &Event,
        access: Access,
        state: &State,
    ) -> Option<(Rule, Certainty)> {
        if !access.writes || !access.is_shared {
            return None;
        }
        let certainty = |number| match state.initialized.certainty(number)? {
            // Another thread initialized it, and this one met that.
            Certainty::Possible if !state.known.on_all_paths(number) => None,
            certainty => Some(certainty),
        };
        let overlaps = |object: Place| match object.overlap(access.place) {
            Overlap::Certain => Some(Certainty::Definite),
            // One of the threads does.
            Overlap::Possible => {
                let all = !event.selected && !event.conditional;
                (all && access.place.surely_shares(object)).then_some(Certainty::Possible)
            }
            Overlap::Never => None,
        };
        let of_object = |(number, object)| Some(certainty(number)?.min(overlaps(object)?));
        let certainty = self.numbers().filter_map(of_object).max()?;
        Some((Rule::MbarrierOverwritten, certainty))
    }
}

impl Protocol for Objects<'_> {
    type State = State;

    fn start(&self) -> State {
        State {
            initialized: Flags::none(self.all.len()),
            known: Flags::none(self.all.len()),
            exact: Flags::none(self.all.len()),
            in_warp: Flags::none(self.all.len()),
            fresh: Flags::none(self.all.len()),
        }
    }

    fn apply(&self, event: &Event, state: &mut State) {
        match &event.kind {
            Kind::Initialize(place) => {
                for (number, object) in self.numbers() {
                    if object.may_be_same_address(*place) {
                        state.initialized.set(number);
                        state.known.set(number);
                        state.fresh.set(number);
                    }
                    if object.distance(*place) == Some(0) {
                        state.exact.set(number);
                    }
                }
            }
            Kind::Invalidate(place) => {
                for (number, object) in self.numbers() {
                    if is_same(object, *place) {
                        state.initialized.unset(number);
                        state.known.unset(number);
                        state.exact.unset(number);
                    }
                }
            }
            Kind::Barrier(number) => {
                state.fresh.clear();
                self.meet(*number, state);
            }
            Kind::ProxyFence { .. } | Kind::ScopeFence => state.fresh.clear(),
            Kind::Call => {
                state.fresh.clear();
                self.call(state);
            }
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &State, found: &mut Vec<Violation>) {
        let violation = match &event.kind {
            Kind::Object(place) | Kind::Await(place) => self.unknown(event, *place, state),
            Kind::Invalidate(place) => {
                let unknown = self.unknown(event, *place, state);
                unknown.filter(|(_, certainty)| *certainty == Certainty::Definite)
            }
            Kind::Initialize(place) => self.again(event, *place, state),
            Kind::Start(number) => self.not_fenced(*number, state),
            Kind::Memory(access) => self.overwritten(event, *access, state),
            _ => None,
        };
        found.extend(violation.map(|(rule, certainty)| Violation {
            inst: event.inst,
            rule,
            certainty,
            cause: None,
        }));
    }
}
