//! Addresses that change by a non-constant amount in each iteration of a loop, such as by the number of threads or by a distance that is doubled. They
//! are known in the first two iterations.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_analysis::graph::LoopId;
use ptx_analysis::ssa::{Value, ValueId};
use ptx_analysis::threads::{PerThread, ThreadValues};
use ptx_analysis::values::{Affine, AffineSymbol, Values};

use super::address::Offsets;
use crate::addresses::Parts;
use crate::context::FunctionContext;

/// The maximum number of examined header values of a function.
const MAX_HEADERS: usize = 8;
/// The maximum number of examined values of an address.
const MAX_VALUES: usize = 32;
/// The assumed initial value of an unknown number before a loop.
const ASSUMED: u64 = 8;

/// The part of an address that changes in a loop.
pub(super) struct Repeated {
    /// The value at the header of the loop; `None` if it is a multiple of the number of iterations.
    pub(super) value: Option<ValueId>,
    pub(super) id: LoopId,
    /// The part is uniform.
    pub(super) is_uniform: bool,
    /// The address in the second iteration, without its constant.
    pub(super) later: Option<Offsets>,
}

/// The values of individual threads in the first two iterations of a loop.
struct Iterations<'t> {
    id: LoopId,
    /// The value is uniform when the loop is entered.
    is_uniform: bool,
    first: ThreadValues<'t>,
    second: Option<ThreadValues<'t>>,
}

/// The loop values that were assumed.
#[derive(Default)]
pub(super) struct Assumptions<'t> {
    evaluated: BTreeMap<ValueId, Option<Iterations<'t>>>,
}

impl<'t> Assumptions<'t> {
    /// The parts of an address in the first iteration of the loop in which it changes.
    pub(super) fn parts(
        &mut self,
        cx: &FunctionContext<'_>,
        values: &Values,
        threads: &mut ThreadValues<'t>,
        form: &Affine,
    ) -> Option<(Parts, Repeated)> {
        if let Some(id) = counter(values, form) {
            return counted(cx, values, threads, form, id);
        }
        let value = only_header(cx, values, threads, form)?;
        if !self.evaluated.contains_key(&value) && self.evaluated.len() >= MAX_HEADERS {
            return None;
        }
        let iterations = self
            .evaluated
            .entry(value)
            .or_insert_with(|| iterations(cx, threads, value))
            .as_mut()?;
        let parts = Parts::with_products(cx, values, &mut iterations.first, form, 0)?;
        let later = iterations
            .second
            .as_mut()
            .and_then(|t| Parts::with_products(cx, values, t, form, 1));
        let repeated = Repeated {
            value: Some(value),
            id: iterations.id,
            is_uniform: iterations.is_uniform,
            later: later_offsets(&parts, later),
        };
        Some((parts, repeated))
    }
}

/// The loop whose number of iterations is a factor of a part of an address.
fn counter(values: &Values, form: &Affine) -> Option<LoopId> {
    form.terms()
        .iter()
        .filter(|term| matches!(values.symbol(term.symbol), Some(AffineSymbol::Product(..))))
        .flat_map(|term| values.factors(term.symbol))
        .find_map(|factor| match values.symbol(factor)? {
            AffineSymbol::Counter(id) => Some(id),
            _ => None,
        })
}

/// The parts of an address with the number of iterations of a loop as a factor.
fn counted(
    cx: &FunctionContext<'_>,
    values: &Values,
    threads: &mut ThreadValues<'_>,
    form: &Affine,
    id: LoopId,
) -> Option<(Parts, Repeated)> {
    let parts = Parts::with_products(cx, values, threads, form, 0)?;
    let later = Parts::with_products(cx, values, threads, form, 1);
    let repeated = Repeated {
        value: None,
        id,
        is_uniform: false,
        later: later_offsets(&parts, later),
    };
    Some((parts, repeated))
}

/// The offsets in the second iteration, if the uniform terms and the counters are those of the first iteration.
fn later_offsets(first: &Parts, later: Option<Parts>) -> Option<Offsets> {
    let later = later.filter(|later| {
        later.uniform_terms == first.uniform_terms && later.counters == first.counters
    })?;
    Some(Offsets::new(&later.by_sample))
}

/// The only unknown value of a loop header on which an address depends.
fn only_header(
    cx: &FunctionContext<'_>,
    values: &Values,
    threads: &mut ThreadValues<'_>,
    form: &Affine,
) -> Option<ValueId> {
    let ssa = cx.ssa()?;
    let mut worklist: Vec<ValueId> = Vec::new();
    for term in form.terms() {
        for factor in values.factors(term.symbol) {
            if let AffineSymbol::Value { value, .. } = values.symbol(factor)? {
                worklist.push(value);
            }
        }
    }
    let (mut visited, mut header) = (Vec::new(), None);
    while let Some(value) = worklist.pop() {
        if visited.contains(&value) || threads.value(value).is_some() {
            continue;
        }
        if visited.len() >= MAX_VALUES {
            return None;
        }
        visited.push(value);
        match ssa.value(value) {
            Value::Phi { .. } if header.is_some() => return None,
            Value::Phi { .. } => header = Some(value),
            Value::Def { stmt, .. } => {
                let computes = cx
                    .inst_at(stmt)
                    .is_some_and(|f| f.action().is_none() && f.memory().next().is_none());
                if computes {
                    worklist.extend(ssa.uses(stmt).iter().map(|read| read.value));
                }
            }
            _ => {}
        }
    }
    header
}

/// Evaluates a value of a loop header in the first two iterations, and assumes these values.
fn iterations<'t>(
    cx: &FunctionContext<'_>,
    threads: &mut ThreadValues<'t>,
    value: ValueId,
) -> Option<Iterations<'t>> {
    let ssa = cx.ssa()?;
    let Value::Phi { block, .. } = ssa.value(value) else {
        return None;
    };
    let loops = cx.analysis().loops();
    let id = loops
        .innermost(block)
        .filter(|_| loops.header(block) == Some(block))?;
    // The value before the first iteration, and at the end of each iteration.
    let (mut initial, mut next) = (None, None);
    for ((_, edge), arg) in cx.cfg().in_edges(block).zip(ssa.args(value)) {
        let slot = if loops.contains(id, edge.from) {
            &mut next
        } else {
            &mut initial
        };
        if slot.replace(*arg).is_some_and(|other| other != *arg) {
            return None;
        }
    }
    let (initial, next) = (initial?, next?);
    let initial = threads.value(initial).unwrap_or(PerThread::Same(ASSUMED));
    let is_uniform = matches!(initial, PerThread::Same(_));
    let mut first = threads.assuming(value, 0);
    first.assume(value, initial);
    let second = first.value(next).map(|numbers| {
        let mut second = threads.assuming(value, 0);
        second.assume(value, numbers);
        second
    });
    Some(Iterations {
        id,
        is_uniform,
        first,
        second,
    })
}
