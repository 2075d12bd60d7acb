//! `barrier-divergence`: barriers that only some of the participating threads reach, and other instructions that all threads of a warp must execute
//! together.

mod balance;
mod counted;
mod split;
mod warpgroup;

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::uniformity::Uniformity;
use ptx_analysis::values::LaunchBounds;
use ptx_ir::facts::Facts;
use ptx_ir::{Statement, StmtId};
use ptx_isa::{Action, ConvergenceScope};

use crate::context::{FunctionContext, Reached};
use crate::divergence::is_counted;
use crate::{Certainty, Finding, Lint, protocols};
pub(super) use split::Split;

/// The threads of a warp.
const LANES: usize = 32;
/// The bits of a mask that names all of them.
const ALL_LANES: i64 = 0xffff_ffff;

/// What threads reach together.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Meeting {
    /// A barrier of the CTA, which may have a number of threads.
    Cta,
    /// The barrier of the cluster or of a warp.
    Other,
    /// An instruction that all threads of a warp execute together, and that is not a barrier.
    Instruction,
}

/// A barrier, or another instruction that threads must execute together.
#[derive(Copy, Clone)]
struct Barrier {
    meeting: Meeting,
    /// The group of threads that must all reach it, or none.
    group: Uniformity,
    /// Whether it is aligned: the threads of a warp must execute it converged.
    is_aligned: bool,
    /// Whether threads may reach a different barrier instead.
    may_differ: bool,
}

pub(crate) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    protocols::check(cx, Lint::BarrierDivergence, found);
    counted::check(cx, found);
    let (Some(uniformity), Some(divergence)) = (cx.likely(), cx.divergence()) else {
        return;
    };
    let known: BTreeSet<StmtId> = found.iter().map(|f| f.stmt).collect();
    let mut split = Split::new(cx, divergence);
    // The threads of a warp are all threads of the CTA.
    let is_one_warp = LaunchBounds::of(cx.facts()).most as usize <= LANES;
    for at in cx.instructions() {
        let Some(block) = cx.cfg().of_statement(at.stmt) else {
            continue;
        };
        let guard = match at.facts.guard() {
            Some(_) => uniformity.guard(at.stmt),
            None => Uniformity::Grid,
        };
        let level = divergence.level(block).join(guard);
        let is_same = level <= Uniformity::Cta || is_one_warp && level <= Uniformity::Warp;
        if is_same || known.contains(&at.stmt) {
            continue;
        }
        if let Some(callee) = at.facts.callees() {
            if cx.waits(&callee) && level > Uniformity::Cta {
                call(cx, &mut split, &at, (block, guard), found);
            }
        } else if let Some(barrier) = barrier(cx, at.stmt, &at.facts)
            && level > barrier.group
        {
            examine(cx, &mut split, (&at, barrier), (block, level, guard), found);
        }
    }
    warpgroup::check(cx, found);
}

/// The barrier of an instruction, if it is one.
fn barrier(cx: &FunctionContext<'_>, stmt: StmtId, facts: &Facts<'_>) -> Option<Barrier> {
    let is_aligned = facts.convergence().is_some();
    let all = |group| Barrier {
        meeting: Meeting::Cta,
        group,
        is_aligned,
        may_differ: true,
    };
    let other = |group| Barrier {
        meeting: Meeting::Other,
        ..all(group)
    };
    Some(match facts.action() {
        Some(Action::BarrierSync | Action::BarrierReduce) => match is_counted(facts) {
            false => all(Uniformity::Cta),
            true if is_aligned => all(Uniformity::Warp),
            true => return None,
        },
        Some(Action::BarrierArrive) if is_aligned => all(Uniformity::Warp),
        Some(Action::ClusterArrive) => other(Uniformity::Cta),
        Some(Action::ClusterWait) if is_aligned => other(Uniformity::Warp),
        Some(Action::WarpBarrier) => {
            let mask = facts.lanes().and_then(|o| cx.constant(stmt, o))?;
            if mask & ALL_LANES != ALL_LANES {
                return None;
            }
            Barrier {
                may_differ: false,
                ..other(Uniformity::Warp)
            }
        }
        _ if is_together(facts) => Barrier {
            meeting: Meeting::Instruction,
            may_differ: false,
            ..all(Uniformity::Warp)
        },
        _ => return None,
    })
}

/// Whether all threads of a warp must execute an instruction together.
fn is_together(facts: &Facts<'_>) -> bool {
    use ConvergenceScope::{Warp, Warpgroup};
    facts.is_known() && matches!(facts.convergence(), Some(Warp | Warpgroup))
}

