//! Whether different threads access the same bytes.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cell::RefCell;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::graph::LoopId;
use ptx_analysis::ssa::{Value, ValueId};
use ptx_analysis::threads::{ThreadValues, reaching};
use ptx_analysis::values::{AffineSymbol, AffineSymbolId};
use ptx_ir::{EntityId as _, StmtId};

use super::accesses::{SharedAccess, SharedAccesses};
use super::address::{Offsets, greatest_common_divisor};
use super::pending::{Groups, Pair};
use crate::Certainty;
use crate::context::FunctionContext;

/// The lanes of a warp.
const LANES: u32 = 32;
/// Assumed numbers for an unknown value in the first and second access: in the same iteration, and in two iterations between which it may decrease or
/// increase.
const SAME_ITERATION: &[(u64, u64)] = &[(16, 16)];
const EARLIER_ITERATION: &[(u64, u64)] = &[(32, 16), (1, 2)];
/// Assumed numbers for two iterations with only a warp barrier in between.
const OTHER_WARPS: &[(u64, u64)] = &[(64, 32)];
/// The maximum number of assumed values of a function.
const MAX_ASSUMPTIONS: usize = 16;

/// Determines whether pairs of accesses are races.
pub(super) struct RaceTest<'a, 't, 'c> {
    cx: &'a FunctionContext<'c>,
    /// The linear indices of the sample threads.
    samples: &'a [u32],
    /// The number of sample threads that every launch has, and that launches probably have.
    certain: usize,
    likely: usize,
    /// For each assumed value, the threads that reach each block.
    assumed: RefCell<BTreeMap<(ValueId, u64), Vec<u128>>>,
    threads: &'a ThreadValues<'t>,
    groups: &'a Groups,
    /// The results of comparisons in which any two threads conflict: accesses of unrolled loops differ by the same constants again and again.
    compared: RefCell<BTreeMap<ComparisonKey, bool>>,
}

/// Comparisons with equal keys have equal results if any two threads conflict.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct ComparisonKey {
    /// The offsets of both accesses, as addresses in memory.
    offsets: [*const Offsets; 2],
    constant: i64,
    bytes: [i64; 2],
    executing: [u128; 2],
    is_of_rows: [bool; 2],
    in_other_warps: bool,
    group: Option<StmtId>,
    count: usize,
}

/// The thread-independent difference between two addresses.
struct Difference {
    /// The constant that is added to the second address.
    constant: i64,
    /// Symbols with different factors in the two addresses.
    first: Vec<(AffineSymbolId, i64)>,
    second: Vec<(AffineSymbolId, i64)>,
}

impl Difference {
    fn is_constant(&self) -> bool {
        self.first.is_empty() && self.second.is_empty()
    }
}

/// Two accesses whose addresses are compared in individual threads.
struct Comparison<'a> {
    pair: &'a Pair,
    first: &'a SharedAccess,
    second: &'a SharedAccess,
    /// The sample threads that execute the accesses, one bit for each.
    first_executing: u128,
    second_executing: u128,
    /// The offset of the first access and of the second one in all sample threads.
    first_constant: i64,
    second_constant: i64,
}

impl<'a> Comparison<'a> {
    /// Compares two addresses whose difference does not depend on the thread.
    fn new(
        pair: &'a Pair,
        first: &'a SharedAccess,
        second: &'a SharedAccess,
        constant: i64,
    ) -> Self {
        Self {
            pair,
            first,
            second,
            first_executing: first.executing,
            second_executing: second.executing,
            first_constant: first.form.constant(),
            second_constant: second.form.constant().wrapping_add(constant),
        }
    }

    fn key(&self, count: usize) -> ComparisonKey {
        ComparisonKey {
            offsets: [self.first_offsets(), self.second_offsets()].map(core::ptr::from_ref),
            constant: self.second_constant.wrapping_sub(self.first_constant),
            bytes: [self.first.bytes, self.second.bytes],
            executing: [self.first_executing, self.second_executing],
            is_of_rows: [self.first.is_of_rows, self.second.is_of_rows],
            in_other_warps: self.pair.in_other_warps,
            group: self.pair.group,
            count,
        }
    }

