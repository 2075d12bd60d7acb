//! `fence-strength`: redundant fences, fences and accesses with a scope that is too wide or too narrow for the communicating threads, and signals to
//! other threads without a fence.

mod adjacent;
mod missing;
mod order;
mod redundant;
mod scope;
mod signals;

use alloc::vec::Vec;

use ptx_analysis::memory_access::Accesses;
use ptx_ir::StmtId;

use crate::Finding;
use crate::context::{FunctionContext, Reached};
use order::{Access, Code};
use signals::{WaitingLoops, leaves_memory_unchanged};

/// The maximum number of examined fences of a function, for each kind of finding.
const MOST_FENCES: usize = 64;

pub(crate) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    let Some(code) = Code::new(cx) else { return };
    redundant::check(cx, &code, findings);
    scope::check_wide_fences(cx, &code, findings);
    missing::check(cx, &code, findings);
    adjacent::check(cx, &code, findings);
    scope::check_narrow_accesses(cx, &code, findings);
}

/// Returns the strong loads outside of shared memory with which a thread waits for a flag in a loop, whether or not they order later accesses.
pub(super) fn flag_waits(cx: &FunctionContext<'_>) -> Vec<StmtId> {
    let mut loops = WaitingLoops::new(cx);
    let mut waits: Vec<StmtId> = Vec::new();
    for resolved in cx.accesses().map(Accesses::all).unwrap_or_default() {
        let inst = Reached {
            stmt: resolved.stmt,
            inst: resolved.inst,
            facts: cx.facts().inst(resolved.inst),
        };
        let Some(mut access) = Access::new(inst.facts, resolved) else {
            continue;
        };
        access.writes &= !leaves_memory_unchanged(cx, &inst);
        if access.is_strong() && loops.waits(&inst, &access) && waits.last() != Some(&inst.stmt) {
            waits.push(inst.stmt);
        }
    }
    waits
}
