//! Finds the induction variables and the trip counts of loops.
//!
//! A trip count is known if the loop exit is decided by the comparison of an induction variable with a loop-invariant value.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::affine::{Affine, Need};
use super::alignment::low_bits;
use super::comparisons::{Comparison, Order};
use super::interval::{Interval, truncate};
use super::loop_facts::{Count, Distance, Induction, TripCount, repetitions};
use super::number::Truth;
use super::pass::Pass;
use super::symbol::{AffineSymbol, AffineSymbolId, Symbols};
use crate::cfg::{BlockId, Cfg, Edge};
use crate::graph::{LoopId, Loops};
use crate::ssa::{Ssa, Value, ValueId};

impl Pass<'_> {
    /// Finds the facts about loops that the values of the first pass prove.
    pub(super) fn analyze_loops(&mut self) {
        self.loops.inductions = self.inductions();
        let exits = loop_exits(self.context.cfg, self.context.loops);
        for ((id, _), exits) in self.context.loops.iter().zip(&exits) {
            if let Some(count) = self.trip_count(id, exits) {
                self.loops.trip_counts.insert(id, count);
            }
        }
    }

    /// The phis at the headers of natural loops that change by a step.
    fn inductions(&self) -> BTreeMap<ValueId, Induction> {
        let mut inductions = BTreeMap::new();
        for (id, natural_loop) in self.context.loops.iter() {
            for phi in self.context.ssa.phis(natural_loop.header()) {
                if let Some(induction) = self.induction(id, natural_loop.header(), phi) {
                    inductions.insert(phi, induction);
                }
            }
        }
        inductions
    }

    fn induction(&self, id: LoopId, header: BlockId, phi: ValueId) -> Option<Induction> {
        let bits = self.entries.width(phi);
        if !(8..=64).contains(&bits) {
            return None;
        }
        let symbol = Symbols::value(phi, false);
        // The step of the back edges so far: `Some(None)` if they have different steps.
        let mut step: Option<Option<Affine>> = None;
        let mut step_zeros = u32::from(bits);
        let args = self.context.ssa.args(phi).iter();
        for ((_, edge), &arg) in self.context.cfg.in_edges(header).zip(args) {
            if arg == Ssa::UNKNOWN || !self.context.loops.contains(id, edge.from) {
                continue;
            }
            let next = self.entries.form(arg);
            let change = next
                .sub(&Affine::symbol(symbol), Need::Low(bits))?
                .modulo(bits);
            if change.factor(symbol) != 0 {
                return None;
            }
            step_zeros = step_zeros.min(self.form_alignment(&change).zeros());
            let change = Some(change).filter(|change| self.is_invariant_form(id, change));
            step = Some(match step {
                None => change,
                Some(step) => step.filter(|step| change == Some(*step)),
            });
        }
        Some(Induction {
            step: step?,
            step_zeros,
        })
    }

    /// Whether a symbol keeps its value while a loop is repeated.
    fn is_invariant(&self, id: LoopId, symbol: AffineSymbolId) -> bool {
        match self.symbols.get(symbol) {
            Some(AffineSymbol::Value { value, .. }) => {
                let block = match self.context.ssa.value(value) {
                    Value::Def { stmt, .. } => self.context.cfg.of_statement(stmt),
                    Value::Phi { block, .. } => Some(block),
                    Value::Entry { .. } => return true,
                    Value::Unknown => None,
                };
                block.is_some_and(|b| !self.context.loops.contains(id, b))
            }
            Some(AffineSymbol::Counter(other)) => {
                let header = self.context.loops.get(other).map(|l| l.header());
                header.is_some_and(|h| !self.context.loops.contains(id, h))
            }
            Some(AffineSymbol::Product(a, b)) => {
                self.is_invariant(id, a) && self.is_invariant(id, b)
            }
            Some(_) => true,
            None => false,
        }
    }

    fn is_invariant_form(&self, id: LoopId, form: &Affine) -> bool {
        let mut terms = form.terms().iter();
        terms.all(|term| self.is_invariant(id, term.symbol))
    }

    /// The trip count of a loop with these exits.
    fn trip_count(&self, id: LoopId, exits: &LoopExits<'_>) -> Option<TripCount> {
        let mut has_other_exits = exits.has_others;
        let mut least: Option<TripCount> = None;
        for edge in &exits.edges {
            let mut latches = self.context.loops.latches(self.context.cfg, id);
            let is_always_decided = latches.all(|latch| {
                let dominators = self.context.dominators;
                dominators.dominates(edge.from, latch)
            });
            let count = is_always_decided
                .then(|| self.exit_count(id, edge))
                .flatten();
            match (count, &least) {
                (None, _) => has_other_exits = true,
                (Some(count), None) => least = Some(count),
                (Some(count), Some(previous)) => {
                    has_other_exits = true;
                    if is_less(&count, previous) {
                        least = Some(count);
                    }
                }
            }
        }
        let mut count = least?;
        count.is_exact &= !has_other_exits;
        Some(count)
    }

    /// The number of executions of the header before control leaves the loop by an edge that is decided in each iteration.
    fn exit_count(&self, id: LoopId, edge: &Edge) -> Option<TripCount> {
        let leaves_when = edge.when?;
        let truth = match self.branch(edge.from)? {
            truth if leaves_when => truth.inverted(),
            truth => truth,
        };
        // The loop continues while the comparison holds.
        let Truth::Compare(index, inverted) = truth else {
            return None;
        };
        let mut comparison = *self.comparisons.get(index as usize)?;
        if inverted {
            comparison.order = comparison.order.inverted();
        }
        let (start, step) = match self.steps(id, &comparison.a, comparison.bits) {
            Some(steps) if self.is_invariant_form(id, &comparison.b) => steps,
            _ => {
                comparison = comparison.swapped();
                let steps = self.steps(id, &comparison.a, comparison.bits)?;
                self.is_invariant_form(id, &comparison.b).then_some(steps)?
            }
        };
        self.distance(&comparison, start, step)
    }

    /// What is known of the guard of the branch at the end of a block, without its `!`.
    fn branch(&self, block: BlockId) -> Option<Truth> {
        let block = self.context.cfg.block(block)?;
        let (stmt, inst) = block.insts(self.context.facts.body()).next_back()?;
        let (place, _) = self.context.facts.inst(inst).guard_register()?;
        let mut variables = self.context.variables.of(place);
        let value = self.context.ssa.read(stmt, variables.next()?)?;
        Some(self.truth(value))
    }

    /// The value of a form in the first iteration of a loop, and its change in each iteration.
    fn steps(&self, id: LoopId, form: &Affine, bits: u16) -> Option<(Affine, i64)> {
        let need = Need::Low(bits);
        let (mut start, mut step) = (*form, 0i64);
        for term in form.terms() {
            if self.is_invariant(id, term.symbol) {
                continue;
            }
            let Some(AffineSymbol::Value { value, .. }) = self.symbols.get(term.symbol) else {
                return None;
            };
            let induction = self.loops.inductions.get(&value)?;
            let header = self.context.loops.get(id)?.header();
            if self.context.ssa.phis(header).all(|phi| phi != value)
                || self.entries.width(value) < bits
            {
                return None;
            }
            let change = induction.step?.as_number()?;
            step = step.wrapping_add(change.wrapping_mul(term.factor));
            let variable = Affine::symbol(term.symbol).times(term.factor, need)?;
            let initial = self.initial_form(id, value)?.times(term.factor, need)?;
            start = start.sub(&variable, need)?.add(&initial, need)?;
        }
        let step = Affine::number(step).modulo(bits).constant();
        (step != 0).then_some((start.modulo(bits), step))
    }

    /// The value of a phi at the header of a loop when the loop is entered.
    fn initial_form(&self, id: LoopId, phi: ValueId) -> Option<Affine> {
        let header = self.context.loops.get(id)?.header();
        let mut initial = None;
        let mut args = self.context.ssa.args(phi).iter();
        for (_, edge) in self.context.cfg.in_edges(header) {
            let &arg = args.next()?;
            if arg == Ssa::UNKNOWN || self.context.loops.contains(id, edge.from) {
                continue;
            }
            let form = self.entries.form(arg);
            if initial.is_some_and(|initial| initial != form) {
                return None;
            }
            initial = Some(form);
        }
        // At the entry of the function there is one more argument.
        args.next().is_none().then_some(initial)?
    }

    /// The trip count of a loop that continues while a value and a loop-invariant bound satisfy a comparison. The value begins with `start`.
    fn distance(&self, comparison: &Comparison, start: Affine, step: i64) -> Option<TripCount> {
        let (bits, signed) = (comparison.bits, comparison.signed);
        let constants = (start.as_number(), comparison.b.as_number());
        if comparison.order == Order::NotEqual {
            let (Some(from), Some(to)) = constants else {
                return self.until_equal(comparison, start, step);
            };
            return constant_trip_count(steps_until_equal(from, to, step, bits)?);
        }
        let inclusive = match (comparison.order, step > 0) {
            (Order::Less, true) | (Order::Greater, false) => false,
            (Order::LessEqual, true) | (Order::GreaterEqual, false) => true,
            _ => return None,
        };
        let all = Interval::of_bits(bits, signed);
        if let (Some(from), Some(to)) = constants {
            let integer = |bits_of_integer: i64| {
                let interval = Interval::only(bits_of_integer.into());
                interval.truncated(bits, signed).single()
            };
            let (from, to) = (integer(from)?, integer(to)?);
            let steps = repetitions(from, to, step.into(), inclusive);
            let last = from.checked_add(steps.checked_mul(step.into())?)?;
            if !all.contains(last) {
                return None;
            }
            return constant_trip_count(u64::try_from(steps).ok()?);
        }
        let form_range = self.form_range(&comparison.b);
        let bound = if all.includes(form_range) {
            form_range
        } else {
            comparison.ranges[1]
        };
        // The last value is at most one step past the bound.
        let past = i128::from(step) - i128::from(step.signum()) * i128::from(!inclusive);
        let last = Interval::new(
            bound.min.min(bound.min + past),
            bound.max.max(bound.max + past),
        );
        let difference = comparison.b.sub(&start, Need::Low(bits));
        if let Some(difference) = difference.and_then(|difference| difference.as_number()) {
            // The symbols cancel each other out, unless one of the two sums wraps around and the other one does not.
            let difference = truncate(difference.into(), bits, true) as i64;
            return Some(affine_trip_count(Distance {
                start: Affine::number(0),
                bound: Affine::number(difference),
                step,
                bits,
                signed: true,
                inclusive,
                assumes_no_wrap: true,
            }));
        }
        Some(affine_trip_count(Distance {
            start,
            bound: comparison.b,
            step,
            bits,
            signed,
            inclusive,
            assumes_no_wrap: !all.includes(last),
        }))
    }

    /// The trip count of a loop that continues until a value that changes by one equals a bound.
    fn until_equal(&self, comparison: &Comparison, start: Affine, step: i64) -> Option<TripCount> {
        if step.abs() != 1 {
            return None;
        }
        let need = Need::Low(comparison.bits);
        let steps = comparison.b.sub(&start, need)?.times(step, need)?;
        Some(affine_trip_count(Distance {
            start: Affine::number(0),
            bound: steps.modulo(comparison.bits),
            step: 1,
            bits: comparison.bits,
            signed: false,
            inclusive: false,
            assumes_no_wrap: false,
        }))
    }
}

