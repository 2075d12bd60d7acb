//! `uninitialised-register`: registers that are read before they are written, on some paths or on all.

mod carry;
mod conditions;
mod guarded;
mod harmless;
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
    others: Vec<StmtId>,
    /// The statement that writes it on other paths.
    written: Option<StmtId>,
}

/// One finding for each register, at its first read; those of registers that are read first in the same block are one if they are possible.
pub(crate) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    let Some(ssa) = cx.ssa() else { return };
    carry::check(cx, found);
    let mut search = Search::new(cx, ssa);
    if !search.has_candidates() {
        return;
    }
    let Some(live) = cx.live_code() else { return };
    let harmless = Harmless::new(cx, ssa.carry());
    let guarded = GuardedLoads::new(cx, ssa);
    let mut all: BTreeMap<VariableId, Reads> = BTreeMap::new();
    // An unknown instruction may read anything.
    let live = |i: &Reached<'_>| i.facts.is_known() && live.contains(i.stmt);
    for inst in cx.instructions().filter(live) {
        for read in ssa.uses(inst.stmt) {
            if let Some((certainty, written)) = search.certainty(read)
                && !harmless.contains(&inst, read)
                && !(certainty == Certainty::Possible && guarded.explains(&inst, written))
            {
                add(&mut all, read, certainty, written);
            }
        }
    }
    let mut all: Vec<Reads> = all.into_values().collect();
    all.sort_by_key(|reads| cx.span(reads.first).start);
    let mut groups: Vec<Vec<Reads>> = Vec::new();
    let block = |reads: &Reads| cx.cfg().of_statement(reads.first);
    for reads in all {
        let group = groups.last_mut().filter(|group| {
            let possible = reads.certainty == Certainty::Possible;
            let first = group
                .first()
                .filter(|first| first.certainty == reads.certainty);
            possible && first.is_some_and(|first| block(first) == block(&reads))
        });
        match group {
            Some(group) => group.push(reads),
            None => groups.push(vec![reads]),
        }
    }
    found.extend(groups.iter().filter_map(|group| finding(cx, ssa, group)));
}

fn add(
    all: &mut BTreeMap<VariableId, Reads>,
    read: &Use,
    certainty: Certainty,
    written: Option<StmtId>,
) {
    let new = Reads {
        variable: read.variable,
        certainty,
        first: read.stmt,
        others: Vec::new(),
        written,
    };
    match all.get_mut(&read.variable) {
        None => {
            all.insert(read.variable, new);
        }
        // Definite reads hide possible ones.
        Some(reads) if reads.certainty < certainty => *reads = new,
        Some(reads) if reads.certainty == certainty => reads.others.push(read.stmt),
        Some(_) => {}
    }
}

fn finding(cx: &FunctionContext<'_>, ssa: &Ssa, group: &[Reads]) -> Option<Finding> {
    let (reads, more) = group.split_first()?;
    let name = name(cx, ssa, reads.variable);
    let also = match more.len() {
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
            format!("{name} may be read here before it is written{also}"),
            "write the register on every path to this instruction, or read it only on paths that write it",
        ),
    };
    let finding = cx.finding(
        Lint::UninitialisedRegister,
        reads.certainty,
        reads.first,
        message,
    );
    let mut finding = finding.with_help(help);
    if let Some(stmt) = reads.written {
        finding = finding.with_label(cx.span(stmt), "written here, but not on every path");
    }
    let others = group.iter().flat_map(|reads| &reads.others);
    let firsts = more.iter().map(|reads| &reads.first);
    let mut others: Vec<Span> = others.chain(firsts).map(|stmt| cx.span(*stmt)).collect();
    others.sort_by_key(|span| span.start);
    others.dedup();
    others.retain(|span| *span != cx.span(reads.first));
    finding.diagnostic.repeats = others.into();
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
        .lane
        .and_then(|lane| ["x", "y", "z", "w"].get(usize::from(lane)));
    match element {
        Some(element) => format!("`{register}.{element}`"),
        None => format!("`{register}`"),
    }
}
