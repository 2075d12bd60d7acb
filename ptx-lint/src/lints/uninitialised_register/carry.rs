//! Reads of the carry flag that another instruction may have changed since it was written: it is not preserved across calls, and compilers may
//! put other instructions between assembly statements and between blocks (9.7.2).

use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_ir::{Statement, StmtId};

use crate::context::FunctionContext;
use crate::{Finding, Lint};

/// What is between the last write of the carry flag and an instruction.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Between {
    Call,
    Label,
    Assembly,
}

/// Adds a finding for each read after a call, and one for all other reads with the same reason.
pub(super) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    if !cx
        .instructions()
        .any(|at| at.facts.is_known() && at.facts.reads_carry())
    {
        return;
    }
    let lines = cx.source_lines().function(cx.body());
    let mut labels: Option<usize> = None;
    let mut assembly: Option<usize> = None;
    for (id, block) in cx.cfg().blocks() {
        if !cx.analysis().is_reachable(id) {
            continue;
        }
        // The write in this block, with the number of its assembly statement, and the call after it.
        let mut written: Option<(StmtId, Option<u32>)> = None;
        let mut call: Option<StmtId> = None;
        for (stmt, statement) in cx.body().range(block.first, block.end) {
            let Statement::Inst(inst) = statement else {
                continue;
            };
            let facts = cx.facts().inst(inst);
            if facts.callees().is_some() {
                call = Some(stmt);
            }
            if !facts.is_known() {
                written = Some((stmt, lines.assembly(stmt)));
                continue;
            }
            let own = lines.assembly(stmt);
            if facts.reads_carry() {
                let between = match (written, call) {
                    (_, Some(call)) => Some((Between::Call, Some(call))),
                    (None, None) => Some((Between::Label, None)),
                    (Some((at, other)), None) => {
                        (own != other).then_some((Between::Assembly, Some(at)))
                    }
                };
                if let Some((between, other)) = between.filter(|_| is_written(cx, stmt)) {
                    let slot = match between {
                        Between::Call => &mut None,
                        Between::Label => &mut labels,
                        Between::Assembly => &mut assembly,
                    };
                    report(cx, (stmt, between, other), slot, found);
                }
            }
            if facts.writes_carry() && facts.callees().is_none() {
                (written, call) = (Some((stmt, own)), None);
            }
        }
    }
}

/// Whether any path to a statement writes the carry flag that it reads.
fn is_written(cx: &FunctionContext<'_>, stmt: StmtId) -> bool {
    let Some(ssa) = cx.ssa() else { return false };
    let value = ssa.read(stmt, ssa.carry());
    value.is_some_and(|value| !matches!(ssa.value(value), ptx_analysis::ssa::Value::Entry { .. }))
}

fn report(
    cx: &FunctionContext<'_>,
    (stmt, between, other): (StmtId, Between, Option<StmtId>),
    reported: &mut Option<usize>,
    found: &mut Vec<Finding>,
) {
    let span = cx.span(stmt);
    if let Some(finding) = reported.and_then(|at| found.get_mut(at)) {
        finding.repeat(span);
        return;
    }
    let (certainty, message, label) = match between {
        Between::Call => (
            Certainty::Definite,
            "the carry flag is read here after a call, which does not preserve it",
            "the call",
        ),
        Between::Label => (
            Certainty::Possible,
            "the carry flag that is read here was written in another block and may have been changed since",
            "",
        ),
        Between::Assembly => (
            Certainty::Possible,
            "the carry flag that is read here was written in another assembly statement and may have been changed since",
            "it is written here",
        ),
    };
    let help = "write and read the carry flag in one sequence of instructions; in inline assembly, in one statement";
    *reported = Some(found.len());
    let finding = cx.finding(Lint::UninitialisedRegister, certainty, stmt, message);
    let finding = finding.with_help(help);
    found.push(match other {
        Some(other) => finding.with_label(cx.span(other), label),
        None => finding,
    });
}