/// The trip count of a loop that is left after a number of steps.
fn constant_trip_count(steps: u64) -> Option<TripCount> {
    Some(TripCount {
        is_exact: true,
        count: Count::Constant(steps.checked_add(1)?),
    })
}

fn affine_trip_count(distance: Distance) -> TripCount {
    TripCount {
        is_exact: true,
        count: Count::Affine(Box::new(distance)),
    }
}

/// The number of steps until a number equals another one, modulo a power of two.
fn steps_until_equal(from: i64, to: i64, step: i64, bits: u16) -> Option<u64> {
    let distance = (to as u64).wrapping_sub(from as u64);
    let shift = step.trailing_zeros();
    if distance & low_bits(shift) != 0 || shift >= bits.into() {
        return None;
    }
    let odd = (step >> shift) as u64;
    // The inverse modulo 2^64, by Newton's iteration.
    let mut inverse = odd;
    for _ in 0..6 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
    }
    let steps = (distance >> shift).wrapping_mul(inverse);
    Some(steps & low_bits(u32::from(bits) - shift))
}

fn is_less(a: &TripCount, b: &TripCount) -> bool {
    match (a.most(), b.most()) {
        (Some(a), Some(b)) => a < b,
        (Some(_), None) => true,
        _ => false,
    }
}

