//! Reads of the carry flag that another instruction may have changed since it was written: it is not preserved across calls, and compilers may
//! put other instructions between assembly statements and between blocks (9.7.2).

use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::ssa::Value;
use ptx_ir::StmtId;

use crate::context::FunctionContext;
use crate::{Finding, Lint};

/// The reason why the carry flag may have changed between its last write and an instruction that reads it.
#[derive(Copy, Clone)]
enum Clobber {
    /// A call.
    Call(StmtId),
    /// The start of the block: the flag was written in another block.
    BlockStart,
    /// Code between the assembly statement that contains the last write and the one that contains the read.
    OtherAssembly { write: StmtId },
}

/// The last write of the carry flag in a block.
#[derive(Copy, Clone)]
struct Write {
    stmt: StmtId,
    /// The number of the assembly statement that contains it.
    assembly: Option<u32>,
}

/// The possible findings of a function, one for each reason.
#[derive(Default)]
struct PossibleFindings {
    block_start: Option<usize>,
    other_assembly: Option<usize>,
}

/// Adds a finding for each read after a call, and one for all other reads with the same reason.
pub(super) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    if !cx
        .instructions()
        .any(|inst| inst.facts.is_known() && inst.facts.reads_carry())
    {
        return;
    }
    let mut possible = PossibleFindings::default();
    for (id, block) in cx.cfg().blocks() {
        if !cx.analysis().is_reachable(id) {
            continue;
        }
        let mut write: Option<Write> = None;
        // The last call after the write.
        let mut call: Option<StmtId> = None;
        for (stmt, inst) in block.insts(cx.body()) {
            let facts = cx.facts().inst(inst);
            let assembly = cx.inline_assembly().assembly(stmt);
            if facts.callees().is_some() {
                call = Some(stmt);
            }
            if !facts.is_known() {
                write = Some(Write { stmt, assembly });
                continue;
            }
            if facts.reads_carry()
                && let Some(clobber) = clobber(write, call, assembly)
                && is_written(cx, stmt)
            {
                report(cx, stmt, clobber, &mut possible, findings);
            }
            if facts.writes_carry() && facts.callees().is_none() {
                write = Some(Write { stmt, assembly });
                call = None;
            }
        }
    }
}

/// The reason why the carry flag may have changed before a read in an assembly statement.
fn clobber(write: Option<Write>, call: Option<StmtId>, assembly: Option<u32>) -> Option<Clobber> {
    match (write, call) {
        (_, Some(call)) => Some(Clobber::Call(call)),
        (None, None) => Some(Clobber::BlockStart),
        (Some(write), None) => {
            (write.assembly != assembly).then_some(Clobber::OtherAssembly { write: write.stmt })
        }
    }
}

/// Whether any path to a statement writes the carry flag that it reads.
fn is_written(cx: &FunctionContext<'_>, stmt: StmtId) -> bool {
    let Some(ssa) = cx.ssa() else { return false };
    let value = ssa.read(stmt, ssa.carry());
    value.is_some_and(|value| !matches!(ssa.value(value), Value::Entry { .. }))
}

fn report(
    cx: &FunctionContext<'_>,
    stmt: StmtId,
    clobber: Clobber,
    possible: &mut PossibleFindings,
    findings: &mut Vec<Finding>,
) {
    let mut definite = None;
    let reported = match clobber {
        Clobber::Call(_) => &mut definite,
        Clobber::BlockStart => &mut possible.block_start,
        Clobber::OtherAssembly { .. } => &mut possible.other_assembly,
    };
    if let Some(finding) = reported.and_then(|index| findings.get_mut(index)) {
        finding.repeat(cx.span(stmt));
        return;
    }
    *reported = Some(findings.len());
    let certainty = match clobber {
        Clobber::Call(_) => Certainty::Definite,
        _ => Certainty::Possible,
    };
    let message = match clobber {
        Clobber::Call(_) => "the carry flag is read here after a call, which does not preserve it",
        Clobber::BlockStart => {
            "the carry flag that is read here was written in another block and may have been changed since"
        }
        Clobber::OtherAssembly { .. } => {
            "the carry flag that is read here was written in another assembly statement and may have been changed since"
        }
    };
    let finding = cx
        .finding(Lint::UninitializedRegister, certainty, stmt, message)
        .with_help("write and read the carry flag in one sequence of instructions; in inline assembly, in one statement");
    findings.push(match clobber {
        Clobber::Call(call) => finding.with_label(cx.span(call), "the call"),
        Clobber::BlockStart => finding,
        Clobber::OtherAssembly { write } => {
            finding.with_label(cx.span(write), "it is written here")
        }
    });
}
