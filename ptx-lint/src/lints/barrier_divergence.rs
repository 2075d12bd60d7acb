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

use super::protocols;
use crate::context::{FunctionContext, Reached};
use crate::divergence::is_counted;
use crate::{Certainty, Finding, Lint};
pub(super) use split::Split;

/// The threads of a warp.
const LANES: usize = 32;
/// The bits of a mask that contains all lanes.
const ALL_LANES: i64 = 0xffff_ffff;

/// The kind of an instruction that threads execute together.
#[derive(Copy, Clone, PartialEq, Eq)]
enum BarrierKind {
    /// A barrier of the CTA, which may have a number of threads.
    Cta,
    /// The barrier of the cluster or of a warp.
    ClusterOrWarp,
    /// An instruction that all threads of a warp execute together, and that is not a barrier.
    Instruction,
}

/// A barrier, or another instruction that threads must execute together.
#[derive(Copy, Clone)]
struct Barrier {
    kind: BarrierKind,
    /// The group of threads that must all reach it, or none.
    group: Uniformity,
    /// The threads of a warp must execute it converged.
    is_aligned: bool,
    /// Threads may reach a different barrier instead.
    is_replaceable: bool,
}

/// A reachable instruction that not all threads of the CTA reach.
struct DivergentInst<'a, 'c> {
    inst: &'a Reached<'c>,
    block: BlockId,
    /// The group of threads in which the guard is uniform.
    guard: Uniformity,
    /// The largest group whose threads all execute the instruction, or none.
    level: Uniformity,
}

pub(crate) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    protocols::check(cx, Lint::BarrierDivergence, findings);
    counted::check(cx, findings);
    let (Some(uniformity), Some(divergence)) = (cx.likely(), cx.divergence()) else {
        return;
    };
    let reported: BTreeSet<StmtId> = findings.iter().map(|finding| finding.stmt).collect();
    let mut split = Split::new(cx, divergence);
    // The threads of a warp are all threads of the CTA.
    let is_one_warp = LaunchBounds::of(cx.facts()).most as usize <= LANES;
    for inst in cx.instructions() {
        let Some(block) = cx.cfg().of_statement(inst.stmt) else {
            continue;
        };
        let guard = match inst.facts.guard() {
            Some(_) => uniformity.guard(inst.stmt),
            None => Uniformity::Grid,
        };
        let level = divergence.level(block).join(guard);
        let is_reached_by_all =
            level <= Uniformity::Cta || is_one_warp && level <= Uniformity::Warp;
        if is_reached_by_all || reported.contains(&inst.stmt) {
            continue;
        }
        let divergent = DivergentInst {
            inst: &inst,
            block,
            guard,
            level,
        };
        if let Some(callee) = inst.facts.callees() {
            if cx.callee_waits(&callee) && level > Uniformity::Cta {
                findings.extend(call_finding(cx, &mut split, &divergent));
            }
        } else if let Some(barrier) = barrier(cx, inst.stmt, &inst.facts)
            && level > barrier.group
        {
            findings.extend(barrier_finding(cx, &mut split, &divergent, barrier));
        }
    }
    warpgroup::check(cx, findings);
}