    fn first_offsets(&self) -> &'a Offsets {
        &self.first.address.offsets
    }

    /// The offsets of the second access, in the second iteration of the loop that repeats the pair.
    fn second_offsets(&self) -> &'a Offsets {
        let address = &self.second.address;
        let repeated = address.repeated.as_ref().filter(|_| self.pair.is_earlier);
        repeated
            .and_then(|repeated| repeated.later.as_ref())
            .unwrap_or(&address.offsets)
    }

    /// Whether it is evident that no two threads access the same bytes.
    fn is_disjoint(&self) -> bool {
        let (first, second) = (self.first_offsets(), self.second_offsets());
        let (first_bytes, second_bytes) = (self.first.bytes, self.second.bytes);
        let is_same_kind = self.first.is_of_rows == self.second.is_of_rows;
        if self.first_executing == 0
            || self.second_executing == 0
            || is_same_kind && (self.first_executing | self.second_executing).is_power_of_two()
        {
            return true;
        }
        if core::ptr::eq(first, second)
            && self.first_constant == self.second_constant
            && is_same_kind
            && i64::try_from(first.least_distance)
                .is_ok_and(|distance| distance >= first_bytes.max(second_bytes))
        {
            // Each thread accesses its own element.
            return true;
        }
        let bounds = |offsets: &Offsets, constant: i64| {
            let (least, greatest) = offsets.bounds()?;
            Some((
                least.checked_add(constant)?,
                greatest.checked_add(constant)?,
            ))
        };
        let (Some((first_least, first_greatest)), Some((second_least, second_greatest))) = (
            bounds(first, self.first_constant),
            bounds(second, self.second_constant),
        ) else {
            return false;
        };
        if first_greatest.saturating_add(first_bytes) <= second_least
            || second_greatest.saturating_add(second_bytes) <= first_least
        {
            return true;
        }
        // All distances between an address of the first access and one of the second access are congruent.
        let divisor = i128::from(greatest_common_divisor(first.divisor, second.divisor));
        let distance = i128::from(second_least) - i128::from(first_least);
        divisor != 0 && {
            let distance = distance.rem_euclid(divisor);
            distance >= first_bytes.into() && distance + i128::from(second_bytes) <= divisor
        }
    }
}

impl<'a, 't, 'c> RaceTest<'a, 't, 'c> {
    pub(super) fn new(
        cx: &'a FunctionContext<'c>,
        threads: &'a ThreadValues<'t>,
        reaching: &[u128],
        accesses: &SharedAccesses,
        groups: &'a Groups,
    ) -> Self {
        let samples = threads.samples();
        let shape = threads.shape();
        let count = samples.len();
        let first_warp = samples.iter().filter(|t| **t < LANES).count();
        // Code that excludes threads is written for larger CTAs.
        let guessed = reaching
            .iter()
            .filter_map(|executing| {
                let end = 128 - executing.leading_zeros() as usize;
                (*executing > 1 && end < count).then_some(end + 1)
            })
            .max()
            .unwrap_or(0);
        let likely = if shape.is_required || shape.threads[0] < 1024 && shape.threads[1] == 1 {
            count
        } else {
            first_warp.max(guessed).max(accesses.filling(cx)).min(count)
        };
        Self {
            cx,
            samples,
            certain: if shape.is_required { count } else { first_warp },
            likely,
            assumed: RefCell::new(BTreeMap::new()),
            threads,
            groups,
            compared: RefCell::new(BTreeMap::new()),
        }
    }

    /// The certainty that two accesses are a race; `None` if they are not.
    pub(super) fn race(
        &self,
        pair: &Pair,
        first: &SharedAccess,
        second: &SharedAccess,
    ) -> Option<Certainty> {
        if first.address.is_anywhere || second.address.is_anywhere {
            let is_possible = self.may_select_element(pair, first, second);
            return is_possible.then_some(Certainty::Possible);
        }
        let difference = self.difference(pair, first, second);
        if first.address.repeated.is_some() || second.address.repeated.is_some() {
            return self
                .repeats(pair, first, second, &difference)
                .then_some(Certainty::Possible);
        }
        if difference.is_constant() {
            self.compare(&Comparison::new(pair, first, second, difference.constant))
        } else {
            self.compare_with_assumptions(pair, first, second, &difference)
        }
    }

