//! Accesses that signal other threads that data is available, and loops that wait for signals.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::graph::LoopId;
use ptx_analysis::ssa::{Ssa, Value, ValueId};
use ptx_analysis::values::AffineSymbol;
use ptx_ir::{Statement, StmtId};
use ptx_isa::Modifier;

use super::order::{Access, Code, Step};
use crate::context::{FunctionContext, Reached};

/// The maximum depth and the maximum number of followed definitions.
const MOST_DEPTH: u32 = 4;
const MOST_DEFINITIONS: usize = 32;

/// The maximum number of blocks of a loop that waits.
const MOST_BLOCKS: usize = 4;

/// Returns `true` if a step stores a flag: it is strong, but does not order earlier accesses.
pub(super) fn is_signal(
    cx: &FunctionContext<'_>,
    code: &Code,
    step: &Step,
    access: &Access,
) -> bool {
    let is_relaxed = access.order == Some(Modifier::Relaxed);
    if access.is_shared || !access.writes || !is_relaxed {
        return false;
    }
    if !access.is_atomic {
        return true;
    }
    let facts = cx.facts().inst(step.inst);
    if facts.has_modifier(Modifier::Relaxed) || facts.has_modifier(Modifier::Exch) {
        return true;
    }
    // The result of a counter of finished blocks is compared with the number of blocks.
    !facts.has_modifier(Modifier::Cas)
        && cx.ssa().is_some_and(|ssa| {
            ssa.defs(step.stmt)
                .any(|result| code.compared.contains(&result))
        })
}

/// Returns the values that a function compares for equality.
pub(super) fn values_in_comparisons(cx: &FunctionContext<'_>) -> BTreeSet<ValueId> {
    let Some(ssa) = cx.ssa() else {
        return BTreeSet::new();
    };
    cx.instructions()
        .filter(|inst| {
            inst.facts.has_modifier(Modifier::Eq) || inst.facts.has_modifier(Modifier::Ne)
        })
        .flat_map(|inst| ssa.uses(inst.stmt))
        .map(|read| read.value)
        .collect()
}

/// The loops of a function that may wait for signals.
pub(super) struct WaitingLoops<'a, 'c> {
    cx: &'a FunctionContext<'c>,
    /// A cache: whether a loop stores.
    stores: BTreeMap<LoopId, bool>,
}

impl<'a, 'c> WaitingLoops<'a, 'c> {
    pub(super) fn new(cx: &'a FunctionContext<'c>) -> Self {
        Self {
            cx,
            stores: BTreeMap::new(),
        }
    }

    /// Returns `true` if an access loads from the same address in a loop until the value ends the loop.
    pub(super) fn is_poll(&mut self, inst: &Reached<'_>, access: &Access) -> bool {
        let may_poll = !access.is_shared && access.reads && !access.orders_after();
        may_poll && self.ends_loop(inst, access).unwrap_or(false)
    }

    /// Returns `true` if the loaded value ends a loop around the access. Returns `None` if the address or the loop is not that of a poll.
    fn ends_loop(&mut self, inst: &Reached<'_>, access: &Access) -> Option<bool> {
        let cx = self.cx;
        let (ssa, values) = (cx.ssa()?, cx.values()?);
        let block = cx.cfg().of_statement(inst.stmt)?;
        let loops = cx.analysis().loops();
        let innermost = loops.innermost(block)?;
        let body = loops.body(innermost);
        if body.len() > MOST_BLOCKS {
            return None;
        }
        let is_defined_in_loop = |value: ValueId| {
            let block = match ssa.value(value) {
                Value::Def { stmt, .. } => cx.cfg().of_statement(stmt),
                Value::Phi { block, .. } => Some(block),
                _ => None,
            };
            block.is_some_and(|block| body.contains(&block))
        };
        let address = access.address.as_ref()?;
        let is_invariant = address
            .terms()
            .iter()
            .flat_map(|term| values.factors(term.symbol))
            .all(|symbol| match values.symbol(symbol) {
                Some(AffineSymbol::Counter(_)) => false,
                Some(AffineSymbol::Value { value, .. }) => !is_defined_in_loop(value),
                _ => true,
            });
        // Among atomic operations, only those that acquire a lock wait. A loop that emulates another operation compares with the previously read value.
        let may_lock =
            inst.facts.has_modifier(Modifier::Cas) || inst.facts.has_modifier(Modifier::Exch);
        let is_update = access.is_atomic
            && (!may_lock
                || ssa
                    .uses(inst.stmt)
                    .iter()
                    .any(|read| is_defined_in_loop(read.value)));
        if !is_invariant || is_update || self.stores(innermost, body) {
            return None;
        }
        let results: Vec<ValueId> = ssa.defs(inst.stmt).collect();
        Some(body.iter().any(|&block| {
            let mut successors = cx.cfg().successors(block).iter();
            successors.any(|to| !body.contains(to))
                && cx
                    .last_instruction(block)
                    .is_some_and(|(stmt, _)| depends(ssa, stmt, &results))
        }))
    }

    /// Returns `true` if a loop stores.
    fn stores(&mut self, id: LoopId, body: &[BlockId]) -> bool {
        let cx = self.cx;
        *self.stores.entry(id).or_insert_with(|| {
            body.iter()
                .filter(|block| cx.analysis().is_reachable(**block))
                .filter_map(|block| cx.cfg().block(*block))
                .flat_map(|block| cx.body().range(block.first, block.end))
                .any(|(_, statement)| match statement {
                    Statement::Inst(inst) => cx
                        .facts()
                        .inst(inst)
                        .memory()
                        .any(|access| access.writes() && !access.reads()),
                    _ => false,
                })
        })
    }
}

/// Returns `true` if the operands of a statement are computed from one of the values. The search is limited.
fn depends(ssa: &Ssa, stmt: StmtId, values: &[ValueId]) -> bool {
    let (mut visited, mut worklist) = (Vec::new(), vec![(stmt, 0)]);
    while let Some((stmt, depth)) = worklist.pop() {
        for read in ssa.uses(stmt) {
            if values.contains(&read.value) {
                return true;
            }
            if let Value::Def { stmt, .. } = ssa.value(read.value)
                && depth < MOST_DEPTH
                && visited.len() < MOST_DEFINITIONS
                && !visited.contains(&stmt)
            {
                visited.push(stmt);
                worklist.push((stmt, depth + 1));
            }
        }
    }
    false
}
