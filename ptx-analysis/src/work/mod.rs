//! The work of functions and loops: instructions by class, bytes by state space and direction, arithmetic operations.
//!
//! The work is that of a warp with 32 active lanes. Guards are assumed to hold, and blocks that are only executed on some paths are assumed to be
//! executed. Instructions that one thread executes for the whole warp count once, as do bulk copies, which one lane issues. Loops are weighted by
//! their trip counts ([`Values::trip_count`](crate::values::Values::trip_count)); if such a count is symbolic, the work inside the loop is a separate [`Part`], to be multiplied by it.
//!
//! Bytes and matrix products are counted in the same way as in the profiles of `ptx-vm`.

mod class;
mod executions;
pub(crate) mod matrix;
mod operations;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::facts::{Facts, FunctionFacts, MemoryAccess, Space};
use ptx_ir::{InstId, StmtId};
use ptx_isa::{Access as Usage, Action, Modifier, StateSpace};

pub use class::Class;
pub use executions::{Executions, Factor};
pub use operations::Operations;

use crate::function_dataflow::FunctionDataflow;
use crate::graph::LoopId;
use crate::memory_access::requests::LANES;
use crate::memory_access::{Access, Accesses};
use executions::Frequencies;
use matrix::StoredMatrix;

/// The maximum number of enclosing loops that include the work of a block.
const MOST_LEVELS: usize = 64;

/// The traffic of a state space in bytes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Traffic {
    /// The state space; `.shared::cta` and `.shared::cluster` are `.shared`.
    pub space: Space,
    /// The number of loaded bytes.
    pub read: u64,
    /// The number of stored bytes.
    pub written: u64,
    /// The number of bytes of atomic operations and of other accesses that read and write.
    pub updated: u64,
    /// The number of warp accesses of unknown size.
    pub unknown: u64,
}

impl Traffic {
    /// The total number of bytes.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.read
            .saturating_add(self.written)
            .saturating_add(self.updated)
    }
}

/// The work of a warp.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Work {
    /// The number of instructions.
    pub instructions: u64,
    /// The number of instructions of each class, in the order of [`Class::ALL`].
    pub classes: [u64; Class::ALL.len()],
    /// The arithmetic operations.
    pub operations: Operations,
    /// The memory traffic, at most one entry for each space.
    pub traffic: Vec<Traffic>,
}

impl Work {
    /// The number of instructions of a class.
    #[must_use]
    pub fn of_class(&self, class: Class) -> u64 {
        let index = Class::ALL.iter().position(|c| *c == class);
        index
            .and_then(|index| self.classes.get(index))
            .copied()
            .unwrap_or(0)
    }

    /// The number of bytes that are accessed in global memory, including accesses through generic addresses.
    #[must_use]
    pub fn global_bytes(&self) -> u64 {
        self.traffic
            .iter()
            .filter(|t| matches!(t.space, Space::Generic | Space::State(StateSpace::Global)))
            .map(Traffic::bytes)
            .fold(0, u64::saturating_add)
    }

    /// The arithmetic intensity: floating-point operations per byte of global memory; `None` without accesses to global memory.
    #[must_use]
    pub fn intensity(&self) -> Option<f64> {
        let bytes = self.global_bytes();
        (bytes > 0).then(|| self.operations.floating() as f64 / bytes as f64)
    }

    /// Adds other work `times` times.
    pub fn add(&mut self, other: &Self, times: u64) {
        add_multiple(&mut self.instructions, other.instructions, times);
        for (sum, count) in self.classes.iter_mut().zip(other.classes) {
            add_multiple(sum, count, times);
        }
        self.operations.add(&other.operations, times);
        for traffic in &other.traffic {
            let sum = self.traffic_mut(traffic.space);
            add_multiple(&mut sum.read, traffic.read, times);
            add_multiple(&mut sum.written, traffic.written, times);
            add_multiple(&mut sum.updated, traffic.updated, times);
            add_multiple(&mut sum.unknown, traffic.unknown, times);
        }
    }

    /// The traffic of a state space, which is added if there was none.
    fn traffic_mut(&mut self, space: Space) -> &mut Traffic {
        let index = match self.traffic.iter().position(|t| t.space == space) {
            Some(index) => index,
            None => {
                self.traffic.push(Traffic {
                    space,
                    read: 0,
                    written: 0,
                    updated: 0,
                    unknown: 0,
                });
                self.traffic.len() - 1
            }
        };
        &mut self.traffic[index]
    }
}

/// Adds `times * count`, at most the greatest number.
fn add_multiple(sum: &mut u64, count: u64, times: u64) {
    *sum = sum.saturating_add(count.saturating_mul(times));
}

