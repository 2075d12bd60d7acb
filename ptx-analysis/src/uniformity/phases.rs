//! Loads from shared memory to which no thread of the CTA can store at the same time: what threads load there from one address is the same.
//!
//! Barriers that all threads of a CTA execute divide its execution into phases. The threads that execute the same instance of a load do so in the same
//! phase. In that phase, another thread executes what is on some way from the barrier before it to the one after it, and turns off the way of the load
//! only where threads take different ways. If nothing there stores to shared memory, all threads load the same.
//!
//! Nothing is assumed of functions that call others, that have irreducible loops, that access the shared memory of other CTAs, or that start asynchronous operations.

use alloc::vec::Vec;

use ptx_ir::facts::{FunctionFacts, MemoryAccess, Space};
use ptx_ir::{FunctionKind, InstId, Statement, StmtId};
use ptx_isa::{Access, Action, Modifier, Proxy, StateSpace, Uniformity};

use super::barriers::uses_barrier;
use super::context::Context;
use super::graphs::Graphs;
use crate::cfg::BlockId;
use crate::graph::LoopKind;

/// What matters of a statement.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Kind {
    Store,
    Load,
    Barrier,
}

/// The loads, stores and barriers of a function.
#[derive(Debug, Default)]
pub(super) struct Phases {
    /// By block, in their order.
    events: Vec<Vec<(StmtId, Kind)>>,
    /// The loads during which nothing is stored, in the order of their ids.
    undisturbed: Vec<StmtId>,
}

impl Phases {
    /// Before anything is known of the branches, nothing is stored during any load.
    pub(super) fn new(facts: FunctionFacts<'_>, graphs: &Graphs<'_>, context: &Context) -> Self {
        let mut loops = graphs.loops.iter();
        let is_reducible = loops.all(|(_, l)| l.kind() != LoopKind::Irreducible);
        if context.kind != FunctionKind::Entry || context.is_optimistic || !is_reducible {
            return Self::default();
        }
        let mut phases = Self {
            events: vec![Vec::new(); graphs.cfg.len()],
            undisturbed: Vec::new(),
        };
        for (id, block) in graphs.cfg.blocks() {
            for (stmt, statement) in facts.body().range(block.first, block.end) {
                let kind = match statement {
                    Statement::Inst(inst) => kind(facts, inst),
                    Statement::Opaque(_) => return Self::default(),
                    _ => Ok(None),
                };
                match kind {
                    Ok(Some(kind)) => phases.events[id.as_u32() as usize].push((stmt, kind)),
                    Ok(None) => {}
                    Err(NotFollowed) => return Self::default(),
                }
            }
        }
        let loads = phases.events.iter().flatten();
        let loads = loads.filter(|(_, kind)| *kind == Kind::Load);
        let mut loads: Vec<StmtId> = loads.map(|(stmt, _)| *stmt).collect();
        loads.sort_unstable();
        phases.undisturbed = loads;
        phases
    }

    /// Whether nothing is stored to shared memory while threads of a CTA execute an instance of a load from it.
    pub(super) fn is_undisturbed(&self, load: StmtId) -> bool {
        self.undisturbed.binary_search(&load).is_ok()
    }

    /// Looks again at what is stored, now that more is known of branches and of the barriers at which all threads meet; gives the loads of which nothing is known any more.
    pub(super) fn update(
        &mut self,
        graphs: &Graphs<'_>,
        branches: &[Uniformity],
        meeting: &[StmtId],
    ) -> Vec<StmtId> {
        if self.undisturbed.is_empty() {
            return Vec::new();
        }
        let meets = |stmt: StmtId| meeting.binary_search(&stmt).is_ok();
        let stored_after = self.stored_after(graphs, &meets);
        let mut stored_before = vec![false; self.events.len()];
        let mut found = Vec::new();
        let mut work: Vec<BlockId> = graphs.order.order().to_vec();
        work.reverse();
        while let Some(id) = work.pop() {
            let at = id.as_u32() as usize;
            let mut stored = stored_before[at];
            for (stmt, kind) in &self.events[at] {
                stored = after(*kind, stored, meets(*stmt));
            }
            // Other threads may go another way, on which something is stored.
            stored |= stored_after[at] && branches[at] > Uniformity::Cta;
            for &to in graphs.cfg.successors(id) {
                let before = &mut stored_before[to.as_u32() as usize];
                if stored && !*before {
                    *before = true;
                    work.push(to);
                }
            }
        }
        for (at, events) in self.events.iter().enumerate() {
            let stored = (stored_before[at], stored_after[at]);
            disturbed(events, stored, &meets, &mut found);
        }
        found.retain(|load| self.is_undisturbed(*load));
        self.undisturbed.retain(|load| !found.contains(load));
        found
    }

