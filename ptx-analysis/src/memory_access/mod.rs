//! Memory accesses of warps: the state space, the accessed object, the alignment, and the access pattern of the lanes.
//!
//! The address of an access is an affine form ([`crate::values`]). If all symbols in it except the thread indices are uniform in the warp, the distances
//! between the addresses are known, and therefore the number of sectors of global memory or of passes over shared memory that a request needs.
//!
//! CTAs whose size no directive fixes are assumed to be one-dimensional, and 32-bit sums are assumed not to wrap around: [`Assumptions`] records
//! where such an assumption was needed.

mod address;
mod lanes;
mod loops;
pub mod requests;
mod vectors;

use alloc::vec::Vec;

use ptx_ir::facts::{FunctionFacts, MemoryAccess, Space, Stamp};
use ptx_ir::{InstId, Statement, StmtId, VarId};

pub use lanes::{Assumptions, Pattern, Request};
pub use vectors::Adjacent;

use crate::cfg::BlockId;
use crate::function_analysis::FunctionAnalysis;
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
    /// The request of a warp; `None` if it is unknown.
    pub request: Option<Request>,
}

/// The memory accesses of a function.
#[derive(Clone, Debug)]
pub struct Accesses {
    stamp: Stamp,
    all: Vec<Access>,
    adjacent: Vec<Adjacent>,
    likely_adjacent: Vec<Adjacent>,
}

impl Accesses {
    /// Analyzes the reachable accesses of a function.
    ///
    /// ```
    /// use ptx_analysis::function_analysis::FunctionAnalysis;
    /// use ptx_analysis::memory_access::{Accesses, Pattern};
    /// use ptx_analysis::ssa::Ssa;
    /// use ptx_analysis::values::Values;
    /// use ptx_ir::facts::ModuleFacts;
    /// let module = ptx_parse::parse(
    ///     b".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p) { .reg .b32 t; .reg .b64 a, d;\n\
    ///     ld.param.u64 a, [p]; mov.u32 t, %tid.x; mad.wide.u32 d, t, 8, a; ld.global.b32 t, [d]; ret; }",
    /// ).module;
    /// let facts = ModuleFacts::new(&module);
    /// let facts = facts.function(module.function("k").unwrap()).unwrap();
    /// let analysis = FunctionAnalysis::new(facts);
    /// let ssa = Ssa::new(facts, analysis.cfg(), analysis.dominators(), analysis.variables())?;
    /// let accesses = Accesses::new(facts, &analysis, &ssa, &Values::new(facts, &analysis, &ssa));
    /// let request = accesses.all()[1].request.unwrap();
    /// assert_eq!((request.pattern, request.sectors), (Pattern::Strided(8), 8));
    /// # Ok::<(), ptx_analysis::ssa::TooManyPhis>(())
    /// ```
    #[must_use]
    pub fn new(
        facts: FunctionFacts<'_>,
        analysis: &FunctionAnalysis,
        ssa: &Ssa,
        values: &Values,
    ) -> Self {
        let provenance = FunctionProvenance::new(facts, analysis, ssa, None);
        Self::with_provenance(facts, analysis, (ssa, values), &provenance)
    }

    /// Analyzes accesses with the provenance of addresses, which can include that through calls.
    #[must_use]
    pub fn with_provenance(
        facts: FunctionFacts<'_>,
        analysis: &FunctionAnalysis,
        (ssa, values): (&Ssa, &Values),
        provenance: &FunctionProvenance,
    ) -> Self {
        let context = Context {
            facts,
            analysis,
            ssa,
            values,
            provenance,
            uniform_loops: loops::uniform(facts, analysis, ssa, values),
        };
        let mut all = Vec::new();
        for (id, block) in analysis.cfg().blocks() {
            if !analysis.is_reachable(id) {
                continue;
            }
            for (stmt, statement) in facts.body().range(block.first, block.end) {
                if let Statement::Inst(inst) = statement {
                    let accesses = facts.inst(inst).memory().enumerate();
                    all.extend(
                        accesses.map(|(at, access)| context.access(stmt, (inst, at), access)),
                    );
                }
            }
        }
        let [adjacent, likely_adjacent] = vectors::adjacent(&context, &all);
        Self {
            stamp: Stamp::of(facts),
            all,
            adjacent,
            likely_adjacent,
        }
    }

    /// Which function they are of, at which revision of the module.
    #[must_use]
    pub const fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// The accesses, in the order of the statements.
    #[must_use]
    pub fn all(&self) -> &[Access] {
        &self.all
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

/// The results of the analyses that this one uses.
struct Context<'a> {
    facts: FunctionFacts<'a>,
    analysis: &'a FunctionAnalysis,
    ssa: &'a Ssa,
    values: &'a Values,
    provenance: &'a FunctionProvenance,
    /// For each loop, whether the lanes of a warp stay converged in it.
    uniform_loops: Vec<bool>,
}

impl Context<'_> {
    fn block(&self, stmt: StmtId) -> Option<BlockId> {
        self.analysis.cfg().of_statement(stmt)
    }
}
