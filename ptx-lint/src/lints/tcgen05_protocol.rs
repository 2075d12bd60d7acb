//! `tcgen05-protocol`: tensor memory that is accessed, allocated or freed at the wrong time.

use alloc::vec::Vec;

use crate::context::FunctionContext;
use crate::{Finding, Lint, protocols};

pub(crate) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    protocols::check(cx, Lint::Tcgen05Protocol, found);
}
