//! Whether a condition certainly splits a warp, and so keeps some of its threads from a block.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::threads::ThreadValues;
use ptx_analysis::uniformity::Uniformity;
use ptx_ir::facts::{Facts, Flow};
use ptx_ir::{EntityId as _, Statement, StmtId};

use super::{LANES, last};
use crate::context::FunctionContext;
use crate::divergence::Divergence;

/// The branches of a function, as evaluated in individual threads.
pub(in crate::lints) struct Split<'a, 'c> {
    cx: &'a FunctionContext<'c>,
    pub(in crate::lints) divergence: &'a Divergence,
    threads: Option<ThreadValues<'a>>,
    /// Whether threads leave a loop in different iterations, if that was asked for.
    loses_lanes: Option<bool>,
    /// The blocks after a block, if that was asked for.
    after: BTreeMap<BlockId, Vec<bool>>,
}

/// Blocks of which the ones after them are kept.
const KEPT: usize = 8;

impl<'a, 'c> Split<'a, 'c> {
    pub(in crate::lints) fn new(cx: &'a FunctionContext<'c>, divergence: &'a Divergence) -> Self {
        Self {
            cx,
            divergence,
            threads: None,
            loses_lanes: None,
            after: BTreeMap::new(),
        }
    }

    /// Whether a guard certainly differs between threads of the first warp, or of a warp of a CTA of the required size.
    pub(in crate::lints) fn splits(&mut self, stmt: StmtId, facts: &Facts<'_>) -> bool {
        if self.threads.is_none() {
            self.threads = self.cx.threads().map(|(threads, _)| threads);
        }
        let Some(threads) = &mut self.threads else {
            return false;
        };
        let Some(guard) = threads.guard(stmt, facts) else {
            return false;
        };
        let samples = match threads.shape().is_required {
            true => threads.samples().len(),
            false => LANES.min(threads.samples().len()),
        };
        let warp = |sample: usize| threads.samples().get(sample).map(|t| *t as usize / LANES);
        (1..samples).any(|at| warp(at) == warp(at - 1) && guard.get(at) != guard.get(at - 1))
    }

    /// Whether a branch that all threads reach certainly leads some threads past a block and others to it, and the former do not exit immediately.
    pub(in crate::lints) fn decides(&mut self, branch: BlockId, block: BlockId) -> bool {
        let (cx, divergence) = (self.cx, self.divergence);
        let Some((stmt, facts)) = last(cx, branch) else {
            return false;
        };
        let is_always = cx.analysis().dominators().dominates(branch, block);
        if !is_always
            || divergence.level(branch) > Uniformity::Cta
            || self.loses_lanes()
            || !self.splits(stmt, &facts)
        {
            return false;
        }
        let is_on = |to: &BlockId| {
            let mut at = Some(*to);
            let mut steps = 0;
            while let Some(next) = at.filter(|n| *n != block && steps < 64) {
                at = divergence.meets(next);
                steps += 1;
            }
            at == Some(block)
        };
        let successors = cx.cfg().successors(branch);
        let is_in_loop = cx.analysis().loops().innermost(block).is_some();
        if is_in_loop || !successors.iter().any(is_on) {
            return false;
        }
        let mut others = successors.iter().filter(|to| !is_on(to));
        others.all(|to| !ends_at_once(cx, *to) && !self.reaches(*to, block))
    }

    /// Whether the threads that a branch leads past a block exit at once.
    pub(in crate::lints) fn others_exit(&mut self, branch: BlockId, block: BlockId) -> bool {
        let cx = self.cx;
        let dominators = cx.analysis().dominators();
        let mut others = cx
            .cfg()
            .successors(branch)
            .iter()
            .filter(|to| !dominators.dominates(**to, block));
        others.all(|to| exits_at_once(cx, *to))
    }

    /// Whether one block is reachable from another.
    fn reaches(&mut self, from: BlockId, to: BlockId) -> bool {
        let cfg = self.cx.cfg();
        if self.after.len() == KEPT && !self.after.contains_key(&from) {
            self.after.clear();
        }
        let after = self.after.entry(from).or_insert_with(|| {
            let mut seen = vec![false; cfg.len()];
            let mut work = vec![from];
            while let Some(block) = work.pop() {
                if let Some(slot @ false) = seen.get_mut(block.index()) {
                    *slot = true;
                    work.extend(cfg.successors(block));
                }
            }
            seen
        });
        after.get(to.index()) == Some(&true)
    }

    /// Whether threads leave a loop in different iterations, so that some may exit before others reach a barrier.
    fn loses_lanes(&mut self) -> bool {
        let (cx, divergence) = (self.cx, self.divergence);
        *self.loses_lanes.get_or_insert_with(|| {
            let loops = cx.analysis().loops();
            let mut blocks = cx.cfg().blocks().map(|(id, _)| id);
            blocks
                .any(|id| loops.innermost(id).is_some() && divergence.branch(id) > Uniformity::Cta)
        })
    }
}

/// Whether the first instruction of a block ends the thread.
fn exits_at_once(cx: &FunctionContext<'_>, block: BlockId) -> bool {
    let first = first_of(cx, block);
    first.is_some_and(|facts| matches!(facts.flow(), Flow::Exit | Flow::Return | Flow::Trap))
}

/// The first instruction of a block.
fn first_of<'a>(cx: &FunctionContext<'a>, block: BlockId) -> Option<Facts<'a>> {
    let of = cx.cfg().block(block)?;
    let mut statements = cx.body().range(of.first, of.end);
    statements.find_map(|(_, statement)| match statement {
        Statement::Inst(inst) => Some(cx.facts().inst(inst)),
        _ => None,
    })
}

/// Whether a thread exits at the start of a block.
fn ends_at_once(cx: &FunctionContext<'_>, block: BlockId) -> bool {
    first_of(cx, block).is_none_or(|f| {
        matches!(
            f.flow(),
            Flow::Exit | Flow::Return | Flow::Trap | Flow::Jump
        )
    })
}
