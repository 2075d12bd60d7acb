//! Weak loads that see what was in memory at the start of the grid, or at the last barrier of the CTA.
//!
//! The analysis assumes that programs have no data race: of two accesses of different threads to the same memory of which one writes, and which are not both
//! strong, one happens before the other, or the behavior is undefined (PTX ISA, chapter "Memory Consistency Model").
//!
//! Let two threads execute the same instance of a weak load with the same address. If another thread writes there, then that write happens before or
//! after each of the two loads. It can happen before one only if the thread that loads has synchronized with others by then. If neither has since the grid began, no write of
//! other threads happens before the loads. Nor did the two threads write there themselves: such a write and the load of the other thread would race. So both load
//! the content of the memory when the grid began.
//!
//! If all threads of a CTA met at a barrier, and the two have not synchronized with others since, then each write that happens before one of the loads happened
//! before the barrier, and so before both loads. They load the same if they are in the same CTA. Threads of different CTAs load the same if no thread of their
//! CTAs synchronized with threads of other CTAs before the barrier: a write of the CTA before the barrier would race with the load of the other CTA. If only
//! one CTA executes the load, threads of one CTA are compared.
//!
//! Loops that compare and swap often begin with a weak load of memory that other threads change at the same time. That is a race, but it is common, so nothing is
//! assumed about functions with atomic operations on memory outside of shared memory, about their callers, and about their callees.
//!
//! Nothing is assumed about other instructions that may synchronize ([`Acquires`]), about loops with several entries, and about functions that other modules
//! may call.

use alloc::vec::Vec;

use ptx_ir::facts::{FunctionFacts, MemoryAccess, Space};
use ptx_ir::{Statement, StmtId};
use ptx_isa::{Access, Modifier, Proxy, StateSpace};

use super::context::{Callees, Context};
use super::graphs::Graphs;
use super::synchronization::{Acquires, Before, Synchronization, acquires};
use crate::cfg::BlockId;
use crate::dataflow::{Analysis, Direction, JoinSemiLattice, solve};
use crate::graph::LoopKind;

/// A statement of which the order matters.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Event {
    /// A weak load or a call.
    Place,
    Synchronizes(Acquires),
}

/// The synchronization that may happen before the weak loads and the calls of a function.
#[derive(Debug, Default)]
pub(super) struct Visible {
    /// The events of each block in their order.
    events: Vec<Vec<(StmtId, Event)>>,
    /// The weak loads and calls, by id.
    places: Vec<(StmtId, Before)>,
    entry: Before,
    /// Barriers are considered: the function has no irreducible loop.
    has_barriers: bool,
}

impl Visible {
    /// Collects the events of a function. All instructions that may be barriers count as barriers until some are known not to be.
    pub(super) fn new(
        facts: FunctionFacts<'_>,
        graphs: &Graphs<'_>,
        context: &Context,
        callees: &Callees<'_>,
    ) -> Self {
        if context.is_optimistic
            || context.before == Before::ANYTHING
            || has_atomics(facts, callees)
        {
            return Self::default();
        }
        let mut loops = graphs.loops.iter();
        let mut visible = Self {
            events: Vec::with_capacity(graphs.cfg.len()),
            places: Vec::new(),
            entry: context.before,
            has_barriers: loops.all(|(_, l)| l.kind() != LoopKind::Irreducible),
        };
        for (_, block) in graphs.cfg.blocks() {
            let mut events = Vec::new();
            for (stmt, statement) in facts.body().range(block.first, block.end) {
                let inst = match statement {
                    Statement::Inst(inst) => facts.inst(inst),
                    Statement::Opaque(_) => {
                        events.push((stmt, Event::Synchronizes(Acquires::Beyond)));
                        continue;
                    }
                    _ => continue,
                };
                let called = callees.synchronization(&inst);
                let acquires = called.map_or_else(|| acquires(&inst), |called| called.acquires);
                if called.is_some() || inst.memory().any(|access| is_weak_load(&access)) {
                    events.push((stmt, Event::Place));
                    visible.places.push((stmt, Before::default()));
                }
                if acquires > Acquires::None {
                    events.push((stmt, Event::Synchronizes(acquires)));
                }
            }
            visible.events.push(events);
        }
        visible.places.sort_unstable_by_key(|(stmt, _)| *stmt);
        visible
    }

