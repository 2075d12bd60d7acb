//! Unknown terms of addresses that determine the alignment: loop counters, sizes passed as kernel parameters, and loaded indices.

use alloc::format;
use alloc::string::String;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::graph::LoopId;
use ptx_analysis::memory_access::{Access, Provenance};
use ptx_analysis::ssa::Value;
use ptx_analysis::values::{AffineSymbol, AffineSymbolId, Values};

use crate::addresses::is_loaded;
use crate::context::FunctionContext;

/// The maximum number of instructions between the load of an index and its use.
const MOST_STEPS: u32 = 6;

/// Returns the reason in the first term with a reason why an access may be misaligned.
pub(super) fn reason(
    cx: &FunctionContext<'_>,
    values: &Values,
    access: &Access,
    alignment: u64,
) -> Option<String> {
    let address = access.address?;
    let block = cx.cfg().of_statement(access.stmt)?;
    let is_guarded = cx.facts().inst(access.inst).guard().is_some();
    let mut reason = None;
    for term in address.terms() {
        let step = term.factor.unsigned_abs();
        let term_reason = match values.symbol(term.symbol)? {
            AffineSymbol::Variable(_) | AffineSymbol::Window(_) => continue,
            _ if step.is_multiple_of(alignment) => continue,
            AffineSymbol::Counter(id) if !is_guarded && is_in_every_iteration(cx, id, block) => {
                address
                    .terms()
                    .iter()
                    .all(|term| stays_aligned(cx, values, id, term.symbol, term.factor, alignment))
                    .then(|| format!("it advances by {step} bytes in each iteration of the loop"))
            }
            AffineSymbol::Parameter { .. } if points_into_variable(access) && step > 1 => {
                Some(format!("it depends on a parameter multiplied by {step}"))
            }
            AffineSymbol::Parameter { bytes: 8, .. } if step == 1 && values.is_kernel() => continue,
            AffineSymbol::Value { value, .. } => {
                let divisor = values.alignment(value).divisor();
                let step = step.saturating_mul(divisor);
                if step.is_multiple_of(alignment) {
                    continue;
                }
                let is_loaded_index = (points_into_variable(access) || divisor > 1)
                    && step > 1
                    && is_loaded(cx, value, MOST_STEPS);
                is_loaded_index
                    .then(|| format!("it depends on a loaded index multiplied by {step}"))
            }
            _ => None,
        };
        reason = reason.or(term_reason);
    }
    reason
}

fn points_into_variable(access: &Access) -> bool {
    matches!(access.provenance, Some(Provenance::Variable(_)))
}

/// Returns `true` if a block is executed in each iteration of a loop.
fn is_in_every_iteration(cx: &FunctionContext<'_>, id: LoopId, block: BlockId) -> bool {
    let (loops, dominators) = (cx.analysis().loops(), cx.analysis().dominators());
    let mut latches = loops.latches(cx.cfg(), id);
    loops.contains(id, block) && latches.all(|latch| dominators.dominates(block, latch))
}

/// Returns `true` if a term of an address stays aligned, or unchanged, from one iteration of a loop to the next.
fn stays_aligned(
    cx: &FunctionContext<'_>,
    values: &Values,
    id: LoopId,
    symbol: AffineSymbolId,
    factor: i64,
    alignment: u64,
) -> bool {
    let is_in_loop =
        |block: Option<BlockId>| block.is_none_or(|b| cx.analysis().loops().contains(id, b));
    match values.symbol(symbol) {
        Some(AffineSymbol::Value { value, .. }) => {
            let step = factor
                .unsigned_abs()
                .saturating_mul(values.alignment(value).divisor());
            let changes = match cx.ssa().map(|ssa| ssa.value(value)) {
                Some(Value::Def { stmt, .. }) => is_in_loop(cx.cfg().of_statement(stmt)),
                Some(Value::Phi { block, .. }) => is_in_loop(Some(block)),
                _ => false,
            };
            step.is_multiple_of(alignment) || !changes
        }
        Some(AffineSymbol::Product(a, b)) => {
            // No factor is a multiple of this alignment.
            let is_unchanged = |symbol| stays_aligned(cx, values, id, symbol, 1, u64::MAX);
            factor.unsigned_abs().is_multiple_of(alignment) || is_unchanged(a) && is_unchanged(b)
        }
        Some(_) => true,
        None => false,
    }
}
