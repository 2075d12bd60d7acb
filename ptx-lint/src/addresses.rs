//! Addresses that are evaluated in the sample threads.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_analysis::graph::LoopId;
use ptx_analysis::ssa::{Value, ValueId};
use ptx_analysis::threads::ThreadValues;
use ptx_analysis::uniformity::Uniformity;
use ptx_analysis::values::{Affine, AffineSymbol, AffineSymbolId, Term, Values};
use ptx_ir::facts::Space;
use ptx_ir::{Operand, Statement, StmtId};
use ptx_isa::{SpecialReg, StateSpace};

use crate::context::FunctionContext;

/// An address as the sum of a number for each sample thread, multiples of loop counters, and a remainder that is uniform in the CTA.
pub(crate) struct Parts {
    /// The number of each sample thread. It depends on the thread index.
    pub(crate) by_sample: Vec<i64>,
    /// The part of the number of each sample thread that was computed from the size of the CTA.
    pub(crate) from_size: Vec<i64>,
    /// The symbols of the remainder with their factors.
    pub(crate) uniform_terms: BTreeMap<AffineSymbolId, i64>,
    /// Loop counters with their factors.
    pub(crate) counters: BTreeMap<LoopId, i64>,
    /// The numbers depend on the size of the CTA.
    pub(crate) uses_size: bool,
    /// The remainder is certainly uniform, not only likely.
    pub(crate) is_exact: bool,
}

impl Parts {
    /// Splits an address. Returns `None` if an unknown term may differ between threads.
    pub(crate) fn new(
        cx: &FunctionContext<'_>,
        values: &Values,
        threads: &mut ThreadValues<'_>,
        form: &Affine,
    ) -> Option<Self> {
        let mut parts = Self {
            by_sample: vec![form.constant(); threads.samples().len()],
            from_size: vec![0; threads.samples().len()],
            uniform_terms: BTreeMap::new(),
            counters: BTreeMap::new(),
            uses_size: false,
            is_exact: true,
        };
        for term in form.terms() {
            parts.add(cx, values, threads, *term)?;
        }
        Some(parts)
    }

    /// Returns an address of which nothing is known.
    pub(crate) fn unknown(threads: &ThreadValues<'_>) -> Self {
        Self {
            by_sample: vec![0; threads.samples().len()],
            from_size: vec![0; threads.samples().len()],
            uniform_terms: BTreeMap::new(),
            counters: BTreeMap::new(),
            uses_size: false,
            is_exact: false,
        }
    }

    /// Splits an address like [`new`](Self::new), and also evaluates products whose factors are known in each thread. The loop counters among these
    /// factors have the value `iteration`.
    pub(crate) fn with_products(
        cx: &FunctionContext<'_>,
        values: &Values,
        threads: &mut ThreadValues<'_>,
        form: &Affine,
        iteration: i64,
    ) -> Option<Self> {
        let mut parts = Self::unknown(threads);
        parts.by_sample.fill(form.constant());
        for term in form.terms() {
            let product = match values.symbol(term.symbol)? {
                AffineSymbol::Product(a, b) => {
                    if iteration == 0 && has_counter(values, term.symbol) {
                        continue;
                    }
                    numbers(values, threads, a, iteration)
                        .zip(numbers(values, threads, b, iteration))
                }
                _ => None,
            };
            if let Some((a, b)) = product {
                Parts::add_products(&mut parts.by_sample, &a, &b, term.factor);
            } else {
                parts.add(cx, values, threads, *term)?;
            }
        }
        Some(parts)
    }

