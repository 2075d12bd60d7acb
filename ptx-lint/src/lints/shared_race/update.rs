//! Non-atomic updates of elements at loaded indices: two threads may update the same element.

use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::graph::LoopId;
use ptx_ir::{EntityId as _, Statement, StmtId};
use ptx_isa::{Access, Action};

use super::touch::{Touch, Touches};
use crate::context::FunctionContext;

/// The maximum number of values between a stored value and the load that it depends on.
const FOLLOWED: usize = 16;

/// The stores, each with the load before it.
pub(super) fn stores(cx: &FunctionContext<'_>, touches: &Touches) -> Vec<(StmtId, StmtId)> {
    let mut chosen = None;
    let mut found = Vec::new();
    let is_update =
        |touch: &&Touch| touch.is_anywhere && touch.writes && !touch.is_atomic && !touch.is_of_warp;
    for store in touches.all.iter().filter(is_update) {
        let is_load = |load: &&Touch| {
            let is_same = load.form == store.form && load.provenance == store.provenance;
            !load.writes
                && is_same
                && load.block == store.block
                && cx.body().precedes(load.stmt, store.stmt)
        };
        let Some(load) = touches.all.iter().rfind(is_load) else {
            continue;
        };
        let chosen = chosen.get_or_insert_with(|| choosing(cx));
        if store.set.count_ones() > 1
            && !is_chosen(cx, chosen, store.block)
            && depends(cx, store.stmt, load.stmt)
        {
            found.push((store.stmt, load.stmt));
        }
    }
    found
}

/// The blocks in which threads determine which of them continues: by a warp-level instruction, by an atomic operation, or one after the other.
fn choosing(cx: &FunctionContext<'_>) -> Vec<bool> {
    let mut chosen = vec![false; cx.cfg().len()];
    for at in cx.instructions() {
        let is_atomic = at
            .facts
            .memory()
            .any(|m| m.access == Access::ReadModifyWrite);
        let chooses = at.facts.lanes().is_some()
            || is_atomic
            || matches!(at.facts.action(), Some(Action::Elect))
            || at.facts.callees().is_some();
        if let Some(block) = cx.cfg().of_statement(at.stmt).filter(|_| chooses) {
            chosen[block.index()] = true;
        }
    }
    chosen
}

/// Whether threads may have determined which of them reaches a block: before it, or in an enclosing loop, which may also contain a barrier.
fn is_chosen(cx: &FunctionContext<'_>, chosen: &[bool], block: BlockId) -> bool {
    let of = |block: BlockId| chosen.get(block.index()) == Some(&true);
    let mut before = cx.analysis().dominators().ancestors(block);
    if of(block) || before.any(of) {
        return true;
    }
    let loops = cx.analysis().loops();
    let around: Option<LoopId> = loops.innermost(block);
    around.is_some_and(|id| {
        loops
            .body(id)
            .iter()
            .any(|block| of(*block) || has_barrier(cx, *block))
    })
}

fn has_barrier(cx: &FunctionContext<'_>, block: BlockId) -> bool {
    let Some(of) = cx.cfg().block(block) else {
        return false;
    };
    let mut statements = cx.body().range(of.first, of.end);
    statements.any(|(_, statement)| match statement {
        Statement::Inst(inst) => matches!(
            cx.facts().inst(inst).action(),
            Some(Action::BarrierSync | Action::BarrierReduce | Action::WarpBarrier)
        ),
        _ => false,
    })
}

/// Whether the stored value depends on the loaded one.
fn depends(cx: &FunctionContext<'_>, store: StmtId, load: StmtId) -> bool {
    let Some(ssa) = cx.ssa() else {
        return false;
    };
    let mut seen = Vec::new();
    let mut work: Vec<_> = ssa.uses(store).iter().map(|read| read.value).collect();
    while let Some(value) = work.pop() {
        if seen.contains(&value) || seen.len() >= FOLLOWED {
            continue;
        }
        seen.push(value);
        let ptx_analysis::ssa::Value::Def { stmt, .. } = ssa.value(value) else {
            continue;
        };
        if stmt == load {
            return true;
        }
        work.extend(ssa.uses(stmt).iter().map(|read| read.value));
    }
    false
}
