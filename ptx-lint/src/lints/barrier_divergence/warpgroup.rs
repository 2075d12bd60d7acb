//! Instructions of a warpgroup in code that only some of its warps reach.

use alloc::format;
use alloc::vec::Vec;

use ptx_analysis::threads::ThreadValues;
use ptx_analysis::uniformity::Uniformity;
use ptx_ir::EntityId as _;
use ptx_isa::{Action, ConvergenceScope};

use super::with_cause;
use crate::context::{FunctionContext, Reached};
use crate::{Certainty, Finding, Lint};

/// The threads of a warpgroup.
const THREADS: u32 = 128;

pub(super) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    let mut all = cx.instructions();
    if !all.any(|at| at.facts.convergence() == Some(ConvergenceScope::Warpgroup)) {
        return;
    }
    let (Some((mut threads, sets)), Some(divergence)) = (cx.threads(), cx.divergence()) else {
        return;
    };
    let groups = warpgroups(threads.samples());
    let members = cx.instructions().filter_map(|at| {
        let member = Member::of(&at)?;
        Some((at, member, executing(cx, &mut threads, sets, &at)?))
    });
    let members: Vec<(Reached<'_>, Member, u128)> = members.collect();
    let others = members
        .iter()
        .filter(|(_, member, _)| *member == Member::AnyPlace);
    let anywhere = others.fold(0, |all, (_, _, set)| all | set);
    for (at, member, set) in &members {
        let reaching = match member {
            Member::OnePlace => *set,
            Member::AnyPlace => anywhere,
        };
        let is_partial = |group: &u128| set & group != 0 && reaching & group != *group;
        if !groups.iter().any(is_partial) || found.iter().any(|f| f.stmt == at.stmt) {
            continue;
        }
        let mnemonic = cx.mnemonic(at.inst);
        let message = format!(
            "some warps of a warpgroup may not reach `{mnemonic}`, which all warps of the warpgroup must execute together"
        );
        let finding = cx.finding(
            Lint::BarrierDivergence,
            Certainty::Possible,
            at.stmt,
            message,
        );
        let block = cx.cfg().of_statement(at.stmt);
        let causes = block.map_or_else(Vec::new, |block| divergence.causes(block, Uniformity::Cta));
        let help = "let whole warpgroups, 128 threads from a multiple of 128 on, take the branch";
        found.push(with_cause(cx, finding, &causes).with_help(help));
    }
}

/// Where the warps of a warpgroup execute an instruction.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Member {
    /// All at the same instruction.
    OnePlace,
    /// Each at an instruction of this kind.
    AnyPlace,
}

impl Member {
    fn of(at: &Reached<'_>) -> Option<Self> {
        use Action::{WarpgroupCommit, WarpgroupFence, WarpgroupMultiply, WarpgroupWait};
        match at.facts.action() {
            Some(WarpgroupMultiply | WarpgroupFence | WarpgroupCommit | WarpgroupWait) => {
                Some(Self::OnePlace)
            }
            _ if at.facts.convergence() == Some(ConvergenceScope::Warpgroup) => {
                Some(Self::AnyPlace)
            }
            _ => None,
        }
    }
}

/// The sample threads of each warpgroup.
fn warpgroups(samples: &[u32]) -> Vec<u128> {
    let mut groups: Vec<u128> = Vec::new();
    for (sample, thread) in samples.iter().enumerate() {
        let group = (thread / THREADS) as usize;
        if groups.len() <= group {
            groups.resize(group + 1, 0);
        }
        if let Some(set) = groups.get_mut(group) {
            *set |= 1 << sample;
        }
    }
    groups
}

/// The sample threads that may execute an instruction.
fn executing(
    cx: &FunctionContext<'_>,
    threads: &mut ThreadValues<'_>,
    sets: &[u128],
    at: &Reached<'_>,
) -> Option<u128> {
    let block = cx.cfg().of_statement(at.stmt)?;
    let set = sets.get(block.index()).copied().unwrap_or(u128::MAX);
    let Some(guard) = threads.guard(at.stmt, &at.facts) else {
        return Some(set);
    };
    let excluded = (0..threads.samples().len()).filter(|s| guard.get(*s) == 0);
    Some(excluded.fold(set, |set, sample| set & !(1 << sample)))
}
