//! Profiles of launches: execution counts, active lanes and memory accesses. All counts are exact.

mod profiler;
mod requests;

use ptx_ir::{FuncId, InstId, Module, Span, Statement};
use ptx_isa::{ScalarType, StateSpace};

use crate::program::Program;

pub(crate) use profiler::{Counts, Profiler};

/// The profile of a launch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Profile {
    /// The instructions that were executed, in the order of the module.
    pub instructions: Vec<InstructionProfile>,
}

/// The profile of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct InstructionProfile {
    /// The function that contains it.
    pub function: FuncId,
    /// The instruction.
    pub inst: InstId,
    /// The span of the instruction in the source of the module.
    pub span: Option<Span>,
    /// The number of executions by warps. A waiting instruction is counted at each attempt.
    pub executions: u64,
    /// The number of active lanes, summed over the executions: those for which the guard held.
    pub lanes: u64,
    /// The accessed memory, at most one entry for each space.
    pub memory: Vec<MemoryProfile>,
    /// The matrix products that it computed.
    pub matrix: Option<MatrixProfile>,
}

/// The matrix products that an instruction computed on tensor cores.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MatrixProfile {
    /// The shape MxNxK: rows and columns of the result, and columns of the first factor.
    pub shape: [u32; 3],
    /// The types of the elements of the factors.
    pub factors: [ScalarType; 2],
    /// Whether the first factor is sparse: half of it is zero and not stored.
    pub sparse: bool,
    /// The number of products. It is less than the number of executions if the lanes of a warp arrive separately.
    pub products: u64,
    /// The number of multiply-add operations; for a sparse factor, only those of stored elements.
    pub multiply_adds: u64,
}

/// The accesses of an instruction to a memory.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MemoryProfile {
    /// `.global` (including constants and the heap), `.shared`, `.local` or `.param`.
    pub space: StateSpace,
    /// The total number of bytes of all lanes.
    pub bytes: u64,
    /// The number of loads, stores and atomic operations of warps. For `cp.async`, `ldmatrix` and `stmatrix`, the reads and the writes of warps; for bulk
    /// copies, those of threads, which read and write their destination if they combine elements. 0 for other actions.
    pub requests: u64,
    /// The number of distinct 32-byte sectors in global memory, summed over the requests.
    pub sectors: u64,
    /// The number of passes over shared memory for the requests: in each pass, each of the 32 banks provides one four-byte word.
    pub passes: u64,
    /// The number of passes without bank conflicts.
    pub least_passes: u64,
}

impl Profile {
    /// The profile of the instructions of a module, from the counters of their steps.
    pub(crate) fn new(module: &Module, program: &Program, counts: &Counts) -> Self {
        let mut instructions = Vec::new();
        for (id, _, body) in module.definitions() {
            let Some(function) = program.function(id) else {
                continue;
            };
            let mut executed = (0u32..)
                .zip(&function.steps)
                .filter_map(|(index, step)| Some((step.inst, counts.get(id, index)?)))
                .peekable();
            if executed.peek().is_none() {
                continue;
            }
            let spans = body.statements().filter_map(|(stmt, kind)| match kind {
                Statement::Inst(inst) => Some((inst, body.source_span(stmt))),
                _ => None,
            });
            let spans: std::collections::HashMap<InstId, Span> = spans.collect();
            instructions.extend(executed.map(|(inst, count)| InstructionProfile {
                function: id,
                inst,
                span: spans.get(&inst).copied(),
                executions: count.executions,
                lanes: count.lanes,
                memory: count.memory(),
                matrix: count.matrix,
            }));
        }
        Self { instructions }
    }
}
