//! `uninitialized-register`: registers that are read before they are written, on some paths or on all, and variables in shared and local memory that
//! are read and never written.

mod carry;
mod conditions;
mod guarded;
mod harmless;
mod never_written;
mod search;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::reg_lanes::VariableId;
use ptx_analysis::ssa::{Ssa, Use};
use ptx_ir::{Span, StmtId};

use crate::context::{FunctionContext, Reached};
use crate::{Finding, Lint};
use guarded::GuardedLoads;
use harmless::Harmless;
use search::Search;

/// The reads of an uninitialized register.
struct Reads {
    variable: VariableId,
    certainty: Certainty,
    first: StmtId,
    later: Vec<StmtId>,
    /// The statement that writes it on other paths.
    written: Option<StmtId>,
}

/// Adds a finding for each register, at its first read; possible findings of registers that are read first in the same block are one finding.
pub(crate) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    let Some(ssa) = cx.ssa() else { return };
    carry::check(cx, findings);
    never_written::check(cx, findings);
    let Some(mut search) = Search::new(cx, ssa) else {
        return;
    };
    let Some(live) = cx.live_code() else { return };
    let harmless = Harmless::new(cx, ssa.carry());
    let guarded = GuardedLoads::new(cx, ssa);
    let mut registers: BTreeMap<VariableId, Reads> = BTreeMap::new();
    // An unknown instruction may read anything.
    let is_examined = |inst: &Reached<'_>| inst.facts.is_known() && live.contains(inst.stmt);
    for inst in cx.instructions().filter(is_examined) {
        for read in ssa.uses(inst.stmt) {
            if let Some((certainty, written)) = search.certainty(read)
                && !harmless.contains(&inst, read)
                && !(certainty == Certainty::Possible && guarded.explains(&inst, written))
            {
                add(&mut registers, read, certainty, written);
            }
        }
    }
    let mut registers: Vec<Reads> = registers.into_values().collect();
    registers.sort_by_key(|reads| cx.span(reads.first).start);
    let block = |reads: &Reads| cx.cfg().of_statement(reads.first);
    let groups = registers.chunk_by(|a, b| {
        let are_possible = [a, b].map(|reads| reads.certainty) == [Certainty::Possible; 2];
        are_possible && block(a) == block(b)
    });
    findings.extend(groups.filter_map(|group| finding(cx, ssa, group)));
}

fn add(
    registers: &mut BTreeMap<VariableId, Reads>,
    read: &Use,
    certainty: Certainty,
    written: Option<StmtId>,
) {
    let first_read = Reads {
        variable: read.variable,
        certainty,
        first: read.stmt,
        later: Vec::new(),
        written,
    };
    match registers.get_mut(&read.variable) {
        None => {
            registers.insert(read.variable, first_read);
        }
        // Definite reads hide possible ones.
        Some(reads) if reads.certainty < certainty => *reads = first_read,
        Some(reads) if reads.certainty == certainty => reads.later.push(read.stmt),
        Some(_) => {}
    }
}

fn finding(cx: &FunctionContext<'_>, ssa: &Ssa, group: &[Reads]) -> Option<Finding> {
    let (reads, other_registers) = group.split_first()?;
    let name = name(cx, ssa, reads.variable);
    let other_names = match other_registers.len() {
        0 => String::new(),
        1 => String::from(", as may another register"),
        count => format!(", as may {count} other registers"),
    };
    let (message, help) = match reads.certainty {
        Certainty::Definite => (
            format!("{name} is read here before any write to it"),
            "write the register first, or read the intended register",
        ),
        Certainty::Possible => (
            format!("{name} may be read here before it is written{other_names}"),
            "write the register on every path to this instruction, or read it only on paths that write it",
        ),
    };
    let mut finding = cx
        .finding(
            Lint::UninitializedRegister,
            reads.certainty,
            reads.first,
            message,
        )
        .with_help(help);
    if let Some(stmt) = reads.written {
        finding = finding.with_label(cx.span(stmt), "written here, but not on every path");
    }
    let later = group.iter().flat_map(|reads| &reads.later);
    let firsts = other_registers.iter().map(|reads| &reads.first);
    let mut repeats: Vec<Span> = later.chain(firsts).map(|stmt| cx.span(*stmt)).collect();
    repeats.sort_by_key(|span| span.start);
    repeats.dedup();
    repeats.retain(|span| *span != cx.span(reads.first));
    finding.diagnostic.repeats = repeats.into();
    Some(finding)
}

/// The name of a variable of the dataflow analyses, for a message.
fn name(cx: &FunctionContext<'_>, ssa: &Ssa, variable: VariableId) -> String {
    if variable == ssa.carry() {
        return String::from("the carry flag");
    }
    let place = cx.analysis().variables().place(variable);
    let register = cx.body().register_name(cx.module(), place.register);
    let element = place
        .component
        .and_then(|component| ["x", "y", "z", "w"].get(usize::from(component)));
    match element {
        Some(element) => format!("`{register}.{element}`"),
        None => format!("`{register}`"),
    }
}
