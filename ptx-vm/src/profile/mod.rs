//! What a launch executes: how often, with how many lanes, and which memory. All of it follows from the program and is exact.

mod profiler;

use ptx_ir::{FuncId, InstId, Module, Span, Statement};
use ptx_isa::{ScalarType, StateSpace};

use crate::program::Program;

pub(crate) use profiler::{Counts, Profiler};

/// What a launch executed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Profile {
    /// The instructions that were executed, in the order of the module.
    pub instructions: Vec<InstructionProfile>,
}

/// How an instruction was executed.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct InstructionProfile {
    /// The function that contains it.
    pub function: FuncId,
    /// The instruction.
    pub inst: InstId,
    /// Where it is in the source of the module.
    pub span: Option<Span>,
    /// How often warps executed it. One that waits is counted each time it is tried.
    pub executions: u64,
    /// The lanes for which its guard held, in all of these executions.
    pub lanes: u64,
    /// The memory that it accessed, at most one entry for each space.
    pub memory: Vec<MemoryProfile>,
    /// The products of matrices that it computed.
    pub matrix: Option<MatrixProfile>,
}

/// The products of matrices that an instruction computed on tensor cores.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MatrixProfile {
    /// Rows of the result, its columns, and the columns of the first factor.
    pub shape: [u32; 3],
    /// The types of the elements of the factors.
    pub factors: [ScalarType; 2],
    /// Whether half of the first factor is zero and not stored.
    pub sparse: bool,
    /// How often a warp computed a product. Where the lanes come one after the other, this is less than the executions.
    pub products: u64,
    /// Multiplications of elements with the addition of each result; of a sparse factor, only those of the elements that are stored.
    pub multiply_adds: u64,
}

/// How an instruction accessed a memory.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MemoryProfile {
    /// `.global`, also for constants and the heap, `.shared`, `.local` or `.param`.
    pub space: StateSpace,
    /// The bytes of all lanes.
    pub bytes: u64,
    /// Loads, stores and atomic operations of warps; 0 for copies and other actions.
    pub requests: u64,
    /// The different sectors of 32 bytes in global memory, summed over the requests.
    pub sectors: u64,
    /// How often shared memory was accessed for the requests: each of its 32 banks gives one word of four bytes at a time.
    pub passes: u64,
    /// How often it would have been accessed without bank conflicts.
    pub least_passes: u64,
}

impl Profile {
    /// The profile of counts.
    pub(crate) fn new(module: &Module, program: &Program, counts: &Counts) -> Self {
        let mut instructions = Vec::new();
        for (id, _, body) in module.definitions() {
            let Some(function) = program.function(id) else {
                continue;
            };
            let executed = (0u32..).zip(&function.steps);
            let mut executed = executed
                .filter_map(|(at, step)| Some((step.inst, counts.get(id, at)?)))
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
