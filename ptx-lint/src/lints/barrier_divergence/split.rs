//! Proves that a condition splits a warp, and so keeps some of its threads from a block.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::threads::ThreadValues;
use ptx_analysis::uniformity::Uniformity;
use ptx_ir::facts::{Facts, Flow};
use ptx_ir::{EntityId as _, StmtId};

use super::LANES;
use crate::context::FunctionContext;
use crate::divergence::Divergence;

/// The maximum number of blocks in the cache of reachable blocks.
const MOST_CACHED: usize = 8;

/// The maximum number of post-dominators that are followed.
const MOST_POST_DOMINATORS: usize = 64;

/// The branches of a function, as evaluated in the sample threads.
pub(in crate::lints) struct Split<'a, 'c> {
    cx: &'a FunctionContext<'c>,
    pub(in crate::lints) divergence: &'a Divergence,
    /// `None` before the first use.
    threads: Option<ThreadValues<'a>>,
    /// Threads leave a loop in different iterations; `None` before the first use.
    loses_lanes: Option<bool>,
    /// A cache: by block, the blocks that are reachable from it.
    reachable: BTreeMap<BlockId, Vec<bool>>,
}

impl<'a, 'c> Split<'a, 'c> {
    pub(in crate::lints) fn new(cx: &'a FunctionContext<'c>, divergence: &'a Divergence) -> Self {
        Self {
            cx,
            divergence,
            threads: None,
            loses_lanes: None,
            reachable: BTreeMap::new(),
        }
    }

    /// Returns `true` if a guard certainly differs between threads of the first warp, or of a warp of a CTA of the required size.
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
        let sample_count = if threads.shape().is_required {
            threads.samples().len()
        } else {
            LANES.min(threads.samples().len())
        };
        let warp = |sample: usize| {
            let thread = threads.samples().get(sample)?;
            Some(*thread as usize / LANES)
        };
        (1..sample_count).any(|sample| {
            warp(sample) == warp(sample - 1) && guard.get(sample) != guard.get(sample - 1)
        })
    }

    /// Returns `true` if a branch that all threads reach certainly leads some threads past a block and others to it, and the former do not exit
    /// immediately.
    pub(in crate::lints) fn decides(&mut self, branch: BlockId, block: BlockId) -> bool {
        let (cx, divergence) = (self.cx, self.divergence);
        let Some((stmt, facts)) = cx.last_instruction(branch) else {
            return false;
        };
        if !cx.analysis().dominators().dominates(branch, block)
            || divergence.level(branch) > Uniformity::Cta
            || self.loses_lanes()
            || !self.splits(stmt, &facts)
        {
            return false;
        }
        // All paths from the first ones reach the block.
        let (reaching, passing): (Vec<BlockId>, Vec<BlockId>) =
            cx.cfg().successors(branch).iter().partition(|successor| {
                core::iter::successors(Some(**successor), |block| divergence.meets(*block))
                    .take(MOST_POST_DOMINATORS + 1)
                    .any(|post_dominator| post_dominator == block)
            });
        let is_in_loop = cx.analysis().loops().innermost(block).is_some();
        !is_in_loop
            && !reaching.is_empty()
            && passing.iter().all(|successor| {
                !ends_immediately(cx, *successor) && !self.reaches(*successor, block)
            })
    }

    /// Returns `true` if the threads that a branch leads past a block exit immediately.
    pub(in crate::lints) fn others_exit(&mut self, branch: BlockId, block: BlockId) -> bool {
        let cx = self.cx;
        let dominators = cx.analysis().dominators();
        cx.cfg()
            .successors(branch)
            .iter()
            .filter(|successor| !dominators.dominates(**successor, block))
            .all(|successor| exits_immediately(cx, *successor))
    }

    /// Returns `true` if one block is reachable from another.
    fn reaches(&mut self, from: BlockId, to: BlockId) -> bool {
        let cfg = self.cx.cfg();
        if self.reachable.len() == MOST_CACHED && !self.reachable.contains_key(&from) {
            self.reachable.clear();
        }
        let reachable = self.reachable.entry(from).or_insert_with(|| {
            let mut is_reachable = vec![false; cfg.len()];
            let mut worklist = vec![from];
            while let Some(block) = worklist.pop() {
                if let Some(slot @ false) = is_reachable.get_mut(block.index()) {
                    *slot = true;
                    worklist.extend(cfg.successors(block));
                }
            }
            is_reachable
        });
        reachable.get(to.index()) == Some(&true)
    }

    /// Returns `true` if threads leave a loop in different iterations, so that some may exit before others reach a barrier.
    fn loses_lanes(&mut self) -> bool {
        let (cx, divergence) = (self.cx, self.divergence);
        *self.loses_lanes.get_or_insert_with(|| {
            let loops = cx.analysis().loops();
            cx.cfg().blocks().any(|(id, _)| {
                loops.innermost(id).is_some() && divergence.branch(id) > Uniformity::Cta
            })
        })
    }
}

/// Returns `true` if the first instruction of a block ends the thread.
fn exits_immediately(cx: &FunctionContext<'_>, block: BlockId) -> bool {
    first_inst(cx, block)
        .is_some_and(|facts| matches!(facts.flow(), Flow::Exit | Flow::Return | Flow::Trap))
}

/// Returns `true` if the first instruction of a block ends the thread or jumps, or if there is none.
fn ends_immediately(cx: &FunctionContext<'_>, block: BlockId) -> bool {
    first_inst(cx, block).is_none_or(|facts| {
        matches!(
            facts.flow(),
            Flow::Exit | Flow::Return | Flow::Trap | Flow::Jump
        )
    })
}

/// Returns the first instruction of a block.
fn first_inst<'a>(cx: &FunctionContext<'a>, block: BlockId) -> Option<Facts<'a>> {
    let block = cx.cfg().block(block)?;
    let (_, inst) = block.insts(cx.body()).next()?;
    Some(cx.facts().inst(inst))
}
