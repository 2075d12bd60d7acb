//! What the lints about the performance of accesses have in common.

use alloc::string::String;

use ptx_analysis::memory_access::{Access, Request};
use ptx_isa::Proxy;

use crate::context::FunctionContext;

/// Bytes of the longest vector.
const LONGEST: u64 = 32;

/// Whether each lane of a warp accesses memory at its own address: not operations of one thread on many bytes, and not those on matrices.
pub(crate) fn is_of_lanes(cx: &FunctionContext<'_>, access: &Access) -> bool {
    let facts = cx.facts().inst(access.inst);
    let known = access.access.bytes.is_some_and(|n| n > 0 && n <= LONGEST);
    let one_thread = facts.is_one_thread() || facts.is_uniform() || facts.is_matrix_move();
    let proxy = matches!(access.access.proxy, Proxy::Generic | Proxy::ReadOnly);
    known && proxy && !one_thread && !access.access.is_mbarrier && !facts.is_multimem()
}

/// A help text with what it depends on.
pub(crate) fn with_assumptions(help: &str, request: &Request) -> String {
    match request.assumptions.one_dimension {
        true => format!(
            "{help}; this assumes at least 32 threads in dimension x, because `.reqntid` does not state the size of the block"
        ),
        false => help.into(),
    }
}
