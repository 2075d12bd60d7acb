//! Partitions of the warps of a CTA that execute different code, and the barriers at which they meet.
//!
//! Kernels with *warp specialization* give the warps of a CTA different work: some copy data, others compute. They synchronize at mbarrier objects and at
//! named barriers. Whether every phase completes depends on all partitions together: who arrives how often, who waits, for which parity.
//!
//! [`problems`] executes the part of a kernel that decides about barriers, for each warp of a CTA, with assumed numbers for parameters:
//!
//! ```text
//! slice of the kernel ──▶ warps, split where lanes branch apart ──▶ mbarrier objects, named barriers ──▶ problems
//!    slice.rs                 warp.rs, values.rs                        objects.rs, barriers.rs             mod.rs
//! ```
//!
//! * The *slice* contains the instructions that use barriers, the branches on which they depend, and the computations of their operands. Everything else
//!   is passed over (`slice.rs`).
//! * Of shared memory, the slice contains what is stored at constant addresses, such as the numbers of the functions that warps execute (`memory.rs`).
//! * A *group* is a set of lanes of a warp that execute the slice together. A branch on which they disagree splits it; instructions that a warp
//!   executes converged join the groups of the warp again (`machine.rs`).
//! * If no barrier is used wrongly, the kernel is executed again with its reads of shared memory, to find copies that may overwrite what is still read,
//!   and reads that do not wait for copies (`buffers.rs`).
//! * Groups run in several orders: the slowest copies and the fastest warps, and the reverse. A correct kernel ends in each order.
//!
//! Nothing is reported if the execution meets an address, a count or a condition that it does not know, a call, or another CTA of the cluster.
//!
//! Cost: linear in the size of the slice times the number of executed iterations, which is bounded ([`MOST_STEPS`]).

mod barriers;
mod buffers;
mod diagnosis;
mod execute;
mod machine;
mod memory;
mod objects;
mod slice;
mod sync;
mod values;

use alloc::vec::Vec;

use ptx_ir::StmtId;

use crate::function_dataflow::FunctionDataflow;
use crate::values::LaunchBounds;
use machine::{End, Machine, Order};
use slice::Slice;

/// The maximum number of steps of one execution: a step is one instruction of the slice in one group.
pub const MOST_STEPS: usize = 24_000;

/// The maximum number of steps of an execution with the reads of shared memory. Mistakes are usually in the first iterations.
const MOST_STEPS_WITH_READS: usize = 8_000;

/// The numbers that are assumed for integer parameters. A parameter is often a number of iterations, or an extent that tiles of 16 to 256 elements cover.
const ASSUMED: [u64; 2] = [5, 320];

/// The maximum number of threads of a CTA.
const MOST_THREADS: u32 = 1024;

/// A mistake in the use of a barrier.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ProblemKind {
    /// A wait for a phase of an mbarrier object that does not complete.
    PhaseNeverCompletes {
        /// The number of the phase: 0 for the first one.
        phase: u64,
        /// The arrivals that complete a phase.
        count: u64,
        /// The arrivals that happened.
        arrived: u64,
    },
    /// A phase of an mbarrier object expects a different number of bytes than the copies have.
    Bytes {
        /// The number of the phase.
        phase: u64,
        /// Expected bytes minus copied bytes.
        missing: i64,
    },
    /// One instruction arrives more often than a phase expects.
    TooManyArrivals {
        /// The arrivals that complete a phase.
        count: u64,
        /// The arrivals of one execution of the instruction by a warp.
        arrived: u64,
    },
    /// An arrival in a phase that has all its arrivals, and waits for the bytes of copies.
    ArrivalInFullPhase {
        /// The arrivals that complete a phase.
        count: u64,
    },
    /// Several lanes of a warp start the same copy to the same memory.
    RepeatedCopy {
        /// The copies that one execution of the instruction by a warp starts.
        copies: u64,
    },
    /// An arrival at an mbarrier object after which a read of memory follows that a copy overwrites.
    ArrivalBeforeRead,
    /// A copy to memory that another warp may still read.
    CopyOverRead,
    /// A read of memory to which a copy may still be pending.
    ReadOfPendingCopy,
    /// A use of an mbarrier object that another warp initializes, without a barrier in between.
    UseBeforeInitialization,
    /// A use of an mbarrier object that is not initialized.
    NotInitialized,
    /// A wait for data of asynchronous copies that returns before the first phase of the object is complete.
    EarlyWait,
    /// A wait that returns again for a phase for which the same warp waited before, although further phases follow.
    RepeatedWait,
    /// A named barrier at which too few threads arrive.
    BarrierNeverCompletes {
        /// The number of the barrier.
        barrier: u64,
        /// The threads that have to arrive.
        count: u64,
        /// The threads that arrived.
        arrived: u64,
    },
    /// A second arrival of a thread at a barrier that is not complete.
    ArrivalTwice {
        /// The number of the barrier.
        barrier: u64,
    },
}