    /// The synchronization that may happen before a load or a call.
    pub(super) fn before(&self, stmt: StmtId) -> Before {
        let index = self.places.binary_search_by_key(&stmt, |(place, _)| *place);
        index.map_or(Before::ANYTHING, |index| self.places[index].1)
    }

    /// Updates the synchronization before loads and calls for fewer barriers at which all threads meet. Returns the loads and calls before which more may
    /// happen now.
    pub(super) fn update(&mut self, graphs: &Graphs<'_>, meeting: &[StmtId]) -> Vec<StmtId> {
        if self.places.is_empty() {
            return Vec::new();
        }
        let order = Order {
            events: &self.events,
            entry: self.entry,
            meeting: if self.has_barriers { meeting } else { &[] },
        };
        let Ok(starts) = solve(graphs.cfg, &order, u64::MAX) else {
            return self.give_up();
        };
        let mut changed = Vec::new();
        for ((block, _), events) in graphs.cfg.blocks().zip(&self.events) {
            let start = starts.state(block).copied();
            let mut before = start.unwrap_or(Before::ANYTHING);
            for &(stmt, event) in events {
                if event == Event::Place
                    && let Ok(index) = self.places.binary_search_by_key(&stmt, |(place, _)| *place)
                    && JoinSemiLattice::join(&mut self.places[index].1, &before)
                {
                    changed.push(stmt);
                }
                before = order.after(before, stmt, event);
            }
        }
        changed
    }

    /// Assumes nothing about loads and calls. Returns those about which something was assumed.
    pub(super) fn give_up(&mut self) -> Vec<StmtId> {
        let places = core::mem::take(&mut self.places).into_iter();
        places.map(|(stmt, _)| stmt).collect()
    }
}

impl JoinSemiLattice for Before {
    fn join(&mut self, other: &Self) -> bool {
        let joined = Self::join(*self, *other);
        core::mem::replace(self, joined) != joined
    }
}

/// The events of a function as a dataflow problem.
struct Order<'a> {
    events: &'a [Vec<(StmtId, Event)>],
    entry: Before,
    /// The barriers at which all threads of a CTA meet, by id.
    meeting: &'a [StmtId],
}

impl Order<'_> {
    fn after(&self, before: Before, stmt: StmtId, event: Event) -> Before {
        match event {
            Event::Place => before,
            Event::Synchronizes(_) if self.meeting.binary_search(&stmt).is_ok() => Before {
                since_barrier: false,
                ..before
            },
            Event::Synchronizes(acquires) => before.after(acquires),
        }
    }
}

impl Analysis for Order<'_> {
    type Node = BlockId;
    type Domain = Before;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> Before {
        Before::default()
    }

    fn boundary(&self) -> Before {
        self.entry
    }

    fn len(&self, block: BlockId) -> u32 {
        self.events.get(block.as_u32() as usize).map_or(0, Vec::len) as u32
    }

    fn effect(&self, block: BlockId, index: u32, state: &mut Before) {
        if let Some(&(stmt, event)) = self.events[block.as_u32() as usize].get(index as usize) {
            *state = self.after(*state, stmt, event);
        }
    }
}

/// Returns whether an access is a weak load from memory that threads share.
pub(super) fn is_weak_load(access: &MemoryAccess) -> bool {
    let is_shared = match access.space {
        Space::State(space) => matches!(space.base(), StateSpace::Global | StateSpace::Shared),
        Space::Generic => true,
        _ => false,
    };
    is_shared
        && access.access == Access::Read
        && access.order == Some(Modifier::Weak)
        && access.proxy == Proxy::Generic
}

/// Returns whether a function, or one that it calls, has atomic operations on memory that the grid shares.
fn has_atomics(facts: FunctionFacts<'_>, callees: &Callees<'_>) -> bool {
    let mut called = facts
        .body()
        .insts()
        .filter_map(|(inst, _)| callees.synchronization(&facts.inst(inst)));
    Synchronization::of(facts).atomics || called.any(|called| called.atomics)
}
