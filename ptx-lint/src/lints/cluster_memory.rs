//! `cluster-memory`: accesses to the shared memory of another CTA of the cluster before that CTA has certainly started, or after it may have exited.

use alloc::format;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_ir::facts::Facts;
use ptx_ir::{InstId, StmtId};
use ptx_isa::{Action, Directive, Modifier};

use crate::context::{FunctionContext, Reached};
use crate::paths::{Marked, origin};
use crate::{Finding, Lint};

/// An access to the shared memory of another CTA.
#[derive(Copy, Clone)]
struct RemoteAccess {
    stmt: StmtId,
    inst: InstId,
    /// It reads or writes data, and not only an mbarrier object.
    is_data: bool,
}

pub(crate) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    let cluster_size = cluster_size(cx);
    let reaches_other_ctas = |facts: Facts<'_>| {
        facts.action() == Some(Action::MapShared) || facts.has_modifier(Modifier::MulticastCluster)
    };
    if !cx.is_kernel()
        || cluster_size == Some(1)
        || !cx.instructions().any(|inst| reaches_other_ctas(inst.facts))
    {
        return;
    }
    let mut remote: Vec<RemoteAccess> = cx
        .instructions()
        .filter_map(|inst| remote_access(cx, &inst))
        .collect();
    if remote.is_empty() || cx.instructions().any(|inst| inst.facts.callees().is_some()) {
        return;
    }
    let waits = Marked::new(cx, |_, facts| facts.action() == Some(Action::ClusterWait));
    // A kernel without barriers of the cluster may be launched without clusters: then all addresses are those of the CTA itself.
    if waits.is_empty() && cluster_size.is_none() {
        remote.retain(|access| access.is_data);
    }
    let early: Vec<RemoteAccess> = remote
        .iter()
        .copied()
        .filter(|access| waits.is_before_all(cx, access.stmt))
        .collect();
    findings.extend(finding(
        cx,
        &early,
        "may access shared memory of a CTA of the cluster that has not started yet",
        "add `barrier.cluster.arrive; barrier.cluster.wait;` at the start of the kernel, before the first access to shared memory of other CTAs",
    ));
    let is_handshake = |facts: Facts<'_>| {
        matches!(
            facts.action(),
            Some(Action::MbarrierWait | Action::MbarrierTest)
        )
    };
    if cx.instructions().any(|inst| is_handshake(inst.facts)) {
        return;
    }
    let late: Vec<RemoteAccess> = remote
        .into_iter()
        .filter(|access| access.is_data && waits.may_end_without(cx, access.stmt))
        .filter(|access| early.iter().all(|other| other.stmt != access.stmt))
        .collect();
    findings.extend(finding(
        cx,
        &late,
        "may access shared memory of a CTA of the cluster that has exited",
        "add `barrier.cluster.arrive; barrier.cluster.wait;` after the last access to shared memory of other CTAs, before threads exit",
    ));
}

/// Returns the finding about accesses, of which the first one is reported and the others have the same cause.
fn finding(
    cx: &FunctionContext<'_>,
    accesses: &[RemoteAccess],
    problem: &str,
    help: &str,
) -> Option<Finding> {
    let (first, others) = accesses.split_first()?;
    let message = format!("`{}` {problem}", cx.mnemonic(first.inst));
    let mut finding = cx
        .finding(
            Lint::ClusterMemory,
            Certainty::Possible,
            first.stmt,
            message,
        )
        .with_help(help);
    for access in others {
        finding.repeat(cx.span(access.stmt));
    }
    Some(finding)
}

/// Returns the number of CTAs of a cluster, if the kernel requires one.
fn cluster_size(cx: &FunctionContext<'_>) -> Option<u64> {
    let sizes = cx.directive_arguments(Directive::Reqnctapercluster)?;
    sizes.iter().try_fold(1u64, |product, size| {
        product.checked_mul(u64::try_from(cx.module().pool().integer(*size)?).ok()?)
    })
}

/// Returns the access of an instruction to the shared memory of other CTAs.
fn remote_access(cx: &FunctionContext<'_>, inst: &Reached<'_>) -> Option<RemoteAccess> {
    let mut is_remote = inst.facts.has_modifier(Modifier::MulticastCluster);
    let mut is_data = false;
    for access in inst.facts.memory() {
        let base = access.base.and_then(|base| cx.read(inst.stmt, base));
        let is_mapped = base.is_some_and(|base| {
            origin(cx, base, |facts| facts.action() == Some(Action::MapShared)).is_some()
        });
        is_remote |= is_mapped;
        is_data |= is_mapped && !access.is_mbarrier && (access.reads() || access.writes());
    }
    is_remote.then_some(RemoteAccess {
        stmt: inst.stmt,
        inst: inst.inst,
        is_data,
    })
}
