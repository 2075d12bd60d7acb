//! Whether different threads access the same bytes.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::graph::LoopId;
use ptx_analysis::ssa::{Value, ValueId};
use ptx_analysis::threads::{ThreadValues, reaching};
use ptx_analysis::values::{Symbol, SymbolId};

use super::pending::{Groups, Pair};
use super::touch::{Touch, Touches};
use ptx_ir::{EntityId as _, StmtId};

use crate::Certainty;
use crate::context::FunctionContext;

/// The lanes of a warp.
const LANES: u32 = 32;
/// Assumed numbers for an unknown value in the first and second access: in the same iteration, and in two iterations between which it may decrease or
/// increase.
const SAME: &[(u64, u64)] = &[(16, 16)];
const EARLIER: &[(u64, u64)] = &[(32, 16), (1, 2)];
/// Likewise for two iterations with only a warp barrier in between.
const OTHER_WARPS: &[(u64, u64)] = &[(64, 32)];
/// The maximum number of assumed values of a function.
const ASSUMED: usize = 16;

/// Compares accesses.
pub(super) struct Judge<'a, 't, 'c> {
    cx: &'a FunctionContext<'c>,
    /// The linear indices of the samples, and how many of them there are for certain, and probably.
    samples: &'a [u32],
    certain: usize,
    likely: usize,
    /// For each assumed value, the threads that reach each block.
    assumed: core::cell::RefCell<BTreeMap<(ValueId, u64), Vec<u128>>>,
    threads: &'a ThreadValues<'t>,
    groups: &'a Groups,
}

/// The thread-independent difference between two addresses.
struct Difference {
    /// Added to the second address.
    constant: i64,
    /// Symbols with different factors in the two addresses.
    first: Vec<(SymbolId, i64)>,
    second: Vec<(SymbolId, i64)>,
}

impl<'a, 't, 'c> Judge<'a, 't, 'c> {
    pub(super) fn new(
        cx: &'a FunctionContext<'c>,
        threads: &'a ThreadValues<'t>,
        sets: &[u128],
        touches: &Touches,
        groups: &'a Groups,
    ) -> Self {
        let samples = threads.samples();
        let shape = threads.shape();
        let first_warp = samples.iter().filter(|t| **t < LANES).count();
        // Code that excludes threads is written for larger CTAs.
        let all = samples.len();
        let bound = |set: &u128| {
            let set = *set;
            let last = 128 - set.leading_zeros() as usize;
            (set != 0 && last < all && set != 1).then_some(last + 1)
        };
        let guessed = sets.iter().filter_map(bound).max().unwrap_or(0);
        let likely = match shape.is_required || shape.threads[0] < 1024 && shape.threads[1] == 1 {
            true => all,
            false => first_warp.max(guessed).max(touches.filling(cx)).min(all),
        };
        Self {
            cx,
            samples,
            certain: if shape.is_required { all } else { first_warp },
            likely,
            assumed: core::cell::RefCell::new(BTreeMap::new()),
            threads,
            groups,
        }
    }

    /// Whether two accesses are a race, with the certainty.
    pub(super) fn race(&self, pair: &Pair, a: &Touch, b: &Touch) -> Option<Certainty> {
        if a.is_anywhere || b.is_anywhere {
            return self.meets(pair, a, b).then_some(Certainty::Possible);
        }
        let difference = self.difference(pair, a, b)?;
        if a.repeated.is_some() || b.repeated.is_some() {
            return self
                .repeats(pair, a, b, &difference)
                .then_some(Certainty::Possible);
        }
        if difference.first.is_empty() && difference.second.is_empty() {
            return self.compare(pair, a, b, difference.constant);
        }
        self.with_assumptions(pair, a, b, &difference)
    }

    /// Whether an element that a loaded number selects may be one that another thread writes, or the other way round.
    fn meets(&self, pair: &Pair, a: &Touch, b: &Touch) -> bool {
        let (selected, other) = if a.is_anywhere { (a, b) } else { (b, a) };
        let several = (0..self.certain)
            .filter(|s| other.set >> s & 1 == 1)
            .count()
            > 1;
        let differ = Self::stride(other) != 0;
        // A warp may read its own writes.
        let is_first =
            !pair.is_earlier && (!pair.in_other_warps || self.is_in_other_warps(selected, other));
        is_first && several && differ && !other.is_anywhere && !selected.is_of_warp
    }

