//! Addresses as evaluated in individual threads.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_analysis::graph::LoopId;
use ptx_analysis::ssa::{Value, ValueId};
use ptx_analysis::threads::ThreadValues;
use ptx_analysis::uniformity::Uniformity;
use ptx_analysis::values::{Affine, Symbol, SymbolId, Values};
use ptx_ir::StmtId;
use ptx_ir::facts::Space;
use ptx_isa::{SpecialReg, StateSpace};

use crate::context::FunctionContext;

/// How many phis are followed to find whether a value is uniform in the CTA.
const FOLLOWED: u32 = 6;

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
                None if is_uniform(cx, value, FOLLOWED) => {
                    // It is only likely to be uniform.
                    self.is_exact = false;
                    self.shared.insert(symbol, factor);
                }
                None => return None,
            },
            Symbol::Product(a, b) => {
                for symbol in [a, b] {
                    match values.symbol(symbol)? {
                        Symbol::Value { value, .. } if is_uniform(cx, value, FOLLOWED) => {}
                        Symbol::Special(register, _)
                            if register.uniformity() <= Uniformity::Cta => {}
                        Symbol::Parameter { .. } => {}
                        _ => return None,
                    }
                }
                self.shared.insert(symbol, factor);
            }
            _ => {
                self.shared.insert(symbol, factor);
            }
        }
        Some(())
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
fn is_uniform(cx: &FunctionContext<'_>, value: ValueId, left: u32) -> bool {
    let (Some(ssa), Some(likely)) = (cx.ssa(), cx.likely()) else {
        return false;
    };
    match ssa.value(value) {
        // Local memory may differ.
        Value::Def { stmt, .. } if is_loaded_locally(cx, stmt) => false,
        Value::Def { stmt, variable, .. } => likely.def(stmt, variable) <= Uniformity::Cta,
        Value::Phi { .. } => {
            let Some(left) = left.checked_sub(1) else {
                return true;
            };
            let mut args = ssa.args(value).iter();
            args.all(|arg| *arg == value || is_uniform(cx, *arg, left))
        }
        _ => true,
    }
}

/// Whether a statement may load from local memory.
fn is_loaded_locally(cx: &FunctionContext<'_>, stmt: StmtId) -> bool {
    let is_local = |space| match space {
        Space::State(space) => space.base() == StateSpace::Local,
        Space::Generic => has_local(cx),
        _ => false,
    };
    let facts = cx.inst_at(stmt);
    facts.is_some_and(|f| f.memory().any(|m| m.reads() && is_local(m.space)))
}

/// Whether the function has variables in local memory.
pub(crate) fn has_local(cx: &FunctionContext<'_>) -> bool {
    let mut variables = cx.body().vars().values();
    variables.any(|v| v.space.base() == StateSpace::Local)
}

/// Whether a value is computed only of what is loaded from global memory, and of what is the same in the CTA; `left` is how many instructions are followed.
pub(crate) fn is_loaded(cx: &FunctionContext<'_>, value: ValueId, left: u32) -> bool {
    let (Some(ssa), Some(left)) = (cx.ssa(), left.checked_sub(1)) else {
        return false;
    };
    let Value::Def {
        stmt, old: None, ..
    } = ssa.value(value)
    else {
        return false;
    };
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
    let is_same =
        |value| matches!(ssa.value(value), Value::Def { .. }) && is_uniform(cx, value, FOLLOWED);
    let mut reads = ssa
        .uses(stmt)
        .iter()
        .map(|read| read.value)
        .filter(|value| !is_same(*value));
    matches!((reads.next(), reads.next()), (Some(only), None) if is_loaded(cx, only, left))
}