/// A barrier that not all threads reach.
fn examine(
    cx: &FunctionContext<'_>,
    split: &mut Split<'_, '_>,
    (at, barrier): (&Reached<'_>, Barrier),
    (block, level, guard): (BlockId, Uniformity, Uniformity),
    found: &mut Vec<Finding>,
) {
    let divergence = split.divergence;
    let causes = divergence.causes(block, barrier.group);
    let in_lanes = level == Uniformity::Varying && barrier.is_aligned;
    let is_guarded = guard > barrier.group;
    if barrier.may_differ && !in_lanes && !is_guarded && !causes.is_empty() {
        // All paths from each branch may have the same barriers.
        let mut all = causes.iter();
        let meets_in_loop =
            |branch| !barrier.is_aligned && balance::may_meet_in_loop(cx, (branch, block), at);
        if all
            .all(|branch| balance::may_meet(cx, divergence, *branch, at) || meets_in_loop(*branch))
        {
            return;
        }
    }
    // Nothing waits at the barrier of the cluster for warps that exit instead.
    let is_of_cluster = matches!(
        at.facts.action(),
        Some(Action::ClusterArrive | Action::ClusterWait)
    );
    if is_of_cluster && !in_lanes && !is_guarded && !causes.is_empty() {
        let mut all = causes.iter();
        if all.all(|branch| split.others_exit(*branch, block)) {
            return;
        }
    }
    // No barrier waits for exited threads, but all lanes of a warp execute an aligned one together.
    let parts = barrier.is_aligned || barrier.group == Uniformity::Warp;
    let certain = level == Uniformity::Varying
        && parts
        && match (is_guarded, causes.as_slice()) {
            (true, []) => split.splits(at.stmt, &at.facts),
            (false, [branch]) => {
                split.decides(*branch, block) && is_first(cx, *branch, (block, at.stmt))
            }
            _ => false,
        };
    let certainty = match certain {
        true => Certainty::Definite,
        false => Certainty::Possible,
    };
    let who = match level {
        Uniformity::Varying => "some threads of a warp",
        _ => "some warps",
    };
    let message = format!(
        "{who} {} not reach `{}`, which {}",
        if certain { "do" } else { "may" },
        cx.mnemonic(at.inst),
        requires(&barrier)
    );
    let finding = cx.finding(Lint::BarrierDivergence, certainty, at.stmt, message);
    let finding = with_cause(cx, finding, &causes);
    found.push(finding.with_help(help(level, &barrier)));
}

fn requires(barrier: &Barrier) -> String {
    let aligned = match barrier.is_aligned {
        true => " and must be executed by converged warps",
        false => "",
    };
    match (barrier.meeting, barrier.group) {
        (Meeting::Instruction, _) => "all threads of the warp must execute together".into(),
        (Meeting::Other, Uniformity::Cta) => {
            format!("waits for all threads of the cluster that have not exited{aligned}")
        }
        (_, Uniformity::Cta) => format!("waits for all threads of the CTA{aligned}"),
        _ => "waits for all threads of the warp and must be executed by a converged warp".into(),
    }
}

fn help(level: Uniformity, barrier: &Barrier) -> &'static str {
    match (barrier.meeting, level, barrier.group) {
        (_, Uniformity::Varying, Uniformity::Warp) => "move it out of the divergent code",
        (Meeting::Cta, ..) => {
            "move it to code that all threads execute, or specify the number of participating threads"
        }
        _ => "move it to code that all threads execute",
    }
}

/// Adds a label at the divergent branch.
pub(super) fn with_cause(
    cx: &FunctionContext<'_>,
    finding: Finding,
    causes: &[BlockId],
) -> Finding {
    match causes.first().and_then(|branch| last(cx, *branch)) {
        Some((stmt, _)) => finding.with_label(cx.span(stmt), "threads diverge here"),
        None => finding,
    }
}

/// The last instruction of a block.
pub(super) fn last<'a>(cx: &FunctionContext<'a>, block: BlockId) -> Option<(StmtId, Facts<'a>)> {
    let of = cx.cfg().block(block)?;
    let mut statements = cx.body().range(of.first, of.end).rev();
    statements.find_map(|(stmt, statement)| match statement {
        Statement::Inst(inst) => Some((stmt, cx.facts().inst(inst))),
        _ => None,
    })
}

/// Whether there is no barrier on the paths from a branch to a statement. When threads leave a barrier, the others may have exited and then need not reach
/// the next one.
fn is_first(cx: &FunctionContext<'_>, branch: BlockId, (block, stmt): (BlockId, StmtId)) -> bool {
    let waits = |facts: &Facts<'_>| {
        let is_barrier = matches!(
            facts.action(),
            Some(Action::BarrierSync | Action::BarrierReduce | Action::ClusterWait)
        );
        is_barrier || facts.callees().is_some_and(|callee| cx.waits(&callee))
    };
    let mut at = Some(block);
    while let Some(next) = at.filter(|at| *at != branch) {
        let Some(of) = cx.cfg().block(next) else {
            return false;
        };
        let end = if next == block { stmt } else { of.end };
        let mut before = cx.body().range(of.first, end);
        let is_barrier = |statement| match statement {
            Statement::Inst(inst) => waits(&cx.facts().inst(inst)),
            _ => false,
        };
        if before.any(|(_, statement)| is_barrier(statement)) {
            return false;
        }
        at = cx.analysis().idom(next);
    }
    true
}

/// A call of a function that waits for all threads of the CTA.
fn call(
    cx: &FunctionContext<'_>,
    split: &mut Split<'_, '_>,
    at: &Reached<'_>,
    (block, guard): (BlockId, Uniformity),
    found: &mut Vec<Finding>,
) {
    let causes = split.divergence.causes(block, Uniformity::Cta);
    if causes.is_empty() && guard <= Uniformity::Cta {
        // The finding is at the call of this function.
        return;
    }
    let certain = match causes.as_slice() {
        [branch] if guard <= Uniformity::Cta => {
            split.decides(*branch, block) && is_first(cx, *branch, (block, at.stmt))
        }
        _ => false,
    };
    let certainty = match certain {
        true => Certainty::Definite,
        false => Certainty::Possible,
    };
    let message = format!(
        "some threads {} not call the function, which waits at a barrier for all threads of the CTA",
        if certain { "do" } else { "may" }
    );
    let finding = cx.finding(Lint::BarrierDivergence, certainty, at.stmt, message);
    let finding = with_cause(cx, finding, &causes);
    found.push(finding.with_help("call it from code that all threads execute"));
}