/// The exits of a loop.
#[derive(Clone, Default)]
struct LoopExits<'c> {
    /// The exit edges from blocks that are in no inner loop.
    edges: Vec<&'c Edge>,
    /// There are other exits: from an inner loop, or at the end of the function.
    has_others: bool,
}

/// The exits of each loop. Linear in the number of blocks for any nesting depth.
fn loop_exits<'c>(cfg: &'c Cfg, loops: &Loops<BlockId>) -> Vec<LoopExits<'c>> {
    let mut exits = vec![LoopExits::default(); loops.len()];
    // For each loop, the least depth of the loops that edges from inside of it leave.
    let mut left_depths = vec![u32::MAX; loops.len()];
    for (block, data) in cfg.blocks() {
        let Some(id) = loops.innermost(block) else {
            continue;
        };
        let index = id.as_u32() as usize;
        let (Some(exits), Some(left_depth)) = (exits.get_mut(index), left_depths.get_mut(index))
        else {
            continue;
        };
        if data.exits {
            exits.has_others = true;
            *left_depth = 0;
        }
        for (_, edge) in cfg.out_edges(block) {
            if !loops.contains(id, edge.to) {
                exits.edges.push(edge);
                *left_depth = (*left_depth).min(common_depth(loops, block, edge.to) + 1);
            }
        }
    }
    // Inner loops have higher numbers.
    for (id, data) in loops.iter().rev() {
        let inner_depth = left_depths.get(id.as_u32() as usize).copied();
        let (Some(parent), Some(inner_depth)) = (data.parent(), inner_depth) else {
            continue;
        };
        let index = parent.as_u32() as usize;
        if inner_depth < data.depth()
            && let (Some(exits), Some(left_depth)) =
                (exits.get_mut(index), left_depths.get_mut(index))
        {
            exits.has_others = true;
            *left_depth = inner_depth.min(*left_depth);
        }
    }
    exits
}

/// The number of loops that contain both blocks.
fn common_depth(loops: &Loops<BlockId>, a: BlockId, b: BlockId) -> u32 {
    let mut enclosing = loops.innermost(b);
    while let Some(id) = enclosing {
        let Some(data) = loops.get(id) else { break };
        if loops.contains(id, a) {
            return data.depth();
        }
        enclosing = data.parent();
    }
    0
}
