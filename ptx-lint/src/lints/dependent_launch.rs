//! `dependent-launch`: accesses to global memory before a grid waits for the grids that it depends on. With programmatic dependent launch, these grids
//! may still run.

use alloc::format;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::memory_access::{Access, Provenance};
use ptx_analysis::uniformity::Uniformity;
use ptx_analysis::values::VariableRef;
use ptx_ir::StmtId;
use ptx_ir::facts::{Facts, Space};
use ptx_isa::{Action, Modifier, StateSpace};

use crate::context::FunctionContext;
use crate::paths::Marked;
use crate::{Finding, Lint};

pub(crate) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    if !cx.is_kernel() || !cx.instructions().any(|inst| is_wait(inst.facts)) {
        return;
    }
    let selected_wait = cx
        .instructions()
        .find(|inst| is_wait(inst.facts) && is_selected(cx, inst.stmt, inst.facts));
    // Other threads have waited after the next barrier.
    let waits = Marked::new(cx, |stmt, facts| {
        is_wait(facts) && !is_selected(cx, stmt, facts)
            || selected_wait
                .is_some_and(|wait| is_cta_barrier(facts) && cx.order(wait.stmt, stmt).is_lt())
    });
    let Some(wait) = selected_wait
        .map(|wait| wait.stmt)
        .or_else(|| waits.first())
    else {
        return;
    };
    let early: Vec<&Access> = cx
        .accesses()
        .map_or(&[][..], |accesses| accesses.all())
        .iter()
        .filter(|access| may_depend_on_earlier_grid(access))
        .filter(|access| waits.is_before_all(cx, access.stmt))
        .filter(|access| {
            !selected_wait.is_some_and(|wait| follows_in_thread(cx, wait.stmt, access))
        })
        .collect();
    let Some(first) = early.first() else {
        return;
    };
    let message = format!(
        "`{}` may access memory that an earlier grid has not written yet, or still reads: the thread has not waited for that grid",
        cx.mnemonic(first.inst)
    );
    let mut finding = cx
        .finding(Lint::DependentLaunch, Certainty::Possible, first.stmt, message)
        .with_help("move the access after `griddepcontrol.wait`, unless no grid that may still run writes the memory")
        .with_label(cx.span(wait), "the grid waits here");
    for access in early.iter().filter(|access| access.stmt != first.stmt) {
        finding.repeat(cx.span(access.stmt));
    }
    findings.push(finding);
}

fn is_wait(facts: Facts<'_>) -> bool {
    facts.action() == Some(Action::GridDependency) && facts.has_modifier(Modifier::Wait)
}

fn is_cta_barrier(facts: Facts<'_>) -> bool {
    matches!(
        facts.action(),
        Some(Action::BarrierSync | Action::BarrierReduce | Action::ClusterWait)
    )
}

/// Returns `true` if only some threads of the CTA execute an instruction.
fn is_selected(cx: &FunctionContext<'_>, stmt: StmtId, facts: Facts<'_>) -> bool {
    let (Some(likely), Some(divergence)) = (cx.likely(), cx.divergence()) else {
        return false;
    };
    let block_level = cx
        .cfg()
        .of_statement(stmt)
        .map_or(Uniformity::Grid, |block| divergence.level(block));
    let guard_level = match facts.guard() {
        Some(_) => likely.guard(stmt),
        None => Uniformity::Grid,
    };
    block_level.join(guard_level) > Uniformity::Cta
}

/// Returns `true` if the threads that execute an access executed a wait before: the wait dominates it, under the same guard.
fn follows_in_thread(cx: &FunctionContext<'_>, wait: StmtId, access: &Access) -> bool {
    let (Some(wait_facts), facts) = (cx.inst_at(wait), cx.facts().inst(access.inst)) else {
        return false;
    };
    let has_guard = wait_facts.guard().is_none() || wait_facts.guard() == facts.guard();
    has_guard
        && cx.order(wait, access.stmt).is_lt()
        && cx
            .cfg()
            .of_statement(wait)
            .zip(cx.cfg().of_statement(access.stmt))
            .is_some_and(|(wait, access)| cx.analysis().dominators().dominates(wait, access))
}

/// Returns `true` if an access reaches memory that another grid may write, or writes memory that another grid may access. Variables of the module that
/// are only read are usually tables.
fn may_depend_on_earlier_grid(access: &Access) -> bool {
    let is_global = match access.space {
        Space::State(space) => space.base() == StateSpace::Global,
        Space::Generic => matches!(access.provenance, Some(Provenance::Parameter { .. })),
        _ => false,
    };
    let is_table = !access.access.writes()
        && matches!(
            access.provenance,
            Some(Provenance::Variable(VariableRef::Module(_)))
        );
    is_global && !is_table && (access.access.reads() || access.access.writes())
}
