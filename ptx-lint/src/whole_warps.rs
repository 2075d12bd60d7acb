//! Branches that are uniform in each warp for all values of the unknown inputs: for example branches on the warp index, or on the comparison of a
//! multiple of 32 with an index that starts at the thread index.
//!
//! The condition is evaluated in individual threads with assumed numbers for unknown values that are uniform in the CTA.

use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::ssa::{Ssa, Value, ValueId};
use ptx_analysis::threads::{PerThread, ThreadValues};
use ptx_analysis::uniformity::{FunctionUniformity, Uniformity};
use ptx_ir::facts::Facts;
use ptx_ir::{Operand, Statement, StmtId};
use ptx_isa::Action;

use crate::context::FunctionContext;
use crate::divergence::Divergence;

/// How many branches of a function are looked at, and how many values of each.
const BRANCHES: usize = 16;
const FOLLOWED: usize = 64;
/// The numbers that are assumed: some of them divide the threads of the first two warps, others those of other warps, and the last one, which is replaced, those
/// of the next CTA.
const NUMBERS: [u64; 7] = [17, 5, 1, 33, 50, 100, 0];
/// The lanes of a warp.
const LANES: u64 = 32;

/// The branches of which it is not known that the threads of a warp go the same way, although they do.
pub(crate) fn branches(cx: &FunctionContext<'_>, divergence: &Divergence) -> Vec<BlockId> {
    let varying = divergence.causes_of(synchronizing(cx), Uniformity::Warp);
    if varying.is_empty() {
        return Vec::new();
    }
    let (Some(ssa), Some(likely), Some((mut threads, _))) = (cx.ssa(), cx.likely(), cx.threads())
    else {
        return Vec::new();
    };
    let (mut left, mut found) = (BRANCHES, Vec::new());
    for block in varying {
        let Some((stmt, facts)) = last(cx, block) else {
            continue;
        };
        if threads.guard(stmt, &facts).is_some() {
            continue;
        }
        let Some(guard) = facts
            .guard_register()
            .and_then(|(place, _)| cx.read_place(stmt, place))
        else {
            continue;
        };
        let Some(rest) = left.checked_sub(1) else {
            break;
        };
        left = rest;
        let mut condition = Condition {
            cx,
            ssa,
            likely,
            threads: &mut threads,
            seen: Vec::new(),
            leaves: Vec::new(),
            repeated: Vec::new(),
        };
        if condition.follow(guard).is_some() && condition.is_same_in_warps(guard) == Some(true) {
            found.push(block);
        }
        let seen = condition.seen;
        threads.forget(&seen);
    }
    found
}

/// The blocks with calls and with instructions that threads execute together.
fn synchronizing(cx: &FunctionContext<'_>) -> Vec<BlockId> {
    let is_relevant = |facts: &Facts<'_>| {
        facts.convergence().is_some()
            || facts.lanes().is_some()
            || facts.callees().is_some()
            || facts.action().is_some_and(is_barrier)
    };
    let relevant = cx.instructions().filter(|at| is_relevant(&at.facts));
    let mut blocks: Vec<BlockId> = relevant
        .filter_map(|at| cx.cfg().of_statement(at.stmt))
        .collect();
    blocks.dedup();
    blocks
}

fn is_barrier(action: Action) -> bool {
    matches!(
        action,
        Action::BarrierSync
            | Action::BarrierReduce
            | Action::BarrierArrive
            | Action::WarpBarrier
            | Action::ClusterArrive
            | Action::ClusterWait
    )
}

/// The last instruction of a block, with its guard.
fn last<'a>(cx: &FunctionContext<'a>, block: BlockId) -> Option<(StmtId, Facts<'a>)> {
    let of = cx.cfg().block(block)?;
    let mut statements = cx.body().range(of.first, of.end).rev();
    statements.find_map(|(stmt, statement)| match statement {
        Statement::Inst(inst) => Some((stmt, cx.facts().inst(inst))),
        _ => None,
    })
}

/// What a condition is computed of.
struct Condition<'t, 'a, 'c> {
    cx: &'a FunctionContext<'c>,
    ssa: &'a Ssa,
    likely: &'a FunctionUniformity,
    threads: &'t mut ThreadValues<'a>,
    seen: Vec<ValueId>,
    /// Values that are not known and the same in the threads of a warp, and whether they are those of special registers.
    leaves: Vec<(ValueId, bool)>,
    /// Values that change in loops, with what they are first and after that; those that others begin with come before these.
    repeated: Vec<(ValueId, ValueId, ValueId)>,
}

