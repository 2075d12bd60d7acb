//! Provenance: the objects that addresses point into, and the state spaces of generic addresses.
//!
//! Addresses originate from variables, parameters, results of `alloca` and of calls of `malloc`, and conversions between state spaces and generic
//! addresses. They are tracked through copies, selects, phis and sums with numbers, through variables of the function whose address does not escape
//! (stack slots of unoptimized code, arguments and results of calls), and through direct calls, for recursion up to a fixpoint.
//!
//! # Assumptions
//!
//! The sum of an address and a number is an address in the same object, as in CUDA C++: accesses beyond the bounds of an object are not considered.
//! A value that is loaded from memory is an address or a number, but not the difference of two addresses. The null address belongs to every object.
//!
//! The semantics of instructions come from the tables ([`ptx_isa::Form::computation`]).
//!
//! Cost: a bounded number of sweeps over the statements ([`SparseAnalysis`](crate::dataflow::SparseAnalysis)); a function is analyzed again when the arguments or results of
//! its calls change.

mod calls;
mod evaluation;
mod expression;
pub(crate) mod incremental;
mod lattice;
mod params;
mod results;
mod slots;

use alloc::vec::Vec;

use ptx_dataflow::internals::SsaGraph;
use ptx_ir::facts::{MemoryAccess, Space};
use ptx_ir::{Statement, StmtId};
use ptx_isa::StateSpace;

pub use calls::CallSummaries;
pub(crate) use incremental::IncrementalSummaries;

use crate::function_dataflow::FunctionDataflow;
use crate::memory_access::Provenance;
use crate::ssa::{Ssa, ValueId};
use evaluation::{Evaluation, Site, is_generic};
use lattice::{AbstractValue, Address};

/// The provenance of an address.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Pointer {
    /// The object that it points into.
    pub object: Option<Provenance>,
    /// The state space of the memory.
    pub space: Option<StateSpace>,
    /// It is a generic address rather than an address in the state space. Addresses of global memory are both.
    pub is_generic: bool,
    /// The offset in bytes from the start of the object.
    pub offset: Option<i64>,
}

/// The addresses among the values of a function.
///
/// ```
/// use ptx_analysis::function_analysis::FunctionAnalysis;
/// use ptx_ir::facts::ModuleFacts;
/// use ptx_isa::StateSpace;
/// let module = ptx_parse::parse(
///     b".version 8.0\n.target sm_80\n.address_size 64\n.shared .b32 s[32];\n\
///     .entry k() { .reg .b32 r; .reg .b64 a, b; mov.u64 a, s; cvta.shared.u64 b, a; ld.b32 r, [b+8]; ret; }",
/// ).module;
/// let facts = ModuleFacts::new(&module);
/// let function = FunctionAnalysis::new(facts.function(module.function("k").unwrap()).unwrap());
/// let (load, _) = function.body().statements().nth(4).unwrap();
/// let pointer = function.provenance()?.access(load, 0).unwrap();
/// assert_eq!((pointer.space, pointer.offset), (Some(StateSpace::Shared), Some(8)));
/// # Ok::<(), ptx_analysis::AnalysisError>(())
/// ```
#[derive(Clone, Debug)]
pub struct FunctionProvenance {
    values: Vec<AbstractValue>,
    /// The addresses of accesses, with the index of the access in its statement, in this order.
    accesses: Vec<(StmtId, u32, Pointer)>,
    /// The addresses of accesses that expect addresses of another kind, likewise.
    mismatches: Vec<(StmtId, u32, Pointer)>,
}

impl FunctionProvenance {
    /// Analyzes all values of a function; `calls` provides the arguments from its callers and the results of its callees.
    pub(crate) fn new(
        function: &FunctionDataflow<'_>,
        ssa: &Ssa,
        graph: &SsaGraph,
        calls: Option<&CallSummaries>,
    ) -> Self {
        ptx_dataflow::internals::record_build("provenance", function.facts());
        let facts = function.facts();
        let mut evaluation = Evaluation::new(function, ssa, graph, calls);
        evaluation.run();
        let (mut accesses, mut mismatches) = (Vec::new(), Vec::new());
        for (stmt, statement) in facts.body().statements() {
            let Statement::Inst(inst) = statement else {
                continue;
            };
            let site = Site {
                stmt,
                inst,
                facts: facts.inst(inst),
            };
            for (index, access) in (0..).zip(site.facts.memory()) {
                let AbstractValue::Address(address) = evaluation.address(&site, &access) else {
                    continue;
                };
                if is_mismatch(address, &access) {
                    mismatches.push((stmt, index, address.pointer()));
                } else if is_expected(address, &access) {
                    accesses.push((stmt, index, address.pointer()));
                }
            }
        }
        accesses.sort_unstable_by_key(|(stmt, index, _)| (*stmt, *index));
        mismatches.sort_unstable_by_key(|(stmt, index, _)| (*stmt, *index));
        Self {
            values: evaluation.solver.finish().into_values(),
            accesses,
            mismatches,
        }
    }

    /// The provenance of a value, if it is certainly an address and something is known about it.
    #[must_use]
    pub fn pointer(&self, value: ValueId) -> Option<Pointer> {
        let AbstractValue::Address(address) = *self.values.get(value.as_u32() as usize)? else {
            return None;
        };
        (address.is_certain && address.is_known()).then_some(address.pointer())
    }

    /// The address of an access of a statement; `index` is the index of the access in [`Facts::memory`](ptx_ir::facts::Facts::memory).
    #[must_use]
    pub fn access(&self, stmt: StmtId, index: usize) -> Option<Pointer> {
        find(&self.accesses, stmt, index)
    }

    /// The address of an access, if it is certainly of the wrong kind: in a state space where the access expects a generic address, the reverse, or in a
    /// different state space. [`access`](Self::access) returns `None` in that case.
    #[must_use]
    pub fn mismatch(&self, stmt: StmtId, index: usize) -> Option<Pointer> {
        find(&self.mismatches, stmt, index)
    }
}

/// The pointer of an access in a list that is sorted by statement and index.
fn find(accesses: &[(StmtId, u32, Pointer)], stmt: StmtId, index: usize) -> Option<Pointer> {
    let key = (stmt, u32::try_from(index).ok()?);
    let position = accesses.binary_search_by_key(&key, |(stmt, index, _)| (*stmt, *index));
    let (_, _, pointer) = accesses.get(position.ok()?)?;
    Some(*pointer)
}

/// Returns whether an address is of the kind that an access expects, and its object or state space is known.
fn is_expected(address: Address, access: &MemoryAccess) -> bool {
    let is_generic = is_generic(access);
    let may_be_global = matches!(address.space, None | Some(StateSpace::Global));
    address.is_known() && (is_generic == address.is_generic || !is_generic && may_be_global)
}

/// Returns whether an address is certainly of a different kind than an access expects.
fn is_mismatch(address: Address, access: &MemoryAccess) -> bool {
    let Some(space) = address.space.filter(|_| address.is_certain) else {
        return false;
    };
    match access.space {
        Space::Generic => !address.is_generic,
        // Parameters are accessed by their names; parameters of functions have addresses in local memory.
        Space::State(expected) if expected.base() != StateSpace::Param => {
            let is_stack = expected.base() == StateSpace::Local && space == StateSpace::Param;
            // Addresses of global memory are generic addresses, too.
            let is_only_generic = address.is_generic && space != StateSpace::Global;
            is_only_generic || expected.base() != space && !is_stack
        }
        _ => false,
    }
}
