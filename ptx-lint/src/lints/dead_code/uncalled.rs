//! Functions that are neither visible to other modules nor called.

use alloc::format;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;

use crate::context::FunctionContext;
use crate::{Finding, Lint};

/// One finding for such a function, at its first instruction.
pub(super) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    // Debug code and unoptimized code contain unused functions.
    if !cx.is_uncalled() || cx.is_for_debugger() || cx.is_unoptimized() {
        return;
    }
    let (Some(first), Some(function)) =
        (cx.instructions().next(), cx.module().functions().get(cx.id()))
    else {
        return;
    };
    let name = cx.module().name(function.name);
    let message = format!("`{name}` is neither visible to other modules nor called");
    let finding = cx.finding(Lint::DeadCode, Certainty::Definite, first.stmt, message);
    found.push(finding.with_help("remove the function or declare it `.visible`"));
}