/// Returns the barrier of an instruction, if it is one.
fn barrier(cx: &FunctionContext<'_>, stmt: StmtId, facts: &Facts<'_>) -> Option<Barrier> {
    let is_aligned = facts.convergence().is_some();
    let cta_barrier = |group| Barrier {
        kind: BarrierKind::Cta,
        group,
        is_aligned,
        is_replaceable: true,
    };
    let other_barrier = |group| Barrier {
        kind: BarrierKind::ClusterOrWarp,
        ..cta_barrier(group)
    };
    Some(match facts.action() {
        Some(Action::BarrierSync | Action::BarrierReduce) => {
            if !is_counted(facts) {
                cta_barrier(Uniformity::Cta)
            } else if is_aligned {
                cta_barrier(Uniformity::Warp)
            } else {
                return None;
            }
        }
        Some(Action::BarrierArrive) if is_aligned => cta_barrier(Uniformity::Warp),
        Some(Action::ClusterArrive) => other_barrier(Uniformity::Cta),
        Some(Action::ClusterWait) if is_aligned => other_barrier(Uniformity::Warp),
        Some(Action::WarpBarrier) => {
            let mask = facts
                .member_mask()
                .and_then(|operand| cx.constant(stmt, operand))?;
            if mask & ALL_LANES != ALL_LANES {
                return None;
            }
            Barrier {
                is_replaceable: false,
                ..other_barrier(Uniformity::Warp)
            }
        }
        _ if is_executed_by_full_warp(facts) => Barrier {
            kind: BarrierKind::Instruction,
            group: Uniformity::Warp,
            is_aligned,
            is_replaceable: false,
        },
        _ => return None,
    })
}

/// Returns `true` if all threads of a warp must execute an instruction together.
fn is_executed_by_full_warp(facts: &Facts<'_>) -> bool {
    use ConvergenceScope::{Warp, Warpgroup};
    facts.is_known() && matches!(facts.convergence(), Some(Warp | Warpgroup))
}

/// Returns the finding about a barrier that not all threads of its group reach. Returns `None` if the threads that do not reach it are not waited for,
/// or may arrive at the same barrier elsewhere.
fn barrier_finding(
    cx: &FunctionContext<'_>,
    split: &mut Split<'_, '_>,
    divergent: &DivergentInst<'_, '_>,
    barrier: Barrier,
) -> Option<Finding> {
    let DivergentInst {
        inst, block, level, ..
    } = *divergent;
    let divergence = split.divergence;
    let causes = divergence.causes(block, barrier.group);
    let splits_warp = level == Uniformity::Varying && barrier.is_aligned;
    let is_guarded = divergent.guard > barrier.group;
    let is_caused_by_branches = !splits_warp && !is_guarded && !causes.is_empty();
    if is_caused_by_branches && barrier.is_replaceable {
        // All paths from each branch may have the same barriers.
        let may_meet = causes.iter().all(|branch| {
            balance::may_meet(cx, divergence, *branch, inst)
                || !barrier.is_aligned && balance::may_meet_in_loop(cx, *branch, block, inst)
        });
        if may_meet {
            return None;
        }
    }
    // The barrier of the cluster does not wait for warps that have exited.
    let is_cluster_barrier = matches!(
        inst.facts.action(),
        Some(Action::ClusterArrive | Action::ClusterWait)
    );
    if is_caused_by_branches
        && is_cluster_barrier
        && causes
            .iter()
            .all(|branch| split.others_exit(*branch, block))
    {
        return None;
    }
    // No barrier waits for exited threads, but all lanes of a warp execute an aligned one together.
    let waits_for_lanes = barrier.is_aligned || barrier.group == Uniformity::Warp;
    let is_definite = level == Uniformity::Varying
        && waits_for_lanes
        && match causes.as_slice() {
            [] => is_guarded && split.splits(inst.stmt, &inst.facts),
            [branch] => !is_guarded && is_definitely_missed(cx, split, *branch, divergent),
            _ => false,
        };
    let threads = match level {
        Uniformity::Varying => "some threads of a warp",
        _ => "some warps",
    };
    let message = format!(
        "{threads} {} not reach `{}`, which {}",
        if is_definite { "do" } else { "may" },
        cx.mnemonic(inst.inst),
        requirement(&barrier)
    );
    let finding = cx.finding(
        Lint::BarrierDivergence,
        certainty(is_definite),
        inst.stmt,
        message,
    );
    Some(with_cause(cx, finding, &causes).with_help(help(level, &barrier)))
}

fn certainty(is_definite: bool) -> Certainty {
    if is_definite {
        Certainty::Definite
    } else {
        Certainty::Possible
    }
}

