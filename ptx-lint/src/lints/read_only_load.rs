//! `read-only-load`: loads of memory that the kernel writes by instructions that only read constant data: `ldu`, and loads with `.nc`.

use alloc::format;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::memory_access::{Access, Provenance};
use ptx_analysis::values::{AffineSymbol, Values};
use ptx_ir::facts::Space;
use ptx_isa::{Modifier, Proxy, StateSpace};

use crate::context::FunctionContext;
use crate::{Finding, Lint};

/// The maximum number of pairs of a load and a write that are compared in a function.
const MOST_PAIRS: usize = 1 << 14;

pub(crate) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    let (Some(accesses), Some(values)) = (cx.accesses(), cx.values()) else {
        return;
    };
    let is_global = |access: &&Access| {
        let is_global =
            matches!(access.space, Space::State(space) if space.base() == StateSpace::Global);
        is_global && access.provenance.is_some()
    };
    let loads = accesses.all().iter().filter(is_global).filter(|access| {
        let facts = cx.facts().inst(access.inst);
        facts.proxy() == Proxy::ReadOnly && access.access.reads()
    });
    let writes: Vec<&Access> = accesses
        .all()
        .iter()
        .filter(is_global)
        .filter(|access| access.access.writes())
        .collect();
    let mut pairs = 0;
    // The first finding about each object. Further loads of the object have the same cause.
    let mut reported: Vec<(Option<Provenance>, Certainty, usize)> = Vec::new();
    for load in loads {
        let mut overlap: Option<(Certainty, &Access)> = None;
        for write in writes
            .iter()
            .filter(|write| write.provenance == load.provenance)
        {
            pairs += 1;
            if pairs > MOST_PAIRS {
                return;
            }
            let Some(certainty) = overlap_certainty(cx, values, load, write) else {
                continue;
            };
            if overlap.is_none_or(|(previous, _)| previous < certainty) {
                overlap = Some((certainty, *write));
            }
        }
        let Some((certainty, write)) = overlap else {
            continue;
        };
        let first = reported
            .iter()
            .find(|(object, other, _)| *object == load.provenance && *other == certainty);
        if let Some(first) = first.and_then(|(.., index)| findings.get_mut(*index)) {
            first.repeat(cx.span(load.stmt));
            continue;
        }
        reported.push((load.provenance, certainty, findings.len()));
        findings.push(finding(cx, load, write, certainty));
    }
}

fn finding(
    cx: &FunctionContext<'_>,
    load: &Access,
    write: &Access,
    certainty: Certainty,
) -> Finding {
    let verb = match certainty {
        Certainty::Definite => "writes",
        Certainty::Possible => "may write",
    };
    let message = format!(
        "`{}` loads memory through the read-only path that the kernel {verb}: the loaded value is undefined",
        cx.mnemonic(load.inst)
    );
    let help = if cx.facts().inst(load.inst).has_modifier(Modifier::Nc) {
        "remove `.nc`, or load from memory that the kernel does not write"
    } else {
        "use `ld.global`, or load from memory that the kernel does not write"
    };
    cx.finding(Lint::ReadOnlyLoad, certainty, load.stmt, message)
        .with_help(help)
        .with_label(cx.span(write.stmt), "the memory is written here")
}

/// Returns the certainty that a load and a write, which are of one object, have bytes in common; `None` if they have none.
fn overlap_certainty(
    cx: &FunctionContext<'_>,
    values: &Values,
    load: &Access,
    write: &Access,
) -> Option<Certainty> {
    let (Some(load_address), Some(write_address)) = (load.address, write.address) else {
        return Some(Certainty::Possible);
    };
    if load_address.terms() != write_address.terms() {
        return Some(Certainty::Possible);
    }
    let (Some(load_bytes), Some(write_bytes)) = (load.bytes, write.bytes) else {
        return Some(Certainty::Possible);
    };
    let distance = write_address
        .constant()
        .wrapping_sub(load_address.constant());
    let overlaps = distance < load_bytes.try_into().unwrap_or(i64::MAX)
        && distance.saturating_neg() < write_bytes.try_into().unwrap_or(i64::MAX);
    // Other threads or iterations may access the bytes that this one does not.
    let is_one_address = load_address.terms().iter().all(|term| {
        matches!(
            values.symbol(term.symbol),
            Some(
                AffineSymbol::Parameter { .. }
                    | AffineSymbol::Variable(_)
                    | AffineSymbol::Window(_)
            )
        )
    });
    if !overlaps {
        return (!is_one_address).then_some(Certainty::Possible);
    }
    let is_always_written =
        cx.facts().inst(write.inst).guard().is_none() && executes_both(cx, load, write);
    Some(if is_always_written {
        Certainty::Definite
    } else {
        Certainty::Possible
    })
}

/// Returns `true` if each thread that executes the load executes the write as well: one of their blocks dominates or post-dominates the other.
fn executes_both(cx: &FunctionContext<'_>, load: &Access, write: &Access) -> bool {
    let blocks = cx
        .cfg()
        .of_statement(load.stmt)
        .zip(cx.cfg().of_statement(write.stmt));
    blocks.is_some_and(|(load, write)| {
        cx.analysis().dominators().dominates(write, load)
            || cx.analysis().post_dominators().dominates(write, load)
    })
}
