//! The barriers of a CTA at which all of its threads meet.
//!
//! Threads meet at the barrier of a number, wherever they execute it. So they meet at one instance of an instruction only if all of them execute that, and if no
//! instruction waits or arrives at the same barrier that only some of them execute.

use alloc::vec::Vec;

use ptx_ir::facts::{Facts, FunctionFacts};
use ptx_ir::{FunctionKind, InstId, Operand, Statement, StmtId};
use ptx_isa::{Action, Marks, Uniformity};

use super::context::Context;
use super::function::Callees;
use super::graphs::Graphs;
use crate::cfg::BlockId;

/// An instruction that waits or arrives at a barrier.
#[derive(Copy, Clone, Debug)]
struct Barrier {
    stmt: StmtId,
    block: BlockId,
    /// The number of the barrier, if it is a constant.
    number: Option<i64>,
    /// Whether all threads of the CTA must arrive, and none can pass without waiting.
    is_full: bool,
}

/// The barriers of a function.
#[derive(Debug, Default)]
pub(super) struct Barriers {
    /// In the order of their ids.
    all: Vec<Barrier>,
    /// Whether other functions may wait at barriers.
    others: bool,
}

impl Barriers {
    pub(super) fn new(
        facts: FunctionFacts<'_>,
        graphs: &Graphs<'_>,
        context: &Context,
        callees: &Callees<'_>,
    ) -> Self {
        let mut all = Vec::new();
        let mut others = context.kind != FunctionKind::Entry;
        for (block, of) in graphs.cfg.blocks() {
            for (stmt, statement) in facts.body().range(of.first, of.end) {
                if let Statement::Inst(inst) = statement {
                    all.extend(barrier(facts, inst, (stmt, block)));
                    others |= callees.of(&facts.inst(inst)).is_some_and(|of| of.barriers);
                }
            }
        }
        all.sort_unstable_by_key(|barrier| barrier.stmt);
        Self { all, others }
    }

    /// The barriers at which all threads of a CTA meet, in the order of their ids; `executions` says of which group all threads execute each block, or none.
    pub(super) fn meeting(&self, executions: &[Uniformity]) -> Vec<StmtId> {
        if self.others {
            return Vec::new();
        }
        let is_whole = |barrier: &Barrier| {
            let executed = executions.get(barrier.block.as_u32() as usize);
            barrier.is_full && executed.is_some_and(|of| *of <= Uniformity::Cta)
        };
        let partial: Vec<Option<i64>> = self
            .all
            .iter()
            .filter(|b| !is_whole(b))
            .map(|b| b.number)
            .collect();
        let is_apart =
            |barrier: &Barrier| !partial.contains(&None) && !partial.contains(&barrier.number);
        let meeting = self.all.iter().filter(|b| is_whole(b) && is_apart(b));
        meeting.map(|b| b.stmt).collect()
    }
}

/// Whether an instruction waits or arrives at a barrier of the CTA.
pub(super) fn uses_barrier(facts: &Facts<'_>) -> bool {
    let action = facts.action();
    matches!(
        action,
        Some(Action::BarrierSync | Action::BarrierArrive | Action::BarrierReduce)
    )
}

fn barrier(
    facts: FunctionFacts<'_>,
    inst: InstId,
    (stmt, block): (StmtId, BlockId),
) -> Option<Barrier> {
    let of = facts.inst(inst);
    if !uses_barrier(&of) {
        return None;
    }
    let operands = facts.body().operands(inst);
    let is_counted = match of.action() {
        Some(Action::BarrierReduce) => of.marked(Marks::THREAD_COUNT).next().is_some(),
        _ => operands.len() != 1,
    };
    let number = |operand: Operand| facts.body().pool().integer(operand);
    let marked = of.marked(Marks::PARTICIPANTS).next();
    let number = marked.or(operands.first().copied()).and_then(number);
    let waits = of.action() != Some(Action::BarrierArrive);
    Some(Barrier {
        stmt,
        block,
        number,
        is_full: waits && !is_counted && of.guard().is_none() && number.is_some(),
    })
}
