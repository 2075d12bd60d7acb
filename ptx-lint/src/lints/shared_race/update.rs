//! Non-atomic updates of elements at loaded indices: two threads may update the same element.

use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::ssa::{Value, ValueId};
use ptx_ir::{EntityId as _, Statement, StmtId};
use ptx_isa::{Access, Action};

use super::accesses::{SharedAccess, SharedAccesses};
use crate::context::FunctionContext;

/// The maximum number of values between a stored value and the load that it depends on.
const MAX_STEPS: usize = 16;

/// The stores of updates, each with the load before it.
pub(super) fn stores(cx: &FunctionContext<'_>, accesses: &SharedAccesses) -> Vec<(StmtId, StmtId)> {
    let mut selecting_blocks = None;
    let mut updates = Vec::new();
    let is_at_loaded_index = |access: &&SharedAccess| {
        access.address.is_anywhere && access.writes && !access.is_atomic && !access.is_of_rows
    };
    for store in accesses.all.iter().filter(is_at_loaded_index) {
        let load = accesses.all.iter().rfind(|load| {
            !load.writes
                && load.form == store.form
                && load.provenance == store.provenance
                && load.block == store.block
                && cx.body().precedes(load.stmt, store.stmt)
        });
        let Some(load) = load else { continue };
        let selecting_blocks = selecting_blocks.get_or_insert_with(|| select_threads(cx));
        if store.executing.count_ones() > 1
            && !is_selected(cx, selecting_blocks, store.block)
            && depends(cx, store.stmt, load.stmt)
        {
            updates.push((store.stmt, load.stmt));
        }
    }
    updates
}

/// For each block, whether threads determine in it which of them continues: by a warp-level instruction, by an atomic operation, or one after the other.
fn select_threads(cx: &FunctionContext<'_>) -> Vec<bool> {
    let mut selecting = vec![false; cx.cfg().len()];
    for reached in cx.instructions() {
        let facts = &reached.facts;
        let is_atomic = || facts.memory().any(|m| m.access == Access::ReadModifyWrite);
        let selects = facts.member_mask().is_some()
            || matches!(facts.action(), Some(Action::Elect))
            || facts.callees().is_some()
            || is_atomic();
        if selects && let Some(block) = cx.cfg().of_statement(reached.stmt) {
            selecting[block.index()] = true;
        }
    }
    selecting
}

/// Whether threads may have determined which of them reaches a block: before it, or in the innermost loop around it, which may also contain a barrier.
fn is_selected(cx: &FunctionContext<'_>, selecting_blocks: &[bool], block: BlockId) -> bool {
    let selects = |block: BlockId| selecting_blocks.get(block.index()) == Some(&true);
    if selects(block) || cx.analysis().dominators().ancestors(block).any(selects) {
        return true;
    }
    let loops = cx.analysis().loops();
    loops.innermost(block).is_some_and(|id| {
        let mut blocks = loops.body(id).iter();
        blocks.any(|block| selects(*block) || has_barrier(cx, *block))
    })
}

fn has_barrier(cx: &FunctionContext<'_>, block: BlockId) -> bool {
    let Some(block) = cx.cfg().block(block) else {
        return false;
    };
    let mut statements = cx.body().range(block.first, block.end);
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
    let mut visited: Vec<ValueId> = Vec::new();
    let mut worklist: Vec<ValueId> = ssa.uses(store).iter().map(|read| read.value).collect();
    while let Some(value) = worklist.pop() {
        if visited.contains(&value) || visited.len() >= MAX_STEPS {
            continue;
        }
        visited.push(value);
        let Value::Def { stmt, .. } = ssa.value(value) else {
            continue;
        };
        if stmt == load {
            return true;
        }
        worklist.extend(ssa.uses(stmt).iter().map(|read| read.value));
    }
    false
}