/// The role of another statement in a problem.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Relation {
    /// It initializes the object.
    Initializes,
    /// It arrives at the object.
    Arrives,
    /// It waits for the same object or barrier.
    Waits,
    /// It reads the memory.
    Reads,
    /// It copies to the memory.
    Copies,
}

/// A wrong use of a barrier.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Problem {
    /// The statement.
    pub stmt: StmtId,
    /// The mistake.
    pub kind: ProblemKind,
    /// Other statements that take part.
    pub related: Vec<(StmtId, Relation)>,
}

/// The problem of an execution, and how much of the kernel was executed.
struct Run {
    problem: Option<Problem>,
    /// The phases that were completed.
    phases: u64,
}

/// Finds a wrong use of barriers in a kernel; at most one, since others usually follow from it.
///
/// ```
/// use ptx_analysis::function_analysis::FunctionAnalysis;
/// use ptx_analysis::partitions::{ProblemKind, problems};
/// use ptx_ir::facts::ModuleFacts;
///
/// let text = b".version 8.0\n.target sm_80\n.address_size 64\n.entry k() .reqntid 64\n{\n\
///     .reg .pred %p; .reg .b32 %r;\n\
///     mov.u32 %r, %tid.x;\n\
///     setp.lt.u32 %p, %r, 32;\n\
///     @%p bra first;\n\
///     bar.sync 1, 64;\n\
/// first:\n    ret;\n}\n";
/// let module = ptx_parse::parse(text).module;
/// let facts = ModuleFacts::new(&module);
/// let function = FunctionAnalysis::new(facts.function(module.function("k").unwrap()).unwrap());
/// let problems = problems(&function);
/// assert_eq!(problems[0].kind, ProblemKind::BarrierNeverCompletes { barrier: 1, count: 64, arrived: 32 });
/// ```
#[must_use]
pub fn problems(function: &FunctionDataflow<'_>) -> Vec<Problem> {
    let Some(threads) = cta_size(function) else {
        return Vec::new();
    };
    let of_barriers = Slice::of_barriers(function);
    let problems = match &of_barriers {
        Some(slice) => problems_of_slice(function, slice, threads, &ASSUMED, &Order::ALL),
        None => Some(Vec::new()),
    };
    // What is not known without the reads is not known with them.
    if problems
        .as_ref()
        .is_none_or(|problems| !problems.is_empty())
    {
        return problems.unwrap_or_default();
    }
    // Small numbers for strides let rows overlap. The order of the warps seldom decides which barriers are between accesses.
    Slice::with_reads(function)
        .and_then(|slice| {
            let orders = &Order::ALL[..1];
            problems_of_slice(function, &slice, threads, &ASSUMED[1..], orders)
        })
        .unwrap_or_default()
}

/// Finds a wrong use of barriers in a slice of a kernel; `None` if something is not known.
fn problems_of_slice(
    function: &FunctionDataflow<'_>,
    slice: &Slice,
    threads: [u32; 3],
    assumed_numbers: &[u64],
    orders: &[Order],
) -> Option<Vec<Problem>> {
    let mut runs: Vec<Run> = Vec::new();
    for &assumed in assumed_numbers {
        let mut problem = None;
        let mut phases = 0;
        for &order in orders {
            let mut machine = Machine::new(function, slice, threads, assumed, order);
            let end = machine.run();
            phases = phases.max(machine.completed_phases());
            match end {
                End::Unknown => return None,
                End::TooLong => {}
                End::Problem(new) => {
                    problem = Some(new);
                    break;
                }
                End::Exited => continue,
            }
            break;
        }
        runs.push(Run { problem, phases });
        // Parameters do not matter.
        if !slice.reads_parameters {
            break;
        }
    }
    // A kernel that runs longer without a problem under other assumptions does not expect the assumed numbers.
    let longest_correct = runs
        .iter()
        .filter(|run| run.problem.is_none())
        .map(|run| run.phases)
        .max();
    let problem = runs
        .into_iter()
        .filter(|run| longest_correct.is_none_or(|phases| run.phases >= phases))
        .find_map(|run| run.problem);
    Some(problem.into_iter().collect())
}

/// The size of the CTAs in each dimension: the required one, or the greatest one that the kernel allows.
fn cta_size(function: &FunctionDataflow<'_>) -> Option<[u32; 3]> {
    let bounds = LaunchBounds::of(function.facts());
    let threads = bounds
        .threads
        .or_else(|| (bounds.most < MOST_THREADS).then_some([bounds.most, 1, 1]))?;
    let product = threads
        .iter()
        .try_fold(1u32, |all, &n| all.checked_mul(n))?;
    (1..=MOST_THREADS).contains(&product).then_some(threads)
}
