//! The predicates that are known to be true or false in a block.

use alloc::rc::Rc;
use alloc::vec::Vec;

use ptx_analysis::cfg::{BlockId, Edge};
use ptx_analysis::ssa::{Ssa, Value, ValueId};
use ptx_ir::{EntityId as _, InstId, Statement, StmtId};
use ptx_semantics::internals::selection;

use crate::context::FunctionContext;

/// The maximum number of dominators of a block that are considered.
const MAX_DOMINATORS: usize = 48;

/// The maximum number of conditions of a path that are considered.
const MAX_PATH_CONDITIONS: usize = 16;

/// A predicate with its value.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) struct Condition {
    predicate: ValueId,
    holds: bool,
    /// The value that the predicate compares with a constant.
    compared: Option<ValueId>,
    /// Numbers for the integers that the predicate compares: see [`compared_numbers`](ptx_analysis::values::Values::compared_numbers).
    numbers: Option<[u32; 2]>,
}

impl Condition {
    pub(super) const fn inverted(self) -> Self {
        Self {
            holds: !self.holds,
            ..self
        }
    }

    /// Whether the value of one predicate may determine that of another.
    fn is_related(&self, other: &Self) -> bool {
        self.predicate == other.predicate
            || match (self.numbers, other.numbers) {
                (Some([a, b]), Some([other_a, other_b])) => {
                    a == other_a || a == other_b && b == other_a
                }
                _ => false,
            }
    }
}

/// The conditions of an edge.
#[derive(Copy, Clone)]
struct EdgeConditions {
    /// The condition of the branch.
    branch: Condition,
    /// A condition that follows from it.
    selected: Option<Condition>,
}

impl EdgeConditions {
    fn iter(self) -> impl Iterator<Item = Condition> {
        [self.branch].into_iter().chain(self.selected)
    }
}

/// The conditions of blocks, edges and guards.
pub(super) struct Conditions<'a> {
    cx: &'a FunctionContext<'a>,
    ssa: &'a Ssa,
    /// For each block, the conditions of the edges that are taken if the condition of its branch does not hold, and if it holds.
    branches: Vec<[Option<EdgeConditions>; 2]>,
    /// For each block, the conditions that hold in it, once they are known.
    blocks: Vec<Option<Rc<[Condition]>>>,
}

impl<'a> Conditions<'a> {
    pub(super) fn new(cx: &'a FunctionContext<'a>, ssa: &'a Ssa) -> Self {
        let mut conditions = Self {
            cx,
            ssa,
            branches: Vec::new(),
            blocks: vec![None; cx.cfg().len()],
        };
        let blocks = cx.cfg().blocks();
        conditions.branches = blocks.map(|(block, _)| conditions.branch(block)).collect();
        conditions
    }

    /// The guard of an instruction as a condition.
    pub(super) fn guard(&self, stmt: StmtId, inst: InstId) -> Option<Condition> {
        let (place, sense) = self.cx.facts().inst(inst).guard_register()?;
        let variable = self.cx.analysis().variables().of(place).next()?;
        let predicate = self.ssa.read(stmt, variable)?;
        Some(self.condition(predicate, sense.holds(true)))
    }

    fn condition(&self, predicate: ValueId, holds: bool) -> Condition {
        let values = self.cx.values();
        let compared = values.and_then(|values| values.truth_for(predicate, [0, 1]));
        Condition {
            predicate,
            holds,
            compared: compared.map(|(value, _)| value),
            numbers: values.and_then(|values| values.compared_numbers(predicate)),
        }
    }

    /// The conditions that hold when a statement is executed, including its guard.
    pub(super) fn at_statement(&mut self, stmt: StmtId) -> Rc<[Condition]> {
        let block = self.cx.cfg().of_statement(stmt);
        let conditions = block.map_or_else(Rc::default, |block| self.of_block(block));
        let guard = match self.cx.body().statement(stmt) {
            Some(Statement::Inst(inst)) => self.guard(stmt, inst),
            _ => None,
        };
        let selected = guard.and_then(|guard| self.selected(guard));
        with_condition(with_condition(conditions, guard), selected)
    }

    /// Whether an edge cannot be taken where these conditions hold.
    pub(super) fn exclude(&mut self, edge: &Edge, assumptions: &[Condition]) -> bool {
        if assumptions.is_empty() {
            return false;
        }
        let of_block = self.of_block(edge.from);
        let branch = self.of_edge(edge).map(|conditions| conditions.branch);
        let mut conditions = of_block.iter().copied().chain(branch);
        conditions.any(|condition| self.implied(assumptions, condition) == Some(false))
    }

