//! Facts about loops: induction variables and trip counts.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;

use super::affine::Affine;
use super::interval::truncate;
use super::symbol::AffineSymbolId;
use crate::graph::LoopId;
use crate::ssa::ValueId;

/// An induction variable, which changes by a step in each iteration of a loop.
#[derive(Copy, Clone, Debug)]
pub(super) struct Induction {
    /// The step that is added in each iteration; `None` if it varies.
    pub(super) step: Option<Affine>,
    /// The number of low zero bits of the step.
    pub(super) step_zeros: u32,
}

/// The facts about the loops of a function.
#[derive(Clone, Debug, Default)]
pub(super) struct LoopFacts {
    /// The induction variables, by the phis at the headers of loops.
    pub(super) inductions: BTreeMap<ValueId, Induction>,
    pub(super) trip_counts: BTreeMap<LoopId, TripCount>,
}

impl LoopFacts {
    /// The greatest value of the counter of a loop.
    pub(super) fn last_iteration(&self, id: LoopId) -> Option<u64> {
        let most = self.trip_counts.get(&id)?.most()?;
        Some(most.saturating_sub(1))
    }
}

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

    /// The maximum number of executions, also if it is only known under the assumption that no value wraps around before it reaches its bound.
    ///
    /// ```
    /// use ptx_dataflow::function_dataflow::FunctionDataflow;
    /// use ptx_ir::facts::ModuleFacts;
    /// let module = ptx_parse::parse(
    ///     b".version 8.0\n.target sm_80\n.entry k() { .reg .pred p; .reg .b32 i, n; mov.u32 i, %ctaid.x; shl.b32 i, i, 7; add.s32 n, i, 100;\n\
    ///     LOOP: add.s32 i, i, 10; setp.lt.s32 p, i, n; @p bra LOOP; ret; }",
    /// ).module;
    /// let facts = ModuleFacts::new(&module);
    /// let function = FunctionDataflow::new(facts.function(module.function("k").unwrap()).unwrap());
    /// let (id, _) = function.loops().iter().next().unwrap();
    /// let count = function.values()?.trip_count(id).unwrap();
    /// assert_eq!((count.most(), count.most_without_wrap(), count.assumes_no_wrap()), (None, Some(10), true));
    /// # Ok::<(), ptx_dataflow::AnalysisError>(())
    /// ```
    #[must_use]
    pub fn most_without_wrap(&self) -> Option<u64> {
        self.evaluate(|_| None)
    }

    /// Whether it assumes that a value does not wrap around before it reaches its bound.
    #[must_use]
    pub fn assumes_no_wrap(&self) -> bool {
        matches!(&self.count, Count::Affine(distance) if distance.assumes_no_wrap)
    }

    /// The number of executions, given the values of the symbols; `None` if one of them is unknown.
    #[must_use]
    pub fn evaluate(&self, symbol: impl Fn(AffineSymbolId) -> Option<i128>) -> Option<u64> {
        let distance = match &self.count {
            Count::Constant(count) => return Some(*count),
            Count::Affine(distance) => distance,
        };
        let integer = |form: &Affine| {
            let value = form.value(&symbol)?;
            Some(truncate(value.into(), distance.bits, distance.signed))
        };
        let (start, bound) = (integer(&distance.start)?, integer(&distance.bound)?);
        let iterations = repetitions(start, bound, distance.step.into(), distance.inclusive);
        u64::try_from(iterations + 1).ok()
    }
}

/// The number of steps until a value is not before a bound any more.
pub(super) fn repetitions(start: i128, bound: i128, step: i128, inclusive: bool) -> i128 {
    let distance = (bound - start) * step.signum() + i128::from(inclusive);
    let step = step.abs();
    ((distance + step - 1).div_euclid(step)).max(0)
}
