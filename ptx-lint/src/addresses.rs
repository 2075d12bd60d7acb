//! Addresses as evaluated in individual threads.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_analysis::graph::LoopId;
use ptx_analysis::ssa::{Ssa, Value, ValueId};
use ptx_analysis::threads::ThreadValues;
use ptx_analysis::uniformity::{FunctionUniformity, Uniformity};
use ptx_analysis::values::{Affine, Symbol, SymbolId, Values};
use ptx_ir::StmtId;
use ptx_ir::facts::Space;
use ptx_isa::{SpecialReg, StateSpace};

use crate::context::FunctionContext;

/// An address as the sum of a part that is known in each thread and a remainder that is uniform in the CTA.
pub(crate) struct Parts {
    /// The part that depends on the thread index, by sample thread.
    pub(crate) own: Vec<i64>,
    /// Symbols that are uniform in the CTA, with their factors.
    pub(crate) shared: BTreeMap<SymbolId, i64>,
    /// Loop counters with their factors.
    pub(crate) counters: BTreeMap<LoopId, i64>,
    /// Whether the address depends on the number of threads.
    pub(crate) uses_size: bool,
    /// Whether the remainder is certainly uniform.
    pub(crate) is_exact: bool,
}

impl Parts {
    /// Splits an address; `None` if an unknown part may differ between threads.
    pub(crate) fn new(
        cx: &FunctionContext<'_>,
        values: &Values,
        threads: &mut ThreadValues<'_>,
        form: &Affine,
    ) -> Option<Self> {
        let mut parts = Self {
            own: vec![form.constant(); threads.samples().len()],
            shared: BTreeMap::new(),
            counters: BTreeMap::new(),
            uses_size: false,
            is_exact: true,
        };
        for term in form.terms() {
            parts.add(cx, values, threads, (term.symbol, term.factor))?;
        }
        Some(parts)
    }

    /// An address with an empty known part.
    pub(crate) fn unknown(threads: &ThreadValues<'_>) -> Self {
        Self {
            own: vec![0; threads.samples().len()],
            shared: BTreeMap::new(),
            counters: BTreeMap::new(),
            uses_size: false,
            is_exact: false,
        }
    }

    /// The same in an iteration of the loops whose counters are factors of products, with products of numbers that are known in each thread.
    pub(crate) fn with_products(
        cx: &FunctionContext<'_>,
        values: &Values,
        threads: &mut ThreadValues<'_>,
        (form, iteration): (&Affine, i64),
    ) -> Option<Self> {
        let mut parts = Self::unknown(threads);
        parts.own.fill(form.constant());
        for term in form.terms() {
            let product = match values.symbol(term.symbol)? {
                Symbol::Product(a, b) => {
                    let factors = [a, b];
                    let is_counter =
                        |s: &SymbolId| matches!(values.symbol(*s), Some(Symbol::Counter(_)));
                    if iteration == 0 && factors.iter().any(is_counter) {
                        continue;
                    }
                    let numbers = factors.map(|symbol| numbers(values, threads, symbol, iteration));
                    match numbers {
                        [Some(a), Some(b)] => Some(a.into_iter().zip(b)),
                        _ => None,
                    }
                }
                _ => None,
            };
            let Some(product) = product else {
                parts.add(cx, values, threads, (term.symbol, term.factor))?;
                continue;
            };
            for (own, (a, b)) in parts.own.iter_mut().zip(product) {
                *own = own.wrapping_add(a.wrapping_mul(b).wrapping_mul(term.factor));
            }
        }
        Some(parts)
    }