    /// Whether an element that a loaded number selects may be one that another thread writes, or the reverse.
    fn may_select_element(&self, pair: &Pair, first: &SharedAccess, second: &SharedAccess) -> bool {
        let (selected, other) = if first.address.is_anywhere {
            (first, second)
        } else {
            (second, first)
        };
        let executing = (0..self.certain).filter(|sample| other.is_executed_by(*sample));
        // A warp may read its own writes.
        let is_first =
            !pair.is_earlier && (!pair.in_other_warps || self.is_in_other_warps(selected, other));
        is_first
            && executing.take(2).count() == 2
            && stride(other) != 0
            && !other.address.is_anywhere
            && !selected.is_of_rows
    }

    /// Whether addresses that change in a loop are the same in the first iteration, or in the first one and in the second one.
    fn repeats(
        &self,
        pair: &Pair,
        first: &SharedAccess,
        second: &SharedAccess,
        difference: &Difference,
    ) -> bool {
        let repeated = [first, second].map(|access| access.address.repeated.as_ref());
        let common_loop = self
            .common_loop(first.block, second.block)
            .filter(|_| pair.is_earlier);
        let changes_differ =
            matches!(repeated, [Some(a), Some(b)] if (a.value, a.id) != (b.value, b.id));
        let is_other_loop = |id| repeated.iter().flatten().any(|r| r.id != id);
        if changes_differ || !difference.is_constant() || common_loop.is_some_and(is_other_loop) {
            return false;
        }
        if pair.is_earlier && repeated[1].is_some_and(|r| r.later.is_none()) {
            return false;
        }
        let is_uniform = repeated.iter().flatten().any(|r| r.is_uniform);
        let count = if is_uniform && !pair.in_other_warps {
            self.certain.min(LANES as usize)
        } else {
            self.likely
        };
        let comparison = Comparison::new(pair, first, second, difference.constant);
        self.overlaps_anywhere(&comparison, count)
    }

    /// Whether warps of which no thread executes an access execute another one.
    fn is_in_other_warps(&self, access: &SharedAccess, other: &SharedAccess) -> bool {
        let warps = |access: &SharedAccess| {
            let samples = self.samples.iter().take(self.certain).enumerate();
            samples
                .filter(|(sample, _)| access.is_executed_by(*sample))
                .fold(0u32, |warps, (_, thread)| {
                    warps | 1 << (thread / LANES).min(31)
                })
        };
        other.is_exact && warps(access) & !warps(other) != 0
    }

    /// Compares addresses that are functions of the thread index.
    fn compare(&self, comparison: &Comparison<'_>) -> Option<Certainty> {
        let (first, second) = (comparison.first, comparison.second);
        let both_store = first.writes && second.writes && !first.is_atomic && !second.is_atomic;
        // Two threads that store the same value are harmless. Values that are not known are the same where warps repeat the work of others.
        let may_differ = |a: usize, b: usize| match (&first.stored, &second.stored) {
            (Some(first), Some(second)) => first.get(a) != second.get(b),
            _ => first.stmt != second.stmt || !first.is_replica(a, b),
        };
        let uses_size = first.address.uses_size || second.address.uses_size;
        let count = if uses_size {
            self.samples.len()
        } else {
            self.likely
        };
        let is_possible = if both_store {
            self.overlaps(comparison, count, may_differ)
        } else {
            self.overlaps_anywhere(comparison, count)
        };
        if !is_possible {
            return None;
        }
        let differs = |a: usize, b: usize| match (&first.stored, &second.stored) {
            _ if !both_store => true,
            (Some(first), Some(second)) => first.get(a) != second.get(b),
            _ => false,
        };
        let has_counters =
            !first.address.counters.is_empty() || !second.address.counters.is_empty();
        let is_definite = comparison.pair.is_certain
            && first.is_exact
            && second.is_exact
            && !has_counters
            && self.overlaps(comparison, self.certain, differs);
        Some(if is_definite {
            Certainty::Definite
        } else {
            Certainty::Possible
        })
    }

    /// Whether only threads of one warp access the same bytes, as far as is known.
    pub(super) fn is_in_warps(
        &self,
        pair: &Pair,
        first: &SharedAccess,
        second: &SharedAccess,
    ) -> bool {
        let is_known = [first, second]
            .iter()
            .all(|access| !access.address.is_anywhere && access.address.repeated.is_none());
        let difference = self.difference(pair, first, second);
        if !is_known || !difference.is_constant() {
            return false;
        }
        let warp = |sample: usize| self.samples.get(sample).map(|thread| thread / LANES);
        let comparison = Comparison::new(pair, first, second, difference.constant);
        !self.overlaps(&comparison, self.samples.len(), |a, b| warp(a) != warp(b))
    }

