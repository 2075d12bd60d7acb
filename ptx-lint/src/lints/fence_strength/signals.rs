//! Accesses that signal other threads that data is available, and loops that wait for signals.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::graph::LoopId;
use ptx_analysis::ssa::{Ssa, Value, ValueId};
use ptx_analysis::values::AffineSymbol;
use ptx_ir::facts::Facts;
use ptx_ir::{Statement, StmtId};
use ptx_isa::{Modifier, Role, ScalarType};

use super::order::{Access, Code, Step};
use crate::context::{FunctionContext, Reached};

/// The maximum depth and the maximum number of followed definitions.
const MOST_DEPTH: u32 = 4;
const MOST_DEFINITIONS: usize = 32;

/// The maximum number of atomic operations whose results are followed.
const MOST_TICKETS: usize = 32;

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
                || code.tickets.contains(&step.stmt)
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

/// Returns `true` if an atomic operation never changes memory: its operand is the identity of the operation, or the value that it stores is the one
/// with which it compares.
pub(super) fn leaves_memory_unchanged(cx: &FunctionContext<'_>, inst: &Reached<'_>) -> bool {
    let has = |modifier| inst.facts.has_modifier(modifier);
    let operands: Vec<_> = inst
        .facts
        .sources()
        .filter(|operand| operand.role == Role::Use)
        .collect();
    let constant = |index: usize| {
        let operand = operands.get(index)?;
        cx.constant(inst.stmt, operand.operand)
    };
    let Some(first) = constant(0) else {
        return false;
    };
    if has(Modifier::Cas) {
        return constant(1) == Some(first);
    }
    let Some(ty) = operands.first().and_then(|operand| operand.ty) else {
        return false;
    };
    let ones = u64::MAX >> 64u32.saturating_sub(u32::from(ty.bits()));
    if has(Modifier::And) {
        return first as u64 & ones == ones;
    }
    let is_unsigned = matches!(ty, ScalarType::U32 | ScalarType::U64);
    let has_identity_zero = has(Modifier::Add) && ty.is_integer()
        || has(Modifier::Or)
        || has(Modifier::Xor)
        || has(Modifier::Max) && is_unsigned;
    first == 0 && has_identity_zero
}

/// The readers of the values of a function.
struct Readers<'a, 'c> {
    cx: &'a FunctionContext<'c>,
    ssa: &'a Ssa,
    statements: BTreeMap<ValueId, Vec<StmtId>>,
    /// The values of phis to which a value flows.
    phis: BTreeMap<ValueId, Vec<ValueId>>,
}

impl<'a, 'c> Readers<'a, 'c> {
    fn new(cx: &'a FunctionContext<'c>, ssa: &'a Ssa) -> Self {
        let mut readers = Self {
            cx,
            ssa,
            statements: BTreeMap::new(),
            phis: BTreeMap::new(),
        };
        for inst in cx.instructions() {
            for read in ssa.uses(inst.stmt) {
                let statements = readers.statements.entry(read.value).or_default();
                if statements.last() != Some(&inst.stmt) {
                    statements.push(inst.stmt);
                }
            }
        }
        for (block, _) in cx.cfg().blocks() {
            for phi in ssa.phis(block) {
                for argument in ssa.args(phi) {
                    readers.phis.entry(*argument).or_default().push(phi);
                }
            }
        }
        readers
    }

