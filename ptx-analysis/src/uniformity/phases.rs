//! Loads from shared memory during which no thread of the CTA can store to it: threads that load from one address get equal values.
//!
//! Barriers that all threads of a CTA execute divide its execution into phases. The threads that execute the same instance of a load do so in the same
//! phase. In that phase, another thread executes the instructions on some path from the barrier before it to the one after it, and leaves the path of the
//! load only at branches where threads diverge. If no instruction on these paths stores to shared memory, all threads load the same value.
//!
//! Nothing is assumed about functions that call others, that have irreducible loops, that access the shared memory of other CTAs, or that start
//! asynchronous operations.

use alloc::vec::Vec;

use ptx_ir::facts::{FunctionFacts, MemoryAccess, Space};
use ptx_ir::{FunctionKind, InstId, Statement, StmtId};
use ptx_isa::{Access, Action, Modifier, Proxy, StateSpace, Uniformity};

use super::context::Context;
use super::graphs::Graphs;
use super::synchronization::uses_barrier;
use crate::cfg::BlockId;
use crate::dataflow::{Analysis, Direction, JoinSemiLattice, solve};
use crate::graph::LoopKind;

/// An instruction on shared memory, or a barrier.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Event {
    Store,
    Load,
    Barrier,
}

/// The loads, stores and barriers of a function.
#[derive(Debug, Default)]
pub(super) struct Phases {
    /// The events of each block in their order; empty if nothing is assumed.
    events: Vec<Vec<(StmtId, Event)>>,
    /// The loads during which nothing is stored, by id.
    undisturbed: Vec<StmtId>,
}

impl Phases {
    /// Collects the events of a function. All loads are undisturbed until branches are known to diverge.
    pub(super) fn new(facts: FunctionFacts<'_>, graphs: &Graphs<'_>, context: &Context) -> Self {
        let mut loops = graphs.loops.iter();
        let is_reducible = loops.all(|(_, l)| l.kind() != LoopKind::Irreducible);
        if context.kind != FunctionKind::Entry || context.is_optimistic || !is_reducible {
            return Self::default();
        }
        let Ok(events) = events(facts, graphs) else {
            return Self::default();
        };
        let mut undisturbed: Vec<StmtId> = events
            .iter()
            .flatten()
            .filter(|(_, event)| *event == Event::Load)
            .map(|(stmt, _)| *stmt)
            .collect();
        undisturbed.sort_unstable();
        Self {
            events,
            undisturbed,
        }
    }

    /// Returns whether nothing is stored to shared memory while threads of a CTA execute an instance of a load from it.
    pub(super) fn is_undisturbed(&self, load: StmtId) -> bool {
        self.undisturbed.binary_search(&load).is_ok()
    }

    /// Updates the undisturbed loads for less uniform branches and for fewer barriers at which all threads meet. Returns the loads that are disturbed now.
    pub(super) fn update(
        &mut self,
        graphs: &Graphs<'_>,
        branches: &[Uniformity],
        meeting: &[StmtId],
    ) -> Vec<StmtId> {
        if self.undisturbed.is_empty() {
            return Vec::new();
        }
        let later = Later {
            events: &self.events,
            meeting,
        };
        let Ok(stored_later) = solve(graphs.cfg, &later, u64::MAX) else {
            return self.give_up();
        };
        let is_stored_later = |block| stored_later.state(block).is_some_and(|stored| stored.0);
        let earlier = Earlier {
            events: &self.events,
            meeting,
            diverges: graphs
                .cfg
                .blocks()
                .map(|(id, _)| {
                    let branch = branches.get(id.as_u32() as usize).copied();
                    branch > Some(Uniformity::Cta) && is_stored_later(id)
                })
                .collect(),
        };
        let Ok(stored_earlier) = solve(graphs.cfg, &earlier, u64::MAX) else {
            return self.give_up();
        };
        let mut disturbed = Vec::new();
        for ((block, _), events) in graphs.cfg.blocks().zip(&self.events) {
            let mut stored = stored_earlier.state(block).copied().unwrap_or_default();
            for &(stmt, event) in events {
                disturbed.extend((event == Event::Load && stored.0).then_some(stmt));
                stored.apply(stmt, event, meeting);
            }
            let mut stored = Stored(is_stored_later(block));
            for &(stmt, event) in events.iter().rev() {
                disturbed.extend((event == Event::Load && stored.0).then_some(stmt));
                stored.apply(stmt, event, meeting);
            }
        }
        disturbed.retain(|load| self.is_undisturbed(*load));
        self.undisturbed.retain(|load| !disturbed.contains(load));
        disturbed
    }

    /// Assumes nothing about any load. Returns the loads about which something was assumed.
    pub(super) fn give_up(&mut self) -> Vec<StmtId> {
        core::mem::take(&mut self.undisturbed)
    }
}

/// A thread may store to shared memory between a position and a barrier at which all threads meet.
#[derive(Copy, Clone, Default)]
struct Stored(bool);

