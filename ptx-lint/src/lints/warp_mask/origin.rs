//! Masks that are results of warp-level instructions.

use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::ssa::{Value, ValueId};
use ptx_analysis::uniformity::Uniformity;
use ptx_ir::{Operand, Statement, StmtId};
use ptx_isa::{Action, Role};

use super::super::barrier_divergence::last;
use super::Check;
use crate::Certainty;

/// The maximum number of followed copies.
const COPIES: usize = 8;

impl Check<'_, '_, '_> {
    /// The error in a mask that is the result of a warp-level instruction.
    pub(super) fn origin(&self, operand: Operand) -> Option<(Certainty, &'static str)> {
        let value = self.cx.read(self.at.stmt, operand)?;
        let (stmt, action) = self.made(value)?;
        let made = self.cx.cfg().of_statement(stmt)?;
        let known = self.divergence.causes(made, Uniformity::Warp);
        let new: Vec<BlockId> = self
            .causes
            .iter()
            .copied()
            .filter(|c| !known.contains(c))
            .collect();
        let is_new = !new.is_empty() || self.is_guarded;
        match action {
            Action::ActiveLanes | Action::Match if is_new => Some((
                Certainty::Possible,
                "the mask was computed before the lanes diverged and may include lanes that do not reach the instruction",
            )),
            Action::Vote => self.voted(stmt, &new),
            _ => None,
        }
    }

    /// The statement that defines a value, looking through copies, and its action.
    fn made(&self, mut value: ValueId) -> Option<(StmtId, Action)> {
        let ssa = self.cx.ssa()?;
        for _ in 0..COPIES {
            let Value::Def {
                stmt, old: None, ..
            } = ssa.value(value)
            else {
                return None;
            };
            let Some(Statement::Inst(inst)) = self.cx.body().statement(stmt) else {
                return None;
            };
            let facts = self.cx.facts().inst(inst);
            if let Some(action) = facts.action() {
                return Some((stmt, action));
            }
            let [only] = ssa.uses(stmt) else { return None };
            value = only.value;
            let mut sources = facts.parts().filter(|(_, usage)| usage.reads());
            if facts.memory().next().is_some() || sources.nth(1).is_some() {
                return None;
            }
        }
        None
    }

    /// A mask of the lanes in which a predicate is true. `branches` are the divergent branches after the vote.
    fn voted(&self, stmt: StmtId, branches: &[BlockId]) -> Option<(Certainty, &'static str)> {
        let (predicate, inverted) = self.predicate(stmt)?;
        let mut conditions: Vec<(ValueId, bool)> = Vec::new();
        if self.is_guarded {
            let (place, sense) = self.at.facts.guard_register()?;
            conditions.push((self.cx.read_place(self.at.stmt, place)?, sense.holds(true)));
        }
        for branch in branches {
            let (at, facts) = last(self.cx, *branch)?;
            let (place, _) = facts.guard_register()?;
            conditions.push((self.cx.read_place(at, place)?, self.taken(*branch)?));
        }
        match conditions.as_slice() {
            [] => self.unguarded(predicate),
            [(other, holds)] => (*other == predicate && *holds == inverted).then_some((
                Certainty::Definite,
                "the mask contains the lanes that take the other path",
            )),
            all => all.contains(&(predicate, !inverted)).then_some((
                Certainty::Possible,
                "the lanes diverged again after the vote, and the mask may include lanes that do not reach the instruction",
            )),
        }
    }

    /// Handles instructions that all lanes execute, regardless of the predicate.
    fn unguarded(&self, predicate: ValueId) -> Option<(Certainty, &'static str)> {
        let Value::Def { stmt, variable, .. } = self.cx.ssa()?.value(predicate) else {
            return None;
        };
        let differs = self.likely.def(stmt, variable) == Uniformity::Varying;
        differs.then_some((
            Certainty::Possible,
            "lanes for which the predicate of the vote is false may also execute the instruction",
        ))
    }

    /// The predicate of a vote, and whether it is inverted.
    fn predicate(&self, stmt: StmtId) -> Option<(ValueId, bool)> {
        let Some(Statement::Inst(inst)) = self.cx.body().statement(stmt) else {
            return None;
        };
        let facts = self.cx.facts().inst(inst);
        let operand = facts.operands().find(|o| o.role == Role::Use)?.operand;
        let inverted = matches!(operand, Operand::Not(_));
        Some((self.cx.read_place(stmt, facts.place(operand)?)?, inverted))
    }

    /// The value of the guard with which a branch leads to the block.
    fn taken(&self, branch: BlockId) -> Option<bool> {
        let dominators = self.cx.analysis().dominators();
        let mut edges = self.cx.cfg().out_edges(branch);
        edges.find_map(|(_, edge)| {
            let mut at = Some(edge.to);
            let mut steps = 0;
            while let Some(next) = at.filter(|n| *n != self.block && steps < BLOCKS) {
                at = self.divergence.meets(next);
                steps += 1;
            }
            let is_on = at == Some(self.block) || dominators.dominates(edge.to, self.block);
            is_on.then_some(edge.when)?
        })
    }
}

/// The maximum number of followed blocks after a branch.
const BLOCKS: usize = 64;
