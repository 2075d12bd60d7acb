//! `dead-code`: unreachable code, results that are never read, variables that are only written, and functions that are never called.

mod compilers;
mod only_written;
mod uncalled;
mod unreachable;
mod unread;

use alloc::vec::Vec;

use crate::Finding;
use crate::context::FunctionContext;

pub(crate) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    unreachable::check(cx, found);
    unread::check(cx, found);
    only_written::check(cx, found);
    uncalled::check(cx, found);
}
