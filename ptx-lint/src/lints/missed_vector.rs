//! `missed-vector`: adjacent accesses that could be one vector access.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::memory_access::{Access, Adjacent};
use ptx_ir::Operand;
use ptx_ir::facts::Space;
use ptx_isa::StateSpace;

use crate::context::FunctionContext;
use crate::{Finding, Lint};

/// The maximum number of elements of a vector that all targets support.
const MOST_ELEMENTS: usize = 4;

pub(crate) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    // Debug code is not optimized for speed.
    if cx.is_for_debugger() {
        return;
    }
    let Some(accesses) = cx.accesses() else {
        return;
    };
    let aligned = accesses
        .adjacent()
        .iter()
        .map(|adjacent| (adjacent, Certainty::Definite));
    let likely_aligned = accesses
        .likely_adjacent()
        .iter()
        .map(|adjacent| (adjacent, Certainty::Possible));
    for (adjacent, certainty) in aligned.chain(likely_aligned) {
        let members: Vec<&Access> = adjacent
            .accesses
            .iter()
            .filter_map(|index| accesses.all().get(*index))
            .collect();
        // Unoptimized code keeps its variables on the stack.
        if cx.is_unoptimized() && members.iter().any(|access| is_local(access)) {
            continue;
        }
        findings.extend(finding(cx, adjacent, members, certainty));
    }
}

fn is_local(access: &Access) -> bool {
    matches!(access.space, Space::State(space) if space.base() == StateSpace::Local)
}

/// Returns the finding about adjacent accesses. `members` are the accesses.
fn finding(
    cx: &FunctionContext<'_>,
    adjacent: &Adjacent,
    mut members: Vec<&Access>,
    certainty: Certainty,
) -> Option<Finding> {
    members.sort_by(|a, b| cx.order(a.stmt, b.stmt));
    let (first, later) = members.split_first()?;
    let mnemonic = cx.mnemonic(first.inst);
    if later
        .iter()
        .any(|access| cx.mnemonic(access.inst) != mnemonic)
    {
        return None;
    }
    let (data, _) = first.access.data?;
    let elements = match data {
        Operand::Vector(list) => cx.body().pool().list(list).len(),
        _ => 1,
    };
    let count = elements * members.len();
    if count > MOST_ELEMENTS {
        return None;
    }
    let accesses = if first.access.writes() {
        "stores"
    } else {
        "loads"
    };
    let (may, condition) = match certainty {
        Certainty::Definite => ("could", ": the address is sufficiently aligned"),
        Certainty::Possible => ("may", " if the pointer is aligned like an allocation"),
    };
    let message = format!(
        "{} {accesses} of adjacent memory {may} be combined into one of {} bytes{condition}",
        members.len(),
        adjacent.bytes
    );
    let mut finding = cx
        .finding(Lint::MissedVector, certainty, first.stmt, message)
        .with_help(format!(
            "use `{}` with {count} registers",
            vector_mnemonic(mnemonic, count)
        ));
    for access in later {
        finding = finding.with_label(cx.span(access.stmt), "adjacent access");
    }
    Some(finding)
}

/// Returns the mnemonic of an access to a vector of `count` elements.
fn vector_mnemonic(mnemonic: &str, count: usize) -> String {
    let scalar = mnemonic.replacen(".v2", "", 1);
    match scalar.rsplit_once('.') {
        Some((start, element_type)) => format!("{start}.v{count}.{element_type}"),
        None => scalar,
    }
}