    /// Whether addresses that change in a loop are the same in the first iteration, or in the first one and in the second one.
    fn repeats(&self, pair: &Pair, a: &Touch, b: &Touch, difference: &Difference) -> bool {
        let of = [a, b].map(|touch| touch.repeated.as_ref());
        let is_other = matches!(of, [Some(a), Some(b)] if (a.value, a.id) != (b.value, b.id));
        let is_known = difference.first.is_empty() && difference.second.is_empty();
        let around = self
            .common_loop(a.block, b.block)
            .filter(|_| pair.is_earlier);
        let mut repeated = of.into_iter().flatten();
        if is_other || !is_known || around.is_some_and(|id| repeated.any(|r| r.id != id)) {
            return false;
        }
        if pair.is_earlier && of[1].is_some_and(|r| r.later.is_none()) {
            return false;
        }
        let count = match of.into_iter().flatten().any(|r| r.is_same) && !pair.in_other_warps {
            true => self.certain.min(LANES as usize),
            false => self.likely,
        };
        let all = |_: usize, _: usize| true;
        self.overlaps(
            pair,
            (a, a.set),
            (b, b.set),
            (difference.constant, &all),
            count,
        )
    }

    /// Whether warps of which no thread executes an access execute another one.
    fn is_in_other_warps(&self, access: &Touch, other: &Touch) -> bool {
        let warps = |touch: &Touch| {
            let samples = self.samples.iter().take(self.certain).enumerate();
            let executing = samples.filter(|(sample, _)| touch.set >> sample & 1 == 1);
            executing.fold(0u32, |all, (_, thread)| all | 1 << (thread / LANES).min(31))
        };
        other.is_exact && warps(access) & !warps(other) != 0
    }

    /// Compares addresses that are functions of the thread index.
    fn compare(&self, pair: &Pair, a: &Touch, b: &Touch, constant: i64) -> Option<Certainty> {
        // Two threads that store the same value are harmless.
        let differs = |first: usize, second: usize| match (&a.stored, &b.stored) {
            _ if !a.writes || !b.writes || a.is_atomic || b.is_atomic => true,
            (Some(a), Some(b)) => a.get(first) != b.get(second),
            _ => false,
        };
        let sure =
            |count: usize| self.overlaps(pair, (a, a.set), (b, b.set), (constant, &differs), count);
        // Values that are not known are the same where warps repeat the work of others.
        let may_differ = |first: usize, second: usize| match (&a.stored, &b.stored) {
            _ if !a.writes || !b.writes || a.is_atomic || b.is_atomic => true,
            (Some(a), Some(b)) => a.get(first) != b.get(second),
            _ => a.stmt != b.stmt || !a.repeats(first, second),
        };
        let both = |count: usize| {
            self.overlaps(pair, (a, a.set), (b, b.set), (constant, &may_differ), count)
        };
        let has_counters = !a.counters.is_empty() || !b.counters.is_empty();
        let is_certain = pair.is_certain && a.is_exact && b.is_exact && !has_counters;
        if is_certain && sure(self.certain) {
            return Some(Certainty::Definite);
        }
        let uses_size = a.uses_size || b.uses_size;
        let count = if uses_size {
            self.samples.len()
        } else {
            self.likely
        };
        both(count).then_some(Certainty::Possible)
    }

    /// Whether only threads of one warp access the same bytes, as far as is known.
    pub(super) fn is_in_warps(&self, pair: &Pair, a: &Touch, b: &Touch) -> bool {
        if a.is_anywhere || b.is_anywhere || a.repeated.is_some() || b.repeated.is_some() {
            return false;
        }
        let Some(difference) = self.difference(pair, a, b) else {
            return false;
        };
        let other_warp = |first: usize, second: usize| {
            let warp = |sample: usize| self.samples.get(sample).map(|thread| thread / LANES);
            warp(first) != warp(second)
        };
        let is_known = difference.first.is_empty() && difference.second.is_empty();
        let of = (
            difference.constant,
            &other_warp as &dyn Fn(usize, usize) -> bool,
        );
        is_known && !self.overlaps(pair, (a, a.set), (b, b.set), of, self.samples.len())
    }

