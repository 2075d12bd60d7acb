//! Masks that are results of warp-level instructions.

use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::ssa::{Value, ValueId};
use ptx_analysis::uniformity::Uniformity;
use ptx_ir::facts::Facts;
use ptx_ir::{Operand, Statement, StmtId};
use ptx_isa::{Action, Role};

use super::MaskCheck;
use crate::Certainty;
use crate::paths::origin;

/// The maximum number of followed copies.
const MOST_COPIES: usize = 8;

/// The maximum number of followed blocks after a branch.
const MOST_BLOCKS: usize = 64;

impl MaskCheck<'_, '_, '_> {
    /// Returns the certainty and the message of the error in a mask that is the result of a warp-level instruction.
    pub(super) fn origin(&self, operand: Operand) -> Option<(Certainty, &'static str)> {
        let value = self.cx.read(self.inst.stmt, operand)?;
        let Some((stmt, action)) = self.warp_level_definition(value) else {
            return self.is_varying_data(value).then_some((
                Certainty::Possible,
                "the mask is loaded from memory and may differ between the lanes that execute the instruction together",
            ));
        };
        let block_of_definition = self.cx.cfg().of_statement(stmt)?;
        let causes_of_definition = self
            .divergence
            .causes(block_of_definition, Uniformity::Warp);
        // The divergent branches between the definition and the use.
        let branches: Vec<BlockId> = self
            .causes
            .iter()
            .copied()
            .filter(|branch| !causes_of_definition.contains(branch))
            .collect();
        let diverges_after_definition = !branches.is_empty() || self.is_guarded;
        match action {
            Action::ActiveLanes | Action::Match if diverges_after_definition => Some((
                Certainty::Possible,
                "the mask was computed before the lanes diverged and may include lanes that do not reach the instruction",
            )),
            Action::ActiveLanes if !causes_of_definition.is_empty() => Some((
                Certainty::Possible,
                "the mask contains the lanes that are active together in divergent code, and may miss lanes that execute the same code at another time",
            )),
            Action::Vote => self.vote_error(stmt, &branches),
            _ => None,
        }
    }

    /// Returns the statement that defines a value, looking through copies, and its action.
    fn warp_level_definition(&self, mut value: ValueId) -> Option<(StmtId, Action)> {
        let ssa = self.cx.ssa()?;
        for _ in 0..MOST_COPIES {
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
            let [read] = ssa.uses(stmt) else { return None };
            value = read.value;
            let mut operands = facts.parts().filter(|(_, usage)| usage.reads());
            if facts.memory().next().is_some() || operands.nth(1).is_some() {
                return None;
            }
        }
        None
    }

    /// Returns `true` if a mask is loaded from memory, and different lanes load different values.
    fn is_varying_data(&self, value: ValueId) -> bool {
        let Some(Value::Def { stmt, variable, .. }) = self.cx.ssa().map(|ssa| ssa.value(value))
        else {
            return false;
        };
        let is_load = |facts: Facts<'_>| facts.memory().any(|access| access.reads());
        self.likely.def(stmt, variable) == Uniformity::Varying
            && origin(self.cx, value, is_load).is_some()
    }

    /// Returns the error in a mask of the lanes in which a predicate is true. `branches` are the divergent branches after the vote.
    fn vote_error(&self, stmt: StmtId, branches: &[BlockId]) -> Option<(Certainty, &'static str)> {
        let voted = self.predicate(stmt)?;
        // All of these hold where the mask is used.
        let mut conditions: Vec<Condition> = Vec::new();
        if self.is_guarded {
            let (place, sense) = self.inst.facts.guard_register()?;
            conditions.push(Condition {
                predicate: self.cx.read_place(self.inst.stmt, place)?,
                value: sense.holds(true),
            });
        }
        for branch in branches {
            let (stmt, facts) = self.cx.last_instruction(*branch)?;
            let (place, _) = facts.guard_register()?;
            conditions.push(Condition {
                predicate: self.cx.read_place(stmt, place)?,
                value: self.guard_towards_block(*branch)?,
            });
        }
        match conditions.as_slice() {
[] => self.unconditional_error(voted.predicate),
[condition] => (*condition == voted.inverted()).then_some((
Certainty::Definite,
"the mask contains the lanes that take the other path",
)),
_ => conditions.contains(&voted).then_some((
                Certainty::Possible,
                "the lanes diverged again after the vote, and the mask may include lanes that do not reach the instruction",
            )),
        }
    }

    /// Returns the error if all lanes execute the instruction, regardless of the predicate of the vote.
    fn unconditional_error(&self, predicate: ValueId) -> Option<(Certainty, &'static str)> {
        let Value::Def { stmt, variable, .. } = self.cx.ssa()?.value(predicate) else {
            return None;
        };
        let differs = self.likely.def(stmt, variable) == Uniformity::Varying;
        differs.then_some((
            Certainty::Possible,
            "lanes for which the predicate of the vote is false may also execute the instruction",
        ))
    }

    /// Returns the condition for which a vote returns the lanes.
    fn predicate(&self, stmt: StmtId) -> Option<Condition> {
        let Some(Statement::Inst(inst)) = self.cx.body().statement(stmt) else {
            return None;
        };
        let facts = self.cx.facts().inst(inst);
        let operand = facts
            .operands()
            .find(|operand| operand.role == Role::Use)?
            .operand;
        Some(Condition {
            predicate: self.cx.read_place(stmt, facts.place(operand)?)?,
            value: !matches!(operand, Operand::Not(_)),
        })
    }

    /// Returns the value of the guard with which a branch leads to the block of the instruction.
    fn guard_towards_block(&self, branch: BlockId) -> Option<bool> {
        let dominators = self.cx.analysis().dominators();
        self.cx.cfg().out_edges(branch).find_map(|(_, edge)| {
            let mut post_dominators =
                core::iter::successors(Some(edge.to), |block| self.divergence.meets(*block))
                    .take(MOST_BLOCKS + 1);
            let leads_to_block = post_dominators.any(|block| block == self.block)
                || dominators.dominates(edge.to, self.block);
            leads_to_block.then_some(edge.when)?
        })
    }
}

/// A value of a predicate register.
#[derive(Copy, Clone, PartialEq, Eq)]
struct Condition {
    predicate: ValueId,
    value: bool,
}

impl Condition {
    fn inverted(self) -> Self {
        Self {
            value: !self.value,
            ..self
        }
    }
}
