//! Where matrices in shared memory begin, from the descriptors that instructions compute.
//!
//! A descriptor contains bits of an address (9.7.15.5.1.2 and 9.7.16.4.1). Which bytes these are is found by evaluating the descriptor for two
//! addresses of the variable.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::{Statement, StmtId};

use crate::function_analysis::FunctionAnalysis;
use crate::ssa::{Ssa, Value, ValueId};
use crate::threads::ThreadValues;
use crate::values::{Symbol, SymbolId, Values};

/// Values that are looked at to find the address in a descriptor.
const MOST_VALUES: usize = 32;

/// Addresses for which descriptors are evaluated; others are not known. Each costs time linear in the function.
const MOST_ADDRESSES: usize = 8;

/// Addresses that are assumed.
const ASSUMED: [u64; 2] = [0x400, 0x1_2800];

/// The bits of a descriptor that contain an address, without its lowest bits.
const ADDRESS: u64 = 0x3fff;
const SHIFT: u32 = 4;

/// Evaluates the descriptors of a function.
pub(super) struct Descriptors<'a> {
    analysis: &'a FunctionAnalysis<'a>,
    ssa: &'a Ssa,
    values: &'a Values,
    assuming: BTreeMap<ValueId, [ThreadValues<'a>; 2]>,
}

impl<'a> Descriptors<'a> {
    pub(super) fn new(
        analysis: &'a FunctionAnalysis<'a>,
        (ssa, values): (&'a Ssa, &'a Values),
    ) -> Self {
        Self {
            analysis,
            ssa,
            values,
            assuming: BTreeMap::new(),
        }
    }

    /// The variable, and the distance from its beginning to that of the matrix that a descriptor describes.
    pub(super) fn start(&mut self, descriptor: ValueId) -> Option<(SymbolId, i64)> {
        let (address, symbol, constant) = self.address(descriptor)?;
        if !self.assuming.contains_key(&address) {
            if self.assuming.len() == MOST_ADDRESSES {
                return None;
            }
            let of = ThreadValues::new(self.analysis).ok()?;
            let assuming = ASSUMED.map(|number| of.assuming(address, number));
            self.assuming.insert(address, assuming);
        }
        let mut distances = self.assuming.get_mut(&address)?.iter_mut().zip(ASSUMED);
        let mut distance = || {
            let (of, assumed) = distances.next()?;
            let found = of.value(descriptor)?;
            let number = found.get(0);
            let is_same = (0..of.samples().len()).all(|sample| found.get(sample) == number);
            let start = (number & ADDRESS) << SHIFT;
            is_same.then(|| (start as i64).wrapping_sub(assumed as i64))
        };
        let (first, second) = (distance()?, distance()?);
        (first == second).then(|| (symbol, constant.wrapping_add(first)))
    }

    /// The address of a variable, with a constant, from which a value is computed, if there is only one.
    fn address(&self, descriptor: ValueId) -> Option<(ValueId, SymbolId, i64)> {
        let (mut open, mut seen) = (vec![descriptor], Vec::new());
        let mut found = None;
        while let Some(value) = open.pop() {
            if seen.contains(&value) {
                continue;
            }
            seen.push(value);
            if seen.len() > MOST_VALUES {
                return None;
            }
            let form = self.values.affine(value);
            if let [term] = form.terms()
                && term.factor == 1
                && matches!(self.values.symbol(term.symbol), Some(Symbol::Variable(_)))
            {
                if found.is_some() {
                    return None;
                }
                found = Some((value, term.symbol, form.constant()));
                continue;
            }
            let Value::Def {
                stmt, old: None, ..
            } = self.ssa.value(value)
            else {
                continue;
            };
            if self.is_computed(stmt) {
                open.extend(self.ssa.uses(stmt).iter().map(|read| read.value));
            }
        }
        found
    }

    fn is_computed(&self, stmt: StmtId) -> bool {
        match self.analysis.body().statement(stmt) {
            Some(Statement::Inst(inst)) => {
                self.analysis.facts().inst(inst).memory().next().is_none()
            }
            _ => false,
        }
    }
}