    /// The difference between two addresses apart from what depends on the thread.
    fn difference(&self, pair: &Pair, first: &SharedAccess, second: &SharedAccess) -> Difference {
        let repeated_loop = self
            .common_loop(first.block, second.block)
            .filter(|_| pair.is_earlier);
        // In the first iteration, or in the first one and in the second one.
        let constant = repeated_loop
            .and_then(|id| second.address.counters.get(&id))
            .copied()
            .unwrap_or(0);
        let (first, second) = (&first.address.uniform_terms, &second.address.uniform_terms);
        let differing = |terms: &BTreeMap<AffineSymbolId, i64>,
                         others: &BTreeMap<AffineSymbolId, i64>| {
            terms
                .iter()
                .filter(|&(symbol, factor)| {
                    others.get(symbol) != Some(factor)
                        || repeated_loop.is_some_and(|id| self.changes(id, *symbol))
                })
                .map(|(symbol, factor)| (*symbol, *factor))
                .collect()
        };
        Difference {
            constant,
            first: differing(first, second),
            second: differing(second, first),
        }
    }

    /// The innermost loop that contains both blocks.
    fn common_loop(&self, a: BlockId, b: BlockId) -> Option<LoopId> {
        let loops = self.cx.analysis().loops();
        let mut enclosing = loops.innermost(a);
        while let Some(id) = enclosing.filter(|id| !loops.contains(*id, b)) {
            enclosing = loops.get(id).and_then(|l| l.parent());
        }
        enclosing
    }

    /// Whether a symbol may have another value in the next iteration of a loop.
    fn changes(&self, id: LoopId, symbol: AffineSymbolId) -> bool {
        let (Some(values), Some(ssa)) = (self.cx.values(), self.cx.ssa()) else {
            return true;
        };
        let block = match values.symbol(symbol) {
            Some(AffineSymbol::Value { value, .. }) => match ssa.value(value) {
                Value::Def { stmt, .. } => self.cx.cfg().of_statement(stmt),
                Value::Phi { block, .. } => Some(block),
                _ => None,
            },
            Some(AffineSymbol::Product(a, b)) => return self.changes(id, a) || self.changes(id, b),
            _ => None,
        };
        block.is_some_and(|b| self.cx.analysis().loops().contains(id, b))
    }

    /// Whether different threads among the first `count` sample threads access the same bytes.
    fn overlaps_anywhere(&self, comparison: &Comparison<'_>, count: usize) -> bool {
        if comparison.is_disjoint() {
            return false;
        }
        *self
            .compared
            .borrow_mut()
            .entry(comparison.key(count))
            .or_insert_with(|| self.overlaps(comparison, count, |_, _| true))
    }

    /// Whether different threads among the first `count` sample threads access the same bytes and are a conflict. `is_conflict` gets the sample threads
    /// of the first and of the second access.
    fn overlaps(
        &self,
        comparison: &Comparison<'_>,
        count: usize,
        is_conflict: impl Fn(usize, usize) -> bool,
    ) -> bool {
        if comparison.is_disjoint() {
            return false;
        }
        let Comparison {
            pair,
            first,
            second,
            ..
        } = *comparison;
        let executes =
            |executing: u128, sample: usize| sample < count && executing >> sample & 1 == 1;
        let first_sorted = &comparison.first_offsets().sorted;
        // Both are sorted by address, unless the addresses wrap around.
        let (mut start, mut last) = (0, i64::MIN);
        let mut second_samples = comparison.second_offsets().sorted.iter();
        second_samples.any(|&(offset, sample)| {
            if !executes(comparison.second_executing, sample) {
                return false;
            }
            let Some(&thread) = self.samples.get(sample) else {
                return false;
            };
            let address = offset.wrapping_add(comparison.second_constant);
            if address < core::mem::replace(&mut last, address) {
                start = 0;
            }
            let end = address.saturating_add(second.bytes);
            let first_address = |offset: i64| offset.wrapping_add(comparison.first_constant);
            while first_sorted.get(start).is_some_and(|(offset, _)| {
                first_address(*offset).saturating_add(first.bytes) <= address
            }) {
                start += 1;
            }
            first_sorted
                .iter()
                .skip(start)
                .take_while(|(offset, _)| first_address(*offset) < end)
                .filter(|(_, other)| executes(comparison.first_executing, *other))
                .any(|&(_, other)| {
                    let Some(&other_thread) = self.samples.get(other) else {
                        return false;
                    };
                    let is_other_warp = thread / LANES != other_thread / LANES;
                    // What other lanes access may be what this one does.
                    (other_thread != thread || first.is_of_rows != second.is_of_rows)
                        && (is_other_warp || !pair.in_other_warps)
                        && pair
                            .group
                            .is_none_or(|group| self.has_other_barrier(group, sample, other))
                        && is_conflict(other, sample)
                })
        })
    }