    /// Adds a symbol with its factor.
    fn add(
        &mut self,
        cx: &FunctionContext<'_>,
        values: &Values,
        threads: &mut ThreadValues<'_>,
        (symbol, factor): (SymbolId, i64),
    ) -> Option<()> {
        match values.symbol(symbol)? {
            Symbol::Counter(id) => {
                self.counters.insert(id, factor);
            }
            Symbol::Special(register, component)
                if threads.special(register, component, 0).is_some() =>
            {
                self.uses_size |= register == SpecialReg::Ntid;
                for (sample, own) in self.own.iter_mut().enumerate() {
                    let value = threads.special(register, component, sample)?;
                    *own = own.wrapping_add(factor.wrapping_mul(value as i64));
                }
            }
            Symbol::Special(register, _) if register.uniformity() <= Uniformity::Cta => {
                self.shared.insert(symbol, factor);
            }
            Symbol::Value { value, signed } => match threads.value(value) {
                Some(known) => {
                    let above = 64 - u32::from(values.width(value).clamp(1, 64));
                    for (sample, own) in self.own.iter_mut().enumerate() {
                        let bits = known.get(sample) << above;
                        let number = match signed {
                            true => bits as i64 >> above,
                            false => (bits >> above) as i64,
                        };
                        *own = own.wrapping_add(factor.wrapping_mul(number));
                    }
                }
                None if is_uniform(cx, value) => {
                    // It is only likely to be uniform.
                    self.is_exact = false;
                    self.shared.insert(symbol, factor);
                }
                None => return None,
            },
            Symbol::Product(a, b) => {
                if [a, b].iter().all(|of| is_uniform_symbol(cx, values, *of)) {
                    self.shared.insert(symbol, factor);
                } else {
                    self.add_product(values, threads, ([a, b], factor))?;
                }
            }
            _ => {
                self.shared.insert(symbol, factor);
            }
        }
        Some(())
    }

    /// Adds a product of numbers that are known in each thread, such as a row and the number of threads in a row.
    fn add_product(
        &mut self,
        values: &Values,
        threads: &mut ThreadValues<'_>,
        (factors, factor): ([SymbolId; 2], i64),
    ) -> Option<()> {
        let is_counter = |of: &SymbolId| matches!(values.symbol(*of), Some(Symbol::Counter(_)));
        let is_size = |of: &SymbolId| {
            matches!(
                values.symbol(*of),
                Some(Symbol::Special(SpecialReg::Ntid, _))
            )
        };
        if factors.iter().any(is_counter) {
            return None;
        }
        let [first, second] = factors.map(|symbol| numbers(values, threads, symbol, 0));
        for (own, (a, b)) in self.own.iter_mut().zip(first?.into_iter().zip(second?)) {
            *own = own.wrapping_add(a.wrapping_mul(b).wrapping_mul(factor));
        }
        self.uses_size |= factors.iter().any(is_size);
        // Another shape of the CTA has other products.
        self.is_exact &= threads.shape().is_required;
        Some(())
    }
}

/// Whether there is no reason for a factor of a product to differ between the threads of a CTA.
fn is_uniform_symbol(cx: &FunctionContext<'_>, values: &Values, symbol: SymbolId) -> bool {
    match values.symbol(symbol) {
        Some(Symbol::Value { value, .. }) => is_uniform(cx, value),
        Some(Symbol::Special(register, _)) => register.uniformity() <= Uniformity::Cta,
        Some(Symbol::Parameter { .. }) => true,
        _ => false,
    }
}

/// The numbers of a symbol by sample, in an iteration of a loop.
fn numbers(
    values: &Values,
    threads: &mut ThreadValues<'_>,
    symbol: SymbolId,
    iteration: i64,
) -> Option<Vec<i64>> {
    let samples = 0..threads.samples().len();
    match values.symbol(symbol)? {
        Symbol::Special(register, component) => {
            let number = |sample| threads.special(register, component, sample);
            samples
                .map(|sample| number(sample).map(|n| n as i64))
                .collect()
        }
        Symbol::Value { value, signed } => {
            let above = 64 - u32::from(values.width(value).clamp(1, 64));
            let known = threads.value(value)?;
            let number = |sample| match (known.get(sample) << above, signed) {
                (bits, true) => bits as i64 >> above,
                (bits, false) => (bits >> above) as i64,
            };
            Some(samples.map(number).collect())
        }
        Symbol::Counter(_) => Some(vec![iteration; samples.len()]),
        _ => None,
    }
}

