//! Accesses that signal other threads that data is available, and loops that wait for signals.

use alloc::vec::Vec;

use ptx_analysis::graph::LoopId;
use ptx_analysis::ssa::{Ssa, Value, ValueId};
use ptx_analysis::values::Symbol;
use ptx_ir::{Statement, StmtId};
use ptx_isa::Modifier;

use super::order::{Access, Act, Step};
use crate::context::FunctionContext;

/// The maximum depth of followed definitions.
const DEPTH: u32 = 4;

/// Whether a step stores a flag: it is strong, but does not order earlier accesses.
pub(super) fn is_signal(cx: &FunctionContext<'_>, step: &Step, access: &Access) -> bool {
    let relaxed = access.order == Some(Modifier::Relaxed);
    if access.is_shared || !access.writes || !relaxed {
        return false;
    }
    let facts = cx.facts().inst(step.inst);
    let explicit = facts.has_modifier(Modifier::Relaxed);
    match access.is_atomic {
        false => true,
        true => {
            let compares = facts.has_modifier(Modifier::Cas);
            explicit
                || facts.has_modifier(Modifier::Exch)
                || !compares && is_compared_for_equality(cx, step)
        }
    }
}

/// Whether the result of a step is compared for equality with a number, as for a counter of finished blocks.
fn is_compared_for_equality(cx: &FunctionContext<'_>, step: &Step) -> bool {
    let Some(ssa) = cx.ssa() else { return false };
    let results: Vec<ValueId> = ssa.defs(step.stmt).collect();
    let equality = |stmt: StmtId| match cx.body().statement(stmt) {
        Some(Statement::Inst(inst)) => {
            let facts = cx.facts().inst(inst);
            facts.has_modifier(Modifier::Eq) || facts.has_modifier(Modifier::Ne)
        }
        _ => false,
    };
    !results.is_empty()
        && cx.instructions().any(|i| {
            let mut uses = ssa.uses(i.stmt).iter();
            uses.any(|u| results.contains(&u.value)) && equality(i.stmt)
        })
}

/// Whether a step polls: it loads from the same address in a loop until the value ends the loop.
pub(super) fn is_poll(cx: &FunctionContext<'_>, step: &Step) -> bool {
    let Act::Access(access) = &step.act else {
        return false;
    };
    if access.is_shared || !access.reads {
        return false;
    }
    !access.orders_after() && waiting_loop(cx, step).is_some()
}

/// The loop in which a step waits.
fn waiting_loop(cx: &FunctionContext<'_>, step: &Step) -> Option<LoopId> {
    let (ssa, values) = (cx.ssa()?, cx.values()?);
    let block = cx.cfg().of_statement(step.stmt)?;
    let loops = cx.analysis().loops();
    let inner = loops.innermost(block)?;
    let Act::Access(access) = &step.act else {
        return None;
    };
    let body = loops.body(inner);
    let is_made_here = |value: ValueId| {
        let at = match ssa.value(value) {
            Value::Def { stmt, .. } => cx.cfg().of_statement(stmt),
            Value::Phi { block, .. } => Some(block),
            _ => None,
        };
        at.is_some_and(|b| body.contains(&b))
    };
    // The address must be loop-invariant.
    let mut terms = access.address.as_ref()?.terms().iter();
    let changes = terms.any(|term| match values.symbol(term.symbol) {
        Some(Symbol::Counter(_) | Symbol::Product(..)) => true,
        Some(Symbol::Value { value, .. }) => is_made_here(value),
        _ => false,
    });
    // Among atomic operations, only those that acquire a lock wait. A loop that emulates another operation compares with the previously read value.
    let facts = cx.facts().inst(step.inst);
    let takes = facts.has_modifier(Modifier::Cas) || facts.has_modifier(Modifier::Exch);
    let updates = access.is_atomic
        && (!takes || ssa.uses(step.stmt).iter().any(|u| is_made_here(u.value)));
    if changes || updates || body.len() > 4 {
        return None;
    }
    let results: Vec<ValueId> = ssa.defs(step.stmt).collect();
    let decides = body.iter().any(|&block| {
        let leaves = cx.cfg().successors(block).iter().any(|to| !body.contains(to));
        leaves && last(cx, block).is_some_and(|stmt| depends(ssa, stmt, &results, DEPTH))
    });
    let stores = cx.instructions().any(|i| {
        let here = cx.cfg().of_statement(i.stmt).is_some_and(|b| body.contains(&b));
        here && i.facts.memory().any(|a| a.writes() && !a.reads())
    });
    (decides && !stores).then_some(inner)
}

fn last(cx: &FunctionContext<'_>, block: ptx_analysis::cfg::BlockId) -> Option<StmtId> {
    let block = cx.cfg().block(block)?;
    let mut range = cx.body().range(block.first, block.end).rev();
    range.find_map(|(stmt, s)| matches!(s, Statement::Inst(_)).then_some(stmt))
}

/// Whether the operands of a statement are computed from some values.
fn depends(
    ssa: &Ssa,
    stmt: StmtId,
    values: &[ValueId],
    depth: u32,
) -> bool {
    ssa.uses(stmt).iter().any(|read| {
        values.contains(&read.value)
            || depth > 0
                && match ssa.value(read.value) {
                    Value::Def { stmt, .. } => depends(ssa, stmt, values, depth - 1),
                    _ => false,
                }
    })
}
