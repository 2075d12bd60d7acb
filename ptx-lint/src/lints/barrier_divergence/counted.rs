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
struct Counted {
    stmt: StmtId,
    number: PerThread,
    threads: i64,
    /// The sample threads that may reach it.
    set: u128,
}

pub(super) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    let function = cx.module().functions().get(cx.id());
    if function.is_none_or(|f| f.kind != FunctionKind::Entry) {
        return;
    }
    let is_barrier = |at: &Reached<'_>| {
        let action = at.facts.action();
        matches!(
            action,
            Some(Action::BarrierSync | Action::BarrierReduce | Action::BarrierArrive)
        )
    };
    if !cx
        .instructions()
        .any(|at| is_barrier(&at) && is_counted(&at.facts))
    {
        return;
    }
    let calls = |at: &Reached<'_>| at.facts.callees().is_some() || !at.facts.is_known();
    let Some((mut threads, sets)) = cx.threads() else {
        return;
    };
    if !threads.shape().is_required || cx.instructions().any(|at| calls(&at)) {
        return;
    }
    let barriers = cx.instructions().filter(is_barrier);
    let all: Option<Vec<Counted>> = barriers
        .map(|at| counted(cx, (&mut threads, sets), &at))
        .collect();
    // An unknown number may be any barrier.
    let Some(all) = all else { return };
    let mut comes: BTreeMap<u64, u128> = BTreeMap::new();
    for (number, set) in all.iter().flat_map(Counted::sets) {
        *comes.entry(number).or_default() |= set;
    }
    for barrier in all {
        let few = barrier.sets().into_iter().find_map(|(number, _)| {
            let set = comes.get(&number).copied().unwrap_or(u128::MAX);
            let most = count(threads.samples(), set);
            (most < barrier.threads).then_some((number, most))
        });
        if let Some(few) = few {
            found.push(finding(cx, &barrier, few));
        }
    }
}

impl Counted {
    /// The sample threads that may arrive, by the number of the barrier that they reach.
    fn sets(&self) -> BTreeMap<u64, u128> {
        let mut sets: BTreeMap<u64, u128> = BTreeMap::new();
        for sample in (0..128).filter(|sample| self.set >> sample & 1 == 1) {
            *sets.entry(self.number.get(sample)).or_default() |= 1 << sample;
        }
        sets
    }
}

fn counted(
    cx: &FunctionContext<'_>,
    (values, sets): (&mut ThreadValues<'_>, &[u128]),
    at: &Reached<'_>,
) -> Option<Counted> {
    let (form, _) = at.facts.form()?;
    let mut operands = form.operands().iter();
    // Where no operand is marked, the second one is the count; the number is before it.
    let count = operands
        .position(|o| o.marks().contains(Marks::THREAD_COUNT))
        .unwrap_or(1);
    let number = at.facts.operand(count.checked_sub(1)?)?.operand;
    let block = cx.cfg().of_statement(at.stmt)?;
    let threads = match at.facts.operand(count).map(|o| o.operand) {
        Some(threads) => cx.constant(at.stmt, threads)?,
        // Barriers for all threads are checked elsewhere.
        None => 0,
    };
    let number = match cx.integer(number) {
        Some(number) => PerThread::Same(number as u64),
        None => values.value(cx.read(at.stmt, number)?)?,
    };
    Some(Counted {
        stmt: at.stmt,
        number,
        threads,
        set: *sets.get(block.index())?,
    })
}

/// The maximum number of threads if these samples arrive: in warps with few samples, all threads arrive if one does.
fn count(samples: &[u32], set: u128) -> i64 {
    let lanes = LANES as u32;
    let mut of_warp: BTreeMap<u32, i64> = BTreeMap::new();
    for (sample, thread) in samples.iter().enumerate() {
        if set >> sample & 1 == 1 {
            let threads = of_warp.entry(thread / lanes).or_default();
            *threads = match thread / lanes < 2 {
                true => *threads + 1,
                false => i64::from(lanes),
            };
        }
    }
    of_warp.into_values().sum()
}

fn finding(cx: &FunctionContext<'_>, barrier: &Counted, (number, most): (u64, i64)) -> Finding {
    let message = format!(
        "barrier {number} waits for {} threads, but only {most} reach it",
        barrier.threads
    );
    cx.finding(Lint::BarrierDivergence, Certainty::Definite, barrier.stmt, message)
        .with_help("specify the number of threads that reach the barrier, or let the other threads reach it as well")
}
