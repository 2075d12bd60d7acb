//! Protocols as dataflow problems over the events of a function.

use alloc::vec::Vec;

use crate::cfg::{BlockId, Cfg};
use crate::dataflow::{Analysis, Direction, JoinSemiLattice, solve};
use crate::function_dataflow::FunctionDataflow;
use crate::graph::{Dominators, Node as _};

use super::Violation;
use super::events::{Event, Events, Kind};

/// A protocol: a state that is followed along paths, and the events that violate the protocol in a state.
pub(super) trait Protocol {
    type State: JoinSemiLattice;
    /// Events on edges change the state.
    const EDGES: bool = false;

    /// Whether an event that only some threads execute has its effect for all threads.
    fn is_for_all(&self, _: &Event) -> bool {
        false
    }

    /// The state where the function begins.
    fn start(&self) -> Self::State;

    /// Changes the state by an event that happens.
    fn apply(&self, event: &Event, state: &mut Self::State);

    /// Adds the violations of an event in the state before it.
    fn check(&self, event: &Event, state: &Self::State, violations: &mut Vec<Violation>);
}

struct Problem<'a, P> {
    protocol: &'a P,
    events: &'a Events,
    cfg: &'a Cfg,
    /// If there are dominators, only the first iterations of loops are followed: paths end at the edges that lead back.
    first_iteration: Option<&'a Dominators<BlockId>>,
}

/// Whether an event usually has the same guard as the operations that it concerns. It then happens wherever they do.
fn has_guard_of_operations(event: &Event) -> bool {
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
        let may_be_skipped = event.conditional
            && !has_guard_of_operations(event)
            && !self.protocol.is_for_all(event);
        if may_be_skipped {
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
        self.events.in_block(block).len() as u32
    }

    fn effect(&self, block: BlockId, index: u32, state: &mut Self::Domain) {
        let event = self.events.in_block(block).get(index as usize);
        if let (Some(state), Some(event)) = (state, event) {
            self.apply(event, state);
        }
    }

    fn edge(&self, from: BlockId, to: BlockId, state: &mut Self::Domain) -> bool {
        if let (Some(state), Some(event)) = (state, self.events.on_edge(self.cfg, from, to)) {
            self.apply(event, state);
        }
        !self
            .first_iteration
            .is_some_and(|dominators| dominators.dominates(to, from))
    }
}

/// The average number of visits of a block after which the solver gives up. States are small, and each visit but the first adds to one.
const MOST_VISITS: u64 = 256;

/// Follows a protocol through a function and adds its violations.
pub(super) fn follow<P: Protocol>(
    protocol: &P,
    events: &Events,
    cfg: &Cfg,
    violations: &mut Vec<Violation>,
) {
    follow_paths(protocol, events, cfg, None, violations);
}

/// Follows a protocol through the first iterations of loops only. [`Protocol::EDGES`] has to be set.
pub(super) fn follow_once<P: Protocol>(
    protocol: &P,
    events: &Events,
    analysis: &FunctionDataflow<'_>,
    violations: &mut Vec<Violation>,
) {
    let first_iteration = Some(analysis.dominators());
    follow_paths(
        protocol,
        events,
        analysis.cfg(),
        first_iteration,
        violations,
    );
}

/// Solves the dataflow problem of a protocol and adds its violations; none if the solver gives up.
fn follow_paths<P: Protocol>(
    protocol: &P,
    events: &Events,
    cfg: &Cfg,
    first_iteration: Option<&Dominators<BlockId>>,
    violations: &mut Vec<Violation>,
) {
    let problem = Problem {
        protocol,
        events,
        cfg,
        first_iteration,
    };
    let Ok(solution) = solve(cfg, &problem, MOST_VISITS * cfg.len() as u64) else {
        return;
    };
    for number in 0..cfg.len() as u32 {
        let block = BlockId::from_u32(number);
        let Some(Some(state)) = solution.state(block) else {
            continue;
        };
        let mut state = state.clone();
        for event in events.in_block(block) {
            protocol.check(event, &state, violations);
            problem.apply(event, &mut state);
        }
    }
}
