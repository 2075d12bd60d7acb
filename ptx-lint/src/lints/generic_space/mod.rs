//! `generic-space`: accesses through generic addresses that are always in one state space, and accesses whose address is of the wrong kind.

mod known;
mod mismatch;

use alloc::vec::Vec;

use crate::Finding;
use crate::context::FunctionContext;

pub(crate) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    known::check(cx, found);
    mismatch::check(cx, found);
}
