//! `bank-conflict`: accesses to shared memory that are repeated, because lanes need different words of one bank.

use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::memory_access::{Access, Pattern};
use ptx_ir::facts::Space;
use ptx_isa::StateSpace;

use super::performance;
use crate::context::FunctionContext;
use crate::{Finding, Lint};

/// Bytes of a word of a bank.
const WORD: u64 = 4;

pub(crate) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    let Some(accesses) = cx.accesses() else {
        return;
    };
    let mut last = None;
    for access in accesses.all() {
        if last == Some(access.stmt) || !is_shared(access) || !performance::is_of_lanes(cx, access) {
            continue;
        }
        if let Some(finding) = finding(cx, access) {
            last = Some(access.stmt);
            found.push(finding);
        }
    }
}

fn is_shared(access: &Access) -> bool {
    matches!(access.space, Space::State(space) if space.base() == StateSpace::Shared)
}

fn finding(cx: &FunctionContext<'_>, access: &Access) -> Option<Finding> {
    let request = access.request?;
    let degree = request.degree();
    if degree < 2 {
        return None;
    }
    let (all, least) = (request.passes.all, request.passes.least);
    let how = match request.pattern {
        Pattern::Strided(stride) => format!("the addresses of the lanes are {stride} bytes apart"),
        _ => "lanes access different words of a bank".into(),
    };
    let message = format!(
        "{degree}-way bank conflict: {how}, so a warp accesses shared memory {all} times instead of {least}"
    );
    let finding = cx.finding(Lint::BankConflict, Certainty::Definite, access.stmt, message);
    let bytes = access.access.bytes?;
    let help = match request.pattern {
        Pattern::Strided(stride) if is_row(stride, bytes) => format!(
            "add {} bytes to each row of {} bytes, so that the lanes access different banks",
            bytes.max(WORD),
            stride.unsigned_abs()
        ),
        Pattern::Strided(_) => {
            "let consecutive threads access consecutive words, for example in an array for each member of a structure".into()
        }
        _ => "pad the rows, or swizzle the columns, so that the lanes access different banks".into(),
    };
    let help = performance::with_assumptions(&help, &request);
    Some(finding.with_help(help).with_degree(degree as u32))
}

/// Whether the lanes access a column of rows of a power of two of bytes.
fn is_row(stride: i64, bytes: u64) -> bool {
    let stride = stride.unsigned_abs();
    stride.is_power_of_two() && stride >= 8 * bytes.max(WORD)
}
