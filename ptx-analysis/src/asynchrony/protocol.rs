//! One protocol as a dataflow problem over the events of a function.

use alloc::vec::Vec;

use crate::cfg::{BlockId, Cfg};
use crate::dataflow::{Analysis, Direction, JoinSemiLattice, solve};
use crate::function_analysis::FunctionAnalysis;
use crate::graph::{Dominators, Node as _};

use super::Violation;
use super::events::{Event, Events, Kind};

/// A protocol: what is followed along paths, and where it is broken.
pub(super) trait Protocol {
    type State: JoinSemiLattice;
    /// Whether it matters what happens on edges.
    const EDGES: bool = false;

    /// Whether what a thread does with a guard holds for all threads, as if all did it.
    fn is_for_all(&self, _: &Event) -> bool {
        false
    }

    /// What holds where the function begins.
    fn start(&self) -> Self::State;

    /// What an event changes, if it happens.
    fn apply(&self, event: &Event, state: &mut Self::State);

    /// Adds what an event violates in the state before it.
    fn check(&self, event: &Event, state: &Self::State, found: &mut Vec<Violation>);
}

struct Problem<'a, P> {
    protocol: &'a P,
    events: &'a Events,
    cfg: &'a Cfg,
    /// Where loops are left out: only their first iterations are followed.
    once: Option<&'a Dominators<BlockId>>,
}

/// Whether an event happens where its operations do: they have the same guard.
fn is_with_operations(event: &Event) -> bool {
    matches!(
        event.kind,
        Kind::Commit(_)
            | Kind::Report(..)
            | Kind::ProxyFence { .. }
            | Kind::ScopeFence
            | Kind::MapRelease
            | Kind::MapAcquire(_)
    )
}

impl<P: Protocol> Problem<'_, P> {
    fn apply(&self, event: &Event, state: &mut P::State) {
        let is_for_some = !is_with_operations(event) && !self.protocol.is_for_all(event);
        if event.conditional && is_for_some {
            let unchanged = state.clone();
            self.protocol.apply(event, state);
            state.join(&unchanged);
        } else {
            self.protocol.apply(event, state);
        }
    }
}

impl<P: Protocol> Analysis for Problem<'_, P> {
    type Node = BlockId;
    type Domain = Option<P::State>;
    const DIRECTION: Direction = Direction::Forward;
    const EDGES: bool = P::EDGES;

    fn bottom(&self) -> Self::Domain {
        None
    }

    fn boundary(&self) -> Self::Domain {
        Some(self.protocol.start())
    }

    fn len(&self, block: BlockId) -> u32 {
        self.events.of(block).len() as u32
    }

    fn effect(&self, block: BlockId, index: u32, state: &mut Self::Domain) {
        let event = self.events.of(block).get(index as usize);
        if let (Some(state), Some(event)) = (state, event) {
            self.apply(event, state);
        }
    }

    fn edge(&self, from: BlockId, to: BlockId, state: &mut Self::Domain) -> bool {
        if let (Some(state), Some(event)) = (state, self.events.on_edge(self.cfg, from, to)) {
            self.apply(event, state);
        }
        !self.once.is_some_and(|of| of.dominates(to, from))
    }
}

/// Visits of blocks until the solver gives up, for each block. Each visit but the first adds something to a small state.
const VISITS: u64 = 256;

/// Follows a protocol through a function and adds its violations.
pub(super) fn follow<P: Protocol>(
    protocol: &P,
    events: &Events,
    cfg: &Cfg,
    found: &mut Vec<Violation>,
) {
    follow_paths(protocol, events, cfg, None, found);
}

/// Follows a protocol to and through the first iterations of loops. [`Protocol::EDGES`] has to be set.
pub(super) fn follow_once<P: Protocol>(
    protocol: &P,
    events: &Events,
    analysis: &FunctionAnalysis<'_>,
    found: &mut Vec<Violation>,
) {
    let once = Some(analysis.dominators());
    follow_paths(protocol, events, analysis.cfg(), once, found);
}

fn follow_paths<P: Protocol>(
    protocol: &P,
    events: &Events,
    cfg: &Cfg,
    once: Option<&Dominators<BlockId>>,
    found: &mut Vec<Violation>,
) {
    let problem = Problem {
        protocol,
        events,
        cfg,
        once,
    };
    let Ok(solution) = solve(cfg, &problem, VISITS * cfg.len() as u64) else {
        return;
    };
    for number in 0..cfg.len() as u32 {
        let block = BlockId::from_u32(number);
        let Some(Some(state)) = solution.state(block) else {
            continue;
        };
        let mut state = state.clone();
        for event in events.of(block) {
            protocol.check(event, &state, found);
            problem.apply(event, &mut state);
        }
    }
}
