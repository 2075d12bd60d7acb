//! Weak loads that see what was in memory at the start of the grid, or at the last barrier of the CTA.
//!
//! The analysis assumes that programs have no data race: of two accesses of different threads to the same memory of which one writes, and which are not both
//! strong, one happens before the other, or the behavior is undefined (PTX ISA, chapter "Memory Consistency Model").
//!
//! Let two threads execute the same instance of a weak load with the same address. If another thread writes there, then that write happens before or
//! after each of the two loads. It can happen before one only if the thread that loads has synchronized with others by then. If neither has since the grid began, no write of
//! other threads happens before the loads. Nor did the two threads write there themselves: that write and the load of the other one would race. So both load what memory held
//! when the grid began.
//!
//! If all threads of a CTA met at a barrier, and the two have not synchronized with others since, then what happens before one of the loads happened before the
//! barrier, and so before both. They load the same if they are in the same CTA. Threads of different CTAs too if before the barrier, no
//! thread of their CTAs synchronized with threads of others: a write of the CTA before the barrier would race with the load of the other one. That does not hold if
//! only one CTA executes the load; then the one before is.
//!
//! Loops that compare and swap often begin with a weak load of what other threads change at the same time. That is a race, but it is common, so nothing is assumed of
//! functions with atomic operations on memory outside of shared memory, of those that call them, and of those that they call.
//!
//! Nothing is assumed of other instructions that may synchronize ([`Acquires`]), of loops with several entries, and of functions that other modules may call.

use alloc::vec::Vec;

use ptx_ir::facts::{FunctionFacts, MemoryAccess, Space};
use ptx_ir::{Statement, StmtId};
use ptx_isa::{Access, Modifier, Proxy, StateSpace};

use super::acquires::{Acquires, Synchronization, acquires};
use super::context::Context;
use super::function::Callees;
use super::graphs::Graphs;
use crate::cfg::BlockId;
use crate::graph::LoopKind;

/// What may happen before a place.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Before {
    /// Whether the thread may have synchronized with others since all threads of the CTA met at a barrier, or since the start of the grid.
    pub(super) since_barrier: bool,
    /// Whether threads of the CTA may have synchronized with those of others.
    pub(super) beyond: bool,
}

impl Before {
    pub(super) const ANYTHING: Self = Self {
        since_barrier: true,
        beyond: true,
    };

    pub(super) const fn join(self, other: Self) -> Self {
        Self {
            since_barrier: self.since_barrier | other.since_barrier,
            beyond: self.beyond | other.beyond,
        }
    }

    fn after(self, acquires: Acquires) -> Self {
        self.join(Self {
            since_barrier: acquires > Acquires::None,
            beyond: acquires == Acquires::Beyond,
        })
    }
}

/// What matters of a statement.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Event {
    /// A weak load, or a call: what happens before it is asked for.
    Place,
    Synchronizes(Acquires),
}

/// What may happen before the weak loads and the calls of a function.
#[derive(Debug, Default)]
pub(super) struct Visible {
    /// By block, in their order.
    events: Vec<Vec<(StmtId, Event)>>,
    /// In the order of the ids of statements.
    places: Vec<(StmtId, Before)>,
    entry: Before,
    has_barriers: bool,
}