    /// What is added to the second address, and what cannot be compared; `None` if no address may be compared.
    fn difference(&self, pair: &Pair, a: &Touch, b: &Touch) -> Option<Difference> {
        let mut difference = Difference {
            constant: 0,
            first: Vec::new(),
            second: Vec::new(),
        };
        let around = self
            .common_loop(a.block, b.block)
            .filter(|_| pair.is_earlier);
        for (id, factor) in &b.counters {
            // In the first iteration, or in the second one.
            if around == Some(*id) {
                difference.constant = difference.constant.wrapping_add(*factor);
            }
        }
        for (symbol, factor) in &a.shared {
            let is_same = b.shared.get(symbol) == Some(factor);
            if !is_same || around.is_some_and(|id| self.changes(id, *symbol)) {
                difference.first.push((*symbol, *factor));
            }
        }
        for (symbol, factor) in &b.shared {
            let is_same = a.shared.get(symbol) == Some(factor);
            if !is_same || around.is_some_and(|id| self.changes(id, *symbol)) {
                difference.second.push((*symbol, *factor));
            }
        }
        Some(difference)
    }

    /// The innermost loop that contains both blocks.
    fn common_loop(&self, a: BlockId, b: BlockId) -> Option<LoopId> {
        let loops = self.cx.analysis().loops();
        let mut around = loops.innermost(a);
        while let Some(id) = around.filter(|id| !loops.contains(*id, b)) {
            around = loops.get(id).and_then(|l| l.parent());
        }
        around
    }

    /// Whether a symbol may have another value in the next iteration of a loop.
    fn changes(&self, id: LoopId, symbol: SymbolId) -> bool {
        let (Some(values), Some(ssa)) = (self.cx.values(), self.cx.ssa()) else {
            return true;
        };
        let block = match values.symbol(symbol) {
            Some(Symbol::Value { value, .. }) => match ssa.value(value) {
                Value::Def { stmt, .. } => self.cx.cfg().of_statement(stmt),
                Value::Phi { block, .. } => Some(block),
                _ => None,
            },
            Some(Symbol::Product(a, b)) => return self.changes(id, a) || self.changes(id, b),
            _ => None,
        };
        block.is_some_and(|b| self.cx.analysis().loops().contains(id, b))
    }

    /// Whether different threads among a number of samples access the same bytes and satisfy a condition.
    fn overlaps(
        &self,
        pair: &Pair,
        (a, first): (&Touch, u128),
        (b, second): (&Touch, u128),
        (constant, fulfils): (i64, &dyn Fn(usize, usize) -> bool),
        count: usize,
    ) -> bool {
        let is_in = |set: u128, sample: usize| sample < count && set >> sample & 1 == 1;
        // Both are sorted by address, unless the addresses wrap around.
        let (mut from, mut last) = (0, i64::MIN);
        let later = b.repeated.as_ref().filter(|_| pair.is_earlier);
        let sorted = later.and_then(|of| of.later.as_ref()).unwrap_or(&b.sorted);
        let mut all = sorted.iter().filter(|(_, sample)| is_in(second, *sample));
        all.any(|&(own, sample)| {
            let Some(&thread) = self.samples.get(sample) else {
                return false;
            };
            let at = own.wrapping_add(constant);
            if at < core::mem::replace(&mut last, at) {
                from = 0;
            }
            let is_before = |start: i64| start.saturating_add(a.bytes) <= at;
            while a
                .sorted
                .get(from)
                .is_some_and(|(start, _)| is_before(*start))
            {
                from += 1;
            }
            let near = a.sorted.get(from..).unwrap_or_default().iter();
            near.take_while(|(start, _)| *start < at.saturating_add(b.bytes))
                .filter(|(_, other)| is_in(first, *other))
                .filter_map(|(_, other)| Some((*other, self.samples.get(*other)?)))
                .any(|(first, other)| {
                    let other_warp = thread / LANES != other / LANES;
                    // What other lanes access may be what this one does.
                    let other_thread = *other != thread || a.is_of_warp != b.is_of_warp;
                    let other_group = pair
                        .group
                        .is_none_or(|group| self.differs(group, thread, *other));
                    other_thread
                        && other_group
                        && (other_warp || !pair.in_other_warps)
                        && fulfils(first, sample)
                })
        })
    }

