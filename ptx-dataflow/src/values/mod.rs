//! Static facts about the integers of a function: affine forms, intervals, alignment, trip counts of loops.
//!
//! An affine form is the sum of a constant and multiples of symbols: thread and block indices, parameters, addresses of variables, loop
//! counters, and values that are not sums of others. A value of n bits equals its form modulo 2^n, with the values of the symbols at the time it
//! is computed. A sum that wraps around in 32 bits differs from the same sum in 64 bits. Unless intervals prove that nothing wraps, the
//! extended value is therefore a symbol, and [`Values::without_wrap`] replaces it by its form under the assumption that nothing wraps.
//!
//! The semantics of instructions come from the tables ([`ptx_isa::Form::computation`]) and are evaluated here for unknown operands.
//!
//! Cost: two passes over the statements, with a bounded number of terms for each value; the second pass evaluates only values that depend on loops.

mod affine;
mod alignment;
mod bits;
mod comparisons;
mod declared;
mod entry;
mod evaluate;
mod interval;
mod launch_bounds;
mod loop_analysis;
mod loop_facts;
mod number;
mod pass;
mod statement;
mod symbol;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::facts::Stamp;
use ptx_ir::{Budget, BudgetExhausted, FunctionKind, Operand};

pub use affine::{Affine, Term};
pub use alignment::Alignment;
pub use interval::Interval;
#[doc(hidden)]
pub use launch_bounds::LaunchBounds;
pub use loop_facts::{Count, Distance, TripCount};
pub use symbol::{AffineSymbol, AffineSymbolId, VariableRef};

use affine::Need;
use comparisons::Comparisons;
use entry::Entries;
use number::Truth;
pub(crate) use pass::Context;
use pass::Pass;
use symbol::{Symbols, special_range};

use crate::graph::LoopId;
use crate::meter::Meter;
use crate::ssa::ValueId;

/// The maximum number of values that [`Values::without_wrap`] replaces in a form.
const REPLACED: usize = 64;

/// Facts about the values of a function.
///
/// ```
/// use ptx_dataflow::function_dataflow::FunctionDataflow;
/// use ptx_dataflow::values::AffineSymbol;
/// use ptx_ir::facts::ModuleFacts;
/// let module = ptx_parse::parse(
///     b".version 8.0\n.target sm_80\n.entry k() { .reg .b32 t, a; mov.u32 t, %tid.x; mad.lo.s32 a, t, 4, 16; ret; }",
/// ).module;
/// let facts = ModuleFacts::new(&module);
/// let function = FunctionDataflow::new(facts.function(module.function("k").unwrap()).unwrap());
/// let (last, _) = function.body().statements().nth(2).unwrap();
/// let (ssa, values) = (function.ssa()?, function.values()?);
/// let sum = values.affine(ssa.defs(last).next().unwrap());
/// assert_eq!((sum.constant(), sum.terms()[0].factor), (16, 4));
/// assert!(matches!(values.symbol(sum.terms()[0].symbol), Some(AffineSymbol::Special(..))));
/// # Ok::<(), ptx_dataflow::AnalysisError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Values {
    stamp: Stamp,
    symbols: Symbols,
    entries: Entries,
    trip_counts: BTreeMap<LoopId, TripCount>,
    bounds: LaunchBounds,
    /// The low bits of the symbols that are not values.
    alignments: Vec<Alignment>,
    comparisons: Comparisons,
    is_kernel: bool,
}

impl Values {
    /// Analyzes all values of a function.
    ///
    /// # Errors
    ///
    /// The budget is exhausted.
    pub(crate) fn new(context: Context<'_>, budget: &Budget) -> Result<Self, BudgetExhausted> {
        let facts = context.facts;
        crate::builds::record("values", facts);
        let mut meter = Meter::new(budget);
        let mut pass = Pass::new(context);
        pass.run(&mut meter)?;
        if !context.loops.is_empty() {
            pass.analyze_loops();
            pass.run_again(&mut meter)?;
        }
        meter.charge()?;
        pass.add_addresses();
        let function = facts.module().functions().get(facts.id());
        Ok(Self {
            stamp: Stamp::of(facts),
            bounds: pass.bounds,
            alignments: pass.symbol_alignments(),
            symbols: pass.symbols,
            entries: pass.entries,
            trip_counts: pass.loops.trip_counts,
            comparisons: Comparisons::new(pass.comparisons),
            is_kernel: function.is_some_and(|f| f.kind == FunctionKind::Entry),
        })
    }

    ptx_isa::getters! {
        /// The function, and the revision of the module.
        #[doc(hidden)]
        stamp: Stamp = stamp;
        /// The launch bounds from the directives of the function.
        #[doc(hidden)]
        bounds: LaunchBounds = bounds;
        /// Whether the function is a kernel, whose parameters are uniform.
        is_kernel: bool = is_kernel;
    }

    /// The affine form of a value, modulo 2^n for a register of n bits. An unknown value is its own symbol.
    #[must_use]
    pub fn affine(&self, value: ValueId) -> Affine {
        self.entries.form(value)
    }

    /// The interval of a value as an unsigned integer.
    #[must_use]
    pub fn interval(&self, value: ValueId) -> Interval {
        self.entries.range(value, self.entries.width(value), false)
    }

    /// The interval of a value as a signed integer.
    #[doc(hidden)]
    #[must_use]
    pub fn signed_interval(&self, value: ValueId) -> Interval {
        self.entries.range(value, self.entries.width(value), true)
    }

