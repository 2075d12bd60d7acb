//! Trip counts of loops.
//!
//! A trip count is known if the loop exit is decided by the comparison of an induction variable with a loop-invariant value.

use alloc::boxed::Box;

use super::affine::{Affine, Need};
use super::interval::Interval;
use super::loop_exits::LoopExits;
use super::number::{Comparison, Order, Truth};
use super::pass::Pass;
use super::symbol::{Symbol, SymbolId};
use crate::cfg::{BlockId, Edge};
use crate::graph::{Dominators, LoopId};

/// The number of executions of the loop header each time the loop is entered.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TripCount {
    /// Whether the loop has no other exits. Otherwise, the number is an upper bound.
    pub is_exact: bool,
    /// The number.
    pub count: Count,
}

/// The number of executions of a header.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Count {
    /// A constant.
    Constant(u64),
    /// One more than the number of iterations until a value reaches a bound.
    Affine(Box<Distance>),
}

/// The number of iterations until a value reaches a bound: `max(0, ceil((bound - start) / step))`, or downwards with `start - bound`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Distance {
    /// The value in the first iteration, modulo the number of bits.
    pub start: Affine,
    /// The bound, modulo the number of bits.
    pub bound: Affine,
    /// The step in each iteration; not 0.
    pub step: i64,
    /// The width of both in bits.
    pub bits: u16,
    /// Whether both are signed.
    pub signed: bool,
    /// Whether the loop continues when the value equals the bound, so that it ends one step later.
    pub inclusive: bool,
    /// Whether this assumes that the value does not wrap around first.
    pub assumes_no_wrap: bool,
}

impl TripCount {
    /// The maximum number of executions, if known.
    #[must_use]
    pub fn most(&self) -> Option<u64> {
        match self.count {
            Count::Constant(count) => Some(count),
            Count::Affine(_) => None,
        }
    }

    /// Whether it assumes that a value does not wrap around before it reaches its bound.
    #[must_use]
    pub fn assumes_no_wrap(&self) -> bool {
        matches!(&self.count, Count::Affine(distance) if distance.assumes_no_wrap)
    }

    /// The number of executions, given the values of the symbols; `None` if one of them is unknown.
    #[must_use]
    pub fn evaluate(&self, symbol: impl Fn(SymbolId) -> Option<i128>) -> Option<u64> {
        let distance = match &self.count {
            Count::Constant(count) => return Some(*count),
            Count::Affine(distance) => distance,
        };
        let read = |form: &Affine| {
            let value = i128::from(form.value(&symbol)?);
            let above = 128 - u32::from(distance.bits);
            Some(match distance.signed {
                true => value << above >> above,
                false => ((value as u128) << above >> above) as i128,
            })
        };
        let (start, bound) = (read(&distance.start)?, read(&distance.bound)?);
        let iterations = repetitions(start, bound, distance.step.into(), distance.inclusive);
        u64::try_from(iterations + 1).ok()
    }
}

/// After how many steps a value is not before a bound any more.
fn repetitions(start: i128, bound: i128, step: i128, inclusive: bool) -> i128 {
    let left = if step > 0 {
        bound - start
    } else {
        start - bound
    };
    let left = left + i128::from(inclusive);
    let step = step.abs();
    ((left + step - 1).div_euclid(step)).max(0)
}

