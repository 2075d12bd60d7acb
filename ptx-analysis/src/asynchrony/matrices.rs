//! The first bytes of matrices in shared memory, from the descriptors that instructions compute.
//!
//! A descriptor contains bits of the address of its matrix (9.7.15.5.1.2 and 9.7.16.4.1), and kernels compute it from the address of a variable by
//! arithmetic on bits. The distance from the variable to the matrix is found by evaluating the descriptor for two assumed addresses of the
//! variable: it is known if both evaluations give the same distance.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::{Statement, StmtId};

use crate::function_dataflow::FunctionDataflow;
use crate::ssa::{Ssa, Value, ValueId};
use crate::threads::ThreadValues;
use crate::values::{AffineSymbol, AffineSymbolId, Values};

/// The values that are examined to find the address in a descriptor.
const MOST_VALUES: usize = 32;

/// The addresses for which descriptors are evaluated; others are unknown. Each costs time linear in the function.
const MOST_ADDRESSES: usize = 8;

/// The addresses that a variable is assumed to have.
const ASSUMED_ADDRESSES: [u64; 2] = [0x400, 0x1_2800];

/// The bits of a descriptor that contain the address of the matrix, without its lowest four bits.
const ADDRESS_MASK: u64 = 0x3fff;
const ADDRESS_SHIFT: u32 = 4;

/// Evaluates the descriptors of a function.
pub(super) struct Descriptors<'a> {
    analysis: &'a FunctionDataflow<'a>,
    ssa: &'a Ssa,
    values: &'a Values,
    /// The values of the function if an address has each of the assumed values.
    evaluations: BTreeMap<ValueId, [ThreadValues<'a>; 2]>,
}

/// A value that is the sum of the address of a variable and a constant.
struct VariableAddress {
    value: ValueId,
    variable: AffineSymbolId,
    offset: i64,
}

impl<'a> Descriptors<'a> {
    pub(super) fn new(
        analysis: &'a FunctionDataflow<'a>,
        ssa: &'a Ssa,
        values: &'a Values,
    ) -> Self {
        Self {
            analysis,
            ssa,
            values,
            evaluations: BTreeMap::new(),
        }
    }

    /// The variable that contains the matrix of a descriptor, and the distance in bytes from the beginning of the variable to that of the matrix.
    pub(super) fn start(&mut self, descriptor: ValueId) -> Option<(AffineSymbolId, i64)> {
        let address = self.address(descriptor)?;
        if !self.evaluations.contains_key(&address.value) {
            if self.evaluations.len() == MOST_ADDRESSES {
                return None;
            }
            let values = ThreadValues::on_demand(self.analysis).ok()?;
            let evaluations =
                ASSUMED_ADDRESSES.map(|assumed| values.assuming(address.value, assumed));
            self.evaluations.insert(address.value, evaluations);
        }
        let evaluations = self.evaluations.get_mut(&address.value)?;
        let mut distances = Vec::with_capacity(ASSUMED_ADDRESSES.len());
        for (values, assumed) in evaluations.iter_mut().zip(ASSUMED_ADDRESSES) {
            let value = values.value(descriptor)?;
            let bits = value.get(0);
            if (0..values.samples().len()).any(|sample| value.get(sample) != bits) {
                return None;
            }
            let start = (bits & ADDRESS_MASK) << ADDRESS_SHIFT;
            distances.push((start as i64).wrapping_sub(assumed as i64));
        }
        let &[first, second] = distances.as_slice() else {
            return None;
        };
        (first == second).then(|| (address.variable, address.offset.wrapping_add(first)))
    }

    /// The address of a variable from which a value is computed, if there is exactly one.
    fn address(&self, descriptor: ValueId) -> Option<VariableAddress> {
        let (mut worklist, mut seen) = (vec![descriptor], Vec::new());
        let mut address = None;
        while let Some(value) = worklist.pop() {
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
                && matches!(
                    self.values.symbol(term.symbol),
                    Some(AffineSymbol::Variable(_))
                )
            {
                if address.is_some() {
                    return None;
                }
                address = Some(VariableAddress {
                    value,
                    variable: term.symbol,
                    offset: form.constant(),
                });
                continue;
            }
            let Value::Def {
                stmt, old: None, ..
            } = self.ssa.value(value)
            else {
                continue;
            };
            if self.is_computed(stmt) {
                worklist.extend(self.ssa.uses(stmt).iter().map(|read| read.value));
            }
        }
        address
    }

    /// Whether a statement computes its results from registers and constants alone.
    fn is_computed(&self, stmt: StmtId) -> bool {
        match self.analysis.body().statement(stmt) {
            Some(Statement::Inst(inst)) => {
                self.analysis.facts().inst(inst).memory().next().is_none()
            }
            _ => false,
        }
    }
}
