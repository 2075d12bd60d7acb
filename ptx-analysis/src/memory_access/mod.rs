//! Memory accesses of warps: the state space, the accessed object, the alignment, and the access pattern of the lanes.
//!
//! The address of an access is an affine form ([`crate::values`]). If all symbols in it except the thread indices are uniform in the warp, the distances
//! between the addresses are known, and therefore the number of sectors of global memory or of passes over shared memory that a request needs. Addresses with
//! other operations on the indices, such as swizzles, are evaluated for the 32 lanes of a warp, and so are the lanes that execute an access.
//!
//! CTAs whose size no directive fixes are assumed to have rows of whole warps, 32-bit sums are assumed not to wrap around, and pointers that kernels get as
//! parameters to be aligned like allocations: [`Assumptions`] records where such an assumption was needed.

mod address;
mod lanes;
mod loops;
pub mod requests;
mod vectors;
mod warp_requests;

use alloc::vec::Vec;

use ptx_ir::facts::{FunctionFacts, MemoryAccess, Space, Stamp};
use ptx_ir::{InstId, StmtId, VarId};

pub use lanes::{Assumptions, CountRange, Pattern, Request, Stride};
pub use vectors::Adjacent;

use crate::cfg::BlockId;
use crate::function_analysis::FunctionAnalysis;
use crate::function_dataflow::FunctionDataflow;
use crate::provenance::{FunctionProvenance, Pointer};
use crate::ssa::Ssa;
use crate::values::{Affine, Values, VariableRef};

/// The object that an address points into.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Provenance {
    /// The object that a parameter of the function points to.
    Parameter {
        /// The parameter.
        variable: VarId,
        /// The offset of the pointer in it.
        offset: u32,
    },
    /// A variable.
    Variable(VariableRef),
    /// The allocation of a statement: stack memory of `alloca`, or global memory that a call of `malloc` returns.
    Allocation(StmtId),
}

/// A memory access of an instruction.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Access {
    /// The statement.
    pub stmt: StmtId,
    /// The instruction.
    pub inst: InstId,
    /// The access according to the instruction.
    pub access: MemoryAccess,
    /// The number of bytes that a thread accesses, also if it is the known value of a register.
    pub bytes: Option<u64>,
    /// The space of the memory: a generic address may be known to be in a state space.
    pub space: Space,
    /// The largest power of two that certainly divides the address of each thread.
    pub alignment: u64,
    /// The address including the offset; `None` if no operand contains it.
    pub address: Option<Affine>,
    /// The accessed object, if known.
    pub provenance: Option<Provenance>,
    /// The address, if it is certainly of the wrong kind: in a state space where the access expects a generic address, or the reverse.
    pub mismatch: Option<Pointer>,
    /// Whether the hardware accesses tiles of matrices, whose addresses follow from a descriptor or a tensor map, not from registers of lanes.
    pub is_tile: bool,
    /// The request of a warp; `None` if it is unknown.
    pub request: Option<Request>,
}

/// The memory accesses of a function.
///
/// ```
/// use ptx_analysis::function_analysis::FunctionAnalysis;
/// use ptx_analysis::memory_access::Pattern;
/// use ptx_ir::facts::ModuleFacts;
/// let module = ptx_parse::parse(
///     b".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p) { .reg .b32 t; .reg .b64 a, d;\n\
///     ld.param.u64 a, [p]; mov.u32 t, %tid.x; mad.wide.u32 d, t, 8, a; ld.global.b32 t, [d]; ret; }",
/// ).module;
/// let facts = ModuleFacts::new(&module);
/// let function = FunctionAnalysis::new(facts.function(module.function("k").unwrap()).unwrap());
/// let request = function.accesses()?.all()[1].request.unwrap();
/// assert_eq!((request.pattern, request.sectors()), (Pattern::Strided(8), 8));
/// # Ok::<(), ptx_analysis::AnalysisError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Accesses {
    stamp: Stamp,
    all: Vec<Access>,
    /// The first access of each statement that has accesses, by the id of the statement.
    first: Vec<(StmtId, u32)>,
    adjacent: Vec<Adjacent>,
    likely_adjacent: Vec<Adjacent>,
}

