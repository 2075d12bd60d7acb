//! `barrier-protocol`: arrivals and waits of the warps of a CTA at mbarrier objects and named barriers that do not match, as `ptx_analysis::partitions`
//! finds by executing the slice of the kernel that uses them.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::partitions::{Problem, ProblemKind, Relation, problems};
use ptx_ir::Statement;

use crate::context::FunctionContext;
use crate::{Finding, Lint};

pub(crate) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    if cx.is_kernel() {
        findings.extend(
            problems(cx.analysis())
                .iter()
                .filter_map(|p| finding(cx, p)),
        );
    }
}

fn finding(cx: &FunctionContext<'_>, problem: &Problem) -> Option<Finding> {
    let Some(Statement::Inst(inst)) = cx.body().statement(problem.stmt) else {
        return None;
    };
    let message = format!("`{}` {}", cx.mnemonic(inst), description(problem.kind));
    let mut finding = cx
        .finding(
            Lint::BarrierProtocol,
            Certainty::Possible,
            problem.stmt,
            message,
        )
        .with_help(help(problem.kind));
    for (stmt, relation) in &problem.related {
        match relation {
            Relation::Waits => finding.repeat(cx.span(*stmt)),
            Relation::Initializes => {
                finding = finding.with_label(cx.span(*stmt), "the object is initialized here");
            }
            Relation::Arrives => {
                finding = finding.with_label(cx.span(*stmt), "the last arrival is here");
            }
            Relation::Reads => {
                finding = finding.with_label(cx.span(*stmt), "the memory is read here");
            }
            Relation::Copies => {
                finding = finding.with_label(cx.span(*stmt), "the memory is written here");
            }
            _ => {}
        }
    }
    Some(finding)
}

/// Returns what may happen, after the mnemonic of the instruction.
fn description(kind: ProblemKind) -> String {
    let times =
        |number: u64, noun: &str| format!("{number} {noun}{}", if number == 1 { "" } else { "s" });
    match kind {
        ProblemKind::PhaseNeverCompletes {
            phase,
            count,
            arrived,
        } => format!(
            "may wait for ever: phase {phase} of the mbarrier object expects {}, and {arrived} {}",
            times(count, "arrival"),
            if arrived == 1 { "happens" } else { "happen" }
        ),
        ProblemKind::Bytes { phase, missing } if missing > 0 => format!(
            "may expect too many bytes: in phase {phase} of the mbarrier object, copies transfer {} less",
            times(missing.unsigned_abs(), "byte")
        ),
        ProblemKind::Bytes { phase, missing } => format!(
            "may expect too few bytes: in phase {phase} of the mbarrier object, copies transfer {} more",
            times(missing.unsigned_abs(), "byte")
        ),
        ProblemKind::TooManyArrivals { count, arrived } => format!(
            "may complete several phases: {arrived} lanes of a warp arrive, and a phase of the mbarrier object expects {}",
            times(count, "arrival")
        ),
        ProblemKind::ArrivalInFullPhase { count } => format!(
            "may arrive before the previous copies are complete: the phase of the mbarrier object expects {}, which happened",
            times(count, "arrival")
        ),
        ProblemKind::RepeatedCopy { copies } => format!(
            "may start {copies} copies to the same memory: {copies} lanes of a warp execute it"
        ),
        ProblemKind::ArrivalBeforeRead => String::from(
            "may arrive too early: the warp reads memory after it that a copy overwrites when the phase is complete",
        ),
        ProblemKind::CopyOverRead => {
            String::from("may overwrite shared memory that another warp still reads")
        }
        ProblemKind::ReadOfPendingCopy => {
            String::from("may read shared memory before a copy to it is complete")
        }
        ProblemKind::UseBeforeInitialization => {
            String::from("may use an mbarrier object before another warp initializes it")
        }
        ProblemKind::NotInitialized => String::from(
            "may use an mbarrier object that is not initialized: the kernel initializes others",
        ),
        ProblemKind::EarlyWait => String::from(
            "may return before the data arrived: the first wait is for the parity of the phase before the first one",
        ),
        ProblemKind::RepeatedWait => String::from(
            "may return twice for the same phase of the mbarrier object, and so before the next phase is complete",
        ),
        ProblemKind::BarrierNeverCompletes {
            barrier,
            count,
            arrived,
        } => format!(
            "may wait for ever: barrier {barrier} waits for {}, and {arrived} arrive",
            times(count, "thread")
        ),
        ProblemKind::ArrivalTwice { barrier } => {
            format!("may arrive at barrier {barrier} a second time before the barrier is complete")
        }
        _ => String::from("may use a barrier wrongly"),
    }
}

fn help(kind: ProblemKind) -> &'static str {
    match kind {
        ProblemKind::PhaseNeverCompletes { .. } => {
            "compare the count of `mbarrier.init` with the arrivals of all warps at this object, and the stage and parity for which each warp waits"
        }
        ProblemKind::Bytes { .. } => {
            "expect the sum of the bytes of all copies that report to the object in one phase"
        }
        ProblemKind::TooManyArrivals { .. } => {
            "arrive in one elected lane, or initialize the object with the number of all threads that arrive; check that this is the object for which the other warps wait"
        }
        ProblemKind::ArrivalInFullPhase { .. } => {
            "wait until the buffer is empty before copying to it again, with the mbarrier object at which its readers arrive"
        }
        ProblemKind::RepeatedCopy { .. } => "start the copy in one elected lane of one warp",
        ProblemKind::ArrivalBeforeRead => {
            "arrive after the last read of the buffer, in all warps that read it"
        }
        ProblemKind::CopyOverRead => {
            "start the copy only after all warps that read the memory arrived at a barrier for which this warp waits"
        }
        ProblemKind::ReadOfPendingCopy => {
            "wait for the phase of the mbarrier object to which the copy reports; check the stage and the parity"
        }
        ProblemKind::UseBeforeInitialization => {
            "add a barrier for all threads after the initialization"
        }
        ProblemKind::NotInitialized => {
            "initialize each object, and check the stage and the address of the object"
        }
        ProblemKind::EarlyWait => {
            "wait for parity 0 first; only a wait for empty buffers begins with parity 1"
        }
        ProblemKind::RepeatedWait => {
            "invert the parity after each phase, or each time that the stages begin again"
        }
        ProblemKind::BarrierNeverCompletes { .. } => {
            "use the number of the threads that arrive, and let each of them execute the barrier"
        }
        _ => {
            "let the thread wait for the barrier, or for an answer of the other threads, before it arrives again"
        }
    }
}
