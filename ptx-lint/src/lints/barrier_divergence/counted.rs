//! Barriers with a thread count that is larger than the number of threads that can reach them.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use ptx_analysis::threads::{PerThread, ThreadValues};
use ptx_ir::{EntityId as _, FunctionKind, StmtId};
use ptx_isa::{Action, Marks};

use super::LANES;
use crate::context::{FunctionContext, Reached};
use crate::divergence::is_counted;
use crate::{Certainty, Finding, Lint};

/// A barrier with a number and a thread count.
struct CountedBarrier {
    stmt: StmtId,
    number: PerThread,
    /// The number of threads for which the barrier waits; 0 for all threads.
    thread_count: i64,
    /// The set of the sample threads that may reach it.
    threads: u128,
}

/// A barrier number that fewer threads reach than a barrier with this number waits for.
struct MissingThreads {
    number: u64,
    /// The maximum number of threads that reach barriers with this number.
    most_threads: i64,
}

pub(super) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    let function = cx.module().functions().get(cx.id());
    if function.is_none_or(|f| f.kind != FunctionKind::Entry) {
        return;
    }
    if !cx
        .instructions()
        .any(|inst| is_barrier(&inst) && is_counted(&inst.facts))
    {
        return;
    }
    let Some((mut threads, sets)) = cx.threads() else {
        return;
    };
    let may_call = cx
        .instructions()
        .any(|inst| inst.facts.callees().is_some() || !inst.facts.is_known());
    if !threads.shape().is_required || may_call {
        return;
    }
    let barriers: Option<Vec<CountedBarrier>> = cx
        .instructions()
        .filter(is_barrier)
        .map(|inst| CountedBarrier::new(cx, &mut threads, sets, &inst))
        .collect();
    // An unknown number may be that of any barrier.
    let Some(barriers) = barriers else { return };
    let mut arriving: BTreeMap<u64, u128> = BTreeMap::new();
    for barrier in &barriers {
        for (number, set) in barrier.threads_by_number() {
            *arriving.entry(number).or_default() |= set;
        }
    }
    for barrier in barriers {
        let missing = barrier.threads_by_number().into_keys().find_map(|number| {
            let set = arriving.get(&number).copied().unwrap_or(u128::MAX);
            let most_threads = most_threads(threads.samples(), set);
            (most_threads < barrier.thread_count).then_some(MissingThreads {
                number,
                most_threads,
            })
        });
        if let Some(missing) = missing {
            findings.push(finding(cx, &barrier, &missing));
        }
    }
}

fn is_barrier(inst: &Reached<'_>) -> bool {
    matches!(
        inst.facts.action(),
        Some(Action::BarrierSync | Action::BarrierReduce | Action::BarrierArrive)
    )
}

impl CountedBarrier {
    /// Evaluates the operands of a barrier. `sets` are the sample threads that reach each block.
    fn new(
        cx: &FunctionContext<'_>,
        threads: &mut ThreadValues<'_>,
        sets: &[u128],
        inst: &Reached<'_>,
    ) -> Option<Self> {
        let (form, _) = inst.facts.form()?;
        // Where no operand is marked, the second one is the count. The number precedes it.
        let count_position = form
            .operands()
            .iter()
            .position(|operand| operand.marks().contains(Marks::THREAD_COUNT))
            .unwrap_or(1);
        let number = inst.facts.operand(count_position.checked_sub(1)?)?.operand;
        let block = cx.cfg().of_statement(inst.stmt)?;
        let thread_count = match inst.facts.operand(count_position) {
            Some(count) => cx.constant(inst.stmt, count.operand)?,
            None => 0,
        };
        let number = match cx.integer(number) {
            Some(number) => PerThread::Same(number as u64),
            None => threads.value(cx.read(inst.stmt, number)?)?,
        };
        Some(Self {
            stmt: inst.stmt,
            number,
            thread_count,
            threads: *sets.get(block.index())?,
        })
    }

    /// Returns the sample threads that may arrive, by the number of the barrier that they reach.
    fn threads_by_number(&self) -> BTreeMap<u64, u128> {
        let mut sets: BTreeMap<u64, u128> = BTreeMap::new();
        for sample in (0..128).filter(|sample| self.threads >> sample & 1 == 1) {
            *sets.entry(self.number.get(sample)).or_default() |= 1 << sample;
        }
        sets
    }
}

/// Returns the maximum number of threads that arrive if a set of sample threads arrives. All threads of the first two warps are samples. In other
/// warps, all threads may arrive if one sample does.
fn most_threads(samples: &[u32], set: u128) -> i64 {
    let lanes = LANES as u32;
    let mut threads_by_warp: BTreeMap<u32, i64> = BTreeMap::new();
    for (sample, thread) in samples.iter().enumerate() {
        if set >> sample & 1 == 1 {
            let warp = thread / lanes;
            let threads = threads_by_warp.entry(warp).or_default();
            *threads = if warp < 2 {
                *threads + 1
            } else {
                i64::from(lanes)
            };
        }
    }
    threads_by_warp.into_values().sum()
}

fn finding(
    cx: &FunctionContext<'_>,
    barrier: &CountedBarrier,
    missing: &MissingThreads,
) -> Finding {
    let message = format!(
        "barrier {} waits for {} threads, but only {} reach it",
        missing.number, barrier.thread_count, missing.most_threads
    );
    cx.finding(Lint::BarrierDivergence, Certainty::Definite, barrier.stmt, message)
        .with_help("specify the number of threads that reach the barrier, or let the other threads reach it as well")
}
