//! The work of functions and loops: instructions by class, bytes by state space and direction, arithmetic operations.
//!
//! The work is that of a warp with 32 active lanes: guards are assumed to hold, and blocks that are only executed on some paths are assumed to be
//! executed. Instructions that one thread executes for the whole warp count once, as do bulk copies, which one lane issues. Loops are weighted by
//! their trip counts ([`Values::trip_count`](crate::values::Values::trip_count)); if such a count is symbolic, the work inside the loop is a separate [`Part`], to be multiplied by it.
//!
//! Bytes and matrix products are counted in the same way as in the profiles of `ptx-vm`.

mod class;
mod executions;
mod matrix;
mod operations;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::facts::{Facts, FunctionFacts, MemoryAccess, Space};
use ptx_ir::{InstId, Statement, StmtId};
use ptx_isa::{Access as Usage, Action, Modifier, StateSpace};

pub use class::Class;
pub use executions::{Executions, Factor};
pub use matrix::{MatrixProduct, StoredMatrix, matrix_shape, rows_of_matrix};
pub use operations::Operations;

use crate::function_analysis::FunctionAnalysis;
use crate::graph::LoopId;
use crate::memory_access::requests::LANES;
use crate::memory_access::{Access, Accesses};
use executions::Frequencies;

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
        let both = self.read.saturating_add(self.written);
        both.saturating_add(self.updated)
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
        let at = Class::ALL.iter().position(|c| *c == class);
        at.and_then(|at| self.classes.get(at)).copied().unwrap_or(0)
    }

    /// The number of bytes that are accessed in global memory, including accesses through generic addresses.
    #[must_use]
    pub fn global_bytes(&self) -> u64 {
        let is_global =
            |t: &&Traffic| matches!(t.space, Space::Generic | Space::State(StateSpace::Global));
        let bytes = self.traffic.iter().filter(is_global).map(Traffic::bytes);
        bytes.fold(0, u64::saturating_add)
    }

    /// The arithmetic intensity: floating-point operations per byte of global memory; `None` without accesses to global memory.
    #[must_use]
    pub fn intensity(&self) -> Option<f64> {
        let bytes = self.global_bytes();
        (bytes > 0).then(|| self.operations.floating() as f64 / bytes as f64)
    }

    /// Adds a multiple.
    pub fn add(&mut self, other: &Self, times: u64) {
        let more = other.instructions.saturating_mul(times);
        self.instructions = self.instructions.saturating_add(more);
        for (sum, more) in self.classes.iter_mut().zip(other.classes) {
            *sum = sum.saturating_add(more.saturating_mul(times));
        }
        self.operations.add(&other.operations, times);
        for traffic in &other.traffic {
            let sum = self.of_space(traffic.space);
            for (sum, more) in [
                (&mut sum.read, traffic.read),
                (&mut sum.written, traffic.written),
                (&mut sum.updated, traffic.updated),
                (&mut sum.unknown, traffic.unknown),
            ] {
                *sum = sum.saturating_add(more.saturating_mul(times));
            }
        }
    }

    fn of_space(&mut self, space: Space) -> &mut Traffic {
        let at = self.traffic.iter().position(|t| t.space == space);
        let at = at.unwrap_or_else(|| {
            self.traffic.push(Traffic {
                space,
                read: 0,
                written: 0,
                updated: 0,
                unknown: 0,
            });
            self.traffic.len() - 1
        });
        &mut self.traffic[at]
    }
}

/// Work that is repeated as often as the product of some trip counts.
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
    pub(crate) fn new(analysis: &FunctionAnalysis<'_>) -> Self {
        ptx_dataflow::internals::record_build("work", analysis.facts());
        let facts = analysis.facts();
        let accesses = analysis.accesses().ok();
        let frequencies = Frequencies::new(analysis, analysis.values().ok());
        let mut found = Self {
            text: Work::default(),
            parts: Vec::new(),
            loops: vec![LoopWork::default(); analysis.loops().len()],
        };
        let mut numbers = BTreeMap::new();
        let mut cursor = Cursor {
            facts,
            rest: accesses.map_or(&[], Accesses::all),
        };
        let loops = analysis.loops();
        for (id, block) in analysis.cfg().blocks() {
            if !analysis.is_reachable(id) {
                continue;
            }
            let (work, guarded) = cursor.block(block);
            found.text.add(&work, 1);
            if let Some(of) = loops
                .innermost(id)
                .and_then(|l| found.loops.get_mut(l.as_u32() as usize))
            {
                of.own.add(&work, 1);
            }
            let executions = frequencies.of(id);
            found.add_iterations(
                &work,
                loops.innermost(id),
                analysis,
                &frequencies,
                &executions,
            );
            found.add(&work, &executions, !guarded, &mut numbers);
        }
        let order = |a: &Part, b: &Part| {
            let lengths = a.factors.len().cmp(&b.factors.len());
            lengths.then_with(|| a.factors.cmp(&b.factors))
        };
        found.parts.sort_by(order);
        found
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

    /// Adds a block. `numbers` are those of the parts by their factors.
    fn add(
        &mut self,
        work: &Work,
        executions: &Executions,
        always: bool,
        numbers: &mut BTreeMap<Vec<Factor>, usize>,
    ) {
        let at = match numbers.get(&executions.factors) {
            Some(at) => *at,
            None => {
                numbers.insert(executions.factors.clone(), self.parts.len());
                self.parts.push(Part {
                    factors: executions.factors.clone(),
                    work: Work::default(),
                    is_exact: true,
                });
                self.parts.len() - 1
            }
        };
        if let Some(part) = self.parts.get_mut(at) {
            part.work.add(work, executions.times);
            part.is_exact &= executions.is_exact && always;
        }
    }

    /// Adds a block to one iteration of each loop around it.
    fn add_iterations(
        &mut self,
        work: &Work,
        innermost: Option<LoopId>,
        analysis: &FunctionAnalysis<'_>,
        frequencies: &Frequencies<'_>,
        executions: &Executions,
    ) {
        let mut around = innermost;
        let mut within = 1;
        for _ in 0..MOST_LEVELS {
            let Some(id) = around else { return };
            if let Some(of) = self.loops.get_mut(id.as_u32() as usize) {
                of.iteration.add(work, within);
            }
            // For the loop around, as often as this one is repeated when it is entered.
            let entered = frequencies.entries(id).times.max(1);
            within = executions.times / entered;
            around = analysis.loops().get(id).and_then(|l| l.parent());
        }
    }
}

