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
//! Cost: a bounded number of passes over the statements; a function is analyzed again when the arguments or results of its calls change.

mod calls;
mod expression;
mod incremental;
mod operands;
mod origin;
mod params;
mod pass;
mod results;
mod slots;

use alloc::vec::Vec;

use ptx_ir::StmtId;
use ptx_ir::facts::{MemoryAccess, Space};
use ptx_isa::StateSpace;

pub use calls::CallSummaries;
pub use incremental::IncrementalSummaries;

use crate::dataflow::sparse::SsaGraph;
use crate::function_dataflow::FunctionDataflow;
use crate::memory_access::Provenance;
use crate::ssa::{Ssa, ValueId};
use origin::{Known, Origin};
use pass::Pass;

/// The provenance of an address.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Pointer {
    /// The object that it points into.
    pub object: Option<Provenance>,
    /// The state space of the memory.
    pub space: Option<StateSpace>,
    /// Whether it is a generic address rather than an address in the state space. Addresses of global memory are both.
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
/// # Ok::<(), ptx_analysis::ssa::TooManyPhis>(())
/// ```
#[derive(Clone, Debug)]
pub struct FunctionProvenance {
    values: Vec<Known>,
    /// For each access, by its statement and its index in the statement.
    accesses: Vec<(StmtId, u32, Pointer)>,
    /// For accesses whose address is of the wrong kind.
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
        let mut pass = Pass::new(function, ssa, graph, calls);
        pass.run();
        let (mut accesses, mut mismatches) = (Vec::new(), Vec::new());
        for (stmt, statement) in facts.body().statements() {
            let ptx_ir::Statement::Inst(inst) = statement else {
                continue;
            };
            let of = facts.inst(inst);
            for (at, access) in (0..).zip(of.memory()) {
                let Known::Address(origin) = pass.address(stmt, &of, &access) else {
                    continue;
                };
                if is_mismatch(origin, &access) {
                    mismatches.push((stmt, at, origin.pointer()));
                } else if fits(origin, &access) {
                    accesses.push((stmt, at, origin.pointer()));
                }
            }
        }
        accesses.sort_unstable_by_key(|(stmt, at, _)| (*stmt, *at));
        mismatches.sort_unstable_by_key(|(stmt, at, _)| (*stmt, *at));
        Self {
            values: pass.solver.finish().into_values(),
            accesses,
            mismatches,
        }
    }

    /// The provenance of a value, if it is certainly an address and something is known about it.
    #[must_use]
    pub fn pointer(&self, value: ValueId) -> Option<Pointer> {
        let Known::Address(origin) = *self.values.get(value.as_u32() as usize)? else {
            return None;
        };
        let known = origin.object.is_some() || origin.space.is_some();
        (origin.is_certain && known).then_some(origin.pointer())
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

fn find(all: &[(StmtId, u32, Pointer)], stmt: StmtId, index: usize) -> Option<Pointer> {
    let key = (stmt, u32::try_from(index).ok()?);
    let at = all.binary_search_by_key(&key, |(s, i, _)| (*s, *i));
    Some(all.get(at.ok()?)?.2)
}

/// Whether an address is of the kind that an access expects, and something is known about it.
fn fits(origin: Origin, access: &MemoryAccess) -> bool {
    let generic = pass::is_generic(access);
    let global = origin.space == Some(StateSpace::Global) || origin.space.is_none();
    let fits = generic == origin.is_generic || (!generic && global);
    fits && (origin.object.is_some() || origin.space.is_some())
}

/// Whether an address is certainly of a different kind than an access expects.
fn is_mismatch(origin: Origin, access: &MemoryAccess) -> bool {
    let (Some(space), true) = (origin.space, origin.is_certain) else {
        return false;
    };
    let both = space == StateSpace::Global;
    match access.space {
        Space::Generic => !origin.is_generic,
        // Parameters are accessed by their names; those of functions have addresses in local memory.
        Space::State(taken) if taken.base() != StateSpace::Param => {
            let is_stack = taken.base() == StateSpace::Local && space == StateSpace::Param;
            let is_other = taken.base() != space && !is_stack;
            is_other || (origin.is_generic && !both)
        }
        _ => false,
    }
}
