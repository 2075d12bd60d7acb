//! Mbarrier objects that are used before they are initialized, or before other threads know that they are (9.7.13.15.9).

use alloc::vec::Vec;

use super::events::{Event, Events, Kind};
use super::flags::Flags;
use super::protocol::{Protocol, follow};
use super::{Certainty, Rule, Violation};
use crate::cfg::{BlockId, Cfg};
use crate::dataflow::{BitSet, JoinSemiLattice};

/// Adds the uses of objects that are not initialized.
pub(super) fn check(events: &Events, cfg: &Cfg, found: &mut Vec<Violation>) {
    let kinds = || events.all().iter().map(|e| &e.kind);
    // Functions use objects of their callers, and those whose address is computed may be any.
    let initializes_unknown =
        kinds().any(|k| matches!(k, Kind::Initialize(place) if place.root.is_none()));
    let uses = kinds().any(|k| matches!(k, Kind::Object(_) | Kind::Await(_)));
    if events.is_kernel && uses && !initializes_unknown {
        let objects = Objects {
            roots: events.roots,
            published: published(events, cfg),
        };
        follow(&objects, events, cfg, found);
    }
}

/// Variables beyond these are not followed.
const MOST: usize = 64;

/// For each barrier, which variables it tells threads about that did not initialize them: those that are initialized somewhere, but not on a
/// path from the barrier. One bit for each variable.
fn published(events: &Events, cfg: &Cfg) -> Vec<u64> {
    let barriers = events.all().iter();
    let barriers = barriers.filter(|e| matches!(e.kind, Kind::Barrier(_)));
    let mut published = vec![0; barriers.count()];
    for root in 0..events.roots.min(MOST) as u32 {
        let initializes =
            |e: &Event| matches!(&e.kind, Kind::Initialize(p) if p.root == Some(root));
        let blocks = || cfg.blocks().map(|(id, _)| id);
        let with = blocks().filter(|&b| events.of(b).iter().any(initializes));
        let with: Vec<BlockId> = with.collect();
        if with.is_empty() {
            continue;
        }
        let before = before(cfg, &with);
        for block in blocks().filter(|b| !before.contains(b.as_u32())) {
            let list = events.of(block);
            let first = list.iter().rposition(initializes).map_or(0, |at| at + 1);
            for event in list.iter().skip(first) {
                if let Kind::Barrier(number) = event.kind {
                    published[number as usize] |= 1 << root;
                }
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

struct Objects {
    roots: usize,
    published: Vec<u64>,
}

/// By variables that contain objects.
#[derive(Clone, Debug)]
struct State {
    /// An object was initialized, and not invalidated since.
    initialized: Flags,
    /// The thread knows that it is: it did so itself, or met other threads at a barrier after one of them did.
    known: Flags,
}

impl JoinSemiLattice for State {
    fn join(&mut self, other: &Self) -> bool {
        self.initialized.join(&other.initialized) | self.known.join(&other.known)
    }
}

impl Protocol for Objects {
    type State = State;

    fn start(&self) -> State {
        State {
            initialized: Flags::none(self.roots),
            known: Flags::none(self.roots),
        }
    }

    fn apply(&self, event: &Event, state: &mut State) {
        match &event.kind {
            Kind::Initialize(place) => {
                if let Some(root) = place.root {
                    state.initialized.set(root);
                    state.known.set(root);
                }
            }
            Kind::Invalidate(place) => {
                if let Some(root) = place.root {
                    state.initialized.unset(root);
                    state.known.unset(root);
                }
            }
            Kind::Barrier(number) => {
                let State { initialized, known } = state;
                initialized.iter().for_each(|root| known.set(root));
                let published = self.published.get(*number as usize).copied();
                let published = published.unwrap_or_default();
                let roots = 0..self.roots.min(MOST) as u32;
                roots
                    .filter(|root| published >> root & 1 == 1)
                    .for_each(|root| known.set(root));
            }
            Kind::Call => {
                *state = State {
                    initialized: Flags::full(self.roots),
                    known: Flags::full(self.roots),
                }
            }
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &State, found: &mut Vec<Violation>) {
        let (place, waits) = match &event.kind {
            Kind::Object(place) => (place, false),
            Kind::Await(place) => (place, true),
            _ => return,
        };
        let Some(root) = place.root.filter(|&r| (r as usize) < MOST) else {
            return;
        };
        let certainty = match state.known.certainty(root) {
            Some(Certainty::Definite) => return,
            Some(Certainty::Possible) if waits => Certainty::Possible,
            // The thread that initialized the object, under the same condition.
            Some(_) => return,
            None => Certainty::Definite,
        };
        found.push(Violation {
            inst: event.inst,
            rule: Rule::MbarrierNotInitialized,
            certainty,
            cause: None,
        });
    }
}