    /// Whether a condition that holds compares a phi of a block with a constant, and does not hold for the argument of the phi at a position.
    pub(super) fn exclude_argument(
        &self,
        block: BlockId,
        position: usize,
        assumptions: &[Condition],
    ) -> bool {
        let Some(values) = self.cx.values() else {
            return false;
        };
        assumptions.iter().any(|condition| {
            let Some(phi) = condition.compared else {
                return false;
            };
            if !matches!(self.ssa.value(phi), Value::Phi { block: of_phi, .. } if of_phi == block) {
                return false;
            }
            let Some(&argument) = self.ssa.args(phi).get(position) else {
                return false;
            };
            let truth = [values.signed_interval(argument), values.interval(argument)]
                .iter()
                .filter_map(|interval| i64::try_from(interval.single()?).ok())
                .find_map(|number| values.truth_for(condition.predicate, [number, number]));
            truth.is_some_and(|(_, [is_true, _])| is_true != condition.holds)
        })
    }

    /// The conditions of a path that is extended at its start by an edge, within one iteration of the loops around it.
    pub(super) fn extend_path(&self, edge: &Edge, path: &Rc<[Condition]>) -> Rc<[Condition]> {
        let dominators = self.cx.analysis().dominators();
        if dominators.dominates(edge.to, edge.from) {
            return Rc::default();
        }
        let Some(conditions) = self.of_edge(edge) else {
            return if path.len() <= MAX_PATH_CONDITIONS {
                path.clone()
            } else {
                path.iter().copied().take(MAX_PATH_CONDITIONS).collect()
            };
        };
        path.iter()
            .copied()
            .take(MAX_PATH_CONDITIONS)
            .chain(conditions.iter())
            .collect()
    }

    /// The truth of a condition where other conditions hold; `None` if they do not imply it.
    pub(super) fn implied(&self, assumptions: &[Condition], condition: Condition) -> Option<bool> {
        let values = self.cx.values()?;
        assumptions
            .iter()
            .filter(|assumption| assumption.is_related(&condition))
            .find_map(|assumption| {
                let assumption = (assumption.predicate, assumption.holds);
                let truth = values.implied(assumption, condition.predicate)?;
                Some(truth == condition.holds)
            })
    }

    /// The conditions that hold in a block, from the branches to it and to its dominators.
    fn of_block(&mut self, block: BlockId) -> Rc<[Condition]> {
        if let Some(Some(conditions)) = self.blocks.get(block.index()) {
            return conditions.clone();
        }
        let mut conditions = Vec::new();
        let mut dominator = Some(block);
        for _ in 0..MAX_DOMINATORS {
            let Some(block) = dominator else { break };
            let mut edges = self.cx.cfg().in_edges(block);
            if let (Some((_, edge)), None) = (edges.next(), edges.next()) {
                conditions.extend(
                    self.of_edge(edge)
                        .into_iter()
                        .flat_map(EdgeConditions::iter),
                );
            }
            dominator = self.cx.analysis().idom(block);
        }
        let conditions: Rc<[Condition]> = conditions.into();
        if let Some(slot) = self.blocks.get_mut(block.index()) {
            *slot = Some(conditions.clone());
        }
        conditions
    }

    fn of_edge(&self, edge: &Edge) -> Option<EdgeConditions> {
        self.branches.get(edge.from.index())?[usize::from(edge.when?)]
    }

    /// The conditions of the edges from a block, as in `branches`.
    fn branch(&self, block: BlockId) -> [Option<EdgeConditions>; 2] {
        let Some(predicate) = self.branch_predicate(block) else {
            return [None; 2];
        };
        let condition = self.condition(predicate, true);
        [condition.inverted(), condition].map(|branch| {
            Some(EdgeConditions {
                branch,
                selected: self.selected(branch),
            })
        })
    }

    /// The predicate of a conditional branch.
    fn branch_predicate(&self, block: BlockId) -> Option<ValueId> {
        let mut edges = self.cx.cfg().out_edges(block);
        if !edges.any(|(_, edge)| edge.when.is_some()) {
            return None;
        }
        let (stmt, facts) = self.cx.last_instruction(block)?;
        let (place, _) = facts.guard_register()?;
        let variable = self.cx.analysis().variables().of(place).next()?;
        self.ssa.read(stmt, variable)
    }

    /// The predicate that selected between two constants, where a comparison of the selected one has a value.
    fn selected(&self, condition: Condition) -> Option<Condition> {
        let values = self.cx.values()?;
        let Value::Def {
            stmt, old: None, ..
        } = self.ssa.value(condition.compared?)
        else {
            return None;
        };
        let facts = self.cx.inst_at(stmt)?;
        let [selector, first, second] = selection(facts.form()?.0)?;
        let integer = |index: usize| self.cx.integer(facts.operand(index)?.operand);
        let constants = [integer(first)?, integer(second)?];
        let (_, [if_first, if_second]) = values.truth_for(condition.predicate, constants)?;
        let selector = self.cx.read(stmt, facts.operand(selector)?.operand)?;
        (if_first != if_second).then(|| self.condition(selector, if_first == condition.holds))
    }
}

/// Adds a condition, if there is one.
pub(super) fn with_condition(
    conditions: Rc<[Condition]>,
    condition: Option<Condition>,
) -> Rc<[Condition]> {
    match condition {
        Some(condition) => conditions.iter().copied().chain([condition]).collect(),
        None => conditions,
    }
}