    /// The known low bits of a value.
    #[must_use]
    pub fn alignment(&self, value: ValueId) -> Alignment {
        self.entries
            .get(value)
            .map_or(Alignment::UNKNOWN, |e| e.low)
    }

    /// The width of a value in bits.
    #[must_use]
    pub fn width(&self, value: ValueId) -> u16 {
        self.entries.width(value)
    }

    /// The meaning of a symbol.
    #[must_use]
    pub fn symbol(&self, id: AffineSymbolId) -> Option<AffineSymbol> {
        self.symbols.get(id)
    }

    /// The factors of a product, in the order of their ids; the symbol itself if it is not a product.
    ///
    /// ```
    /// use ptx_dataflow::function_dataflow::FunctionDataflow;
    /// use ptx_ir::facts::ModuleFacts;
    /// let module = ptx_parse::parse(
    ///     b".version 8.0\n.target sm_80\n.entry k() { .reg .b32 a, b; mov.u32 a, %tid.x; mov.u32 b, %ntid.x; mul.lo.u32 a, a, b; mul.lo.u32 a, a, b; ret; }",
    /// ).module;
    /// let facts = ModuleFacts::new(&module);
    /// let function = FunctionDataflow::new(facts.function(module.function("k").unwrap()).unwrap());
    /// let (last, _) = function.body().statements().nth(4).unwrap();
    /// let (ssa, values) = (function.ssa()?, function.values()?);
    /// let product = values.affine(ssa.defs(last).next().unwrap()).as_symbol().unwrap();
    /// assert_eq!(values.factors(product).len(), 3);
    /// # Ok::<(), ptx_dataflow::AnalysisError>(())
    /// ```
    #[must_use]
    pub fn factors(&self, id: AffineSymbolId) -> Vec<AffineSymbolId> {
        self.symbols.factors(id).unwrap_or_default()
    }

    /// The known low bits of a form.
    #[doc(hidden)]
    #[must_use]
    pub fn alignment_of(&self, form: &Affine) -> Alignment {
        form.alignment(|id| match self.symbols.get(id) {
            Some(AffineSymbol::Value { value, .. }) => self.alignment(value),
            _ => {
                let alignment = self.alignments.get(id.as_u32() as usize);
                alignment.copied().unwrap_or(Alignment::UNKNOWN)
            }
        })
    }

    /// The integers that a symbol may be; `None` for addresses, and for what only the width of a register bounds.
    #[doc(hidden)]
    #[must_use]
    pub fn bounds_of(&self, id: AffineSymbolId) -> Option<Interval> {
        match self.symbols.get(id)? {
            AffineSymbol::Special(register, component) => {
                let range = special_range(register, component, &self.bounds);
                (range != Interval::of_bits(register.scalar_type().bits(), false)).then_some(range)
            }
            AffineSymbol::Value { value, signed } => {
                let width = self.entries.width(value);
                let range = self.entries.range(value, width, signed);
                (range != Interval::of_bits(width, signed)).then_some(range)
            }
            AffineSymbol::Counter(id) => {
                let most = self.trip_counts.get(&id)?.most()?;
                Some(Interval::new(0, most.saturating_sub(1).into()))
            }
            AffineSymbol::Product(a, b) => Some(self.bounds_of(a)?.mul(self.bounds_of(b)?)),
            _ => None,
        }
    }

    /// The symbol for the address of a variable that an instruction accesses.
    #[doc(hidden)]
    #[must_use]
    pub fn address_symbol(&self, operand: Operand) -> Option<AffineSymbolId> {
        self.symbols
            .find(AffineSymbol::Variable(VariableRef::of(operand)?))
    }

    /// Whether a predicate always has the same value.
    #[doc(hidden)]
    #[must_use]
    pub fn is_constant_condition(&self, value: ValueId) -> bool {
        let truth = self.entries.get(value).map(|e| e.truth);
        matches!(truth, Some(Truth::Known(_)))
    }

    /// The bits of a constant value, as far as its interval or its comparison determines them.
    #[must_use]
    pub fn only(&self, value: ValueId) -> Option<u64> {
        match self.entries.get(value)?.truth {
            Truth::Known(holds) => Some(holds.into()),
            _ if !(8..=64).contains(&self.width(value)) => None,
            _ => u64::try_from(self.interval(value).single()?).ok(),
        }
    }

    /// The trip count of a natural loop.
    #[must_use]
    pub fn trip_count(&self, id: LoopId) -> Option<&TripCount> {
        self.trip_counts.get(&id)
    }

    /// Replaces extended values in a form by their own forms. Returns whether there were any: the result then only holds if no narrower sum in it
    /// wraps around. `bits` is the width of the value that has the form.
    #[must_use]
    pub fn without_wrap(&self, form: &Affine, bits: u16) -> (Affine, bool) {
        let (mut form, mut replaced) = (*form, false);
        for _ in 0..REPLACED {
            let wrapped = form.terms().iter().find_map(|term| {
                let Some(AffineSymbol::Value { value, signed }) = self.symbols.get(term.symbol)
                else {
                    return None;
                };
                let inner = self.entries.form(value);
                let symbol = Symbols::value(value, false);
                (signed || inner.as_symbol() != Some(symbol)).then_some((*term, inner))
            });
            let Some((term, inner)) = wrapped else { break };
            let need = Need::Low(bits.min(64));
            let next = Affine::symbol(term.symbol)
                .times(term.factor, need)
                .and_then(|wrapped| form.sub(&wrapped, need))
                .and_then(|others| others.combined(1, &inner, term.factor, need));
            let Some(next) = next else { break };
            (form, replaced) = (next, true);
        }
        (form, replaced)
    }
}