    /// Adds a term.
    fn add(
        &mut self,
        cx: &FunctionContext<'_>,
        values: &Values,
        threads: &mut ThreadValues<'_>,
        Term { symbol, factor, .. }: Term,
    ) -> Option<()> {
        match values.symbol(symbol)? {
            AffineSymbol::Counter(id) => {
                self.counters.insert(id, factor);
            }
            AffineSymbol::Special(register, component)
                if threads.special(register, component, 0).is_some() =>
            {
                self.uses_size |= register == SpecialReg::Ntid;
                for (sample, number) in self.by_sample.iter_mut().enumerate() {
                    let value = threads.special(register, component, sample)?;
                    *number = number.wrapping_add(factor.wrapping_mul(value as i64));
                }
            }
            AffineSymbol::Special(register, _) if register.uniformity() <= Uniformity::Cta => {
                self.uniform_terms.insert(symbol, factor);
            }
            AffineSymbol::Value { value, .. } => {
                if let Some(values_of_threads) = numbers(values, threads, symbol, 0) {
                    for (number, value) in self.by_sample.iter_mut().zip(&values_of_threads) {
                        *number = number.wrapping_add(factor.wrapping_mul(*value));
                    }
                    if is_from_size(cx, value) {
                        for (number, value) in self.from_size.iter_mut().zip(values_of_threads) {
                            *number = number.wrapping_add(factor.wrapping_mul(value));
                        }
                    }
                } else if is_likely_uniform(cx, value) {
                    self.is_exact = false;
                    self.uniform_terms.insert(symbol, factor);
                } else {
                    return None;
                }
            }
            AffineSymbol::Product(a, b) => {
                let mut factors = values.factors(symbol).into_iter();
                if factors.all(|factor| is_likely_uniform_symbol(cx, values, factor)) {
                    self.uniform_terms.insert(symbol, factor);
                } else {
                    self.add_known_product(cx, values, threads, [a, b], factor)?;
                }
            }
            _ => {
                self.uniform_terms.insert(symbol, factor);
            }
        }
        Some(())
    }

    /// Adds a multiple of a product of two symbols that are known in each thread, such as a row and the number of threads in a row. Returns `None`
    /// if they are not known.
    fn add_known_product(
        &mut self,
        cx: &FunctionContext<'_>,
        values: &Values,
        threads: &mut ThreadValues<'_>,
        symbols: [AffineSymbolId; 2],
        factor: i64,
    ) -> Option<()> {
        if symbols.iter().any(|symbol| has_counter(values, *symbol)) {
            return None;
        }
        let [first, second] = symbols.map(|symbol| numbers(values, threads, symbol, 0));
        let (first, second) = (first?, second?);
        Self::add_products(&mut self.by_sample, &first, &second, factor);
        let factors = || symbols.iter().flat_map(|symbol| values.factors(*symbol));
        let is_from_size = factors().any(|symbol| match values.symbol(symbol) {
            Some(AffineSymbol::Special(register, _)) => register == SpecialReg::Ntid,
            Some(AffineSymbol::Value { value, .. }) => is_from_size(cx, value),
            _ => false,
        });
        if is_from_size {
            Self::add_products(&mut self.from_size, &first, &second, factor);
        }
        self.uses_size |= factors().any(|symbol| {
            matches!(
                values.symbol(symbol),
                Some(AffineSymbol::Special(SpecialReg::Ntid, _))
            )
        });
        // A CTA of another shape has other products.
        self.is_exact &= threads.shape().is_required;
        Some(())
    }

    /// Returns `true` if the differences between the addresses of the lanes of a warp depend on the size of the CTA.
    pub(crate) fn differences_depend_on_size(&self, first_lane: usize, lanes: usize) -> bool {
        let numbers = self.from_size.iter().skip(first_lane).take(lanes);
        numbers
            .clone()
            .zip(numbers.skip(1))
            .any(|(number, next)| number != next)
    }

    /// Adds `factor * first * second` in each thread.
    fn add_products(numbers: &mut [i64], first: &[i64], second: &[i64], factor: i64) {
        for (number, (a, b)) in numbers.iter_mut().zip(first.iter().zip(second)) {
            *number = number.wrapping_add(a.wrapping_mul(*b).wrapping_mul(factor));
        }
    }
}

/// Returns `true` if a symbol is a loop counter or a product with one.
fn has_counter(values: &Values, symbol: AffineSymbolId) -> bool {
    values
        .factors(symbol)
        .into_iter()
        .any(|factor| matches!(values.symbol(factor), Some(AffineSymbol::Counter(_))))
}

/// Returns `true` if there is no reason for a factor of a product to differ between the threads of a CTA.
fn is_likely_uniform_symbol(
    cx: &FunctionContext<'_>,
    values: &Values,
    symbol: AffineSymbolId,
) -> bool {
    match values.symbol(symbol) {
        Some(AffineSymbol::Value { value, .. }) => is_likely_uniform(cx, value),
        Some(AffineSymbol::Special(register, _)) => register.uniformity() <= Uniformity::Cta,
        Some(AffineSymbol::Parameter { .. }) => true,
        _ => false,
    }
}

