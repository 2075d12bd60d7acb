//! The predicates that are known to be true or false in a block.

use alloc::rc::Rc;
use alloc::vec::Vec;

use ptx_analysis::cfg::{BlockId, Edge};
use ptx_analysis::ssa::{Ssa, Value, ValueId};
use ptx_ir::{InstId, Statement, StmtId};
use ptx_semantics::fold::selection;

use crate::context::FunctionContext;

/// The maximum number of dominators of a block that are considered.
const MOST_DOMINATORS: usize = 48;

/// The maximum number of conditions of a path that are considered.
const MOST_CONDITIONS: usize = 16;

/// A predicate with its value.
pub(super) type Condition = (ValueId, bool);

/// The conditions of blocks, edges and guards.
pub(super) struct Conditions<'a> {
    cx: &'a FunctionContext<'a>,
    ssa: &'a Ssa,
    of_blocks: Vec<Option<Rc<[Condition]>>>,
}

impl<'a> Conditions<'a> {
    pub(super) fn new(cx: &'a FunctionContext<'a>, ssa: &'a Ssa) -> Self {
        Self {
            cx,
            ssa,
            of_blocks: vec![None; cx.cfg().len()],
        }
    }

    /// The guard of an instruction as a condition.
    pub(super) fn guard(&self, stmt: StmtId, inst: InstId) -> Option<Condition> {
        let (place, sense) = self.cx.facts().inst(inst).guard_register()?;
        let variable = self.cx.analysis().variables().of(place).next()?;
        Some((self.ssa.read(stmt, variable)?, sense.holds(true)))
    }

    /// The conditions that hold when a statement is executed, including its guard.
    pub(super) fn at(&mut self, stmt: StmtId) -> Rc<[Condition]> {
        let block = self.cx.cfg().of_statement(stmt);
        let all = block.map_or_else(Rc::default, |block| self.of_block(block));
        let guard = match self.cx.body().statement(stmt) {
            Some(Statement::Inst(inst)) => self.guard(stmt, inst),
            _ => None,
        };
        let all = with(all, guard);
        guard.map_or(all.clone(), |guard| with(all, self.selected(guard)))
    }

    /// Whether an edge cannot be taken where these conditions hold.
    pub(super) fn exclude(&mut self, edge: &Edge, known: &[Condition]) -> bool {
        !known.is_empty() && {
            let of_block = self.of_block(edge.from);
            let of_edge = self.of_edge(edge);
            let mut all = of_block.iter().copied().chain(of_edge);
            all.any(|condition| self.implied(known, condition) == Some(false))
        }
    }

    /// Whether a condition that holds compares a phi of a block with a constant, and does not hold for its argument at a position.
    pub(super) fn exclude_argument(
        &self,
        (block, position): (BlockId, usize),
        known: &[Condition],
    ) -> bool {
        let Some(values) = self.cx.values() else {
            return false;
        };
        known.iter().any(|&(predicate, holds)| {
            let Some((value, _)) = values.truth_for(predicate, [0, 1]) else {
                return false;
            };
            let is_of_block =
                matches!(self.ssa.value(value), Value::Phi { block: of, .. } if of == block);
            let Some(&argument) = self.ssa.args(value).get(position).filter(|_| is_of_block) else {
                return false;
            };
            let numbers = [values.signed_interval(argument), values.interval(argument)];
            let mut numbers = numbers
                .iter()
                .filter_map(|of| i64::try_from(of.single()?).ok());
            let truth = numbers.find_map(|number| values.truth_for(predicate, [number, number]));
            truth.is_some_and(|(_, [is_true, _])| is_true != holds)
        })
    }

    /// The conditions that hold on a path that comes from an edge to where others hold, in one iteration of the loops around them.
    pub(super) fn before(&mut self, edge: &Edge, path: &Rc<[Condition]>) -> Rc<[Condition]> {
        if self
            .cx
            .analysis()
            .dominators()
            .dominates(edge.to, edge.from)
        {
            return Rc::default();
        }
        let of_edge = self.of_edge(edge);
        let new = of_edge
            .into_iter()
            .chain(of_edge.and_then(|of| self.selected(of)));
        path.iter()
            .copied()
            .take(MOST_CONDITIONS)
            .chain(new)
            .collect()
    }

    /// Whether a condition holds where others are known.
    pub(super) fn implied(&self, known: &[Condition], (value, holds): Condition) -> Option<bool> {
        let values = self.cx.values();
        known.iter().find_map(|of| {
            let is = match of.0 == value {
                true => Some(of.1),
                false => values.and_then(|values| values.implied(*of, value)),
            };
            is.map(|is| is == holds)
        })
    }

    /// The conditions that hold in a block, from the branches to it and to its dominators.
    fn of_block(&mut self, block: BlockId) -> Rc<[Condition]> {
        let at = block.as_u32() as usize;
        if let Some(Some(found)) = self.of_blocks.get(at) {
            return found.clone();
        }
        let found: Rc<[Condition]> = self.find(block).into();
        if let Some(slot) = self.of_blocks.get_mut(at) {
            *slot = Some(found.clone());
        }
        found
    }

    fn find(&self, block: BlockId) -> Vec<Condition> {
        let mut found = Vec::new();
        let mut next = Some(block);
        for _ in 0..MOST_DOMINATORS {
            let Some(block) = next else { break };
            let mut edges = self.cx.cfg().in_edges(block);
            if let (Some((_, edge)), None) = (edges.next(), edges.next()) {
                let condition = self.of_edge(edge);
                found.extend(condition);
                found.extend(condition.and_then(|condition| self.selected(condition)));
            }
            next = self.cx.analysis().idom(block);
        }
        found
    }

    /// The predicate that selected between two constants, where a comparison of the selected one has a value.
    fn selected(&self, (predicate, holds): Condition) -> Option<Condition> {
        let values = self.cx.values()?;
        let (value, _) = values.truth_for(predicate, [0, 1])?;
        let Value::Def {
            stmt, old: None, ..
        } = self.ssa.value(value)
        else {
            return None;
        };
        let facts = self.cx.inst_at(stmt)?;
        let [by, first, second] = selection(facts.form()?.0)?;
        let integer = |at: usize| self.cx.integer(facts.operand(at)?.operand);
        let (_, truth) = values.truth_for(predicate, [integer(first)?, integer(second)?])?;
        let by = self.cx.read(stmt, facts.operand(by)?.operand)?;
        (truth[0] != truth[1]).then_some((by, truth[0] == holds))
    }

    /// The condition of a branch.
    fn of_edge(&self, edge: &Edge) -> Option<Condition> {
        let holds = edge.when?;
        let block = self.cx.cfg().block(edge.from)?;
        let statements = self.cx.body().range(block.first, block.end);
        let mut last = statements.filter_map(|(stmt, statement)| match statement {
            Statement::Inst(inst) => Some((stmt, inst)),
            _ => None,
        });
        let (stmt, inst) = last.next_back()?;
        let (value, _) = self.guard(stmt, inst)?;
        Some((value, holds))
    }
}

/// Adds a condition, if there is one.
pub(super) fn with(all: Rc<[Condition]>, condition: Option<Condition>) -> Rc<[Condition]> {
    match condition {
        Some(condition) => all.iter().copied().chain([condition]).collect(),
        None => all,
    }
}
