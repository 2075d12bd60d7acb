//! `fence-strength`: redundant fences, fences and accesses with a scope that is too wide or too narrow for the communicating threads, and signals to
//! other threads without a fence.

mod beside;
mod missing;
mod narrow;
mod order;
mod redundant;
mod signals;
mod wide;

use alloc::vec::Vec;

use crate::Finding;
use crate::context::FunctionContext;
use order::Code;

pub(crate) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    let Some(code) = Code::new(cx) else { return };
    redundant::check(cx, &code, found);
    wide::check(cx, &code, found);
    missing::check(cx, &code, found);
    beside::check(cx, &code, found);
    narrow::check(cx, &code, found);
}