    /// Nothing is known of the loads any more.
    pub(super) fn give_up(&mut self) -> Vec<StmtId> {
        core::mem::take(&mut self.undisturbed)
    }

    /// Of each block, whether something may be stored after it and before the next barrier.
    fn stored_after(&self, graphs: &Graphs<'_>, meets: &dyn Fn(StmtId) -> bool) -> Vec<bool> {
        let mut stored_after = vec![false; self.events.len()];
        let mut work: Vec<BlockId> = graphs.order.order().to_vec();
        while let Some(id) = work.pop() {
            let at = id.as_u32() as usize;
            let mut stored = stored_after[at];
            for (stmt, kind) in self.events[at].iter().rev() {
                stored = after(*kind, stored, meets(*stmt));
            }
            for &from in graphs.cfg.predecessors(id) {
                let slot = &mut stored_after[from.as_u32() as usize];
                if stored && !*slot {
                    *slot = true;
                    work.push(from);
                }
            }
        }
        stored_after
    }
}

/// Whether something was stored since a barrier, after an event.
const fn after(kind: Kind, stored: bool, meets: bool) -> bool {
    match kind {
        Kind::Store => true,
        Kind::Barrier if meets => false,
        Kind::Barrier | Kind::Load => stored,
    }
}

/// Adds the loads of a block during which something may be stored; `stored`: before the block since a barrier, and after it up to the next one.
fn disturbed(
    events: &[(StmtId, Kind)],
    (mut before, mut later): (bool, bool),
    meets: &dyn Fn(StmtId) -> bool,
    found: &mut Vec<StmtId>,
) {
    let mut add = |stmt: StmtId, kind: Kind, stored: bool| {
        if kind == Kind::Load && stored {
            found.push(stmt);
        }
    };
    for &(stmt, kind) in events {
        add(stmt, kind, before);
        before = after(kind, before, meets(stmt));
    }
    for &(stmt, kind) in events.iter().rev() {
        add(stmt, kind, later);
        later = after(kind, later, meets(stmt));
    }
}

/// The function does something that is not followed.
struct NotFollowed;

fn kind(facts: FunctionFacts<'_>, inst: InstId) -> Result<Option<Kind>, NotFollowed> {
    let of = facts.inst(inst);
    let follows = of.is_known()
        && of.callees().is_none()
        && of.asynchronous().is_empty()
        && !matches!(of.action(), Some(Action::MapShared));
    if !follows || of.memory().any(|access| is_remote(&access)) {
        return Err(NotFollowed);
    }
    if uses_barrier(&of) {
        return Ok(Some(Kind::Barrier));
    }
    if of.memory().any(|access| may_store(&access)) {
        return Ok(Some(Kind::Store));
    }
    let loads = of.memory().any(|access| is_load(&access));
    Ok(loads.then_some(Kind::Load))
}

/// Whether an access reaches the shared memory of other CTAs.
fn is_remote(access: &MemoryAccess) -> bool {
    matches!(access.space, Space::State(StateSpace::SharedCluster))
}

/// Whether an access may write shared memory.
fn may_store(access: &MemoryAccess) -> bool {
    let is_elsewhere = match access.space {
        Space::State(space) => space.base() != StateSpace::Shared,
        Space::Texture | Space::Surface => true,
        _ => false,
    };
    access.writes() && !is_elsewhere
}

/// Whether an access is a weak load from shared memory.
pub(super) fn is_load(access: &MemoryAccess) -> bool {
    let is_shared =
        matches!(access.space, Space::State(space) if space.base() == StateSpace::Shared);
    is_shared
        && access.access == Access::Read
        && access.order == Some(Modifier::Weak)
        && access.proxy == Proxy::Generic
}
