//! `missed-vector`: adjacent accesses that could be one vector access.

use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::memory_access::{Access, Adjacent};
use ptx_ir::Operand;
use ptx_ir::facts::Space;
use ptx_isa::StateSpace;

use crate::context::FunctionContext;
use crate::{Finding, Lint};

/// The maximum number of elements of a vector that all targets support.
const MOST: usize = 4;

pub(crate) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    // Debug code is not optimized for speed.
    if cx.is_for_debugger() {
        return;
    }
    let Some(accesses) = cx.accesses() else {
        return;
    };
    let certain = accesses.adjacent().iter().map(|a| (a, Certainty::Definite));
    let likely = accesses
        .likely_adjacent()
        .iter()
        .map(|a| (a, Certainty::Possible));
    for (adjacent, certainty) in certain.chain(likely) {
        let all = accesses.all();
        let parts = adjacent.accesses.iter().map(|at| all.get(*at));
        let parts: Option<Vec<&Access>> = parts.collect();
        // Unoptimized code keeps its variables on the stack.
        if let Some(parts) =
            parts.filter(|p| !cx.is_unoptimized() || !p.iter().any(|a| is_local(a)))
        {
            found.extend(finding(cx, adjacent, parts, certainty));
        }
    }
}

fn is_local(access: &Access) -> bool {
    matches!(access.space, Space::State(space) if space.base() == StateSpace::Local)
}

fn finding(
    cx: &FunctionContext<'_>,
    adjacent: &Adjacent,
    mut parts: Vec<&Access>,
    certainty: Certainty,
) -> Option<Finding> {
    parts.sort_by(|a, b| cx.order(a.stmt, b.stmt));
    let (first, others) = parts.split_first()?;
    let mnemonic = cx.mnemonic(first.inst);
    if others.iter().any(|a| cx.mnemonic(a.inst) != mnemonic) {
        return None;
    }
    let (data, _) = first.access.data?;
    let elements = match data {
        Operand::Vector(list) => cx.body().pool().list(list).len(),
        _ => 1,
    };
    let count = elements * parts.len();
    if count > MOST {
        return None;
    }
    let (what, bytes) = (
        if first.access.writes() {
            "stores"
        } else {
            "loads"
        },
        adjacent.bytes,
    );
    let reason = match certainty {
        Certainty::Definite => {
            "could be combined into one of {}: the address is sufficiently aligned"
        }
        Certainty::Possible => {
            "may be combined into one of {} if the pointer is aligned like an allocation"
        }
    };
    let reason = reason.replace("{}", &format!("{bytes} bytes"));
    let message = format!("{} {what} of adjacent memory {reason}", parts.len());
    let mut found = cx
        .finding(Lint::MissedVector, certainty, first.stmt, message)
        .with_help(format!(
            "use `{}` with {count} registers",
            vector(mnemonic, count)
        ));
    for other in others {
        found = found.with_label(cx.span(other.stmt), "adjacent access");
    }
    Some(found)
}

/// The mnemonic for a vector of elements.
fn vector(mnemonic: &str, count: usize) -> alloc::string::String {
    let scalar = mnemonic.replacen(".v2", "", 1);
    match scalar.rfind('.') {
        Some(at) => format!("{}.v{count}{}", &scalar[..at], &scalar[at..]),
        None => scalar,
    }
}
