//! Execution counts of blocks, from the trip counts of the loops that contain them.

use alloc::vec::Vec;

use crate::cfg::{BlockId, Cfg};
use crate::function_analysis::FunctionAnalysis;
use crate::graph::LoopId;
use crate::values::{Count, TripCount, Values};

/// A loop with a symbolic trip count, as a factor.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub struct Factor {
    /// The loop.
    pub of: LoopId,
    /// Whether the factor is the trip count minus one: code after the exit of the loop is not executed in the last iteration.
    pub without_last: bool,
}

/// The maximum number of factors; deeper loops count as one iteration.
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
    analysis: &'a FunctionAnalysis<'a>,
    values: Option<&'a Values>,
    /// For each loop, the number of times it is entered.
    entries: Vec<Executions>,
    /// For each loop, the only block that exits it, if there is only one.
    exits: Vec<Option<BlockId>>,
    /// By block: whether each call of the function executes it that leaves the function.
    always: Vec<bool>,
}

impl<'a> Frequencies<'a> {
    pub(super) fn new(analysis: &'a FunctionAnalysis<'a>, values: Option<&'a Values>) -> Self {
        let cfg = analysis.cfg();
        let mut always = vec![false; cfg.len()];
        let mut at = Some(Cfg::ENTRY);
        while let Some(block) = at {
            if let Some(slot) = always.get_mut(block.as_u32() as usize) {
                *slot = true;
            }
            at = analysis.ipdom(block);
        }
        let loops = analysis.loops();
        let mut found = Self {
            analysis,
            values,
            entries: Vec::with_capacity(loops.len()),
            exits: only_exits(analysis),
            always,
        };
        // Outer loops come before inner ones.
        for (_, info) in loops.iter() {
            let entered = found.inside(info.parent(), info.header());
            found.entries.push(entered);
        }
        found
    }

    /// The number of executions of a block.
    pub(super) fn of(&self, block: BlockId) -> Executions {
        self.inside(self.analysis.loops().innermost(block), block)
    }

    /// The number of times a loop is entered.
    pub(super) fn entries(&self, id: LoopId) -> Executions {
        self.entries
            .get(id.as_u32() as usize)
            .cloned()
            .unwrap_or(UNKNOWN)
    }

    /// How often control comes to a block of a loop from inside of it, or of none.
    fn inside(&self, of: Option<LoopId>, block: BlockId) -> Executions {
        let Some(id) = of else {
            let always = self.always.get(block.as_u32() as usize) == Some(&true);
            return Executions {
                times: u64::from(self.analysis.is_reachable(block)),
                factors: Vec::new(),
                is_exact: always || !self.analysis.is_reachable(block),
            };
        };
        let mut found = self.entries(id);
        let dominators = self.analysis.dominators();
        let exit = self.exits.get(id.as_u32() as usize).copied().flatten();
        let count = self.values.and_then(|v| v.trip_count(id));
        let exactly = count.filter(|c| c.is_exact).and(exit);
        let without_last =
            exactly.is_some_and(|exit| exit != block && dominators.dominates(exit, block));
        found.repeat(id, count, without_last);
        let mut latches = self.analysis.loops().latches(self.analysis.cfg(), id);
        found.is_exact &= exactly.is_some() && latches.all(|l| dominators.dominates(block, l));
        found
    }
}

/// Of each loop, the block that ends it, if there is only one.
fn only_exits(analysis: &FunctionAnalysis<'_>) -> Vec<Option<BlockId>> {
    let loops = analysis.loops();
    let mut first = vec![None; loops.len()];
    let mut several = vec![false; loops.len()];
    for (_, edge) in analysis.cfg().edges() {
        for id in loops.left(edge.from, edge.to) {
            let at = id.as_u32() as usize;
            several[at] |= *first[at].get_or_insert(edge.from) != edge.from;
        }
    }
    let only = first.into_iter().zip(several);
    only.map(|(first, several)| first.filter(|_| !several))
        .collect()
}

const UNKNOWN: Executions = Executions {
    times: 1,
    factors: Vec::new(),
    is_exact: false,
};

impl Executions {
    fn repeat(&mut self, id: LoopId, count: Option<&TripCount>, without_last: bool) {
        match count.map(|c| &c.count) {
            Some(Count::Constant(count)) => {
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