    /// Whether two threads pass different barriers of a statement.
    fn differs(&self, group: StmtId, a: u32, b: u32) -> bool {
        let sample = |thread| self.samples.iter().position(|t| *t == thread);
        match (self.groups.get(&group), sample(a), sample(b)) {
            (Some(of), Some(a), Some(b)) => of.get(a) != of.get(b),
            _ => false,
        }
    }

    /// The stride between threads, if it is constant for the first threads.
    fn stride(touch: &Touch) -> i64 {
        match touch.own.as_slice() {
            [first, second, ..] => second.wrapping_sub(*first),
            _ => 0,
        }
    }

    /// Compares addresses with an unknown number of elements added.
    fn with_assumptions(
        &self,
        pair: &Pair,
        a: &Touch,
        b: &Touch,
        difference: &Difference,
    ) -> Option<Certainty> {
        let strides = (Self::stride(a), Self::stride(b));
        let stride = strides.0.unsigned_abs().max(strides.1.unsigned_abs());
        let mut all = difference.first.iter().chain(&difference.second);
        if stride == 0 || !all.all(|(_, factor)| factor.unsigned_abs() == stride) {
            return None;
        }
        let mut symbols: Vec<SymbolId> = Vec::new();
        for (symbol, _) in difference.first.iter().chain(&difference.second) {
            if !symbols.contains(symbol) {
                symbols.push(*symbol);
            }
        }
        let &[symbol] = symbols.as_slice() else {
            return None;
        };
        let values = self.cx.values()?;
        let factor = |list: &[(SymbolId, i64)]| list.first().map_or(0, |(_, factor)| *factor);
        let (of_a, of_b) = (factor(&difference.first), factor(&difference.second));
        let overlap = |sets: (u128, u128), numbers: (u64, u64)| {
            let constant = difference
                .constant
                .wrapping_add(of_b.wrapping_mul(numbers.1 as i64))
                .wrapping_sub(of_a.wrapping_mul(numbers.0 as i64));
            let all = |_: usize, _: usize| true;
            let count = if pair.in_other_warps {
                self.certain
            } else {
                self.certain.min(32)
            };
            self.overlaps(pair, (a, sets.0), (b, sets.1), (constant, &all), count)
        };
        let phi = match values.symbol(symbol)? {
            Symbol::Value { value, .. } => {
                let is_phi = matches!(self.cx.ssa()?.value(value), Value::Phi { .. });
                is_phi.then_some(value)
            }
            _ => None,
        };
        let found = match phi {
            // With the number of threads as the offset, parts of that size do not overlap, but a reversed order does.
            None => overlap((a.set, b.set), (32, 32)),
            Some(phi) => {
                let numbers = match (pair.is_earlier, pair.in_other_warps) {
                    (true, true) => OTHER_WARPS,
                    (true, false) => EARLIER,
                    (false, _) => SAME,
                };
                let interval = values.interval(phi);
                let fits = |number: u64| !pair.in_other_warps || interval.contains(number.into());
                numbers
                    .iter()
                    .filter(|(first, second)| fits(*first) && fits(*second))
                    .any(|&(first, second)| {
                        let at = |touch: &Touch, number| self.set_of(touch, (phi, number));
                        let sets = (at(a, first), at(b, second));
                        overlap(sets, (first, second))
                    })
            }
        };
        found.then_some(Certainty::Possible)
    }

    /// The samples that execute an access if a value is a number.
    fn set_of(&self, touch: &Touch, (value, number): (ValueId, u64)) -> u128 {
        let mut assumed = self.assumed.borrow_mut();
        let count = assumed.len();
        let sets = assumed.entry((value, number)).or_insert_with(|| {
            if count >= ASSUMED {
                return Vec::new();
            }
            let mut threads = self.threads.assuming(value, number);
            reaching(self.cx.analysis(), &mut threads)
        });
        let set = sets.get(touch.block.index()).copied();
        touch.set & set.unwrap_or(u128::MAX)
    }
}
