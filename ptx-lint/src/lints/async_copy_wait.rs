//! `async-copy-wait`: asynchronous copies whose destination or source is accessed too early.

use alloc::vec::Vec;

use crate::context::FunctionContext;
use crate::{Finding, Lint, protocols};

pub(crate) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    protocols::check(cx, Lint::AsyncCopyWait, found);
}