/// Work that is repeated as often as the product of trip counts.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Part {
    /// The loops with symbolic trip counts; empty for work that is done once.
    pub factors: Vec<Factor>,
    /// The work, to be multiplied by the factors.
    pub work: Work,
    /// Whether the count is exact. Otherwise it is an upper bound, or unknown because of a loop without a known trip count.
    pub is_exact: bool,
}

/// The work of a loop.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct LoopWork {
    /// The instructions outside of inner loops, each once.
    pub own: Work,
    /// One iteration, with inner loops multiplied by their trip counts, or once if these are symbolic; at most 63 levels of inner loops.
    pub iteration: Work,
}

/// The work of a function.
///
/// ```
/// use ptx_analysis::function_analysis::FunctionAnalysis;
/// use ptx_ir::facts::ModuleFacts;
/// let module = ptx_parse::parse(b".version 8.0\n.target sm_80\n.entry k() { .reg .f32 f; fma.rn.f32 f, f, f, f; ret; }").module;
/// let facts = ModuleFacts::new(&module);
/// let function = FunctionAnalysis::new(facts.function(module.function("k").unwrap()).unwrap());
/// assert_eq!(function.work().parts[0].work.operations.single, 2 * 32);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FunctionWork {
    /// All instructions, each once.
    pub text: Work,
    /// A call of the function; parts with fewer symbolic trip counts come first.
    pub parts: Vec<Part>,
    /// The work of each loop, by loop number.
    pub loops: Vec<LoopWork>,
}

impl FunctionWork {
    /// Adds up the reachable instructions of a function.
    pub(crate) fn new(analysis: &FunctionDataflow<'_>, accesses: Option<&Accesses>) -> Self {
        ptx_dataflow::internals::record_build("work", analysis.facts());
        let facts = analysis.facts();
        let frequencies = Frequencies::new(analysis, analysis.values().ok());
        let mut total = Self {
            text: Work::default(),
            parts: Vec::new(),
            loops: vec![LoopWork::default(); analysis.loops().len()],
        };
        let mut part_numbers = BTreeMap::new();
        let mut cursor = Cursor {
            facts,
            remaining_accesses: accesses.map_or(&[], Accesses::all),
        };
        let loops = analysis.loops();
        for (id, block) in analysis.cfg().blocks() {
            if !analysis.is_reachable(id) {
                continue;
            }
            let (work, is_guarded) = cursor.block(block);
            total.text.add(&work, 1);
            if let Some(inner) = loops
                .innermost(id)
                .and_then(|l| total.loops.get_mut(l.as_u32() as usize))
            {
                inner.own.add(&work, 1);
            }
            let executions = frequencies.of(id);
            total.add_to_iterations(
                &work,
                loops.innermost(id),
                analysis,
                &frequencies,
                &executions,
            );
            let part = total.part_mut(&executions.factors, &mut part_numbers);
            part.work.add(&work, executions.times);
            part.is_exact &= executions.is_exact && !is_guarded;
        }
        total.parts.sort_by(|a, b| {
            let lengths = a.factors.len().cmp(&b.factors.len());
            lengths.then_with(|| a.factors.cmp(&b.factors))
        });
        total
    }

    /// The work of a call of the function if every symbolic trip count had this value.
    #[must_use]
    pub fn total(&self, assumed: u64) -> Work {
        let mut total = Work::default();
        for part in &self.parts {
            let times = part
                .factors
                .iter()
                .map(|f| assumed.saturating_sub(f.without_last.into()));
            total.add(&part.work, times.fold(1, u64::saturating_mul));
        }
        total
    }

    /// The part with the given factors, which is added if there was none. `numbers` contains the indices of all parts.
    fn part_mut(
        &mut self,
        factors: &[Factor],
        numbers: &mut BTreeMap<Vec<Factor>, usize>,
    ) -> &mut Part {
        let number = match numbers.get(factors) {
            Some(number) => *number,
            None => {
                numbers.insert(factors.to_vec(), self.parts.len());
                self.parts.push(Part {
                    factors: factors.to_vec(),
                    work: Work::default(),
                    is_exact: true,
                });
                self.parts.len() - 1
            }
        };
        &mut self.parts[number]
    }

