//! `bank-conflict`: accesses to shared memory that take several passes because lanes need different words of the same bank.

use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::memory_access::Access;
use ptx_analysis::memory_access::requests::Passes;
use ptx_analysis::values::AffineSymbol;
use ptx_ir::facts::Space;
use ptx_isa::{Action, StateSpace};

use super::performance::{self, Lanes};
use crate::context::FunctionContext;
use crate::{Finding, Lint};

/// The size of a word of a bank in bytes.
const WORD: u64 = 4;
/// The least degree of possible conflicts that is reported. Other requests are as often free of conflicts.
const LEAST_UNKNOWN_DEGREE: u64 = 4;

pub(crate) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    // Debug code is not optimized for speed.
    if cx.is_for_debugger() {
        return;
    }
    let Some(accesses) = cx.accesses() else {
        return;
    };
    let shared_accesses: Vec<&Access> = accesses
        .all()
        .iter()
        .filter(|access| {
            is_shared(access)
                && (performance::is_of_lanes(cx, access) || performance::is_of_rows(cx, access))
        })
        .collect();
    if shared_accesses.is_empty() {
        return;
    }
    let mut last_reported = None;
    for access in shared_accesses {
        if last_reported == Some(access.stmt) {
            continue;
        }
        let finding = match Lanes::new(access) {
            Some(lanes) => finding(cx, access, &lanes),
            None => unknown_stride_finding(cx, access),
        };
        if let Some(finding) = finding {
            last_reported = Some(access.stmt);
            findings.push(finding);
        }
    }
}

fn is_shared(access: &Access) -> bool {
    matches!(access.space, Space::State(space) if space.base() == StateSpace::Shared)
}

fn finding(cx: &FunctionContext<'_>, access: &Access, lanes: &Lanes) -> Option<Finding> {
    let Passes { all, least, .. } = lanes.passes();
    let degree = all.div_ceil(least.max(1));
    let stride = lanes.stride();
    if degree < least_degree(cx, access, lanes) {
        return None;
    }
    let reason = match stride {
        Some(stride) => format!("the addresses of the lanes are {stride} bytes apart"),
        None => "lanes access different words of the same bank".into(),
    };
    let message = format!(
        "{degree}-way bank conflict: {reason}, so an access of a warp takes {all} passes instead of {least}"
    );
    let finding = cx.finding(
        Lint::BankConflict,
        Certainty::Definite,
        access.stmt,
        message,
    );
    let help = match stride {
        Some(stride) if is_row(stride, lanes.bytes()) => format!(
            "add {} bytes of padding to each row of {} bytes so that the lanes access different banks",
            lanes.bytes().max(WORD),
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

/// Returns the finding about an access in which the distance between lanes, or between rows of lanes, is a multiple of an unknown number.
fn unknown_stride_finding(cx: &FunctionContext<'_>, access: &Access) -> Option<Finding> {
    let request = access.request?;
    let (stride, values) = (request.stride()?, cx.values()?);
    if request.degree() < LEAST_UNKNOWN_DEGREE || !values.is_kernel() {
        return None;
    }
    // How likely other numbers are is unknown.
    let symbol = values.symbol(stride.symbol)?;
    if !matches!(
        symbol,
        AffineSymbol::Parameter { .. } | AffineSymbol::Special(..)
    ) {
        return None;
    }
    let number = performance::number_text(cx, values, stride.symbol);
    let message = format!(
        "this access may have bank conflicts: the distance between the addresses of the lanes depends on {number}"
    );
    let help = "let consecutive threads access consecutive words, or specify the size of the CTA with `.reqntid`";
    let finding = cx.finding(
        Lint::BankConflict,
        Certainty::Possible,
        access.stmt,
        message,
    );
    Some(finding.with_help(help))
}

/// Returns the least degree that is reported.
fn least_degree(cx: &FunctionContext<'_>, access: &Access, lanes: &Lanes) -> u64 {
    let facts = cx.facts().inst(access.inst);
    let stride = lanes.stride();
    let is_multiple_of_words = stride.is_none_or(|stride| stride.unsigned_abs() % WORD == 0);
    if facts.action() == Some(Action::CopyAsync) {
        // No thread waits for the passes of a copy, which take less time than reading its source.
        8
    } else if !lanes.is_affine() && stride.is_none() {
        // Computed layouts are often a compromise between two access patterns.
        3
    } else if lanes.bytes() < WORD && !is_multiple_of_words {
        // Padding by words does not help if rows share words.
        3
    } else {
        2
    }
}

/// Returns `true` if the lanes access a column of rows whose size is a power of two.
fn is_row(stride: i64, bytes: u64) -> bool {
    let stride = stride.unsigned_abs();
    stride.is_power_of_two() && stride >= 8 * bytes.max(WORD)
}