impl JoinSemiLattice for Stored {
    fn join(&mut self, other: &Self) -> bool {
        let joined = self.0 | other.0;
        core::mem::replace(&mut self.0, joined) != joined
    }
}

impl Stored {
    fn apply(&mut self, stmt: StmtId, event: Event, meeting: &[StmtId]) {
        match event {
            Event::Store => self.0 = true,
            Event::Barrier if meeting.binary_search(&stmt).is_ok() => self.0 = false,
            Event::Barrier | Event::Load => {}
        }
    }
}

/// The stores between a position and the next barrier.
struct Later<'a> {
    events: &'a [Vec<(StmtId, Event)>],
    /// The barriers at which all threads meet, by id.
    meeting: &'a [StmtId],
}

/// The stores between the last barrier and a position, of threads on any path that leads away from the path of a thread.
struct Earlier<'a> {
    events: &'a [Vec<(StmtId, Event)>],
    /// The barriers at which all threads meet, by id.
    meeting: &'a [StmtId],
    /// The entry of a block is `true` if threads of a CTA may leave it on different paths, one of which leads to a store before the next barrier.
    diverges: Vec<bool>,
}

impl Analysis for Later<'_> {
    type Node = BlockId;
    type Domain = Stored;
    const DIRECTION: Direction = Direction::Backward;

    fn bottom(&self) -> Stored {
        Stored(false)
    }

    fn boundary(&self) -> Stored {
        Stored(false)
    }

    fn len(&self, block: BlockId) -> u32 {
        self.events.get(block.as_u32() as usize).map_or(0, Vec::len) as u32
    }

    fn effect(&self, block: BlockId, index: u32, state: &mut Stored) {
        if let Some(&(stmt, event)) = self.events[block.as_u32() as usize].get(index as usize) {
            state.apply(stmt, event, self.meeting);
        }
    }
}

impl Analysis for Earlier<'_> {
    type Node = BlockId;
    type Domain = Stored;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> Stored {
        Stored(false)
    }

    fn boundary(&self) -> Stored {
        Stored(false)
    }

    /// The events of the block and its branch.
    fn len(&self, block: BlockId) -> u32 {
        self.events.get(block.as_u32() as usize).map_or(0, Vec::len) as u32 + 1
    }

    fn effect(&self, block: BlockId, index: u32, state: &mut Stored) {
        match self.events[block.as_u32() as usize].get(index as usize) {
            Some(&(stmt, event)) => state.apply(stmt, event, self.meeting),
            None => state.0 |= self.diverges.get(block.as_u32() as usize) == Some(&true),
        }
    }
}

/// The error for a function with an instruction whose accesses to shared memory are not analyzed.
struct NotAnalyzed;

/// The events of each block.
fn events(
    facts: FunctionFacts<'_>,
    graphs: &Graphs<'_>,
) -> Result<Vec<Vec<(StmtId, Event)>>, NotAnalyzed> {
    let mut blocks = Vec::with_capacity(graphs.cfg.len());
    for (_, block) in graphs.cfg.blocks() {
        let mut events = Vec::new();
        for (stmt, statement) in facts.body().range(block.first, block.end) {
            match statement {
                Statement::Inst(inst) => {
                    events.extend(event(facts, inst)?.map(|event| (stmt, event)));
                }
                Statement::Opaque(_) => return Err(NotAnalyzed),
                _ => {}
            }
        }
        blocks.push(events);
    }
    Ok(blocks)
}

fn event(facts: FunctionFacts<'_>, inst: InstId) -> Result<Option<Event>, NotAnalyzed> {
    let inst = facts.inst(inst);
    let is_analyzed = inst.is_known()
        && inst.callees().is_none()
        && inst.asynchronous().is_empty()
        && inst.action() != Some(Action::MapShared);
    if !is_analyzed || inst.memory().any(|access| is_remote(&access)) {
        return Err(NotAnalyzed);
    }
    Ok(if uses_barrier(&inst) {
        Some(Event::Barrier)
    } else if inst.memory().any(|access| may_store(&access)) {
        Some(Event::Store)
    } else if inst.memory().any(|access| is_shared_load(&access)) {
        Some(Event::Load)
    } else {
        None
    })
}

/// Returns whether an access reaches the shared memory of other CTAs.
fn is_remote(access: &MemoryAccess) -> bool {
    matches!(access.space, Space::State(StateSpace::SharedCluster))
}

/// Returns whether an access may write shared memory.
fn may_store(access: &MemoryAccess) -> bool {
    let is_elsewhere = match access.space {
        Space::State(space) => space.base() != StateSpace::Shared,
        Space::Texture | Space::Surface => true,
        _ => false,
    };
    access.writes() && !is_elsewhere
}

/// Returns whether an access is a weak load from shared memory.
pub(super) fn is_shared_load(access: &MemoryAccess) -> bool {
    let is_shared =
        matches!(access.space, Space::State(space) if space.base() == StateSpace::Shared);
    is_shared
        && access.access == Access::Read
        && access.order == Some(Modifier::Weak)
        && access.proxy == Proxy::Generic
}
