//! Warps that compute the same values as others, as Triton's do for tiles with fewer elements than threads.
//!
//! Two warps compute the same if all that their values depend on is the same in each lane of both: parts of the thread index, and values that are
//! the same in the CTA. What they exchange between lanes, and what they load from the same addresses, is then the same as well.

use alloc::vec::Vec;

use ptx_analysis::ssa::{Value, ValueId};
use ptx_analysis::threads::{PerThread, ThreadValues};
use ptx_analysis::uniformity::Uniformity;
use ptx_ir::StmtId;

use super::accesses::stored_values;
use crate::context::FunctionContext;

/// The maximum number of values that are followed from a store.
const MAX_VALUES: usize = 256;
/// The maximum number of sample threads.
const MAX_SAMPLES: usize = 128;
/// The lanes of a warp.
const LANES: u32 = 32;

/// For each sample thread, the first one of the same lane in a warp that stores the same values; empty if that is not known.
pub(super) fn warps(
    cx: &FunctionContext<'_>,
    threads: &mut ThreadValues<'_>,
    store: StmtId,
) -> Vec<u32> {
    let Some(inputs) = varying_inputs(cx, threads, store) else {
        return Vec::new();
    };
    let samples = threads.samples();
    let warp = |sample: usize| samples.get(sample).map_or(0, |thread| thread / LANES);
    let lane = |sample: usize| samples.get(sample).map_or(0, |thread| thread % LANES);
    // The samples of a warp are next to each other.
    let count = samples.len().min(MAX_SAMPLES);
    let indices: Vec<usize> = (0..count).collect();
    let warps: Vec<&[usize]> = indices.chunk_by(|a, b| warp(*a) == warp(*b)).collect();
    let partner = |sample: usize, other_warp: &[usize]| {
        let mut candidates = other_warp.iter().copied();
        candidates.find(|other| lane(*other) == lane(sample))
    };
    let compute_the_same = |a: &[usize], b: &[usize]| {
        a.iter()
            .filter_map(|sample| Some((*sample, partner(*sample, b)?)))
            .all(|(a, b)| inputs.iter().all(|value| value.get(a) == value.get(b)))
    };
    let mut replicas: Vec<u32> = (0..samples.len() as u32).collect();
    for (position, warp) in warps.iter().enumerate() {
        let mut earlier_warps = warps.iter().take(position);
        let Some(original) = earlier_warps.find(|other| compute_the_same(warp, other)) else {
            continue;
        };
        for sample in *warp {
            if let (Some(slot), Some(other)) =
                (replicas.get_mut(*sample), partner(*sample, original))
            {
                *slot = other as u32;
            }
        }
    }
    replicas
}

/// The values that differ between threads and on which the values that a statement stores depend; `None` if they depend on something that is not known
/// in individual threads.
fn varying_inputs(
    cx: &FunctionContext<'_>,
    threads: &mut ThreadValues<'_>,
    store: StmtId,
) -> Option<Vec<PerThread>> {
    let (ssa, likely) = (cx.ssa()?, cx.likely()?);
    let mut inputs = Vec::new();
    let mut visited: Vec<ValueId> = Vec::new();
    let mut worklist: Vec<ValueId> = stored_values(cx, store);
    while let Some(value) = worklist.pop() {
        if visited.contains(&value) {
            continue;
        }
        if visited.len() == MAX_VALUES {
            return None;
        }
        visited.push(value);
        if let Some(numbers) = threads.value(value) {
            if !matches!(numbers, PerThread::Same(_)) {
                inputs.push(numbers);
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
                worklist.extend(ssa.uses(stmt).iter().map(|read| read.value));
                worklist.extend(old);
            }
            Value::Phi { .. } => worklist.extend(ssa.args(value)),
            _ => return None,
        }
    }
    Some(inputs)
}
