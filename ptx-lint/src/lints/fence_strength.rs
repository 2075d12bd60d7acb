//! `fence-strength`: redundant fences, fences and accesses with a scope that is too wide or too narrow for the communicating threads, and signals to
//! other threads without a fence.

mod adjacent;
mod missing;
mod order;
mod redundant;
mod scope;
mod signals;

use alloc::vec::Vec;

use crate::Finding;
use crate::context::FunctionContext;
use order::Code;

/// The maximum number of examined fences of a function, for each kind of finding.
const MOST_FENCES: usize = 64;

pub(crate) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    let Some(code) = Code::new(cx) else { return };
    redundant::check(cx, &code, findings);
    scope::check_wide_fences(cx, &code, findings);
    missing::check(cx, &code, findings);
    adjacent::check(cx, &code, findings);
    scope::check_narrow_accesses(cx, &code, findings);
}
