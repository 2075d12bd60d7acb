//! Unknown terms of addresses that determine the alignment: loop counters, sizes passed as kernel parameters, and loaded indices.

use alloc::format;
use alloc::string::String;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::graph::LoopId;
use ptx_analysis::memory_access::{Access, Provenance};
use ptx_analysis::ssa::Value;
use ptx_analysis::values::{Affine, Symbol, SymbolId, Values};

use crate::addresses::is_loaded;
use crate::context::FunctionContext;

/// The maximum number of instructions between the load of an index and its use.
const FOLLOWED: u32 = 6;

/// The reason why an address may be misaligned.
pub(super) fn reason(
    cx: &FunctionContext<'_>,
    values: &Values,
    (access, needed): (&Access, u64),
    form: &Affine,
) -> Option<String> {
    let block = cx.cfg().of_statement(access.stmt)?;
    let is_guarded = cx.facts().inst(access.inst).guard().is_some();
    let mut reason = None;
    for term in form.terms() {
        let step = term.factor.unsigned_abs();
        let of_term = match values.symbol(term.symbol)? {
            Symbol::Variable(_) | Symbol::Window(_) => continue,
            _ if step.is_multiple_of(needed) => continue,
            Symbol::Counter(id) if !is_guarded && is_in_every_iteration(cx, id, block) => {
                let same = form
                    .terms()
                    .iter()
                    .all(|t| is_same(cx, values, id, (t.symbol, t.factor), needed));
                same.then(|| format!("it advances by {step} bytes in each iteration of the loop"))
            }
            Symbol::Parameter { .. } if is_in_variable(access) && step > 1 => {
                Some(format!("it depends on a parameter multiplied by {step}"))
            }
            Symbol::Parameter { bytes: 8, .. } if step == 1 && values.is_kernel() => continue,
            Symbol::Value { value, .. } => {
                let divisor = values.alignment(value).divisor();
                let step = step.saturating_mul(divisor);
                if step.is_multiple_of(needed) {
                    continue;
                }
                let is_index = is_in_variable(access) || divisor > 1;
                let is_index = is_index && step > 1 && is_loaded(cx, value, FOLLOWED);
                is_index.then(|| format!("it depends on a loaded index multiplied by {step}"))
            }
            _ => None,
        };
        reason = reason.or(of_term);
    }
    reason
}

/// Whether an address is in a variable.
fn is_in_variable(access: &Access) -> bool {
    matches!(access.provenance, Some(Provenance::Variable(_)))
}

/// Whether a block is executed in each iteration of a loop.
fn is_in_every_iteration(cx: &FunctionContext<'_>, id: LoopId, block: BlockId) -> bool {
    let (loops, dominators) = (cx.analysis().loops(), cx.analysis().dominators());
    let mut latches = loops.latches(cx.cfg(), id);
    loops.contains(id, block) && latches.all(|latch| dominators.dominates(block, latch))
}

/// Whether a term of an address stays aligned, or unchanged, from one iteration of a loop to the next.
fn is_same(
    cx: &FunctionContext<'_>,
    values: &Values,
    id: LoopId,
    (symbol, factor): (SymbolId, i64),
    needed: u64,
) -> bool {
    let is_in_loop =
        |block: Option<BlockId>| block.is_none_or(|b| cx.analysis().loops().contains(id, b));
    match values.symbol(symbol) {
        Some(Symbol::Value { value, .. }) => {
            let step = factor
                .unsigned_abs()
                .saturating_mul(values.alignment(value).divisor());
            let changes = match cx.ssa().map(|ssa| ssa.value(value)) {
                Some(Value::Def { stmt, .. }) => is_in_loop(cx.cfg().of_statement(stmt)),
                Some(Value::Phi { block, .. }) => is_in_loop(Some(block)),
                _ => false,
            };
            step.is_multiple_of(needed) || !changes
        }
        Some(Symbol::Product(a, b)) => {
            let same = |symbol| is_same(cx, values, id, (symbol, 1), u64::MAX);
            factor.unsigned_abs().is_multiple_of(needed) || same(a) && same(b)
        }
        Some(_) => true,
        None => false,
    }
}