    /// Adds the work of a block to one iteration of each loop that contains it.
    fn add_to_iterations(
        &mut self,
        work: &Work,
        innermost: Option<LoopId>,
        analysis: &FunctionDataflow<'_>,
        frequencies: &Frequencies<'_>,
        executions: &Executions,
    ) {
        let mut containing_loop = innermost;
        // The executions of the block in one iteration of `containing_loop`.
        let mut times = 1;
        for _ in 0..MOST_LEVELS {
            let Some(id) = containing_loop else { return };
            if let Some(loop_work) = self.loops.get_mut(id.as_u32() as usize) {
                loop_work.iteration.add(work, times);
            }
            times = executions.times / frequencies.entries(id).times.max(1);
            containing_loop = analysis.loops().get(id).and_then(|l| l.parent());
        }
    }
}

/// A position in a function, from which its instructions and their accesses are read.
struct Cursor<'a> {
    facts: FunctionFacts<'a>,
    /// The accesses after the position, in the order of the blocks.
    remaining_accesses: &'a [Access],
}

impl Cursor<'_> {
    /// The work of the next block, and whether a guard may skip some of its instructions.
    fn block(&mut self, block: &crate::cfg::Block) -> (Work, bool) {
        let (mut work, mut is_guarded) = (Work::default(), false);
        for (stmt, inst) in block.insts(self.facts.body()) {
            let facts = self.facts.inst(inst);
            let falls_through = facts.flow() == ptx_ir::facts::Flow::Next;
            is_guarded |= facts.guard().is_some() && falls_through;
            self.add_instruction(&facts, stmt, inst, &mut work);
        }
        (work, is_guarded)
    }

    fn add_instruction(&mut self, facts: &Facts<'_>, stmt: StmtId, inst: InstId, work: &mut Work) {
        let lanes = if facts.is_one_thread() || is_bulk_copy(facts) {
            1
        } else {
            LANES as u64
        };
        let operations = Operations::of(self.facts, facts, inst, lanes);
        let count = self
            .remaining_accesses
            .iter()
            .take_while(|access| access.stmt == stmt)
            .count();
        let (analyzed_accesses, remaining_accesses) = self.remaining_accesses.split_at(count);
        self.remaining_accesses = remaining_accesses;
        let mut first_space = None;
        for (nth, access) in facts.memory().enumerate() {
            // The accesses of a called function are not work of the call.
            if access.space == Space::Any {
                continue;
            }
            let analyzed = analyzed_accesses.get(nth);
            let space = match analyzed.map_or(access.space, |analyzed| analyzed.space) {
                Space::State(space) => Space::State(space.base()),
                other => other,
            };
            first_space = first_space.or(Some(space));
            let traffic = work.traffic_mut(space);
            let lane_bytes = analyzed.map_or(access.bytes, |analyzed| analyzed.bytes);
            let Some(bytes) = self.warp_bytes(facts, inst, &access, lane_bytes, lanes) else {
                traffic.unknown += 1;
                continue;
            };
            let sum = match access.access {
                Usage::None => continue,
                Usage::Read => &mut traffic.read,
                Usage::Write => &mut traffic.written,
                _ => &mut traffic.updated,
            };
            *sum = sum.saturating_add(bytes);
        }
        work.instructions += 1;
        let class = Class::of(facts, &operations, first_space);
        if let Some(index) = Class::ALL.iter().position(|c| *c == class) {
            work.classes[index] += 1;
        }
        work.operations.add(&operations, 1);
    }

    /// The number of bytes that a warp accesses, of which `lanes` lanes access `lane_bytes` each.
    fn warp_bytes(
        &self,
        facts: &Facts<'_>,
        inst: InstId,
        access: &MemoryAccess,
        lane_bytes: Option<u64>,
        lanes: u64,
    ) -> Option<u64> {
        let modifiers = || -> Option<Vec<Modifier>> {
            let id = self.facts.body().inst(inst)?.sig;
            Some(self.facts.module().signature(id).modifiers().collect())
        };
        match facts.action() {
            Some(Action::MatrixLoad | Action::MatrixStore) => matrix::bytes_of_rows(&modifiers()?),
            Some(Action::FragmentLoad | Action::FragmentStore) => {
                Some(StoredMatrix::of(&modifiers()?)?.bytes())
            }
            Some(Action::TensorMemoryCopy) => {
                let modifiers = modifiers()?;
                let tile = matrix::bytes_of_tile(&modifiers)?;
                let is_written = access.space == Space::Tensor;
                Some(if is_written {
                    tile * matrix::copies_of_tile(&modifiers)
                } else {
                    tile
                })
            }
            _ => Some(lane_bytes?.saturating_mul(lanes)),
        }
    }
}

/// Whether an instruction copies a block of memory asynchronously, for the lane that executes it.
fn is_bulk_copy(facts: &Facts<'_>) -> bool {
    matches!(
        facts.action(),
        Some(Action::BulkCopy | Action::BulkReduce | Action::TensorCopy | Action::TensorReduce)
    )
}
