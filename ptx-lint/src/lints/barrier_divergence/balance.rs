//! Whether all paths from a branch have the same barriers.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_ir::Statement;
use ptx_ir::facts::Facts;
use ptx_isa::{Action, Marks};

use crate::context::FunctionContext;
use crate::divergence::{Divergence, is_counted};

/// The maximum number of visited blocks, and of compared barriers.
const BLOCKS: usize = 256;
const BARRIERS: usize = 16;

/// The barriers on a path: the number of each, or `None` if it is unknown.
type Sequence = Vec<Option<i64>>;

/// Whether all paths from a branch to its post-dominator have the same barriers of the kind of an instruction.
pub(super) fn is_balanced(
    cx: &FunctionContext<'_>,
    divergence: &Divergence,
    branch: BlockId,
    of: &Facts<'_>,
) -> bool {
    let mut search = Search {
        cx,
        stop: divergence.meets(branch),
        is_cluster: matches!(of.action(), Some(Action::ClusterArrive | Action::ClusterWait)),
        known: BTreeMap::new(),
    };
    let mut ways = cx.cfg().successors(branch).iter();
    let Some(first) = ways.next().and_then(|to| search.from(*to)) else {
        return false;
    };
    ways.all(|to| search.from(*to).as_ref() == Some(&first))
}

struct Search<'a, 'c> {
    cx: &'a FunctionContext<'c>,
    stop: Option<BlockId>,
    is_cluster: bool,
    /// The barriers from the start of each block; `None` during the visit, and if the paths differ.
    known: BTreeMap<BlockId, Option<Sequence>>,
}

impl Search<'_, '_> {
    /// The barriers on all paths from the start of a block; `None` if they differ.
    fn from(&mut self, block: BlockId) -> Option<Sequence> {
        if Some(block) == self.stop {
            return Some(Sequence::new());
        }
        if let Some(known) = self.known.get(&block) {
            return known.clone();
        }
        if self.known.len() >= BLOCKS {
            return None;
        }
        self.known.insert(block, None);
        let mut sequence = self.inside(block)?;
        let mut rest: Option<Sequence> = None;
        let cfg = self.cx.cfg();
        if cfg.block(block).is_some_and(|b| b.exits) {
            rest = Some(Sequence::new());
        }
        for to in cfg.successors(block) {
            let next = self.from(*to)?;
            if rest.get_or_insert_with(|| next.clone()) != &next {
                return None;
            }
        }
        sequence.extend(rest?);
        if sequence.len() > BARRIERS {
            return None;
        }
        self.known.insert(block, Some(sequence.clone()));
        Some(sequence)
    }

    /// The barriers in a block; `None` if it calls functions with barriers.
    fn inside(&self, block: BlockId) -> Option<Sequence> {
        let of = self.cx.cfg().block(block)?;
        let mut sequence = Sequence::new();
        for (_, statement) in self.cx.body().range(of.first, of.end) {
            let Statement::Inst(inst) = statement else {
                continue;
            };
            let facts = self.cx.facts().inst(inst);
            if facts.callees().is_some_and(|callee| self.cx.waits(&callee)) {
                return None;
            }
            let first = facts.parts().next().map(|(operand, _)| operand);
            let number = facts.marked(Marks::PARTICIPANTS).next().or(first);
            let number = number.and_then(|o| self.cx.integer(o));
            match facts.action() {
                Some(Action::BarrierSync | Action::BarrierReduce)
                    if !self.is_cluster && !is_counted(&facts) =>
                {
                    sequence.push(number);
                }
                Some(Action::ClusterArrive) if self.is_cluster => sequence.push(Some(-1)),
                _ => {}
            }
        }
        Some(sequence)
    }
}
