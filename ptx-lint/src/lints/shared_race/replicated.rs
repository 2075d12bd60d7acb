//! Warps that compute the same values as others, as Triton's do for tiles with fewer elements than threads.
//!
//! Two warps compute the same if all that their values depend on is the same in each lane of both: parts of the thread index, and values that are
//! the same in the CTA. What they exchange between lanes, and what they load from the same addresses, is then the same as well.

use alloc::vec::Vec;

use ptx_analysis::ssa::{Value, ValueId};
use ptx_analysis::threads::{PerThread, ThreadValues};
use ptx_analysis::uniformity::Uniformity;
use ptx_ir::StmtId;

use super::touch::stored_values;
use crate::context::FunctionContext;

/// Values that are followed from a store.
const FOLLOWED: usize = 256;
/// The maximum number of samples.
const SAMPLES: usize = 128;
/// The lanes of a warp.
const LANES: u32 = 32;

/// For each sample, the first sample of the same lane in a warp that stores the same values; empty if that is not known.
pub(super) fn warps(
    cx: &FunctionContext<'_>,
    threads: &mut ThreadValues<'_>,
    store: StmtId,
) -> Vec<u32> {
    let Some(known) = known(cx, threads, store) else {
        return Vec::new();
    };
    let samples = threads.samples();
    let warp = |sample: usize| samples.get(sample).map_or(0, |thread| thread / LANES);
    let lane = |sample: usize| samples.get(sample).map_or(0, |thread| thread % LANES);
    // Those of a warp are next to each other.
    let mut warps: Vec<Vec<usize>> = Vec::new();
    for sample in 0..samples.len().min(SAMPLES) {
        match warps.last_mut() {
            Some(last)
                if last
                    .first()
                    .is_some_and(|first| warp(*first) == warp(sample)) =>
            {
                last.push(sample);
            }
            _ => warps.push(vec![sample]),
        }
    }
    let partner =
        |sample: usize, other: &[usize]| other.iter().copied().find(|s| lane(*s) == lane(sample));
    let is_same = |a: &[usize], b: &[usize]| {
        let mut pairs = a
            .iter()
            .filter_map(|sample| Some((*sample, partner(*sample, b)?)));
        pairs.all(|(a, b)| known.iter().all(|value| value.get(a) == value.get(b)))
    };
    let mut same: Vec<u32> = (0..samples.len() as u32).collect();
    for (at, warp) in warps.iter().enumerate() {
        let before = warps.iter().take(at);
        let Some(first) = before.into_iter().find(|other| is_same(warp, other)) else {
            continue;
        };
        for sample in warp {
            if let (Some(slot), Some(other)) = (same.get_mut(*sample), partner(*sample, first)) {
                *slot = other as u32;
            }
        }
    }
    same
}

/// Whether two samples are the same lane of warps that store the same.
pub(super) fn are_same(same: &[u32], first: usize, second: usize) -> bool {
    match (same.get(first), same.get(second)) {
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

/// The values in individual threads on which the values that a statement reads depend; `None` if they depend on something else.
fn known(
    cx: &FunctionContext<'_>,
    threads: &mut ThreadValues<'_>,
    store: StmtId,
) -> Option<Vec<PerThread>> {
    let (ssa, likely) = (cx.ssa()?, cx.likely()?);
    let mut found = Vec::new();
    let mut seen: Vec<ValueId> = Vec::new();
    let mut work: Vec<ValueId> = stored_values(cx, store);
    while let Some(value) = work.pop() {
        if seen.contains(&value) {
            continue;
        }
        if seen.len() == FOLLOWED {
            return None;
        }
        seen.push(value);
        if let Some(known) = threads.value(value) {
            if !matches!(known, PerThread::Same(_)) {
                found.push(known);
            }
            continue;
        }
        match ssa.value(value) {
            Value::Def { stmt, variable, .. } if likely.def(stmt, variable) <= Uniformity::Cta => {}
            Value::Def { stmt, old, .. } => {
                let facts = cx.inst_at(stmt)?;
                let is_function = facts.is_known()
                    && facts.callees().is_none()
                    && facts.memory().all(|access| !access.writes())
                    && !ssa.uses(stmt).is_empty();
                if !is_function {
                    return None;
                }
                work.extend(ssa.uses(stmt).iter().map(|read| read.value));
                work.extend(old);
            }
            Value::Phi { .. } => work.extend(ssa.args(value)),
            _ => return None,
        }
    }
    Some(found)
}