impl Accesses {
    /// Analyzes the reachable accesses of a function, with the provenance of addresses.
    pub(crate) fn new(
        function: &FunctionAnalysis<'_>,
        ssa: &Ssa,
        values: &Values,
        provenance: &FunctionProvenance,
    ) -> Self {
        ptx_dataflow::internals::record_build("accesses", function.facts());
        let analysis: &FunctionDataflow<'_> = function;
        let facts = analysis.facts();
        let mut context = Context {
            facts,
            analysis,
            ssa,
            values,
            provenance,
            uniform_loops: loops::uniform(analysis, ssa, values),
            pointers: Vec::new(),
        };
        let mut all = Vec::new();
        for (id, block) in analysis.cfg().blocks() {
            if !analysis.is_reachable(id) {
                continue;
            }
            for (stmt, inst) in block.insts(facts.body()) {
                let accesses = facts.inst(inst).memory().enumerate();
                all.extend(
                    accesses.map(|(number, access)| context.access(stmt, inst, number, access)),
                );
            }
        }
        context.pointers = pointers(&all);
        context.add_requests(function, &mut all);
        let [adjacent, likely_adjacent] = vectors::adjacent(&context, &all);
        Self {
            stamp: Stamp::of(facts),
            first: first_accesses(&all),
            all,
            adjacent,
            likely_adjacent,
        }
    }

    /// The function, and the revision of the module.
    #[must_use]
    pub const fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// The accesses, in the order of the statements.
    #[must_use]
    pub fn all(&self) -> &[Access] {
        &self.all
    }

    /// The accesses of a statement, in the order of its facts.
    #[must_use]
    pub fn of_statement(&self, stmt: StmtId) -> &[Access] {
        let Ok(index) = self.first.binary_search_by_key(&stmt, |(stmt, _)| *stmt) else {
            return &[];
        };
        let following = self
            .all
            .get(self.first[index].1 as usize..)
            .unwrap_or_default();
        let mut statements = following.chunk_by(|a, b| a.stmt == b.stmt);
        statements.next().unwrap_or_default()
    }

    /// Accesses that could be combined into a vector access, because nothing between them may change the accessed memory.
    #[must_use]
    pub fn adjacent(&self) -> &[Adjacent] {
        &self.adjacent
    }

    /// Further accesses that could be combined if the pointer parameters of a kernel are aligned like allocations: each thread accesses one whole
    /// element.
    #[must_use]
    pub fn likely_adjacent(&self) -> &[Adjacent] {
        &self.likely_adjacent
    }
}

/// The index of the first access of each statement; the accesses of a statement are consecutive.
fn first_accesses(all: &[Access]) -> Vec<(StmtId, u32)> {
    let mut first: Vec<(StmtId, u32)> = all.iter().map(|access| access.stmt).zip(0..).collect();
    first.dedup_by_key(|(stmt, _)| *stmt);
    first.sort_unstable();
    first
}

/// The parameters that accesses point to: variables with the offsets of pointers.
fn pointers(all: &[Access]) -> Vec<(VarId, u32)> {
    let parameters = all.iter().filter_map(|access| match access.provenance? {
        Provenance::Parameter { variable, offset } => Some((variable, offset)),
        _ => None,
    });
    let mut pointers: Vec<(VarId, u32)> = parameters.collect();
    pointers.sort_unstable();
    pointers.dedup();
    pointers
}

/// The results of the analyses that this one uses.
struct Context<'a> {
    facts: FunctionFacts<'a>,
    analysis: &'a FunctionDataflow<'a>,
    ssa: &'a Ssa,
    values: &'a Values,
    provenance: &'a FunctionProvenance,
    /// For each loop, whether the lanes of a warp stay converged in it.
    uniform_loops: Vec<bool>,
    /// The parameters that accesses point to: variables with the offsets of pointers.
    pointers: Vec<(VarId, u32)>,
}

impl Context<'_> {
    fn block(&self, stmt: StmtId) -> Option<BlockId> {
        self.analysis.cfg().of_statement(stmt)
    }
}
