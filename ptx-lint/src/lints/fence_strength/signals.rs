//! Accesses that signal other threads that data is available, and loops that wait for signals.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::graph::LoopId;
use ptx_analysis::ssa::{Ssa, Value, ValueId};
use ptx_analysis::values::Symbol;
use ptx_ir::{Statement, StmtId};
use ptx_isa::Modifier;

use super::order::{Access, Code, Step};
use crate::context::{FunctionContext, Reached};

/// The maximum depth of followed definitions, and how many of them.
const DEPTH: u32 = 4;
const FOLLOWED: usize = 32;

/// The maximum number of blocks of a loop that waits.
const BLOCKS: usize = 4;

/// Whether a step stores a flag: it is strong, but does not order earlier accesses.
pub(super) fn is_signal(
    cx: &FunctionContext<'_>,
    code: &Code,
    step: &Step,
    access: &Access,
) -> bool {
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
            // As for a counter of finished blocks.
            let is_compared = || {
                let mut results = cx.ssa().into_iter().flat_map(|ssa| ssa.defs(step.stmt));
                results.any(|value| code.compared.contains(&value))
            };
            explicit || facts.has_modifier(Modifier::Exch) || !compares && is_compared()
        }
    }
}

/// The values that a function compares for equality.
pub(super) fn compared(cx: &FunctionContext<'_>) -> BTreeSet<ValueId> {
    let Some(ssa) = cx.ssa() else {
        return BTreeSet::new();
    };
    let equality = |at: &Reached<'_>| {
        at.facts.has_modifier(Modifier::Eq) || at.facts.has_modifier(Modifier::Ne)
    };
    let compares = cx.instructions().filter(equality);
    compares
        .flat_map(|at| ssa.uses(at.stmt))
        .map(|read| read.value)
        .collect()
}

/// The loops of a function that may wait for signals.
pub(super) struct WaitingLoops<'a, 'c> {
    cx: &'a FunctionContext<'c>,
    /// Of each small loop, whether it stores.
    stores: BTreeMap<LoopId, bool>,
}

impl<'a, 'c> WaitingLoops<'a, 'c> {
    pub(super) fn new(cx: &'a FunctionContext<'c>) -> Self {
        Self {
            cx,
            stores: BTreeMap::new(),
        }
    }

    /// Whether an access loads from the same address in a loop until the value ends the loop.
    pub(super) fn is_poll(&mut self, at: &Reached<'_>, access: &Access) -> bool {
        let polls = !access.is_shared && access.reads && !access.orders_after();
        polls && self.waits(at, access).unwrap_or(false)
    }

    fn waits(&mut self, at: &Reached<'_>, access: &Access) -> Option<bool> {
        let cx = self.cx;
        let (ssa, values) = (cx.ssa()?, cx.values()?);
        let block = cx.cfg().of_statement(at.stmt)?;
        let loops = cx.analysis().loops();
        let inner = loops.innermost(block)?;
        let body = loops.body(inner);
        if body.len() > BLOCKS {
            return None;
        }
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
        let takes = at.facts.has_modifier(Modifier::Cas) || at.facts.has_modifier(Modifier::Exch);
        let updates =
            access.is_atomic && (!takes || ssa.uses(at.stmt).iter().any(|u| is_made_here(u.value)));
        if changes || updates || self.stores(inner, body) {
            return None;
        }
        let results: Vec<ValueId> = ssa.defs(at.stmt).collect();
        Some(body.iter().any(|&block| {
            let leaves = cx
                .cfg()
                .successors(block)
                .iter()
                .any(|to| !body.contains(to));
            leaves && last(cx, block).is_some_and(|stmt| depends(ssa, stmt, &results))
        }))
    }

    /// Whether a loop stores.
    fn stores(&mut self, id: LoopId, body: &[BlockId]) -> bool {
        let cx = self.cx;
        *self.stores.entry(id).or_insert_with(|| {
            let stores = |(_, statement)| match statement {
                Statement::Inst(inst) => {
                    let facts = cx.facts().inst(inst);
                    facts.memory().any(|a| a.writes() && !a.reads())
                }
                _ => false,
            };
            let blocks = body
                .iter()
                .filter(|block| cx.analysis().is_reachable(**block));
            let mut blocks = blocks.filter_map(|block| cx.cfg().block(*block));
            blocks.any(|of| cx.body().range(of.first, of.end).any(stores))
        })
    }
}

fn last(cx: &FunctionContext<'_>, block: BlockId) -> Option<StmtId> {
    let block = cx.cfg().block(block)?;
    let mut range = cx.body().range(block.first, block.end).rev();
    range.find_map(|(stmt, s)| matches!(s, Statement::Inst(_)).then_some(stmt))
}

/// Whether the operands of a statement are computed from some values, within few steps.
fn depends(ssa: &Ssa, stmt: StmtId, values: &[ValueId]) -> bool {
    let (mut seen, mut open) = (Vec::new(), vec![(stmt, 0)]);
    while let Some((stmt, depth)) = open.pop() {
        for read in ssa.uses(stmt) {
            if values.contains(&read.value) {
                return true;
            }
            if let Value::Def { stmt, .. } = ssa.value(read.value)
                && depth < DEPTH
                && seen.len() < FOLLOWED
                && !seen.contains(&stmt)
            {
                seen.push(stmt);
                open.push((stmt, depth + 1));
            }
        }
    }
    false
}
