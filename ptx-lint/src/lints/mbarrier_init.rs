//! `mbarrier-init`: mbarrier objects that are used before they are initialized, or initialized twice.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::memory_access::{Access, Accesses};
use ptx_analysis::threads::ThreadValues;
use ptx_analysis::uniformity::Uniformity;
use ptx_ir::facts::Space;
use ptx_ir::{EntityId as _, FunctionKind, StmtId};
use ptx_isa::{Action, StateSpace};

use super::barrier_divergence::last;
use crate::addresses::Parts;
use crate::context::{FunctionContext, Reached};
use crate::{Certainty, Finding, Lint, protocols};

/// The maximum number of threads of a CTA.
const MOST_THREADS: u32 = 1024;

pub(crate) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    protocols::check(cx, Lint::MbarrierInit, found);
    let function = cx.module().functions().get(cx.id());
    let is_init = |at: &Reached<'_>| at.facts.action() == Some(Action::MbarrierInit);
    if function.is_none_or(|f| f.kind != FunctionKind::Entry)
        || !cx.instructions().any(|at| is_init(&at))
    {
        return;
    }
    let Some((mut threads, sets)) = cx.threads() else {
        return;
    };
    // Kernels that do not declare a CTA size may be launched with one thread.
    let shape = threads.shape();
    let is_bounded = cx.values().is_some_and(|v| v.bounds().most < MOST_THREADS);
    if !shape.is_required && !is_bounded {
        return;
    }
    let known: BTreeSet<StmtId> = found.iter().map(|f| f.stmt).collect();
    let shared: BTreeMap<StmtId, &Access> = accesses(cx);
    // The threads that initialize the objects of a block are the same: one finding.
    let mut by_block: BTreeMap<Option<BlockId>, usize> = BTreeMap::new();
    for at in cx.instructions().filter(is_init) {
        if known.contains(&at.stmt)
            || is_repeated(cx, (&mut threads, sets), &at, &shared) != Some(true)
        {
            continue;
        }
        let block = cx.cfg().of_statement(at.stmt);
        match by_block.get(&block).and_then(|first| found.get_mut(*first)) {
            Some(first) => first.repeat(cx.span(at.stmt)),
            None => {
                by_block.insert(block, found.len());
                found.push(finding(cx, &at, shape.is_required));
            }
        }
    }
}

/// Whether several threads initialize the same object.
fn is_repeated(
    cx: &FunctionContext<'_>,
    (threads, sets): (&mut ThreadValues<'_>, &[u128]),
    at: &Reached<'_>,
    shared: &BTreeMap<StmtId, &Access>,
) -> Option<bool> {
    let block = cx.cfg().of_statement(at.stmt)?;
    let mut set = *sets.get(block.index())?;
    for branch in cx.divergence()?.causes(block, Uniformity::Cta) {
        let (stmt, facts) = last(cx, branch)?;
        threads.guard(stmt, &facts)?;
    }
    if at.facts.guard().is_some() {
        let guard = threads.guard(at.stmt, &at.facts)?;
        let samples = 0..threads.samples().len();
        set = samples
            .filter(|s| guard.get(*s) == 0)
            .fold(set, |set, s| set & !(1 << s));
    }
    let access = shared.get(&at.stmt)?;
    let own = Parts::new(cx, cx.values()?, threads, &access.address?)?.own;
    let mut there = own
        .iter()
        .enumerate()
        .filter(|(sample, _)| set >> sample & 1 == 1);
    let (_, first) = there.next()?;
    let (_, second) = there.next()?;
    Some(first == second)
}

/// The first access of each statement to shared memory.
fn accesses<'a>(cx: &'a FunctionContext<'_>) -> BTreeMap<StmtId, &'a Access> {
    let of_shared = |space| matches!(space, Space::State(s) if s.base() == StateSpace::Shared);
    let all = cx.accesses().map(Accesses::all).unwrap_or_default();
    let mut first = BTreeMap::new();
    for access in all.iter().filter(|a| of_shared(a.space)) {
        first.entry(access.stmt).or_insert(access);
    }
    first
}

fn finding(cx: &FunctionContext<'_>, at: &Reached<'_>, is_certain: bool) -> Finding {
    let (certainty, may) = match is_certain {
        true => (Certainty::Definite, "several threads initialize"),
        false => (Certainty::Possible, "several threads may initialize"),
    };
    let message = alloc::format!(
        "{may} the same mbarrier object with `{}`",
        cx.mnemonic(at.inst)
    );
    let help = "initialize the object in one thread, and add a barrier for all threads after the initialization";
    cx.finding(Lint::MbarrierInit, certainty, at.stmt, message)
        .with_help(help)
}
