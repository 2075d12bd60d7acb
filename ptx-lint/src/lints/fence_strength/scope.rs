//! Fences whose scope is wider than that of the communicating threads, and strong accesses with CTA scope to memory that threads of different CTAs use
//! to communicate.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_ir::StmtId;

use super::MOST_FENCES;
use super::order::{Access, Code, Effect, FencePosition, Level, Side, Step};
use crate::context::FunctionContext;
use crate::{Finding, Lint};

/// The maximum number of compared strong accesses of a function.
const MOST_ACCESSES: usize = 64;

/// Adds findings about fences whose scope is too wide.
pub(super) fn check_wide_fences(
    cx: &FunctionContext<'_>,
    code: &Code,
    findings: &mut Vec<Finding>,
) {
    if !code.is_kernel
        || code
            .steps()
            .any(|step| matches!(step.effect, Effect::Other))
    {
        return;
    }
    let reported: BTreeSet<StmtId> = findings.iter().map(|finding| finding.stmt).collect();
    for position in code.fences(cx).take(MOST_FENCES) {
        let fence = position.fence;
        if fence.level > Level::Cta
            && !reported.contains(&position.step.stmt)
            && let Some((level, certainty)) = needed_level(cx, code, &position)
            && level < fence.level
        {
            findings.push(wide_finding(cx, position.step, level, certainty));
        }
    }
}

/// Returns the scope that a fence needs.
fn needed_level(
    cx: &FunctionContext<'_>,
    code: &Code,
    position: &FencePosition<'_>,
) -> Option<(Level, Certainty)> {
    let accesses: Vec<&Access> = code.steps().filter_map(Step::access).collect();
    let has_global = accesses.iter().any(|access| !access.is_shared);
    if accesses.iter().any(|access| access.is_cluster) {
        return (!has_global).then_some((Level::Cluster, Certainty::Possible));
    }
    if !has_global {
        return Some((Level::Cta, Certainty::Definite));
    }
    let steps_before = code.reachable_steps(cx, position, Side::Before);
    let polls = steps_before.iter().any(|step| step.is_poll);
    let accesses_before = global_accesses(&steps_before);
    let accesses_after = global_accesses(&code.reachable_steps(cx, position, Side::After));
    let writes = |accesses: &[&Access]| accesses.iter().any(|access| access.writes);
    let reads_strongly = |accesses: &[&Access]| {
        accesses
            .iter()
            .any(|access| access.reads && access.is_strong())
    };
    let releases =
        writes(&accesses_before) && (writes(&accesses_after) || reads_strongly(&accesses_after));
    let acquires = (reads_strongly(&accesses_before) || polls) && !accesses_after.is_empty();
    if !releases && !acquires {
        return Some((Level::Cta, Certainty::Possible));
    }
    let widest = accesses
        .iter()
        .filter(|access| !access.is_shared && access.is_strong())
        .map(|access| access.level)
        .max()?;
    (widest != Level::None).then_some((widest, Certainty::Possible))
}

/// Returns the accesses of steps to memory that is not shared memory.
fn global_accesses<'s>(steps: &[&'s Step]) -> Vec<&'s Access> {
    steps
        .iter()
        .filter_map(|step| step.access())
        .filter(|access| !access.is_shared)
        .collect()
}

/// Adds findings about strong accesses whose scope is too narrow.
pub(super) fn check_narrow_accesses(
    cx: &FunctionContext<'_>,
    code: &Code,
    findings: &mut Vec<Finding>,
) {
    let accesses: Vec<(&Step, &Access)> = code
        .steps()
        .filter_map(|step| Some((step, step.access()?)))
        .filter(|(_, access)| has_explicit_scope(access))
        .take(MOST_ACCESSES)
        .collect();
    for (step, access) in accesses.iter().filter(|(_, a)| a.level == Level::Cta) {
        if findings.iter().any(|finding| finding.stmt == step.stmt) {
            continue;
        }
        if is_remote(access) {
            findings.push(narrow_finding(cx, step, Level::Cluster));
            continue;
        }
        let wider = accesses.iter().find(|(_, other)| {
            (other.writes || access.writes) && other.level > Level::Cta && other.is_same(access)
        });
        if let Some((other_step, other)) = wider
            && !access.is_shared
        {
            let finding = narrow_finding(cx, step, other.level);
            findings.push(finding.with_label(cx.span(other_step.stmt), "the other access"));
        }
    }
}

/// Returns `true` if the scope of a strong access is explicit.
fn has_explicit_scope(access: &Access) -> bool {
    access.is_strong() && !access.is_volatile && access.level != Level::None
}

/// Returns `true` if an access is to the shared memory of the cluster, at an address that no variable of this CTA has.
fn is_remote(access: &Access) -> bool {
    access.is_cluster && access.provenance.is_none()
}

fn narrow_finding(cx: &FunctionContext<'_>, step: &Step, needed: Level) -> Finding {
    let message = format!(
        "the scope of `{}` may be too narrow: threads in scope {} access this memory",
        cx.mnemonic(step.inst),
        needed.name()
    );
    cx.finding(Lint::FenceStrength, Certainty::Possible, step.stmt, message)
        .with_help(format!("use scope {}", needed.name()))
}

fn wide_finding(
    cx: &FunctionContext<'_>,
    step: &Step,
    level: Level,
    certainty: Certainty,
) -> Finding {
    let mnemonic = cx.mnemonic(step.inst);
    let has = match certainty {
        Certainty::Definite => "has",
        Certainty::Possible => "may have",
    };
    let message = format!(
        "`{mnemonic}` {has} a wider scope than needed: the communicating threads are in scope {}",
        level.name()
    );
    let help = format!("use a fence with scope {}", level.name());
    cx.finding(Lint::FenceStrength, certainty, step.stmt, message)
        .with_help(help)
}