impl Condition<'_, '_, '_> {
    /// Collects what a value is computed of; `None` if there is something that may differ between the threads of a warp and is not known.
    fn follow(&mut self, value: ValueId) -> Option<()> {
        let mut work = vec![(value, false)];
        while let Some((value, is_done)) = work.pop() {
            if is_done {
                self.repeat(value)?;
                continue;
            }
            if self.seen.contains(&value) || self.threads.value(value).is_some() {
                continue;
            }
            if self.seen.len() >= FOLLOWED {
                return None;
            }
            self.seen.push(value);
            match self.ssa.value(value) {
                Value::Def { stmt, variable, .. } => {
                    let reads = self.computed(stmt);
                    if reads.is_empty() {
                        let same = self.likely.def(stmt, variable) <= Uniformity::Warp;
                        let is_special = self.reads_special(stmt);
                        same.then(|| self.leaves.push((value, is_special)))?;
                    }
                    work.extend(reads.into_iter().map(|read| (read, false)));
                }
                Value::Phi { .. } => {
                    work.push((value, true));
                    work.extend(self.ssa.args(value).iter().map(|arg| (*arg, false)));
                }
                _ => return None,
            }
        }
        Some(())
    }

    /// What a statement reads, if it only computes.
    fn computed(&self, stmt: StmtId) -> Vec<ValueId> {
        let facts = self.cx.inst_at(stmt);
        let computes = facts.is_some_and(|f| {
            f.is_known()
                && f.action().is_none()
                && f.callees().is_none()
                && f.memory().next().is_none()
                && f.lanes().is_none()
        });
        match computes {
            true => self.ssa.uses(stmt).iter().map(|read| read.value).collect(),
            false => Vec::new(),
        }
    }

    fn reads_special(&self, stmt: StmtId) -> bool {
        let Some(Statement::Inst(inst)) = self.cx.body().statement(stmt) else {
            return false;
        };
        let is_special = |o: &Operand| matches!(o, Operand::Special(_) | Operand::Lane(..));
        self.cx.body().operands(inst).iter().any(is_special)
    }

    /// Notes a value of the header of a loop that has one value before it and one after each iteration.
    fn repeat(&mut self, value: ValueId) -> Option<()> {
        let Value::Phi { block, .. } = self.ssa.value(value) else {
            return None;
        };
        let loops = self.cx.analysis().loops();
        let around = loops
            .innermost(block)
            .filter(|_| loops.header(block) == Some(block))?;
        let (mut first, mut next) = (None, None);
        for ((_, edge), arg) in self.cx.cfg().in_edges(block).zip(self.ssa.args(value)) {
            let slot = match loops.contains(around, edge.from) {
                true => &mut next,
                false => &mut first,
            };
            if slot.replace(*arg).is_some_and(|other| other != *arg) {
                return None;
            }
        }
        self.repeated.push((value, first?, next?));
        Some(())
    }

    /// Whether the threads of each warp agree on a condition whatever is assumed, and warps do not; `None` if it cannot be evaluated.
    fn is_same_in_warps(&mut self, guard: ValueId) -> Option<bool> {
        let mut differs = false;
        let count = self
            .threads
            .shape()
            .threads
            .into_iter()
            .map(u64::from)
            .product::<u64>();
        let mut numbers = NUMBERS;
        if let Some(last) = numbers.last_mut() {
            *last = count + count / 4 + 1;
        }
        for round in 0..2 * NUMBERS.len() {
            self.assume(&numbers, round)?;
            let Some(next) = self.second_iteration()? else {
                return Some(false);
            };
            let mut holds = vec![self.threads.value(guard)?];
            if !next.is_empty() {
                self.assume(&numbers, round)?;
                for (value, numbers) in next {
                    self.threads.assume(value, numbers);
                }
                holds.push(self.threads.value(guard)?);
            }
            for holds in holds {
                match self.threads.uniformity(&holds) {
                    Uniformity::Varying => return Some(false),
                    Uniformity::Warp => differs = true,
                    _ => {}
                }
            }
        }
        Some(differs)
    }

    /// Assumes the numbers of a round for the leaves, and forgets what was evaluated with others.
    fn assume(&mut self, numbers: &[u64; NUMBERS.len()], round: usize) -> Option<()> {
        self.threads.forget(&self.seen);
        let special = (round / NUMBERS.len()) as u64;
        for (at, &(leaf, is_special)) in self.leaves.iter().enumerate() {
            let number = match is_special {
                true => special,
                false => numbers[(round + 3 * at) % numbers.len()],
            };
            let width = self.cx.values()?.width(leaf).clamp(1, 64);
            let number = PerThread::Same(number & (u64::MAX >> (64 - width)));
            self.threads.assume(leaf, number);
        }
        Some(())
    }

    /// Assumes for the values that change in loops what they are in the first iteration, and gives what they are in the second one; `Some(None)` if they
    /// change differently in the threads of a warp.
    fn second_iteration(&mut self) -> Option<Option<Vec<(ValueId, PerThread)>>> {
        for (value, first, _) in &self.repeated {
            let numbers = self.threads.value(*first)?;
            self.threads.assume(*value, numbers);
        }
        let mut found = Vec::new();
        for (value, first, next) in &self.repeated {
            let (first, next) = (self.threads.value(*first)?, self.threads.value(*next)?);
            if !is_moved(self.threads, &first, &next) {
                return Some(None);
            }
            found.push((*value, next));
        }
        Some(Some(found))
    }
}

/// Whether the next numbers of the threads of each warp are the first ones and a multiple of 32, or are the same in a warp as the first ones are.
fn is_moved(threads: &ThreadValues<'_>, first: &PerThread, next: &PerThread) -> bool {
    let same = |numbers: &PerThread| threads.uniformity(numbers) <= Uniformity::Warp;
    if same(first) && same(next) {
        return true;
    }
    let samples = threads.samples();
    let moved = |sample: usize| next.get(sample).wrapping_sub(first.get(sample)) as u32;
    let by_warp = (1..samples.len()).all(|at| {
        let same_warp = samples[at] / LANES as u32 == samples[at - 1] / LANES as u32;
        !same_warp || moved(at) == moved(at - 1)
    });
    by_warp && (0..samples.len()).all(|at| u64::from(moved(at)).is_multiple_of(LANES))
}