/// Whether there is no reason for a value to differ between the threads of a CTA.
fn is_uniform(cx: &FunctionContext<'_>, value: ValueId) -> bool {
    let varying = cx.varying();
    varying.is_some_and(|of| of.get(value.as_u32() as usize) == Some(&false))
}

/// Of each value, whether there is a reason for it to differ between the threads of a CTA: of a phi, whether it is one of the values that it
/// passes on. Linear in the values and the arguments of phis.
pub(crate) fn varying(
    cx: &FunctionContext<'_>,
    ssa: &Ssa,
    likely: &FunctionUniformity,
) -> Vec<bool> {
    let has_local = cx.has_local();
    let mut varying = vec![false; ssa.len()];
    let mut passed_on: Vec<(ValueId, ValueId)> = Vec::new();
    let mut open = Vec::new();
    for (id, value) in ssa.values() {
        let differs = match value {
            // Local memory may differ.
            Value::Def { stmt, variable, .. } => {
                likely.def(stmt, variable) > Uniformity::Cta
                    || is_loaded_locally(cx, stmt, has_local)
            }
            Value::Phi { .. } => {
                passed_on.extend(ssa.args(id).iter().map(|arg| (*arg, id)));
                false
            }
            _ => false,
        };
        if differs {
            open.push(id);
        }
    }
    passed_on.sort_unstable();
    while let Some(value) = open.pop() {
        let Some(slot @ false) = varying.get_mut(value.as_u32() as usize) else {
            continue;
        };
        *slot = true;
        let start = passed_on.partition_point(|(arg, _)| *arg < value);
        let phis = passed_on.get(start..).unwrap_or_default().iter();
        open.extend(
            phis.take_while(|(arg, _)| *arg == value)
                .map(|(_, phi)| *phi),
        );
    }
    varying
}

/// Whether a statement may load from local memory.
fn is_loaded_locally(cx: &FunctionContext<'_>, stmt: StmtId, has_local: bool) -> bool {
    let is_local = |space| match space {
        Space::State(space) => space.base() == StateSpace::Local,
        Space::Generic => has_local,
        _ => false,
    };
    let facts = cx.inst_at(stmt);
    facts.is_some_and(|f| f.memory().any(|m| m.reads() && is_local(m.space)))
}

/// Whether a value is computed only of what is loaded from global memory, and of what is the same in the CTA; `left` is how many instructions are followed.
pub(crate) fn is_loaded(cx: &FunctionContext<'_>, value: ValueId, left: u32) -> bool {
    let (Some(ssa), Some(left)) = (cx.ssa(), left.checked_sub(1)) else {
        return false;
    };
    let Value::Def { stmt, old, .. } = ssa.value(value) else {
        return false;
    };
    // Where a guard skips the load, it is the same in all threads.
    if old.is_some_and(|old| !matches!(ssa.value(old), Value::Def { .. }) || !is_uniform(cx, old)) {
        return false;
    }
    let Some(facts) = cx.inst_at(stmt) else {
        return false;
    };
    if facts.action().is_some() || !facts.is_known() || facts.callees().is_some() {
        return false;
    }
    let is_far = |space| matches!(space, Space::State(s) if s.base() == StateSpace::Global);
    let mut accesses = facts.memory().peekable();
    if accesses.peek().is_some() {
        return accesses.all(|a| is_far(a.space) && !a.writes());
    }
    let is_same = |value| matches!(ssa.value(value), Value::Def { .. }) && is_uniform(cx, value);
    let mut reads = ssa
        .uses(stmt)
        .iter()
        .map(|read| read.value)
        .filter(|value| !is_same(*value));
    matches!((reads.next(), reads.next()), (Some(only), None) if is_loaded(cx, only, left))
}
