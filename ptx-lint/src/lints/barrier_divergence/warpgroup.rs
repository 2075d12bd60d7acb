//! Matrix operations of a warpgroup in code that only some of its warps reach.

use alloc::format;
use alloc::vec::Vec;

use ptx_analysis::uniformity::Uniformity;
use ptx_ir::EntityId as _;
use ptx_isa::Action;

use super::with_cause;
use crate::context::{FunctionContext, Reached};
use crate::{Certainty, Finding, Lint};

/// The threads of a warpgroup.
const THREADS: u32 = 128;

pub(super) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    // Other instructions of a warpgroup may be executed at different places by its warps.
    let is_of_group = |at: &Reached<'_>| {
        use Action::{WarpgroupCommit, WarpgroupFence, WarpgroupMultiply, WarpgroupWait};
        let action = at.facts.action();
        matches!(action, Some(WarpgroupMultiply | WarpgroupFence | WarpgroupCommit | WarpgroupWait))
    };
    if !cx.instructions().any(|at| is_of_group(&at)) {
        return;
    }
    let (Some((mut threads, sets)), Some(divergence)) = (cx.threads(), cx.divergence()) else {
        return;
    };
    let mut groups: Vec<u128> = Vec::new();
    for (sample, thread) in threads.samples().iter().enumerate() {
        let group = (thread / THREADS) as usize;
        if groups.len() <= group {
            groups.resize(group + 1, 0);
        }
        if let Some(set) = groups.get_mut(group) {
            *set |= 1 << sample;
        }
    }
    for at in cx.instructions().filter(is_of_group) {
        let Some(block) = cx.cfg().of_statement(at.stmt) else {
            continue;
        };
        let mut set = sets.get(block.index()).copied().unwrap_or(u128::MAX);
        if let Some(guard) = threads.guard(at.stmt, &at.facts) {
            let excluded = (0..threads.samples().len()).filter(|s| guard.get(*s) == 0);
            set = excluded.fold(set, |set, sample| set & !(1 << sample));
        }
        let is_partial = |group: &u128| set & group != 0 && set & group != *group;
        if !groups.iter().any(is_partial) || found.iter().any(|f| f.stmt == at.stmt) {
            continue;
        }
        let mnemonic = cx.mnemonic(at.inst);
        let message = format!(
            "some warps of a warpgroup may not reach `{mnemonic}`, which all warps of the warpgroup must execute together"
        );
        let finding = cx.finding(Lint::BarrierDivergence, Certainty::Possible, at.stmt, message);
        let causes = divergence.causes(block, Uniformity::Cta);
        let help = "let whole warpgroups, 128 threads from a multiple of 128 on, take the branch";
        found.push(with_cause(cx, finding, &causes).with_help(help));
    }
}