    /// Whether two sample threads pass different barriers at a statement.
    fn has_other_barrier(&self, group: StmtId, a: usize, b: usize) -> bool {
        let numbers = self.groups.get(&group);
        numbers.is_some_and(|numbers| numbers.get(a) != numbers.get(b))
    }

    /// Compares addresses with an unknown number of elements added.
    fn compare_with_assumptions(
        &self,
        pair: &Pair,
        first: &SharedAccess,
        second: &SharedAccess,
        difference: &Difference,
    ) -> Option<Certainty> {
        let stride = stride(first)
            .unsigned_abs()
            .max(stride(second).unsigned_abs());
        let mut terms = difference.first.iter().chain(&difference.second);
        let &(symbol, _) = terms.clone().next()?;
        let is_one_symbol =
            terms.all(|(other, factor)| *other == symbol && factor.unsigned_abs() == stride);
        if stride == 0 || !is_one_symbol {
            return None;
        }
        let values = self.cx.values()?;
        let factor =
            |terms: &[(AffineSymbolId, i64)]| terms.first().map_or(0, |(_, factor)| *factor);
        let (first_factor, second_factor) = (factor(&difference.first), factor(&difference.second));
        let count = if pair.in_other_warps {
            self.certain
        } else {
            self.certain.min(LANES as usize)
        };
        let overlaps = |(first_number, second_number): (u64, u64), phi: Option<ValueId>| {
            let constant = difference
                .constant
                .wrapping_add(second_factor.wrapping_mul(second_number as i64))
                .wrapping_sub(first_factor.wrapping_mul(first_number as i64));
            let mut comparison = Comparison::new(pair, first, second, constant);
            if let Some(phi) = phi {
                comparison.first_executing = self.executing_if(first, phi, first_number);
                comparison.second_executing = self.executing_if(second, phi, second_number);
            }
            self.overlaps_anywhere(&comparison, count)
        };
        let phi = match values.symbol(symbol)? {
            AffineSymbol::Value { value, .. } => {
                let is_phi = matches!(self.cx.ssa()?.value(value), Value::Phi { .. });
                is_phi.then_some(value)
            }
            _ => None,
        };
        let is_race = match phi {
            // With the number of threads as the offset, parts of that size do not overlap, but a reversed order does.
            None => overlaps((32, 32), None),
            Some(phi) => {
                let numbers = match (pair.is_earlier, pair.in_other_warps) {
                    (true, true) => OTHER_WARPS,
                    (true, false) => EARLIER_ITERATION,
                    (false, _) => SAME_ITERATION,
                };
                let interval = values.interval(phi);
                let fits = |number: u64| !pair.in_other_warps || interval.contains(number.into());
                numbers.iter().any(|&numbers| {
                    fits(numbers.0) && fits(numbers.1) && overlaps(numbers, Some(phi))
                })
            }
        };
        is_race.then_some(Certainty::Possible)
    }

    /// The sample threads that execute an access if a value is a number.
    fn executing_if(&self, access: &SharedAccess, value: ValueId, number: u64) -> u128 {
        let mut assumed = self.assumed.borrow_mut();
        let count = assumed.len();
        let sets = assumed.entry((value, number)).or_insert_with(|| {
            if count >= MAX_ASSUMPTIONS {
                return Vec::new();
            }
            let mut threads = self.threads.assuming(value, number);
            reaching(self.cx.analysis(), &mut threads)
        });
        let executing = sets.get(access.block.index()).copied();
        access.executing & executing.unwrap_or(u128::MAX)
    }
}

/// The stride between threads, if it is constant for the first threads.
fn stride(access: &SharedAccess) -> i64 {
    match access.address.by_sample.as_slice() {
        [first, second, ..] => second.wrapping_sub(*first),
        _ => 0,
    }
}
