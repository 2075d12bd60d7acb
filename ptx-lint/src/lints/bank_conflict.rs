//! `bank-conflict`: accesses to shared memory that take several passes because lanes need different words of the same bank.

use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::memory_access::Access;
use ptx_ir::facts::Space;
use ptx_isa::{Action, StateSpace};

use super::performance::{self, Lanes};
use crate::context::FunctionContext;
use crate::{Finding, Lint};

/// Bytes of a word of a bank.
const WORD: u64 = 4;

pub(crate) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    // Debug code is not optimized for speed.
    if cx.is_for_debugger() {
        return;
    }
    let Some(accesses) = cx.accesses() else {
        return;
    };
    let is_relevant = |a: &&Access| {
        is_shared(a) && (performance::is_of_lanes(cx, a) || performance::is_of_rows(cx, a))
    };
    if !accesses.all().iter().any(|a| is_relevant(&a)) {
        return;
    }
    let Some((mut threads, sets)) = cx.threads() else {
        return;
    };
    let mut last = None;
    for access in accesses.all().iter().filter(is_relevant) {
        if last == Some(access.stmt) {
            continue;
        }
        let lanes = Lanes::of(cx, (&mut threads, sets), access);
        if let Some(finding) = lanes.and_then(|lanes| finding(cx, access, &lanes)) {
            last = Some(access.stmt);
            found.push(finding);
        }
    }
}

fn is_shared(access: &Access) -> bool {
    matches!(access.space, Space::State(space) if space.base() == StateSpace::Shared)
}

fn finding(cx: &FunctionContext<'_>, access: &Access, lanes: &Lanes) -> Option<Finding> {
    let passes = lanes.passes();
    let (all, least) = (passes.all, passes.least);
    let degree = all.div_ceil(least.max(1));
    let stride = lanes.stride();
    if degree < least_degree(cx, access, lanes) {
        return None;
    }
    let how = match stride {
        Some(stride) => format!("the addresses of the lanes are {stride} bytes apart"),
        None => "lanes access different words of the same bank".into(),
    };
    let message = format!(
        "{degree}-way bank conflict: {how}, so an access of a warp takes {all} passes instead of {least}"
    );
    let finding = cx.finding(
        Lint::BankConflict,
        Certainty::Definite,
        access.stmt,
        message,
    );
    let help = match stride {
        Some(stride) if is_row(stride, lanes.bytes) => format!(
            "add {} bytes of padding to each row of {} bytes so that the lanes access different banks",
            lanes.bytes.max(WORD),
            stride.unsigned_abs()
        ),
        Some(_) => {
            "let consecutive threads access consecutive words, for example with a structure of arrays instead of an array of structures".into()
        }
        None => "pad the rows or swizzle the columns so that the lanes access different banks".into(),
    };
    let help = performance::with_assumptions(&help, lanes);
    Some(finding.with_help(help).with_degree(degree as u32))
}

/// The least degree that is a problem.
fn least_degree(cx: &FunctionContext<'_>, access: &Access, lanes: &Lanes) -> u64 {
    let facts = cx.facts().inst(access.inst);
    let stride = lanes.stride();
    let is_of_words = stride.is_none_or(|stride| stride.unsigned_abs() % WORD == 0);
    match () {
        // No thread waits for the passes of a copy, which take less time than reading its source.
        () if facts.action() == Some(Action::CopyAsync) => 8,
        // Computed layouts are often a compromise between two access patterns.
        () if !lanes.is_affine && stride.is_none() => 3,
        // Padding by words does not help if rows share words.
        () if lanes.bytes < WORD && !is_of_words => 3,
        () => 2,
    }
}

/// Whether the lanes access a column of rows whose size is a power of two.
fn is_row(stride: i64, bytes: u64) -> bool {
    let stride = stride.unsigned_abs();
    stride.is_power_of_two() && stride >= 8 * bytes.max(WORD)
}
