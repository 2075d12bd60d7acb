//! The addresses of accesses to shared memory in the sample threads.

use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec::Vec;

use ptx_analysis::graph::LoopId;
use ptx_analysis::threads::ThreadValues;
use ptx_analysis::values::{Affine, AffineSymbol, AffineSymbolId, Values};

use super::repeated::{Assumptions, Repeated};
use crate::addresses::{Parts, is_loaded};
use crate::context::FunctionContext;

/// The maximum number of instructions between the load of an index and its use.
const MAX_INDEX_STEPS: u32 = 6;

/// An address without its constant, in individual threads.
pub(super) struct Address {
    /// The part that depends on the thread index, by sample thread; in the first iteration of the loop if `repeated` is set.
    pub(super) by_sample: Vec<i64>,
    pub(super) offsets: Offsets,
    /// Symbols that are uniform in the CTA, with their factors.
    pub(super) uniform_terms: BTreeMap<AffineSymbolId, i64>,
    /// Loop counters with their factors.
    pub(super) counters: BTreeMap<LoopId, i64>,
    /// The address depends on the number of threads.
    pub(super) uses_size: bool,
    /// The uniform part is certainly uniform.
    pub(super) is_exact: bool,
    /// A value that is loaded from memory selects the element of the variable.
    pub(super) is_anywhere: bool,
    /// The part that changes in a loop.
    pub(super) repeated: Option<Repeated>,
}

/// Offsets of the sample threads.
pub(super) struct Offsets {
    /// The offsets in ascending order, with the sample threads.
    pub(super) sorted: Vec<(i64, usize)>,
    /// The least distance between the offsets of two sample threads.
    pub(super) least_distance: u64,
    /// A divisor of all distances between offsets; 0 if all offsets are the same.
    pub(super) divisor: u64,
}

impl Offsets {
    pub(super) fn new(by_sample: &[i64]) -> Self {
        let mut sorted: Vec<(i64, usize)> = by_sample.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        let (mut least_distance, mut divisor) = (u64::MAX, 0);
        for pair in sorted.windows(2) {
            let distance = pair[1].0.abs_diff(pair[0].0);
            least_distance = least_distance.min(distance);
            divisor = greatest_common_divisor(divisor, distance);
        }
        Self {
            sorted,
            least_distance,
            divisor,
        }
    }

    /// The least and the greatest offset.
    pub(super) fn bounds(&self) -> Option<(i64, i64)> {
        Some((self.sorted.first()?.0, self.sorted.last()?.0))
    }
}

pub(super) fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Evaluates addresses. Each sum of terms is evaluated once.
pub(super) struct Addresses<'a, 'c, 't> {
    cx: &'a FunctionContext<'c>,
    values: &'a Values,
    assumptions: Assumptions<'t>,
    evaluated: BTreeMap<Vec<(AffineSymbolId, i64)>, Option<Rc<Address>>>,
}

impl<'a, 'c, 't> Addresses<'a, 'c, 't> {
    pub(super) fn new(cx: &'a FunctionContext<'c>, values: &'a Values) -> Self {
        Self {
            cx,
            values,
            assumptions: Assumptions::default(),
            evaluated: BTreeMap::new(),
        }
    }

    /// An address without its constant; `None` if an unknown part of it may differ between threads.
    pub(super) fn address(
        &mut self,
        threads: &mut ThreadValues<'t>,
        form: &Affine,
    ) -> Option<Rc<Address>> {
        let terms = form.terms().iter().map(|term| (term.symbol, term.factor));
        let terms: Vec<(AffineSymbolId, i64)> = terms.collect();
        if let Some(address) = self.evaluated.get(&terms) {
            return address.clone();
        }
        let address = self
            .evaluate(threads, &form.without_constant())
            .map(Rc::new);
        self.evaluated.insert(terms, address.clone());
        address
    }

    fn evaluate(&mut self, threads: &mut ThreadValues<'t>, form: &Affine) -> Option<Address> {
        let (cx, values) = (self.cx, self.values);
        if let Some(parts) = Parts::new(cx, values, threads, form) {
            return Some(Address::new(parts));
        }
        if self.is_selected_by_load(form) {
            return Some(Address {
                is_anywhere: true,
                ..Address::new(Parts::unknown(threads))
            });
        }
        let (parts, repeated) = self.assumptions.parts(cx, values, threads, form)?;
        Some(Address {
            repeated: Some(repeated),
            ..Address::new(parts)
        })
    }

    /// Whether an address is that of an element at a loaded index, and does not depend on the thread in another way.
    fn is_selected_by_load(&self, form: &Affine) -> bool {
        let mut has_loaded_index = false;
        for term in form.terms() {
            match self.values.symbol(term.symbol) {
                Some(AffineSymbol::Variable(_) | AffineSymbol::Window(_)) => {}
                Some(AffineSymbol::Value { value, .. })
                    if is_loaded(self.cx, value, MAX_INDEX_STEPS) =>
                {
                    has_loaded_index = true;
                }
                _ => return false,
            }
        }
        has_loaded_index
    }
}

impl Address {
    fn new(parts: Parts) -> Self {
        Self {
            offsets: Offsets::new(&parts.by_sample),
            by_sample: parts.by_sample,
            uniform_terms: parts.uniform_terms,
            counters: parts.counters,
            uses_size: parts.uses_size,
            is_exact: parts.is_exact,
            is_anywhere: false,
            repeated: None,
        }
    }
}
