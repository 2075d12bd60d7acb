//! Addresses as numbered sums, so that addresses of different threads can be compared.
//!
//! An address is a constant and a sum of terms `factor * symbol`. Equal sums have one number. Three sums are kept of each address, since they
//! allow different conclusions:
//!
//! | sum | its terms | two addresses with equal sums |
//! |---|---|---|
//! | [`Address::sum`] | all that do not change in loops | differ by their constants in each thread |
//! | [`LaneSum::sum`] | also without the index of the thread | can be compared for each pair of lanes of the first warp |
//! | [`Reach::sum`] | all without known bounds | have a known least and greatest distance |

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_isa::{SpecialReg, Uniformity};

use crate::cfg::BlockId;
use crate::function_dataflow::FunctionDataflow;
use crate::ssa::{Ssa, Value, ValueId};
use crate::values::{Affine, AffineSymbol, AffineSymbolId, Values};

/// The dependence of an address on anything but its variable and the parameters of the kernel.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Dependence {
    /// It is the same for all threads of the CTA.
    Uniform,
    /// It differs from thread to thread, but is the same in each iteration of loops.
    Thread,
    /// It may change from one iteration of a loop to the next.
    Iteration,
}

/// An address: a constant and a numbered sum of the terms that do not change in loops.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Address {
    pub(super) sum: u32,
    pub(super) constant: i64,
    /// The constant of the address before its low bits were exchanged to avoid bank conflicts, or `constant` if they were not.
    pub(super) start: i64,
    pub(super) dependence: Dependence,
    /// The sum has terms that differ from thread to thread.
    pub(super) differs_by_thread: bool,
    /// The address as a function of the lane in the first warp, if nothing else in it depends on the thread.
    pub(super) by_lane: Option<LaneSum>,
    /// The bounds of the address, if all terms that are not uniform have bounds.
    pub(super) reach: Option<Reach>,
}

/// A sum that depends on the thread by the first dimension of its index only.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct LaneSum {
    /// The distance in bytes from each thread to the next.
    pub(super) stride: i64,
    /// The number of the sum of the other terms, which are uniform.
    pub(super) sum: u32,
}

impl LaneSum {
    /// The address in a lane of the first warp, relative to the sum of the uniform terms.
    pub(super) fn address(self, constant: i64, lane: i64) -> i64 {
        constant.saturating_add(self.stride.saturating_mul(lane))
    }
}

/// The addresses that threads may have in any iteration of loops, relative to a sum of uniform terms.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Reach {
    /// The number of the sum.
    pub(super) sum: u32,
    /// The least distance from the sum in bytes.
    pub(super) min: i64,
    /// The greatest distance from the sum in bytes.
    pub(super) max: i64,
}

/// The numbers of the sums of a function.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    numbers: BTreeMap<Vec<(AffineSymbolId, i64)>, u32>,
}

impl Addresses {
    /// The address that is the sum of a value of `bits` bits in affine form and of an offset in bytes.
    pub(super) fn of(
        &mut self,
        symbols: &Symbols<'_>,
        form: &Affine,
        bits: u16,
        offset: i64,
    ) -> Address {
        let values = symbols.values;
        let (form, _) = values.without_wrap(form, bits);
        let mut dependence = Dependence::Uniform;
        let mut differs_by_thread = false;
        let mut terms = Vec::new();
        for term in form.terms() {
            // Generic addresses of a variable are compared with those in its state space.
            if let Some(AffineSymbol::Window(_)) = values.symbol(term.symbol) {
                continue;
            }
            let term_dependence = symbols.dependence(term.symbol);
            dependence = dependence.max(term_dependence);
            differs_by_thread |= term_dependence == Dependence::Thread;
            if term_dependence != Dependence::Iteration {
                terms.push((term.symbol, term.factor));
            }
        }
        let constant = form.constant().wrapping_add(offset);
        Address {
            by_lane: self.lane_sum(symbols, &terms),
            sum: self.number(terms),
            reach: self.reach(symbols, &form, constant),
            constant,
            start: constant,
            dependence,
            differs_by_thread,
        }
    }