/// Returns `true` if a branch certainly keeps some threads from the first barrier after it.
fn is_definitely_missed(
    cx: &FunctionContext<'_>,
    split: &mut Split<'_, '_>,
    branch: BlockId,
    divergent: &DivergentInst<'_, '_>,
) -> bool {
    split.decides(branch, divergent.block) && is_first_barrier(cx, branch, divergent)
}

/// Returns the clause of the message that follows the mnemonic.
fn requirement(barrier: &Barrier) -> String {
    let aligned = if barrier.is_aligned {
        " and must be executed by converged warps"
    } else {
        ""
    };
    match (barrier.kind, barrier.group) {
        (BarrierKind::Instruction, _) => "all threads of the warp must execute together".into(),
        (BarrierKind::ClusterOrWarp, Uniformity::Cta) => {
            format!("waits for all threads of the cluster that have not exited{aligned}")
        }
        (_, Uniformity::Cta) => format!("waits for all threads of the CTA{aligned}"),
        _ => "waits for all threads of the warp and must be executed by a converged warp".into(),
    }
}

fn help(level: Uniformity, barrier: &Barrier) -> &'static str {
    match (barrier.kind, level, barrier.group) {
        (_, Uniformity::Varying, Uniformity::Warp) => "move it out of the divergent code",
        (BarrierKind::Cta, ..) => {
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
    match causes
        .first()
        .and_then(|branch| cx.last_instruction(*branch))
    {
        Some((stmt, _)) => finding.with_label(cx.span(stmt), "threads diverge here"),
        None => finding,
    }
}

/// Returns `true` if no block that dominates an instruction and is dominated by a branch has a barrier before the instruction. When threads leave a
/// barrier, the other threads may have exited and then need not reach the next one.
fn is_first_barrier(
    cx: &FunctionContext<'_>,
    branch: BlockId,
    divergent: &DivergentInst<'_, '_>,
) -> bool {
    let mut dominator = Some(divergent.block);
    while let Some(id) = dominator.filter(|id| *id != branch) {
        let Some(block) = cx.cfg().block(id) else {
            return false;
        };
        let end = if id == divergent.block {
            divergent.inst.stmt
        } else {
            block.end
        };
        let mut statements = cx.body().range(block.first, end);
        let has_barrier = statements.any(|(_, statement)| match statement {
            Statement::Inst(inst) => waits(cx, &cx.facts().inst(inst)),
            _ => false,
        });
        if has_barrier {
            return false;
        }
        dominator = cx.analysis().idom(id);
    }
    true
}

/// Returns `true` if threads wait at an instruction, or in a function that it calls.
fn waits(cx: &FunctionContext<'_>, facts: &Facts<'_>) -> bool {
    let is_barrier = matches!(
        facts.action(),
        Some(Action::BarrierSync | Action::BarrierReduce | Action::ClusterWait)
    );
    is_barrier
        || facts
            .callees()
            .is_some_and(|callee| cx.callee_waits(&callee))
}

/// Returns the finding about a call of a function that waits for all threads of the CTA. Returns `None` if this function as a whole is called by some
/// threads only: the finding is then at its call.
fn call_finding(
    cx: &FunctionContext<'_>,
    split: &mut Split<'_, '_>,
    call: &DivergentInst<'_, '_>,
) -> Option<Finding> {
    let causes = split.divergence.causes(call.block, Uniformity::Cta);
    let is_guarded = call.guard > Uniformity::Cta;
    if causes.is_empty() && !is_guarded {
        return None;
    }
    let is_definite = match causes.as_slice() {
        [branch] => !is_guarded && is_definitely_missed(cx, split, *branch, call),
        _ => false,
    };
    let message = format!(
        "some threads {} not call the function, which waits at a barrier for all threads of the CTA",
        if is_definite { "do" } else { "may" }
    );
    let finding = cx.finding(
        Lint::BarrierDivergence,
        certainty(is_definite),
        call.inst.stmt,
        message,
    );
    Some(with_cause(cx, finding, &causes).with_help("call it from code that all threads execute"))
}
