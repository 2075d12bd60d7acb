//! Fences whose scope is wider than that of the communicating threads.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::cfg::BlockId;
use ptx_ir::StmtId;

use super::order::{Access, Act, Code, Level, Step};
use crate::context::FunctionContext;
use crate::{Finding, Lint};

/// The maximum number of examined fences of a function.
const MOST: usize = 64;

pub(super) fn check(cx: &FunctionContext<'_>, code: &Code, found: &mut Vec<Finding>) {
    if !code.is_kernel || code.steps().any(|s| matches!(s.act, Act::Other)) {
        return;
    }
    let reported: BTreeSet<StmtId> = found.iter().map(|f| f.stmt).collect();
    let mut seen = 0;
    for (block, _) in cx.cfg().blocks() {
        for (index, step) in code.of(block).iter().enumerate() {
            let Act::Fence(fence) = step.act else {
                continue;
            };
            seen += 1;
            if seen > MOST {
                return;
            }
            if fence.level <= Level::Cta || reported.contains(&step.stmt) {
                continue;
            }
            if let Some((level, certainty)) = needed(cx, code, block, index)
                && level < fence.level
            {
                found.push(finding(cx, step, level, certainty));
            }
        }
    }
}

fn accesses<'s>(steps: &[&'s Step]) -> Vec<&'s Access> {
    let found = steps.iter().filter_map(|s| match &s.act {
        Act::Access(access) => Some(access),
        _ => None,
    });
    found.collect()
}

/// The scope that a fence needs.
fn needed(
    cx: &FunctionContext<'_>,
    code: &Code,
    block: BlockId,
    index: usize,
) -> Option<(Level, Certainty)> {
    let all: Vec<&Step> = code.steps().collect();
    let all = accesses(&all);
    let global = || all.iter().filter(|a| !a.is_shared);
    if all.iter().any(|a| a.is_cluster) {
        return Some((Level::Cluster, Certainty::Possible)).filter(|_| global().count() == 0);
    }
    if global().count() == 0 {
        return Some((Level::Cta, Certainty::Definite));
    }
    let before = code.around(cx, block, index, false);
    let polls = before.iter().any(|s| s.is_poll);
    let (before, after) = (
        accesses(&before),
        accesses(&code.around(cx, block, index, true)),
    );
    let outside = |a: &&&Access| !a.is_shared;
    let writes = |list: &[&Access]| list.iter().filter(outside).any(|a| a.writes);
    let strong_read = |list: &[&Access]| {
        list.iter()
            .filter(outside)
            .any(|a| a.reads && a.is_strong())
    };
    let releases = writes(&before) && (writes(&after) || strong_read(&after));
    let acquires = (strong_read(&before) || polls) && after.iter().filter(outside).count() > 0;
    if !releases && !acquires {
        return Some((Level::Cta, Certainty::Possible));
    }
    let strong = global().filter(|a| a.is_strong());
    let widest = strong.map(|a| a.level).max()?;
    (widest != Level::None).then_some((widest, Certainty::Possible))
}

fn finding(cx: &FunctionContext<'_>, step: &Step, level: Level, certainty: Certainty) -> Finding {
    let own = cx.mnemonic(step.inst);
    let is = match certainty {
        Certainty::Definite => "has a wider scope than needed",
        Certainty::Possible => "may have a wider scope than needed",
    };
    let message = format!(
        "`{own}` {is}: the communicating threads are in scope {}",
        level.name()
    );
    let help = format!("use a fence with scope {}", level.name());
    cx.finding(Lint::FenceStrength, certainty, step.stmt, message)
        .with_help(help)
}
