//! `proxy-fence`: missing proxy fences.

use alloc::vec::Vec;

use crate::context::FunctionContext;
use crate::{Finding, Lint, protocols};

pub(crate) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    protocols::check(cx, Lint::ProxyFence, found);
}
