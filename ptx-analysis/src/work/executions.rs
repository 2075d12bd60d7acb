//! Execution counts of blocks, from the trip counts of the loops that contain them.

use alloc::vec::Vec;

use crate::cfg::{BlockId, Cfg};
use crate::function_dataflow::FunctionDataflow;
use crate::graph::LoopId;
use crate::values::{TripCount, Values};

/// A loop with a symbolic trip count, as a factor.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub struct Factor {
    /// The loop.
    pub of: LoopId,
    /// Whether the factor is the trip count minus one: code after the exit of the loop is not executed in the last iteration.
    pub without_last: bool,
}

/// The maximum number of factors. Loops in deeper levels count as one iteration.
const MOST_FACTORS: usize = 32;

/// The number of executions of a block per call of the function: the product of a number and trip counts.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Executions {
    /// The constant factor.
    pub times: u64,
    /// The loops whose trip counts are factors: at most 32, outer loops first.
    pub factors: Vec<Factor>,
    /// Whether the count is exact. Otherwise it is an upper bound, or unknown because of a loop without a known trip count.
    pub is_exact: bool,
}

/// The execution counts of blocks.
#[derive(Debug)]
pub(super) struct Frequencies<'a> {
    analysis: &'a FunctionDataflow<'a>,
    values: Option<&'a Values>,
    /// For each loop, the number of times that it is entered.
    entries: Vec<Executions>,
    /// For each loop, the block from which all edges leave it, if there is only one such block.
    exits: Vec<Option<BlockId>>,
    /// For each block, whether it is executed in each call that leaves the function.
    is_in_each_call: Vec<bool>,
}

impl<'a> Frequencies<'a> {
    pub(super) fn new(analysis: &'a FunctionDataflow<'a>, values: Option<&'a Values>) -> Self {
        let cfg = analysis.cfg();
        let mut is_in_each_call = vec![false; cfg.len()];
        for block in core::iter::successors(Some(Cfg::ENTRY), |block| analysis.ipdom(*block)) {
            if let Some(slot) = is_in_each_call.get_mut(block.as_u32() as usize) {
                *slot = true;
            }
        }
        let loops = analysis.loops();
        let mut frequencies = Self {
            analysis,
            values,
            entries: Vec::with_capacity(loops.len()),
            exits: only_exits(analysis),
            is_in_each_call,
        };
        // Outer loops come before inner ones.
        for (_, info) in loops.iter() {
            let entries = frequencies.executions_inside(info.parent(), info.header());
            frequencies.entries.push(entries);
        }
        frequencies
    }

    /// The number of executions of a block.
    pub(super) fn of(&self, block: BlockId) -> Executions {
        self.executions_inside(self.analysis.loops().innermost(block), block)
    }

    /// The number of times that a loop is entered.
    pub(super) fn entries(&self, id: LoopId) -> Executions {
        self.entries
            .get(id.as_u32() as usize)
            .cloned()
            .unwrap_or(UNKNOWN)
    }

    /// The number of times that control reaches a block over edges inside a loop, or over any edge without a loop.
    fn executions_inside(&self, inner: Option<LoopId>, block: BlockId) -> Executions {
        let is_reachable = self.analysis.is_reachable(block);
        let Some(inner) = inner else {
            let is_in_each_call = self.is_in_each_call.get(block.as_u32() as usize);
            return Executions {
                times: u64::from(is_reachable),
                factors: Vec::new(),
                is_exact: is_in_each_call == Some(&true) || !is_reachable,
            };
        };
        let mut executions = self.entries(inner);
        let dominators = self.analysis.dominators();
        let trip_count = self.values.and_then(|v| v.trip_count(inner));
        // The exit of a loop whose trip count is exact.
        let exit = trip_count
            .filter(|count| count.is_exact)
            .and_then(|_| *self.exits.get(inner.as_u32() as usize)?);
        let without_last =
            exit.is_some_and(|exit| exit != block && dominators.dominates(exit, block));
        executions.repeat(inner, trip_count, without_last);
        let is_in_each_iteration = self
            .analysis
            .loops()
            .latches(self.analysis.cfg(), inner)
            .all(|latch| dominators.dominates(block, latch));
        executions.is_exact &= exit.is_some() && is_in_each_iteration;
        executions
    }
}

/// For each loop, the block from which all edges leave it, if there is only one such block.
fn only_exits(analysis: &FunctionDataflow<'_>) -> Vec<Option<BlockId>> {
    let loops = analysis.loops();
    let mut first_exits = vec![None; loops.len()];
    let mut has_several_exits = vec![false; loops.len()];
    for (_, edge) in analysis.cfg().edges() {
        for id in loops.left(edge.from, edge.to) {
            let index = id.as_u32() as usize;
            let first_exit = *first_exits[index].get_or_insert(edge.from);
            has_several_exits[index] |= first_exit != edge.from;
        }
    }
    first_exits
        .into_iter()
        .zip(has_several_exits)
        .map(|(first_exit, has_several)| first_exit.filter(|_| !has_several))
        .collect()
}

/// The executions of a block of an unknown loop.
const UNKNOWN: Executions = Executions {
    times: 1,
    factors: Vec::new(),
    is_exact: false,
};

impl Executions {
    /// Multiplies by the trip count of a loop, without its last iteration for code after the exit.
    fn repeat(&mut self, id: LoopId, trip_count: Option<&TripCount>, without_last: bool) {
        match trip_count.and_then(TripCount::most_without_wrap) {
            Some(count) => {
                self.is_exact &= trip_count.is_some_and(|count| !count.assumes_no_wrap());
                let count = count.saturating_sub(without_last.into());
                self.times = self.times.saturating_mul(count);
            }
            _ if self.factors.len() < MOST_FACTORS => self.factors.push(Factor {
                of: id,
                without_last,
            }),
            _ => self.is_exact = false,
        }
    }
}
