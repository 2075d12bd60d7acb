//! Branches that are uniform in each warp for all values of the unknown inputs: for example branches on the warp index, or on the comparison of a
//! multiple of 32 with an index that starts at the thread index.
//!
//! The condition is evaluated in individual threads with assumed numbers for unknown values that are uniform in the CTA.

use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::ssa::{Ssa, Value, ValueId};
use ptx_analysis::threads::{PerThread, ThreadValues};
use ptx_analysis::uniformity::{FunctionUniformity, Uniformity};
use ptx_ir::{Operand, Statement, StmtId};
use ptx_isa::Action;

use crate::context::FunctionContext;
use crate::divergence::Divergence;

/// The maximum numbers of examined branches of a function, and of values that each depends on.
const MOST_BRANCHES: usize = 16;
const MOST_VALUES: usize = 64;
/// The numbers that are assumed for unknown values. A thread index that is compared with them divides the threads of the first two warps, or of later
/// warps. The last one is replaced by a number beyond the threads of the CTA.
const NUMBERS: [u64; 7] = [17, 5, 1, 33, 50, 100, 0];
/// The lanes of a warp.
const LANES: u64 = 32;

/// Returns branches that are uniform in each warp, although the analysis of uniformity finds that they may diverge. Only the branches are examined
/// that decide whether threads reach a synchronizing instruction.
pub(crate) fn warp_uniform_branches(
    cx: &FunctionContext<'_>,
    divergence: &Divergence,
) -> Vec<BlockId> {
    let candidates = divergence.causes_of_blocks(synchronizing_blocks(cx), Uniformity::Warp);
    if candidates.is_empty() {
        return Vec::new();
    }
    let (Some(ssa), Some(likely), Some((mut threads, _))) = (cx.ssa(), cx.likely(), cx.threads())
    else {
        return Vec::new();
    };
    let mut examined = 0;
    let mut uniform_branches = Vec::new();
    for block in candidates {
        let Some((stmt, facts)) = cx.last_instruction(block) else {
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
        if examined == MOST_BRANCHES {
            break;
        }
        examined += 1;
        let mut condition = Condition {
            cx,
            ssa,
            likely,
            threads: &mut threads,
            unknown_in_threads: Vec::new(),
            unknown: Vec::new(),
            loop_values: Vec::new(),
        };
        if condition.collect(guard).is_some() && condition.is_warp_uniform(guard) == Some(true) {
            uniform_branches.push(block);
        }
        let unknown_in_threads = condition.unknown_in_threads;
        threads.forget(&unknown_in_threads);
    }
    uniform_branches
}

/// Returns the blocks with calls and with instructions that threads execute together.
fn synchronizing_blocks(cx: &FunctionContext<'_>) -> Vec<BlockId> {
    let mut blocks: Vec<BlockId> = cx
        .instructions()
        .filter(|instruction| {
            let facts = &instruction.facts;
            facts.convergence().is_some()
                || facts.member_mask().is_some()
                || facts.callees().is_some()
                || facts.action().is_some_and(is_barrier)
        })
        .filter_map(|instruction| cx.cfg().of_statement(instruction.stmt))
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

/// An unknown value that is the same in the threads of a warp.
struct UnknownValue {
    value: ValueId,
    /// A special register defines the value.
    is_special: bool,
}

/// A phi of a loop header with one value before the loop and one after each iteration.
struct LoopValue {
    phi: ValueId,
    initial: ValueId,
    next: ValueId,
}

/// The values that the condition of a branch depends on.
struct Condition<'t, 'a, 'c> {
    cx: &'a FunctionContext<'c>,
    ssa: &'a Ssa,
    likely: &'a FunctionUniformity,
    threads: &'t mut ThreadValues<'a>,
    /// The values that are not known in each thread.
    unknown_in_threads: Vec<ValueId>,
    /// The values for which numbers are assumed.
    unknown: Vec<UnknownValue>,
    /// A value comes after those that its initial value depends on.
    loop_values: Vec<LoopValue>,
}

impl Condition<'_, '_, '_> {
    /// Collects the values that a value depends on. Returns `None` if one of them is not known and may differ between the threads of a warp.
    fn collect(&mut self, value: ValueId) -> Option<()> {
        // A phi is on the worklist a second time, after its arguments.
        let mut worklist = vec![(value, false)];
        while let Some((value, has_visited_arguments)) = worklist.pop() {
            if has_visited_arguments {
                self.add_loop_value(value)?;
                continue;
            }
            if self.unknown_in_threads.contains(&value) || self.threads.value(value).is_some() {
                continue;
            }
            if self.unknown_in_threads.len() >= MOST_VALUES {
                return None;
            }
            self.unknown_in_threads.push(value);
            match self.ssa.value(value) {
                Value::Def { stmt, variable, .. } => {
                    let operands = self.operands_of_computation(stmt);
                    if operands.is_empty() {
                        if self.likely.def(stmt, variable) > Uniformity::Warp {
                            return None;
                        }
                        let is_special = self.reads_special_register(stmt);
                        self.unknown.push(UnknownValue { value, is_special });
                    }
                    worklist.extend(operands.into_iter().map(|operand| (operand, false)));
                }
                Value::Phi { .. } => {
                    worklist.push((value, true));
                    let arguments = self.ssa.args(value).iter();
                    worklist.extend(arguments.map(|argument| (*argument, false)));
                }
                _ => return None,
            }
        }
        Some(())
    }

    /// Returns the values that a statement reads if it only computes registers from registers, and otherwise nothing.
    fn operands_of_computation(&self, stmt: StmtId) -> Vec<ValueId> {
        let is_computation = self.cx.inst_at(stmt).is_some_and(|f| {
            f.is_known()
                && f.action().is_none()
                && f.callees().is_none()
                && f.memory().next().is_none()
                && f.member_mask().is_none()
        });
        if is_computation {
            self.ssa.uses(stmt).iter().map(|read| read.value).collect()
        } else {
            Vec::new()
        }
    }

    fn reads_special_register(&self, stmt: StmtId) -> bool {
        let Some(Statement::Inst(inst)) = self.cx.body().statement(stmt) else {
            return false;
        };
        let operands = self.cx.body().operands(inst);
        operands
            .iter()
            .any(|operand| matches!(operand, Operand::Special(_) | Operand::Component(..)))
    }

    /// Adds a phi of a loop header. Returns `None` if it has several values before the loop or after an iteration.
    fn add_loop_value(&mut self, phi: ValueId) -> Option<()> {
        let Value::Phi { block, .. } = self.ssa.value(phi) else {
            return None;
        };
        let loops = self.cx.analysis().loops();
        let innermost_loop = loops
            .innermost(block)
            .filter(|_| loops.header(block) == Some(block))?;
        let (mut initial, mut next) = (None, None);
        for ((_, edge), argument) in self.cx.cfg().in_edges(block).zip(self.ssa.args(phi)) {
            let slot = if loops.contains(innermost_loop, edge.from) {
                &mut next
            } else {
                &mut initial
            };
            let previous = slot.replace(*argument);
            if previous.is_some_and(|previous| previous != *argument) {
                return None;
            }
        }
        self.loop_values.push(LoopValue {
            phi,
            initial: initial?,
            next: next?,
        });
        Some(())
    }

    /// Returns `true` if the threads of each warp agree on a condition under all assumptions, and different warps do not. Returns `None` if it cannot be
    /// evaluated.
    fn is_warp_uniform(&mut self, guard: ValueId) -> Option<bool> {
        let mut differs_between_warps = false;
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
            let second_iteration = match self.iterate()? {
                Iteration::SameStepInWarps(numbers) => numbers,
                Iteration::DifferentSteps => return Some(false),
            };
            // In the first iteration, and in the second one if there is a loop.
            let mut guards = vec![self.threads.value(guard)?];
            if !second_iteration.is_empty() {
                self.assume(&numbers, round)?;
                for (value, numbers) in second_iteration {
                    self.threads.assume(value, numbers);
                }
                guards.push(self.threads.value(guard)?);
            }
            for guard in guards {
                match self.threads.uniformity(&guard) {
                    Uniformity::Varying => return Some(false),
                    Uniformity::Warp => differs_between_warps = true,
                    _ => {}
                }
            }
        }
        Some(differs_between_warps)
    }

    /// Assumes the numbers of a round for the unknown values, and forgets the values that were computed from the assumptions before.
    fn assume(&mut self, numbers: &[u64; NUMBERS.len()], round: usize) -> Option<()> {
        self.threads.forget(&self.unknown_in_threads);
        let special = (round / NUMBERS.len()) as u64;
        for (index, unknown) in self.unknown.iter().enumerate() {
            let number = if unknown.is_special {
                special
            } else {
                numbers[(round + 3 * index) % numbers.len()]
            };
            let width = self.cx.values()?.width(unknown.value).clamp(1, 64);
            let number = PerThread::Same(number & (u64::MAX >> (64 - width)));
            self.threads.assume(unknown.value, number);
        }
        Some(())
    }

    /// Assumes the initial values of the values that change in loops, and computes their values in the second iteration. Returns `None` if they
    /// cannot be evaluated.
    fn iterate(&mut self) -> Option<Iteration> {
        for value in &self.loop_values {
            let numbers = self.threads.value(value.initial)?;
            self.threads.assume(value.phi, numbers);
        }
        let mut second_iteration = Vec::new();
        for value in &self.loop_values {
            let initial = self.threads.value(value.initial)?;
            let next = self.threads.value(value.next)?;
            if !has_same_step_in_warps(self.threads, &initial, &next) {
                return Some(Iteration::DifferentSteps);
            }
            second_iteration.push((value.phi, next));
        }
        Some(Iteration::SameStepInWarps(second_iteration))
    }
}

/// The values that change in loops after one iteration.
enum Iteration {
    /// The phis and their values in the second iteration.
    SameStepInWarps(Vec<(ValueId, PerThread)>),
    /// A value changes differently in the threads of a warp.
    DifferentSteps,
}

/// Returns `true` if the difference of two values is a multiple of 32 and the same in the threads of each warp, or if both values are uniform in each
/// warp.
fn has_same_step_in_warps(
    threads: &ThreadValues<'_>,
    initial: &PerThread,
    next: &PerThread,
) -> bool {
    let is_uniform = |numbers: &PerThread| threads.uniformity(numbers) <= Uniformity::Warp;
    if is_uniform(initial) && is_uniform(next) {
        return true;
    }
    let samples = threads.samples();
    let step = |sample: usize| next.get(sample).wrapping_sub(initial.get(sample)) as u32;
    let is_same_in_warps = (1..samples.len()).all(|sample| {
        let is_same_warp = samples[sample] / LANES as u32 == samples[sample - 1] / LANES as u32;
        !is_same_warp || step(sample) == step(sample - 1)
    });
    is_same_in_warps
        && (0..samples.len()).all(|sample| u64::from(step(sample)).is_multiple_of(LANES))
}