    fn lane_sum(
        &mut self,
        symbols: &Symbols<'_>,
        terms: &[(AffineSymbolId, i64)],
    ) -> Option<LaneSum> {
        let (index_terms, other_terms): (Vec<_>, Vec<_>) = terms
            .iter()
            .copied()
            .partition(|(symbol, _)| symbols.is_thread_index(*symbol));
        other_terms
            .iter()
            .all(|(symbol, _)| symbols.dependence(*symbol) == Dependence::Uniform)
            .then(|| LaneSum {
                stride: index_terms.first().map_or(0, |(_, factor)| *factor),
                sum: self.number(other_terms),
            })
    }

    /// The bounds of the sum of a form without its constant and of `constant`.
    fn reach(&mut self, symbols: &Symbols<'_>, form: &Affine, constant: i64) -> Option<Reach> {
        let (mut min, mut max) = (i128::from(constant), i128::from(constant));
        let mut uniform_terms = Vec::new();
        for term in form.terms() {
            if let Some(AffineSymbol::Window(_)) = symbols.values.symbol(term.symbol) {
                continue;
            }
            match symbols.values.bounds_of(term.symbol) {
                Some(range) => {
                    let factor = i128::from(term.factor);
                    let products = [
                        range.min.checked_mul(factor)?,
                        range.max.checked_mul(factor)?,
                    ];
                    min = min.checked_add(products[0].min(products[1]))?;
                    max = max.checked_add(products[0].max(products[1]))?;
                }
                None if symbols.dependence(term.symbol) == Dependence::Uniform => {
                    uniform_terms.push((term.symbol, term.factor));
                }
                None => return None,
            }
        }
        Some(Reach {
            sum: self.number(uniform_terms),
            min: i64::try_from(min).ok()?,
            max: i64::try_from(max).ok()?,
        })
    }

    fn number(&mut self, terms: Vec<(AffineSymbolId, i64)>) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(terms).or_insert(next)
    }
}

/// The symbols of the affine forms of a function.
#[derive(Copy, Clone)]
pub(super) struct Symbols<'a> {
    pub(super) values: &'a Values,
    pub(super) ssa: &'a Ssa,
    pub(super) analysis: &'a FunctionDataflow<'a>,
}

impl Symbols<'_> {
    fn dependence(&self, symbol: AffineSymbolId) -> Dependence {
        match self.values.symbol(symbol) {
            Some(AffineSymbol::Special(register, _))
                if register.uniformity() <= Uniformity::Cta =>
            {
                Dependence::Uniform
            }
            Some(AffineSymbol::Special(..)) => Dependence::Thread,
            Some(AffineSymbol::Parameter { .. }) if self.values.is_kernel() => Dependence::Uniform,
            Some(AffineSymbol::Parameter { .. }) => Dependence::Thread,
            Some(AffineSymbol::Variable(_) | AffineSymbol::Window(_)) => Dependence::Uniform,
            Some(AffineSymbol::Value { value, .. })
                if is_computed_once(self.ssa, self.analysis, value) =>
            {
                Dependence::Thread
            }
            Some(AffineSymbol::Product(a, b)) => self.dependence(a).max(self.dependence(b)),
            _ => Dependence::Iteration,
        }
    }

    /// Whether a symbol is the first dimension of the index of the thread.
    fn is_thread_index(&self, symbol: AffineSymbolId) -> bool {
        let symbol = self.values.symbol(symbol);
        matches!(symbol, Some(AffineSymbol::Special(SpecialReg::Tid, 0)))
    }
}

/// Whether a value is computed outside of all loops.
pub(super) fn is_computed_once(ssa: &Ssa, analysis: &FunctionDataflow<'_>, value: ValueId) -> bool {
    let block: Option<BlockId> = match ssa.value(value) {
        Value::Unknown => return false,
        Value::Entry { .. } => return true,
        Value::Def { stmt, .. } => analysis.cfg().of_statement(stmt),
        Value::Phi { block, .. } => Some(block),
    };
    block.is_some_and(|b| analysis.loops().innermost(b).is_none())
}