    /// Returns `true` if comparisons, and nothing else, use a value and what is computed from it. Stores to shared memory hand it to the threads that
    /// load from the same address. The search is limited.
    fn are_comparisons(&self, value: ValueId, steps: &[Vec<Step>]) -> bool {
        let mut values = vec![value];
        let mut next = 0;
        let mut is_compared = false;
        while let Some(&value) = values.get(next) {
            next += 1;
            let mut results: Vec<ValueId> = self.phis.get(&value).cloned().unwrap_or_default();
            for &stmt in self.statements.get(&value).into_iter().flatten() {
                let Some(facts) = self.cx.inst_at(stmt) else {
                    return false;
                };
                if is_comparison(facts) {
                    is_compared = true;
                } else if facts.memory().next().is_some() {
                    match loads_of_shared_value(steps, stmt) {
                        Some(loads) => results.extend(loads.flat_map(|load| self.ssa.defs(load))),
                        None => return false,
                    }
                } else if facts.has_side_effects() {
                    return false;
                } else {
                    results.extend(self.ssa.defs(stmt));
                }
            }
            for result in results {
                if !values.contains(&result) {
                    if values.len() == MOST_DEFINITIONS {
                        return false;
                    }
                    values.push(result);
                }
            }
        }
        is_compared
    }
}

/// Returns the loads from the address in shared memory to which a statement stores; `None` if it does not store to a known address there.
fn loads_of_shared_value(
    steps: &[Vec<Step>],
    store: StmtId,
) -> Option<impl Iterator<Item = StmtId>> {
    let accesses = || {
        steps
            .iter()
            .flatten()
            .filter_map(|step| Some((step.stmt, step.access()?)))
    };
    let (_, written) = accesses().find(|(stmt, _)| *stmt == store)?;
    if !written.is_shared || written.is_atomic || !written.writes || written.address.is_none() {
        return None;
    }
    Some(
        accesses()
            .filter(|(_, access)| !access.writes && access.is_same(written))
            .map(|(stmt, _)| stmt),
    )
}

fn is_comparison(facts: Facts<'_>) -> bool {
    const COMPARISONS: [Modifier; 8] = [
        Modifier::Eq,
        Modifier::Ne,
        Modifier::Lt,
        Modifier::Le,
        Modifier::Gt,
        Modifier::Ge,
        Modifier::Ls,
        Modifier::Hs,
    ];
    // In products, these select a half of the result.
    let selects_half_or_compares =
        facts.has_modifier(Modifier::Lo) || facts.has_modifier(Modifier::Hi);
    let gives_predicate = || {
        let mut destinations = facts.destinations();
        destinations.any(|destination| destination.ty == Some(ScalarType::Pred))
    };
    let mut comparisons = COMPARISONS.into_iter();
    facts.memory().next().is_none()
        && (comparisons.any(|comparison| facts.has_modifier(comparison))
            || selects_half_or_compares && gives_predicate())
}

/// Returns the atomic operations on memory outside of the CTA whose results are only compared, as those of a counter of finished blocks are. The tasks
/// of a queue are used otherwise as well.
pub(super) fn tickets(cx: &FunctionContext<'_>, steps: &[Vec<Step>]) -> BTreeSet<StmtId> {
    let Some(ssa) = cx.ssa() else {
        return BTreeSet::new();
    };
    let mut candidates = steps
        .iter()
        .flatten()
        .filter(|step| {
            step.access()
                .is_some_and(|access| access.is_atomic && access.writes && !access.is_shared)
        })
        .take(MOST_TICKETS)
        .peekable();
    if candidates.peek().is_none() {
        return BTreeSet::new();
    }
    let readers = Readers::new(cx, ssa);
    candidates
        .filter(|step| {
            let mut results = ssa.defs(step.stmt);
            results.any(|result| readers.are_comparisons(result, steps))
        })
        .map(|step| step.stmt)
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

    /// Returns `true` if an access loads from the same address in a loop until the value ends the loop, without ordering later accesses.
    pub(super) fn is_poll(&mut self, inst: &Reached<'_>, access: &Access) -> bool {
        !access.orders_after() && self.waits(inst, access)
    }

    /// Returns `true` if an access loads from the same address, not in shared memory, in a loop until the value ends the loop.
    pub(super) fn waits(&mut self, inst: &Reached<'_>, access: &Access) -> bool {
        !access.is_shared && access.reads && self.ends_loop(inst, access).unwrap_or(false)
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
            && access.writes
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
