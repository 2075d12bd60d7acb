//! `mbarrier-init`: mbarrier objects that are used before they are initialized, or initialized twice.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::memory_access::{Access, Accesses};
use ptx_analysis::threads::ThreadValues;
use ptx_analysis::uniformity::Uniformity;
use ptx_ir::facts::Space;
use ptx_ir::{EntityId as _, FunctionKind, StmtId};
use ptx_isa::{Action, StateSpace};

use super::protocols;
use crate::addresses::Parts;
use crate::context::{FunctionContext, Reached};
use crate::{Certainty, Finding, Lint};

/// The maximum number of threads of a CTA.
const MOST_THREADS: u32 = 1024;

pub(crate) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    protocols::check(cx, Lint::MbarrierInit, findings);
    let function = cx.module().functions().get(cx.id());
    if function.is_none_or(|f| f.kind != FunctionKind::Entry) {
        return;
    }
    let initializations: Vec<Reached<'_>> = cx
        .instructions()
        .filter(|inst| inst.facts.action() == Some(Action::MbarrierInit))
        .collect();
    if initializations.is_empty() {
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
    let reported: BTreeSet<StmtId> = findings.iter().map(|finding| finding.stmt).collect();
    let shared_accesses = first_shared_accesses(cx);
    // The objects that a block initializes are initialized by the same threads: one finding.
    let mut index_of_block: BTreeMap<Option<BlockId>, usize> = BTreeMap::new();
    for inst in initializations {
        if reported.contains(&inst.stmt) {
            continue;
        }
        let access = shared_accesses.get(&inst.stmt).copied();
        if has_several_threads(cx, &mut threads, sets, &inst, access) != Some(true) {
            continue;
        }
        let block = cx.cfg().of_statement(inst.stmt);
        let first = index_of_block
            .get(&block)
            .and_then(|index| findings.get_mut(*index));
        if let Some(first) = first {
            first.repeat(cx.span(inst.stmt));
        } else {
            index_of_block.insert(block, findings.len());
            let certainty = if shape.is_required {
                Certainty::Definite
            } else {
                Certainty::Possible
            };
            findings.push(finding(cx, &inst, certainty));
        }
    }
}

/// Returns `true` if several threads initialize the same object, and `None` if it is not known which threads do. `sets` are the sample threads that
/// reach each block, and `access` is the access of the instruction to the object.
fn has_several_threads(
    cx: &FunctionContext<'_>,
    threads: &mut ThreadValues<'_>,
    sets: &[u128],
    inst: &Reached<'_>,
    access: Option<&Access>,
) -> Option<bool> {
    let block = cx.cfg().of_statement(inst.stmt)?;
    let mut set = *sets.get(block.index())?;
    for branch in cx.divergence()?.causes(block, Uniformity::Cta) {
        let (stmt, facts) = cx.last_instruction(branch)?;
        threads.guard(stmt, &facts)?;
    }
    if inst.facts.guard().is_some() {
        let guard = threads.guard(inst.stmt, &inst.facts)?;
        for sample in 0..threads.samples().len() {
            if guard.get(sample) == 0 {
                set &= !(1 << sample);
            }
        }
    }
    let address = Parts::new(cx, cx.values()?, threads, &access?.address?)?;
    let mut addresses = address
        .by_sample
        .iter()
        .enumerate()
        .filter(|(sample, _)| set >> sample & 1 == 1)
        .map(|(_, address)| address);
    Some(addresses.next()? == addresses.next()?)
}

/// Returns the first access of each statement to shared memory.
fn first_shared_accesses<'a>(cx: &'a FunctionContext<'_>) -> BTreeMap<StmtId, &'a Access> {
    let mut first_accesses = BTreeMap::new();
    for access in cx.accesses().map(Accesses::all).unwrap_or_default() {
        if matches!(access.space, Space::State(s) if s.base() == StateSpace::Shared) {
            first_accesses.entry(access.stmt).or_insert(access);
        }
    }
    first_accesses
}

fn finding(cx: &FunctionContext<'_>, inst: &Reached<'_>, certainty: Certainty) -> Finding {
    let initialize = match certainty {
        Certainty::Definite => "initialize",
        Certainty::Possible => "may initialize",
    };
    let message = format!(
        "several threads {initialize} the same mbarrier object with `{}`",
        cx.mnemonic(inst.inst)
    );
    let help = "initialize the object in one thread, and add a barrier for all threads after the initialization";
    cx.finding(Lint::MbarrierInit, certainty, inst.stmt, message)
        .with_help(help)
}