/// Goes through the instructions of a function with their accesses.
struct Cursor<'a> {
    facts: FunctionFacts<'a>,
    /// The accesses that are left, in the order of the blocks.
    rest: &'a [Access],
}

impl Cursor<'_> {
    /// The work of a block, and whether a guard may skip a part of it.
    fn block(&mut self, block: &crate::cfg::Block) -> (Work, bool) {
        let (mut work, mut guarded) = (Work::default(), false);
        for (stmt, statement) in self.facts.body().range(block.first, block.end) {
            if let Statement::Inst(inst) = statement {
                let facts = self.facts.inst(inst);
                let falls_through = facts.flow() == ptx_ir::facts::Flow::Next;
                guarded |= facts.guard().is_some() && falls_through;
                self.instruction(&facts, stmt, inst, &mut work);
            }
        }
        (work, guarded)
    }

    fn instruction(&mut self, facts: &Facts<'_>, stmt: StmtId, inst: InstId, work: &mut Work) {
        let lanes = match facts.is_one_thread() || is_bulk_copy(facts) {
            true => 1,
            false => LANES as u64,
        };
        let operations = Operations::of(self.facts, facts, inst, lanes);
        let before = self.rest;
        let count = before.iter().take_while(|a| a.stmt == stmt).count();
        let (known, rest) = before.split_at(count);
        self.rest = rest;
        let mut first = None;
        for (nth, access) in facts.memory().enumerate() {
            // A call is counted by what it executes.
            if access.space == Space::Any {
                continue;
            }
            let space = known.get(nth).map_or(access.space, |known| known.space);
            let space = match space {
                Space::State(space) => Space::State(space.base()),
                other => other,
            };
            first = first.or(Some(space));
            let traffic = work.of_space(space);
            let of_lane = known.get(nth).map_or(access.bytes, |known| known.bytes);
            let Some(bytes) = self.bytes(facts, inst, &access, of_lane, lanes) else {
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
        let class = Class::of(facts, &operations, first);
        if let Some(at) = Class::ALL.iter().position(|c| *c == class) {
            work.classes[at] += 1;
        }
        work.operations.add(&operations, 1);
    }

    /// The bytes of a warp, given those of a lane.
    fn bytes(
        &self,
        facts: &Facts<'_>,
        inst: InstId,
        access: &MemoryAccess,
        of_lane: Option<u64>,
        lanes: u64,
    ) -> Option<u64> {
        let modifiers = || -> Option<Vec<Modifier>> {
            let signature = self.facts.body().inst(inst)?.sig;
            let signature = self.facts.module().signature(signature);
            Some(signature.modifiers().collect())
        };
        match facts.action() {
            Some(Action::MatrixLoad | Action::MatrixStore) => matrix::bytes_of_rows(&modifiers()?),
            Some(Action::FragmentLoad | Action::FragmentStore) => {
                Some(StoredMatrix::of(&modifiers()?)?.bytes())
            }
            Some(Action::TensorMemoryCopy) => {
                let to_tensor_memory = access.space == Space::Tensor;
                matrix::bytes_of_tile(&modifiers()?, to_tensor_memory)
            }
            _ => Some(of_lane?.saturating_mul(lanes)),
        }
    }
}

/// Whether an instruction copies a block of memory asynchronously, for the lane that executes it.
fn is_bulk_copy(facts: &Facts<'_>) -> bool {
    matches!(
        facts.action(),
        Some(Action::BulkCopy | Action::BulkReduce | Action::TensorCopy)
    )
}
