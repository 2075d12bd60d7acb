//! Dataflow analysis of the synchronization that was certainly executed before a statement, or will be executed after it, with
//! nothing in between that it orders.

use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::dataflow::{Analysis, Direction, JoinSemiLattice, solve};
use ptx_ir::facts::{Facts, Flow, MemoryAccess, Space};
use ptx_ir::{Statement, StmtId};
use ptx_isa::StateSpace;

use super::super::function_view::View;
use super::is_synchronization;
use super::kinds::Kinds;

/// The kinds of synchronization that were executed on all paths, as bits. The highest bit says that no path leads to this point
/// from the entry or, backward, from this point to an exit.
#[derive(Copy, Clone, PartialEq, Eq)]
struct Executed(u64);

impl JoinSemiLattice for Executed {
    fn join(&mut self, other: &Self) -> bool {
        let old = self.0;
        self.0 &= other.0;
        self.0 != old
    }
}

const UNREACHED: u64 = 1 << 63;

/// The effect of a statement on the executed synchronization.
enum Effect {
    Nothing,
    /// Accesses memory, or has an unknown effect.
    Ends,
    /// Executes a fence or a barrier, with its kind if it has one. Ordinary fences stay executed after another ordinary fence.
    Synchronizes(Option<usize>),
}

/// A function with its kinds of synchronization.
struct Scope<'v, 'a> {
    view: &'v View<'a>,
    kinds: &'v Kinds,
    barriers: u64,
    ordinary_fences: u64,
    with_registers: u64,
}

impl<'v, 'a> Scope<'v, 'a> {
    fn new(view: &'v View<'a>, kinds: &'v Kinds) -> Self {
        Self {
            view,
            kinds,
            barriers: kinds.barriers(),
            ordinary_fences: kinds.ordinary_fences(),
            with_registers: kinds.with_registers(),
        }
    }

    fn statements(&self, block: BlockId) -> Vec<(StmtId, Statement)> {
        self.view
            .cfg
            .block(block)
            .map(|block| self.view.body().range(block.first, block.end))
            .into_iter()
            .flatten()
            .collect()
    }

    fn ordered(&self, block: BlockId, backward: bool) -> Vec<(StmtId, Statement)> {
        let mut statements = self.statements(block);
        if backward {
            statements.reverse();
        }
        statements
    }

    fn effect(&self, stmt: StmtId, statement: Statement) -> Effect {
        let inst = match statement {
            Statement::Inst(inst) => inst,
            Statement::Opaque(_) => return Effect::Ends,
            _ => return Effect::Nothing,
        };
        let facts = self.view.facts.inst(inst);
        if is_synchronization(&facts) {
            return Effect::Synchronizes(self.kinds.of(stmt));
        }
        if facts.is_known() && (only_computes(&facts) || is_private_access(&facts)) {
            Effect::Nothing
        } else {
            Effect::Ends
        }
    }

    /// Applies a statement.
    fn apply(&self, stmt: StmtId, statement: Statement, state: &mut Executed) {
        match self.effect(stmt, statement) {
            Effect::Nothing => {}
            Effect::Ends | Effect::Synchronizes(None) => state.0 = 0,
            Effect::Synchronizes(Some(kind)) => {
                let is_ordinary = self.ordinary_fences & (1 << kind) != 0;
                state.0 &= UNREACHED | if is_ordinary { self.ordinary_fences } else { 0 };
                state.0 |= self.kinds.covered(kind);
            }
        }
    }

    /// Removes the kinds whose operands may have other values in another block.
    fn remove_register_kinds(&self, state: &mut Executed) {
        state.0 &= !self.with_registers;
    }

    /// Whether a statement is redundant. A barrier waits for statements before it, so that it cannot be replaced by a later one.
    fn is_redundant(&self, stmt: StmtId, state: Executed, backward: bool) -> bool {
        let kind = self.kinds.of(stmt).filter(|_| state.0 & UNREACHED == 0);
        kind.is_some_and(|k| {
            state.0 & (1 << k) != 0 && !(backward && self.barriers & (1 << k) != 0)
        })
    }
}

/// Whether an instruction does nothing but to compute registers and to choose the next one.
fn only_computes(facts: &Facts<'_>) -> bool {
    let goes_on = facts.may_be_duplicated() || matches!(facts.flow(), Flow::Jump | Flow::Table);
    goes_on && facts.memory().all(|access| is_private(&access))
}

/// Whether an instruction is an ordinary access to memory that other threads do not see.
fn is_private_access(facts: &Facts<'_>) -> bool {
    let is_ordinary = facts.flow() == Flow::Next
        && facts.action().is_none()
        && facts.asynchronous().is_empty()
        && facts.convergence().is_none()
        && !facts.is_volatile();
    is_ordinary && facts.memory().next().is_some() && facts.memory().all(|a| is_private(&a))
}

/// Whether memory belongs to one thread, or never changes.
fn is_private(access: &MemoryAccess) -> bool {
    use StateSpace::{Const, Local, Param};
    match access.space {
        Space::State(space) => {
            access.scope.is_none() && matches!(space.base(), Local | Param | Const)
        }
        _ => false,
    }
}

/// The analysis of a function, forward or backward.
struct ExecutedAnalysis<'s, 'v, 'a, const BACKWARD: bool>(&'s Scope<'v, 'a>);

impl<const BACKWARD: bool> Analysis for ExecutedAnalysis<'_, '_, '_, BACKWARD> {
    type Node = BlockId;
    type Domain = Executed;
    const DIRECTION: Direction = if BACKWARD {
        Direction::Backward
    } else {
        Direction::Forward
    };

    fn bottom(&self) -> Executed {
        Executed(u64::MAX)
    }

    fn boundary(&self) -> Executed {
        Executed(0)
    }

    fn len(&self, block: BlockId) -> u32 {
        self.0.statements(block).len() as u32
    }

    fn effect(&self, block: BlockId, index: u32, state: &mut Executed) {
        if let Some((stmt, statement)) = self.0.statements(block).get(index as usize) {
            self.0.apply(*stmt, *statement, state);
        }
    }

    fn block(&self, block: BlockId, state: &mut Executed) {
        self.0.remove_register_kinds(state);
        for (stmt, statement) in self.0.ordered(block, BACKWARD) {
            self.0.apply(stmt, statement, state);
        }
    }
}

/// The statements that are redundant because of what was executed before, or because of what will be executed after.
pub(super) fn redundant<const BACKWARD: bool>(view: &View<'_>, kinds: &Kinds) -> Vec<StmtId> {
    let scope = Scope::new(view, kinds);
    let analysis = ExecutedAnalysis::<BACKWARD>(&scope);
    let mut redundant = Vec::new();
    let Ok(solution) = solve(view.cfg, &analysis, u64::MAX) else {
        return redundant;
    };
    for (id, _) in view.cfg.blocks() {
        let Some(mut state) = solution
            .state(id)
            .filter(|_| view.dominators.is_reachable(id))
            .copied()
        else {
            continue;
        };
        scope.remove_register_kinds(&mut state);
        for (stmt, statement) in scope.ordered(id, BACKWARD) {
            if scope.is_redundant(stmt, state, BACKWARD) {
                redundant.push(stmt);
            }
            scope.apply(stmt, statement, &mut state);
        }
    }
    redundant
}
