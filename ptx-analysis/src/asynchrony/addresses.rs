//! Addresses as sums, to compare those of different threads.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_isa::{SpecialReg, Uniformity};

use crate::cfg::BlockId;
use crate::function_analysis::FunctionAnalysis;
use crate::ssa::{Ssa, Value, ValueId};
use crate::values::{Affine, Symbol, SymbolId, Values};

/// On what an address depends besides the variable and the parameters of the kernel.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Dependence {
    /// It is the same for all threads of the CTA.
    Uniform,
    /// It differs from thread to thread, but is the same in each iteration of loops.
    Thread,
    /// It may change from one iteration of a loop to the next.
    Iteration,
}

/// An address: a constant and a sum that has a number. What changes in loops is not part of the sum.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Address {
    pub(super) sum: u32,
    pub(super) constant: i64,
    /// The constant, or if low bits of another address are exchanged to avoid bank conflicts, the constant of that one.
    pub(super) start: i64,
    pub(super) dependence: Dependence,
    /// Whether the sum has terms that differ from thread to thread.
    pub(super) differs: bool,
    /// From each thread to the next in the first dimension, and the number of the rest of the sum, if that does not depend on the thread.
    pub(super) stride: Option<(i64, u32)>,
    /// Where it may be, relative to a sum that is the same for all threads whenever it is evaluated.
    pub(super) reach: Option<Reach>,
}

/// The addresses that threads may have, in all iterations of loops.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Reach {
    /// The number of the sum.
    pub(super) sum: u32,
    /// The least and the greatest distance from it.
    pub(super) min: i64,
    pub(super) max: i64,
}

/// The sums of a function.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    numbers: BTreeMap<Vec<(SymbolId, i64)>, u32>,
}

impl Addresses {
    /// The address that a value and an offset have.
    pub(super) fn of(
        &mut self,
        (values, ssa, analysis): (&Values, &Ssa, &FunctionAnalysis<'_>),
        form: &Affine,
        bits: u16,
        offset: i64,
    ) -> Address {
        let (form, _) = values.without_wrap(form, bits);
        let mut dependence = Dependence::Uniform;
        let (mut kept, mut differs) = (Vec::new(), false);
        for term in form.terms() {
            // Generic addresses of a variable are compared with those in its state space.
            if let Some(Symbol::Window(_)) = values.symbol(term.symbol) {
                continue;
            }
            let of_term = of_symbol((values, ssa, analysis), term.symbol);
            dependence = dependence.max(of_term);
            differs |= of_term == Dependence::Thread;
            if of_term != Dependence::Iteration {
                kept.push((term.symbol, term.factor));
            }
        }
        let is_index = |symbol| {
            matches!(
                values.symbol(symbol),
                Some(Symbol::Special(SpecialReg::Tid, 0))
            )
        };
        let mut rest = kept.clone();
        rest.retain(|(symbol, _)| !is_index(*symbol));
        let mut left = rest.iter();
        let same = |symbol| of_symbol((values, ssa, analysis), symbol) == Dependence::Uniform;
        let stride = left.all(|(symbol, _)| same(*symbol)).then(|| {
            let index = kept.iter().find(|(symbol, _)| is_index(*symbol));
            (index.map_or(0, |(_, factor)| *factor), self.number(rest))
        });
        Address {
            sum: self.number(kept),
            stride,
            reach: self.reach((values, ssa, analysis), &form, offset),
            constant: form.constant().wrapping_add(offset),
            start: form.constant().wrapping_add(offset),
            dependence,
            differs,
        }
    }
}

impl Addresses {
    /// Where the sum of a form and an offset may be.
    fn reach(
        &mut self,
        of @ (values, ..): (&Values, &Ssa, &FunctionAnalysis<'_>),
        form: &Affine,
        offset: i64,
    ) -> Option<Reach> {
        let start = i128::from(form.constant().wrapping_add(offset));
        let (mut min, mut max) = (start, start);
        let mut sum = Vec::new();
        for term in form.terms() {
            if let Some(Symbol::Window(_)) = values.symbol(term.symbol) {
                continue;
            }
            match values.bounds_of(term.symbol) {
                Some(range) => {
                    let factor = i128::from(term.factor);
                    let (a, b) = (
                        range.min.checked_mul(factor)?,
                        range.max.checked_mul(factor)?,
                    );
                    min = min.checked_add(a.min(b))?;
                    max = max.checked_add(a.max(b))?;
                }
                None if of_symbol(of, term.symbol) == Dependence::Uniform => {
                    sum.push((term.symbol, term.factor));
                }
                None => return None,
            }
        }
        Some(Reach {
            sum: self.number(sum),
            min: i64::try_from(min).ok()?,
            max: i64::try_from(max).ok()?,
        })
    }

    fn number(&mut self, sum: Vec<(SymbolId, i64)>) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(sum).or_insert(next)
    }
}

fn of_symbol(
    of @ (values, ssa, analysis): (&Values, &Ssa, &FunctionAnalysis<'_>),
    symbol: SymbolId,
) -> Dependence {
    match values.symbol(symbol) {
        Some(Symbol::Special(register, _)) if is_uniform(register) => Dependence::Uniform,
        Some(Symbol::Special(..)) => Dependence::Thread,
        Some(Symbol::Parameter { .. }) if values.is_kernel() => Dependence::Uniform,
        Some(Symbol::Parameter { .. }) => Dependence::Thread,
        Some(Symbol::Variable(_) | Symbol::Window(_)) => Dependence::Uniform,
        Some(Symbol::Value { value, .. }) if is_computed_once(ssa, analysis, value) => {
            Dependence::Thread
        }
        Some(Symbol::Product(a, b)) => of_symbol(of, a).max(of_symbol(of, b)),
        _ => Dependence::Iteration,
    }
}

fn is_uniform(register: SpecialReg) -> bool {
    register.uniformity() <= Uniformity::Cta
}

/// Whether a value is computed in no loop.
pub(super) fn is_computed_once(ssa: &Ssa, analysis: &FunctionAnalysis<'_>, value: ValueId) -> bool {
    let block: Option<BlockId> = match ssa.value(value) {
        Value::Unknown => return false,
        Value::Entry { .. } => return true,
        Value::Def { stmt, .. } => analysis.cfg().of_statement(stmt),
        Value::Phi { block, .. } => Some(block),
    };
    block.is_some_and(|b| analysis.loops().innermost(b).is_none())
}