impl Visible {
    /// Before anything is known of barriers, all that may be one is.
    pub(super) fn new(
        facts: FunctionFacts<'_>,
        graphs: &Graphs<'_>,
        context: &Context,
        callees: &Callees<'_>,
    ) -> Self {
        if context.is_optimistic || context.before == Before::ANYTHING {
            return Self::default();
        }
        if has_atomics(facts, callees) {
            return Self::default();
        }
        let mut loops = graphs.loops.iter();
        let mut visible = Self {
            events: vec![Vec::new(); graphs.cfg.len()],
            places: Vec::new(),
            entry: context.before,
            has_barriers: loops.all(|(_, l)| l.kind() != LoopKind::Irreducible),
        };
        for (id, block) in graphs.cfg.blocks() {
            let events = &mut visible.events[id.as_u32() as usize];
            for (stmt, statement) in facts.body().range(block.first, block.end) {
                let inst = match statement {
                    Statement::Inst(inst) => facts.inst(inst),
                    Statement::Opaque(_) => {
                        events.push((stmt, Event::Synchronizes(Acquires::Beyond)));
                        continue;
                    }
                    _ => continue,
                };
                let of_call = callees.of(&inst).map(|of| of.acquires);
                let acquires = of_call.unwrap_or_else(|| acquires(&inst));
                if inst.callees().is_some() || inst.memory().any(|access| is_weak_load(&access)) {
                    events.push((stmt, Event::Place));
                    visible.places.push((stmt, Before::default()));
                }
                if acquires > Acquires::None {
                    events.push((stmt, Event::Synchronizes(acquires)));
                }
            }
        }
        visible.places.sort_unstable_by_key(|(stmt, _)| *stmt);
        visible
    }

    /// What may happen before a load or a call.
    pub(super) fn before(&self, stmt: StmtId) -> Before {
        let at = self.places.binary_search_by_key(&stmt, |(stmt, _)| *stmt);
        at.map_or(Before::ANYTHING, |at| self.places[at].1)
    }

    /// Looks again at what may happen before loads and calls, now that threads meet only at some barriers; gives those before which more may happen.
    pub(super) fn update(&mut self, graphs: &Graphs<'_>, meeting: &[StmtId]) -> Vec<StmtId> {
        if self.places.is_empty() {
            return Vec::new();
        }
        let has_barriers = self.has_barriers;
        let meets = |stmt: StmtId| has_barriers && meeting.binary_search(&stmt).is_ok();
        let (events, places) = (&self.events, &mut self.places);
        let mut starts: Vec<Option<Before>> = vec![None; self.events.len()];
        starts[0] = Some(self.entry);
        let mut work: Vec<BlockId> = graphs.order.order().to_vec();
        work.reverse();
        while let Some(id) = work.pop() {
            let at = id.as_u32() as usize;
            let Some(mut before) = starts[at] else {
                continue;
            };
            for &(stmt, event) in &events[at] {
                before = after(before, event, meets(stmt));
            }
            for &to in graphs.cfg.successors(id) {
                let start = &mut starts[to.as_u32() as usize];
                let joined = start.unwrap_or_default().join(before);
                if *start != Some(joined) {
                    *start = Some(joined);
                    work.push(to);
                }
            }
        }
        let mut changed = Vec::new();
        for (events, start) in events.iter().zip(&starts) {
            let mut before = start.unwrap_or(Before::ANYTHING);
            for &(stmt, event) in events {
                if event == Event::Place
                    && let Ok(place) = places.binary_search_by_key(&stmt, |(of, _)| *of)
                {
                    let known = &mut places[place].1;
                    let joined = known.join(before);
                    if joined != *known {
                        *known = joined;
                        changed.push(stmt);
                    }
                }
                before = after(before, event, meets(stmt));
            }
        }
        changed
    }

    /// Nothing is known any more.
    pub(super) fn give_up(&mut self) -> Vec<StmtId> {
        let places = core::mem::take(&mut self.places).into_iter();
        places.map(|(stmt, _)| stmt).collect()
    }
}

/// What may have happened after an event.
fn after(before: Before, event: Event, meets: bool) -> Before {
    match event {
        Event::Place => before,
        Event::Synchronizes(_) if meets => Before {
            since_barrier: false,
            ..before
        },
        Event::Synchronizes(acquires) => before.after(acquires),
    }
}

/// Whether an access is a weak load from memory that threads share.
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

/// Whether a function, or one that it calls, has atomic operations on memory that the grid shares.
fn has_atomics(facts: FunctionFacts<'_>, callees: &Callees<'_>) -> bool {
    let mut called = facts
        .body()
        .insts()
        .filter_map(|(inst, _)| callees.of(&facts.inst(inst)));
    Synchronization::of(facts).atomics || called.any(|of| of.atomics)
}