/// Returns the value of a symbol in each sample thread; `None` if it is not known. A loop counter has the value `iteration`.
pub(crate) fn numbers(
    values: &Values,
    threads: &mut ThreadValues<'_>,
    symbol: AffineSymbolId,
    iteration: i64,
) -> Option<Vec<i64>> {
    let samples = 0..threads.samples().len();
    match values.symbol(symbol)? {
        AffineSymbol::Special(register, component) => samples
            .map(|sample| Some(threads.special(register, component, sample)? as i64))
            .collect(),
        AffineSymbol::Value { value, signed } => {
            let unused_bits = 64 - u32::from(values.width(value).clamp(1, 64));
            let bits_of_threads = threads.value(value)?;
            Some(
                samples
                    .map(|sample| {
                        let bits = bits_of_threads.get(sample) << unused_bits;
                        if signed {
                            bits as i64 >> unused_bits
                        } else {
                            (bits >> unused_bits) as i64
                        }
                    })
                    .collect(),
            )
        }
        AffineSymbol::Counter(_) => Some(vec![iteration; samples.len()]),
        // A product has three factors at most.
        AffineSymbol::Product(a, b) => {
            let first = numbers(values, threads, a, iteration)?;
            let second = numbers(values, threads, b, iteration)?;
            let products = first.iter().zip(second);
            Some(products.map(|(a, b)| a.wrapping_mul(b)).collect())
        }
        _ => None,
    }
}

/// Returns `true` if there is no reason for a value to differ between the threads of a CTA.
pub(crate) fn is_likely_uniform(cx: &FunctionContext<'_>, value: ValueId) -> bool {
    cx.varying()
        .is_some_and(|varying| varying.get(value.as_u32() as usize) == Some(&false))
}

/// The maximum number of values that are followed to find out whether a value is computed from the size of the CTA.
const MOST_OPERANDS: usize = 128;

/// Returns `true` if a value may be computed from the size of the CTA.
fn is_from_size(cx: &FunctionContext<'_>, value: ValueId) -> bool {
    let Some(ssa) = cx.ssa() else {
        return true;
    };
    let mut values = vec![value];
    let mut next = 0;
    while let Some(&value) = values.get(next) {
        next += 1;
        let operands: Vec<ValueId> = match ssa.value(value) {
            Value::Def { stmt, old, .. } => {
                if reads_size(cx, stmt) {
                    return true;
                }
                let reads = ssa.uses(stmt).iter().map(|read| read.value);
                reads.chain(old).collect()
            }
            Value::Phi { .. } => ssa.args(value).to_vec(),
            _ => Vec::new(),
        };
        for operand in operands {
            if values.contains(&operand) {
                continue;
            }
            if values.len() == MOST_OPERANDS {
                return true;
            }
            values.push(operand);
        }
    }
    false
}

/// Returns `true` if a statement reads a dimension of the CTA.
fn reads_size(cx: &FunctionContext<'_>, stmt: StmtId) -> bool {
    let body = cx.facts().body();
    let Some(Statement::Inst(inst)) = body.statement(stmt) else {
        return false;
    };
    body.operands(inst).iter().any(|operand| {
        let register = match operand {
            Operand::Component(_, register) => body.pool().get(*register),
            operand => *operand,
        };
        register == Operand::Special(SpecialReg::Ntid)
    })
}

/// Returns `true` if a value is computed from one load of global memory and otherwise only from values that are likely uniform in the CTA. At most
/// `steps` definitions are followed.
pub(crate) fn is_loaded(cx: &FunctionContext<'_>, value: ValueId, steps: u32) -> bool {
    let (Some(ssa), Some(remaining_steps)) = (cx.ssa(), steps.checked_sub(1)) else {
        return false;
    };
    let Value::Def { stmt, old, .. } = ssa.value(value) else {
        return false;
    };
    let is_uniform_definition =
        |value| matches!(ssa.value(value), Value::Def { .. }) && is_likely_uniform(cx, value);
    // The value that remains where a guard skips the definition.
    if old.is_some_and(|old| !is_uniform_definition(old)) {
        return false;
    }
    let Some(facts) = cx.inst_at(stmt) else {
        return false;
    };
    if facts.action().is_some() || !facts.is_known() || facts.callees().is_some() {
        return false;
    }
    let mut accesses = facts.memory().peekable();
    if accesses.peek().is_some() {
        return accesses.all(|access| {
            let is_global =
                matches!(access.space, Space::State(s) if s.base() == StateSpace::Global);
            is_global && !access.writes()
        });
    }
    let mut varying_operands = ssa
        .uses(stmt)
        .iter()
        .map(|read| read.value)
        .filter(|value| !is_uniform_definition(*value));
    match (varying_operands.next(), varying_operands.next()) {
        (Some(operand), None) => is_loaded(cx, operand, remaining_steps),
        _ => false,
    }
}
