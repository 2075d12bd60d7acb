//! The barriers of a CTA at which all of its threads meet.
//!
//! Threads meet at the barrier of a number, wherever they execute it. So they meet at one instance of an instruction only if all of them execute that instance,
//! and if no instruction that only some of them execute waits or arrives at the same barrier.

use alloc::vec::Vec;

use ptx_ir::facts::FunctionFacts;
use ptx_ir::{FunctionKind, InstId, StmtId};
use ptx_isa::{Action, Marks, Uniformity};

use super::context::{Callees, Context};
use super::graphs::Graphs;
use super::synchronization::uses_barrier;
use crate::cfg::BlockId;

/// An instruction that waits or arrives at a barrier.
#[derive(Copy, Clone, Debug)]
struct Barrier {
    stmt: StmtId,
    block: BlockId,
    /// The number of the barrier, if it is a constant.
    number: Option<i64>,
    /// All threads of the CTA must arrive, and none can pass without waiting.
    is_full: bool,
}

/// The barriers of a function.
#[derive(Debug, Default)]
pub(super) struct Barriers {
    /// The instructions on barriers, by the ids of their statements.
    barriers: Vec<Barrier>,
    /// Callers or callees may use barriers.
    used_elsewhere: bool,
}

impl Barriers {
    pub(super) fn new(
        facts: FunctionFacts<'_>,
        graphs: &Graphs<'_>,
        context: &Context,
        callees: &Callees<'_>,
    ) -> Self {
        if context.is_optimistic {
            // Nothing depends on barriers.
            return Self {
                barriers: Vec::new(),
                used_elsewhere: true,
            };
        }
        let mut barriers = Vec::new();
        let mut used_elsewhere = context.kind != FunctionKind::Entry;
        for (id, block) in graphs.cfg.blocks() {
            for (stmt, inst) in block.insts(facts.body()) {
                barriers.extend(barrier(facts, inst, stmt, id));
                let called = callees.synchronization(&facts.inst(inst));
                used_elsewhere |= called.is_some_and(|called| called.barriers);
            }
        }
        barriers.sort_unstable_by_key(|barrier| barrier.stmt);
        Self {
            barriers,
            used_elsewhere,
        }
    }

    /// The barriers at which all threads of a CTA meet, by id. `executions` contains for each block the largest group of which all threads execute it, or
    /// none.
    pub(super) fn meeting(&self, executions: &[Uniformity]) -> Vec<StmtId> {
        if self.used_elsewhere {
            return Vec::new();
        }
        let (full, partial): (Vec<&Barrier>, Vec<&Barrier>) =
            self.barriers.iter().partition(|barrier| {
                let executed = executions.get(barrier.block.as_u32() as usize);
                barrier.is_full && executed.is_some_and(|group| *group <= Uniformity::Cta)
            });
        full.into_iter()
            .filter(|barrier| {
                partial
                    .iter()
                    .all(|other| other.number.is_some() && other.number != barrier.number)
            })
            .map(|barrier| barrier.stmt)
            .collect()
    }
}

fn barrier(
    facts: FunctionFacts<'_>,
    inst: InstId,
    stmt: StmtId,
    block: BlockId,
) -> Option<Barrier> {
    let inst_facts = facts.inst(inst);
    if !uses_barrier(&inst_facts) {
        return None;
    }
    let operands = facts.body().operands(inst);
    let is_counted = if inst_facts.action() == Some(Action::BarrierReduce) {
        inst_facts.marked(Marks::THREAD_COUNT).next().is_some()
    } else {
        operands.len() != 1
    };
    let marked = inst_facts.marked(Marks::PARTICIPANTS).next();
    let number = marked
        .or(operands.first().copied())
        .and_then(|operand| facts.body().pool().integer(operand));
    let waits = inst_facts.action() != Some(Action::BarrierArrive);
    Some(Barrier {
        stmt,
        block,
        number,
        is_full: waits && !is_counted && inst_facts.guard().is_none() && number.is_some(),
    })
}
