//! Paths of the control flow, and values that are computed from the results of certain instructions.

use alloc::vec::Vec;

use ptx_analysis::cfg::{BlockId, Cfg};
use ptx_analysis::ssa::{Value, ValueId};
use ptx_ir::facts::Facts;
use ptx_ir::{Statement, StmtId};

use crate::context::FunctionContext;

/// The maximum number of values that are followed to the instructions from whose results a value is computed.
const MOST_VALUES: usize = 64;

/// The statements that may be executed before and after some instructions, the *marks*.
pub(crate) struct Marked {
    /// The marks in the order of the text.
    marks: Vec<StmtId>,
    /// By block: a path from the entry leads to it without a mark.
    before: Vec<bool>,
    /// By block: a path from a mark leads to it.
    after: Vec<bool>,
    /// By block: a path leads from it to the end of the function without a mark.
    to_end: Vec<bool>,
}

impl Marked {
    /// Finds the paths around the reachable instructions for which `is_mark` holds. Linear in the size of the function.
    pub(crate) fn new(
        cx: &FunctionContext<'_>,
        is_mark: impl Fn(StmtId, Facts<'_>) -> bool,
    ) -> Self {
        let marks: Vec<StmtId> = cx
            .instructions()
            .filter(|inst| is_mark(inst.stmt, inst.facts))
            .map(|inst| inst.stmt)
            .collect();
        let cfg = cx.cfg();
        let mut has_mark = vec![false; cfg.len()];
        for mark in &marks {
            if let Some(block) = cfg.of_statement(*mark)
                && let Some(has_mark) = has_mark.get_mut(block.as_u32() as usize)
            {
                *has_mark = true;
            }
        }
        let stops = |block: BlockId| has_mark.get(block.as_u32() as usize) == Some(&true);
        let mut before = vec![false; cfg.len()];
        if let Some(entry) = before.first_mut() {
            *entry = true;
        }
        if !stops(Cfg::ENTRY) {
            reach(
                &mut before,
                vec![Cfg::ENTRY],
                |block| cfg.successors(block),
                stops,
            );
        }
        let mut after = vec![false; cfg.len()];
        let with_marks = marks.iter().filter_map(|mark| cfg.of_statement(*mark));
        reach(
            &mut after,
            with_marks.collect(),
            |block| cfg.successors(block),
            |_| false,
        );
        let ends: Vec<BlockId> = cfg
            .blocks()
            .filter(|(_, block)| block.returns)
            .map(|(id, _)| id)
            .collect();
        let mut to_end = vec![false; cfg.len()];
        for block in &ends {
            to_end[block.as_u32() as usize] = true;
        }
        let sources = ends.into_iter().filter(|block| !stops(*block)).collect();
        reach(&mut to_end, sources, |block| cfg.predecessors(block), stops);
        Self {
            marks,
            before,
            after,
            to_end,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    pub(crate) fn first(&self) -> Option<StmtId> {
        self.marks.first().copied()
    }

    /// The marks in the block of a statement.
    fn in_block<'m>(
        &'m self,
        cx: &'m FunctionContext<'_>,
        stmt: StmtId,
    ) -> impl Iterator<Item = StmtId> + 'm {
        let block = cx.cfg().of_statement(stmt);
        let marks = self.marks.iter().copied();
        marks.filter(move |mark| cx.cfg().of_statement(*mark) == block)
    }

    fn has(sets: &[bool], cx: &FunctionContext<'_>, stmt: StmtId) -> bool {
        let block = cx.cfg().of_statement(stmt);
        block.is_some_and(|block| sets.get(block.as_u32() as usize) == Some(&true))
    }

    /// Returns `true` if no mark precedes the first execution of a statement: no path from a mark leads to it, or it dominates all marks.
    pub(crate) fn is_before_all(&self, cx: &FunctionContext<'_>, stmt: StmtId) -> bool {
        let precedes = |mark| cx.order(mark, stmt).is_lt();
        if !Self::has(&self.before, cx, stmt) || self.in_block(cx, stmt).any(precedes) {
            return false;
        }
        let dominators = cx.analysis().dominators();
        let block = cx.cfg().of_statement(stmt);
        !Self::has(&self.after, cx, stmt)
            || self.marks.iter().all(|mark| {
                block
                    .zip(cx.cfg().of_statement(*mark))
                    .is_some_and(|(block, mark)| dominators.dominates(block, mark))
            })
    }

    /// Returns `true` if a path leads from a statement to the end of the function without a mark.
    pub(crate) fn may_end_without(&self, cx: &FunctionContext<'_>, stmt: StmtId) -> bool {
        let follows = |mark| cx.order(mark, stmt).is_gt();
        if self.in_block(cx, stmt).any(follows) {
            return false;
        }
        let Some(block) = cx.cfg().of_statement(stmt) else {
            return false;
        };
        cx.cfg().block(block).is_some_and(|block| block.returns)
            || cx.cfg().successors(block).iter().any(|successor| {
                self.to_end.get(successor.as_u32() as usize) == Some(&true)
                    && self
                        .marks
                        .iter()
                        .all(|mark| cx.cfg().of_statement(*mark) != Some(*successor))
            })
    }
}

/// Adds the blocks that are reached from some blocks over at least one edge. Blocks for which `stops` holds are added, but not left.
fn reach<'g>(
    reached: &mut [bool],
    mut worklist: Vec<BlockId>,
    neighbors: impl Fn(BlockId) -> &'g [BlockId],
    stops: impl Fn(BlockId) -> bool,
) {
    while let Some(block) = worklist.pop() {
        for neighbor in neighbors(block) {
            if let Some(is_reached) = reached.get_mut(neighbor.as_u32() as usize)
                && !*is_reached
            {
                *is_reached = true;
                if !stops(*neighbor) {
                    worklist.push(*neighbor);
                }
            }
        }
    }
}

/// Returns the instruction for which `is_origin` holds and from whose result a value is computed, if there is one. Values in memory and results of other
/// actions are not followed.
pub(crate) fn origin(
    cx: &FunctionContext<'_>,
    value: ValueId,
    is_origin: impl Fn(Facts<'_>) -> bool,
) -> Option<StmtId> {
    let ssa = cx.ssa()?;
    let mut values = vec![value];
    let mut next = 0;
    while let Some(&value) = values.get(next) {
        next += 1;
        let operands: Vec<ValueId> = match ssa.value(value) {
            Value::Def { stmt, old, .. } => {
                let Some(Statement::Inst(inst)) = cx.body().statement(stmt) else {
                    continue;
                };
                let facts = cx.facts().inst(inst);
                if is_origin(facts) {
                    return Some(stmt);
                }
                if facts.has_side_effects() || facts.memory().next().is_some() {
                    continue;
                }
                let reads = ssa.uses(stmt).iter().map(|read| read.value);
                reads.chain(old).collect()
            }
            Value::Phi { .. } => ssa.args(value).to_vec(),
            _ => Vec::new(),
        };
        for operand in operands {
            if values.len() < MOST_VALUES && !values.contains(&operand) {
                values.push(operand);
            }
        }
    }
    None
}
