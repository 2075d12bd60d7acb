//! How the threads of a warp access memory: the space, the object that is accessed, the alignment, and how the addresses of the lanes are related.
//!
//! The address of an access is an affine form ([`crate::values`]). If the symbols in it but the thread indices are the same for the lanes of a warp, the
//! distances of the addresses are known, and with them how many sectors of global memory and how many passes of shared memory a request needs.
//!
//! Blocks of a size that no directive fixes are taken to be one-dimensional, and sums of 32 bits not to wrap around: [`Assumptions`] tells where
//! that was needed.

mod address;
mod lanes;
mod loops;
pub mod requests;
mod vectors;

use alloc::vec::Vec;

use ptx_ir::facts::{FunctionFacts, MemoryAccess, Space};
use ptx_ir::{InstId, Statement, StmtId, VarId};

pub use lanes::{Assumptions, Pattern, Request};
pub use vectors::Adjacent;

use crate::cfg::BlockId;
use crate::function_analysis::FunctionAnalysis;
use crate::provenance::{FunctionProvenance, Pointer};
use crate::ssa::Ssa;
use crate::values::{Affine, Values, VariableRef};

/// What an address points into.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Provenance {
    /// What a parameter of the function points to.
    Parameter {
        /// The parameter.
        variable: VarId,
        /// The offset of the pointer in it.
        offset: u32,
    },
    /// A variable.
    Variable(VariableRef),
    /// What a statement allocates: local memory of the stack, or global memory that a call of `malloc` returns.
    Allocation(StmtId),
}

/// An access of an instruction to memory.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Access {
    /// The statement.
    pub stmt: StmtId,
    /// The instruction.
    pub inst: InstId,
    /// What the instruction states.
    pub access: MemoryAccess,
    /// The bytes of a thread, also where a register with a known value has their number.
    pub bytes: Option<u64>,
    /// Where the memory lies: a generic address may be known to be in a state space.
    pub space: Space,
    /// The bytes of a thread that are a power of two and divide its address for certain.
    pub alignment: u64,
    /// The address, with the offset; `None` if it is in no operand.
    pub address: Option<Affine>,
    /// What it points into, if that is known.
    pub provenance: Option<Provenance>,
    /// The address, if it certainly is not of the kind that the access takes: one in a state space where it takes a generic one, or the reverse.
    pub mismatch: Option<Pointer>,
    /// How the lanes of a warp access it; `None` if that is not known.
    pub request: Option<Request>,
}

/// The accesses of a function to memory.
#[derive(Clone, Debug)]
pub struct Accesses {
    all: Vec<Access>,
    adjacent: Vec<Adjacent>,
    likely_adjacent: Vec<Adjacent>,
}

impl Accesses {
    /// Looks at every access of a function that is reached.
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

    /// The same with what is known of addresses, also through calls.
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
            all,
            adjacent,
            likely_adjacent,
        }
    }

    /// The accesses, in the order of the statements.
    #[must_use]
    pub fn all(&self) -> &[Access] {
        &self.all
    }

    /// Accesses that could be one of a vector, because nothing between them may change what they access.
    #[must_use]
    pub fn adjacent(&self) -> &[Adjacent] {
        &self.adjacent
    }

    /// Others that could be, if the pointers that a kernel gets are aligned as allocations are: each thread accesses one element, all of it.
    #[must_use]
    pub fn likely_adjacent(&self) -> &[Adjacent] {
        &self.likely_adjacent
    }
}

/// What the analyses before this one found.
struct Context<'a> {
    facts: FunctionFacts<'a>,
    analysis: &'a FunctionAnalysis,
    ssa: &'a Ssa,
    values: &'a Values,
    provenance: &'a FunctionProvenance,
    /// Of each loop, whether all lanes of a warp that are in it repeat it together.
    uniform_loops: Vec<bool>,
}

impl Context<'_> {
    fn block(&self, stmt: StmtId) -> Option<BlockId> {
        self.analysis.cfg().of_statement(stmt)
    }
}