impl Pass<'_> {
    /// How often a loop is repeated that control leaves by these edges.
    pub(super) fn trip_count(
        &self,
        id: LoopId,
        exits: &LoopExits<'_>,
        dominators: &Dominators<BlockId>,
    ) -> Option<TripCount> {
        let cfg = self.of.cfg;
        let mut others = exits.others;
        let mut found: Option<TripCount> = None;
        for edge in &exits.edges {
            let mut latches = self.of.loops.latches(cfg, id);
            let always = latches.all(|latch| dominators.dominates(edge.from, latch));
            let count = match always {
                true => self.exit_count(id, edge),
                false => None,
            };
            match (count, &found) {
                (None, _) => others = true,
                (Some(count), None) => found = Some(count),
                (Some(count), Some(before)) => {
                    others = true;
                    if less(&count, before) {
                        found = Some(count);
                    }
                }
            }
        }
        let mut found = found?;
        found.is_exact &= !others;
        Some(found)
    }

    /// How often the header is executed before control leaves the loop by an edge that is decided in each iteration.
    fn exit_count(&self, id: LoopId, edge: &Edge) -> Option<TripCount> {
        let leaves_when = edge.when?;
        let truth = match self.branch(edge.from)? {
            truth if leaves_when => truth.inverted(),
            truth => truth,
        };
        // It goes on while the comparison holds.
        let Truth::Compare(index, inverted) = truth else {
            return None;
        };
        let mut comparison = *self.comparisons.get(index as usize)?;
        if inverted {
            comparison.order = comparison.order.inverted();
        }
        let (start, step) = match self.steps(id, &comparison.a, comparison.bits) {
            Some(steps) if self.is_fixed(id, &comparison.b) => steps,
            _ => {
                core::mem::swap(&mut comparison.a, &mut comparison.b);
                comparison.ranges.swap(0, 1);
                comparison.order = comparison.order.swapped();
                let steps = self.steps(id, &comparison.a, comparison.bits)?;
                self.is_fixed(id, &comparison.b).then_some(steps)?
            }
        };
        self.distance(&comparison, start, step)
    }

    /// What is known of the guard of the branch at the end of a block, without its `!`.
    fn branch(&self, block: BlockId) -> Option<Truth> {
        let block = self.of.cfg.block(block)?;
        let body = self.of.facts.body();
        let mut range = body.range(block.first, block.end).rev();
        let (stmt, inst) = range.find_map(|(stmt, statement)| match statement {
            ptx_ir::Statement::Inst(inst) => Some((stmt, inst)),
            _ => None,
        })?;
        let (place, _) = self.of.facts.inst(inst).guard_register()?;
        let mut variables = self.of.variables.of(place);
        let value = self.of.ssa.read(stmt, variables.next()?)?;
        Some(self.truth(value))
    }

    fn is_fixed(&self, id: LoopId, form: &Affine) -> bool {
        form.terms().iter().all(|t| self.is_invariant(id, t.symbol))
    }

    /// The value of a form in the first iteration of a loop, and by how much it changes in each.
    fn steps(&self, id: LoopId, form: &Affine, bits: u16) -> Option<(Affine, i64)> {
        let need = Need::Low(bits);
        let (mut start, mut step) = (*form, 0i64);
        for term in form.terms() {
            if self.is_invariant(id, term.symbol) {
                continue;
            }
            let Some(Symbol::Value { value, .. }) = self.symbols.get(term.symbol) else {
                return None;
            };
            let induction = self.known.inductions.get(&value)?;
            let header = self.of.loops.get(id)?.header();
            if self.of.ssa.phis(header).all(|phi| phi != value) || self.entries.width(value) < bits
            {
                return None;
            }
            let by = induction.step?.as_number()?;
            step = step.wrapping_add(by.wrapping_mul(term.factor));
            let without = Affine::symbol(term.symbol).times(term.factor, need)?;
            let first = self.first(id, value)?.times(term.factor, need)?;
            start = start.sub(&without, need)?.add(&first, need)?;
        }
        let short = Affine::number(step).modulo(bits).constant();
        (short != 0).then_some((start.modulo(bits), short))
    }

    /// The value of a phi at the header of a loop when that is entered.
    fn first(&self, id: LoopId, phi: crate::ssa::ValueId) -> Option<Affine> {
        let header = self.of.loops.get(id)?.header();
        let edges = self.of.cfg.in_edges(header);
        let mut found = None;
        let mut args = self.of.ssa.args(phi).iter();
        for (_, edge) in edges {
            let &arg = args.next()?;
            if arg == crate::ssa::Ssa::UNKNOWN || self.of.loops.contains(id, edge.from) {
                continue;
            }
            let form = self.entries.form(arg);
            if found.is_some_and(|f| f != form) {
                return None;
            }
            found = Some(form);
        }
        // At the entry of the function there is one more.
        args.next().is_none().then_some(found)?
    }

    fn distance(&self, comparison: &Comparison, start: Affine, step: i64) -> Option<TripCount> {
        let (bits, signed) = (comparison.bits, comparison.signed);
        let count = |count| TripCount {
            is_exact: true,
            count,
        };
        let numbers = (start.as_number(), comparison.b.as_number());
        let read = |value: i64| {
            let range = Interval::only(value.into()).truncated(bits, signed);
            range.single()
        };
        if comparison.order == Order::NotEqual {
            let (Some(from), Some(to)) = numbers else {
                return self.until_equal(comparison, start, step);
            };
            let n = until_equal(from, to, step, bits)?;
            return Some(count(Count::Constant(n.checked_add(1)?)));
        }
        let inclusive = match (comparison.order, step > 0) {
            (Order::Less, true) | (Order::Greater, false) => false,
            (Order::LessEqual, true) | (Order::GreaterEqual, false) => true,
            _ => return None,
        };
        let all = Interval::of_bits(bits, signed);
        if let (Some(from), Some(to)) = numbers {
            let (from, to) = (read(from)?, read(to)?);
            let n = repetitions(from, to, step.into(), inclusive);
            let last = from.checked_add(n.checked_mul(step.into())?)?;
            let fits = all.contains(last);
            return fits.then_some(count(Count::Constant(
                u64::try_from(n).ok()?.checked_add(1)?,
            )));
        }
        let bound = self.form_range(&comparison.b);
        let bound = match all.includes(bound) {
            true => bound,
            false => comparison.ranges[1],
        };
        // The last value is at most one step past the bound.
        let past = i128::from(step) - i128::from(step.signum()) * i128::from(!inclusive);
        let last = Interval::new(
            bound.min.min(bound.min + past),
            bound.max.max(bound.max + past),
        );
        Some(count(Count::Affine(Box::new(Distance {
            start,
            bound: comparison.b,
            step,
            bits,
            signed,
            inclusive,
            assumes_no_wrap: !all.includes(last),
        }))))
    }

    /// The iterations until a value that changes by one is another.
    fn until_equal(&self, comparison: &Comparison, start: Affine, step: i64) -> Option<TripCount> {
        if step.abs() != 1 {
            return None;
        }
        let difference = comparison.b.sub(&start, Need::Low(comparison.bits))?;
        let left = difference.times(step, Need::Low(comparison.bits))?;
        Some(TripCount {
            is_exact: true,
            count: Count::Affine(Box::new(Distance {
                start: Affine::number(0),
                bound: left.modulo(comparison.bits),
                step: 1,
                bits: comparison.bits,
                signed: false,
                inclusive: false,
                assumes_no_wrap: false,
            })),
        })
    }
}

/// After how many steps a number is another one, modulo a power of two.
fn until_equal(from: i64, to: i64, step: i64, bits: u16) -> Option<u64> {
    let distance = (to as u64).wrapping_sub(from as u64);
    let shift = step.trailing_zeros();
    if distance & super::alignment::low_bits(shift) != 0 || shift >= bits.into() {
        return None;
    }
    let odd = (step >> shift) as u64;
    // The inverse modulo 2^64, by Newton's iteration.
    let mut inverse = odd;
    for _ in 0..6 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
    }
    let n = (distance >> shift).wrapping_mul(inverse);
    Some(n & super::alignment::low_bits(u32::from(bits) - shift))
}

fn less(a: &TripCount, b: &TripCount) -> bool {
    match (a.most(), b.most()) {
        (Some(a), Some(b)) => a < b,
        (Some(_), None) => true,
        _ => false,
    }
}
