//! The slice of a kernel that decides about barriers: the instructions that use them, the branches on which these depend, and the computations of their
//! operands.

use alloc::vec::Vec;

use ptx_dataflow::internals::ControlDependence;
use ptx_ir::facts::{Facts, Flow, FunctionFacts, Space};
use ptx_ir::{EntityId as _, FunctionKind, InstId, StmtId};
use ptx_isa::{Action, AsyncPhase, Completion, Modifier, StateSpace};

use super::memory::{shared_load, shared_read, shared_store, shared_write};
use super::{MOST_STEPS, MOST_STEPS_WITH_READS};
use crate::cfg::BlockId;
use crate::function_dataflow::FunctionDataflow;
use crate::reg_lanes::VariableId;

/// The maximum number of statements of a function that is examined.
const MOST_STATEMENTS: usize = 1 << 16;

/// What a statement of the slice does.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Effect {
    /// It computes registers, or loads them.
    Computes,
    /// It reads shared memory.
    Reads,
    /// It starts, commits or awaits copies of the groups of a thread.
    Copies,
    /// It uses a barrier.
    Synchronizes,
    /// All lanes of a warp execute it together.
    Meets,
}

/// A statement of the slice.
#[derive(Copy, Clone, Debug)]
pub(super) struct Step {
    pub(super) stmt: StmtId,
    pub(super) inst: InstId,
    pub(super) effect: Effect,
}

/// The slice of a kernel.
pub(super) struct Slice {
    /// The steps of each block, in their order.
    steps: Vec<Vec<Step>>,
    /// By block: a step depends on the branch at its end.
    decides: Vec<bool>,
    /// By variable: its number among the variables of the slice.
    slots: Vec<Option<u32>>,
    pub(super) slot_count: usize,
    /// Warps execute other instructions together.
    pub(super) has_converged_instructions: bool,
    pub(super) reads_parameters: bool,
    /// The maximum number of steps of an execution.
    pub(super) most_steps: usize,
}

/// Whether an instruction uses a barrier, or starts a copy that reports to one.
fn synchronizes(facts: Facts<'_>) -> bool {
    use Action::{
        BarrierArrive, BarrierReduce, BarrierSync, ClusterArrive, ClusterWait, CopyArrive,
        MbarrierArrive, MbarrierComplete, MbarrierDrop, MbarrierExpect, MbarrierInit,
        MbarrierInvalidate, MbarrierTest, MbarrierWait, TensorCommit,
    };
    let reports = facts
        .asynchronous()
        .contains(&(Completion::Mbarrier, AsyncPhase::Start));
    reports
        || matches!(
            facts.action(),
            Some(
                BarrierArrive
                    | BarrierReduce
                    | BarrierSync
                    | ClusterArrive
                    | ClusterWait
                    | CopyArrive
                    | MbarrierArrive
                    | MbarrierComplete
                    | MbarrierDrop
                    | MbarrierExpect
                    | MbarrierInit
                    | MbarrierInvalidate
                    | MbarrierTest
                    | MbarrierWait
                    | TensorCommit
            )
        )
}

/// Whether an instruction starts, commits or awaits copies of the groups of a thread.
fn uses_groups(facts: Facts<'_>) -> bool {
    let mut phases = facts.asynchronous().iter();
    phases.any(|(completion, _)| *completion == Completion::CpAsync)
}

/// Whether partitions use barriers: there are mbarrier objects, or barriers for a number of threads.
fn uses_partitions(facts: FunctionFacts<'_>) -> bool {
    facts.body().insts().any(|(inst, _)| {
        let facts = facts.inst(inst);
        match facts.action() {
            Some(Action::MbarrierInit) => true,
            Some(Action::BarrierSync | Action::BarrierReduce | Action::BarrierArrive) => {
                facts.operands().count() > 1
            }
            _ => false,
        }
    })
}

/// Whether an instruction may use barriers in a way that the slice does not contain: it calls a function, is unknown, or reaches other CTAs of the
/// cluster.
fn is_opaque(facts: Facts<'_>) -> bool {
    matches!(facts.flow(), Flow::Call | Flow::Unknown)
        || matches!(
            facts.action(),
            Some(
                Action::MapShared
                    | Action::StoreAsync
                    | Action::ReduceAsync
                    | Action::CancelCluster
            )
        )
        || [
            Modifier::MulticastCluster,
            Modifier::MulticastCluster16b,
            Modifier::MulticastCluster32b,
            Modifier::CtaGroup2,
        ]
        .iter()
        .any(|modifier| facts.has_modifier(*modifier))
}

/// The instructions of a function with their blocks.
struct Code<'a> {
    function: &'a FunctionDataflow<'a>,
    insts: Vec<(BlockId, StmtId, InstId)>,
    /// The instructions that write each variable, as indices in `insts`.
    writers: Vec<Vec<u32>>,
    /// The instructions that store at constant addresses of shared memory, as indices in `insts`.
    shared_stores: Vec<u32>,
    is_chosen: Vec<bool>,
    /// Only the addresses of these instructions matter, not what they load.
    is_read: Vec<bool>,
    decides: Vec<bool>,
    /// The last instruction of each block.
    last: Vec<Option<u32>>,
    worklist: Vec<u32>,
}

impl<'a> Code<'a> {
    fn new(function: &'a FunctionDataflow<'a>) -> Self {
        let (cfg, facts, variables) = (function.cfg(), function.facts(), function.variables());
        let mut insts = Vec::new();
        let mut last = vec![None; cfg.len()];
        let mut writers: Vec<Vec<u32>> = vec![Vec::new(); variables.len()];
        let mut shared_stores = Vec::new();
        for (id, block) in cfg.blocks().filter(|(id, _)| function.is_reachable(*id)) {
            for (stmt, inst) in block.insts(facts.body()) {
                let index = insts.len() as u32;
                insts.push((id, stmt, inst));
                if let Some(last) = last.get_mut(id.as_u32() as usize) {
                    *last = Some(index);
                }
                let facts = facts.inst(inst);
                if shared_store(facts).is_some() {
                    shared_stores.push(index);
                }
                for place in facts.writes().chain(facts.conditional_writes()) {
                    for variable in variables.of(place) {
                        if let Some(writers) = writers.get_mut(variable.index()) {
                            writers.push(index);
                        }
                    }
                }
            }
        }
        Self {
            function,
            is_chosen: vec![false; insts.len()],
            is_read: vec![false; insts.len()],
            decides: vec![false; cfg.len()],
            insts,
            writers,
            shared_stores,
            last,
            worklist: Vec::new(),
        }
    }

    /// The instructions of the slice that decides about barriers; `None` if the function has none.
    fn of_barriers(function: &'a FunctionDataflow<'a>) -> Option<Self> {
        if !uses_partitions(function.facts()) {
            return None;
        }
        Self::of_chosen(function, synchronizes)
    }

    /// Chosen instructions, and those on which they depend; `None` if the function is not a kernel, or does what the slice cannot contain.
    fn of_chosen(
        function: &'a FunctionDataflow<'a>,
        is_chosen: impl Fn(Facts<'_>) -> bool,
    ) -> Option<Self> {
        let facts = function.facts();
        let kind = facts.module().functions().get(facts.id())?.kind;
        if kind != FunctionKind::Entry
            || facts.body().statement_table().len() > MOST_STATEMENTS
            || facts
                .body()
                .insts()
                .any(|(inst, _)| is_opaque(facts.inst(inst)))
        {
            return None;
        }
        let mut code = Self::new(function);
        for index in 0..code.insts.len() {
            if is_chosen(facts.inst(code.insts[index].2)) {
                code.choose(index as u32);
            }
        }
        code.complete();
        Some(code)
    }

    /// Chooses the reads of shared memory that execute if a chosen instruction does. Returns whether there are any.
    fn choose_reads(&mut self) -> bool {
        let dependence = ControlDependence::new(self.function.post_dominators());
        let decides = |block: BlockId| self.decides.get(block.as_u32() as usize) == Some(&true);
        let reads: Vec<usize> = (0..self.insts.len())
            .filter(|index| {
                let (block, _, inst) = self.insts[*index];
                shared_read(self.function.facts().inst(inst)).is_some()
                    && dependence.of(block).all(decides)
            })
            .collect();
        for index in &reads {
            // What a chosen instruction loads matters.
            if !self.is_chosen[*index] {
                self.is_read[*index] = true;
                self.choose(*index as u32);
            }
        }
        !reads.is_empty()
    }

    fn choose(&mut self, index: u32) {
        if let Some(is_chosen) = self.is_chosen.get_mut(index as usize)
            && !*is_chosen
        {
            *is_chosen = true;
            self.worklist.push(index);
        }
    }

    fn choose_writers(&mut self, variable: VariableId) {
        let writers = self.writers.get_mut(variable.index());
        for writer in writers.map(core::mem::take).unwrap_or_default() {
            self.choose(writer);
        }
    }

    /// Adds what the chosen instructions depend on.
    fn complete(&mut self) {
        let dependence = ControlDependence::new(self.function.post_dominators());
        let (facts, variables) = (self.function.facts(), self.function.variables());
        while let Some(index) = self.worklist.pop() {
            let Some(&(block, _, inst)) = self.insts.get(index as usize) else {
                continue;
            };
            for branch in dependence.of(block) {
                let Some(decides) = self.decides.get_mut(branch.as_u32() as usize) else {
                    continue;
                };
                if !core::mem::replace(decides, true)
                    && let Some(&Some(last)) = self.last.get(branch.as_u32() as usize)
                {
                    self.choose(last);
                }
            }
            let inst = facts.inst(inst);
            // Only numbers at constant addresses of shared memory are followed.
            let is_read = self.is_read.get(index as usize) == Some(&true);
            let loads_shared = !is_read && shared_load(inst).is_some();
            if loads_shared {
                for store in core::mem::take(&mut self.shared_stores) {
                    self.choose(store);
                }
            }
            let is_other_access = !synchronizes(inst)
                && !loads_shared
                && !is_read
                && shared_store(inst).is_none()
                && inst.memory().next().is_some();
            if let Some((guard, _)) = inst.guard_register() {
                for variable in variables.of(guard) {
                    self.choose_writers(variable);
                }
            }
            if uses_groups(inst) && !synchronizes(inst) {
                let base = shared_write(inst).and_then(|written| written.base);
                let place = base.and_then(|base| inst.place(base));
                for variable in place.into_iter().flat_map(|place| variables.of(place)) {
                    self.choose_writers(variable);
                }
            } else if !is_other_access {
                for place in inst.reads() {
                    for variable in variables.of(place) {
                        self.choose_writers(variable);
                    }
                }
            }
        }
    }
}

impl Slice {
    /// The slice of a function; `None` if it is not a kernel, uses no barriers of partitions, or does what the slice cannot contain.
    pub(super) fn of_barriers(function: &FunctionDataflow<'_>) -> Option<Self> {
        Some(Self::of_code(Code::of_barriers(function)?, false))
    }

    /// The slice of a function with the reads of shared memory that no other branch decides about; `None` without reads or without copies.
    pub(super) fn with_reads(function: &FunctionDataflow<'_>) -> Option<Self> {
        let facts = function.facts();
        let starts_copy = |inst| {
            let mut phases = facts.inst(inst).asynchronous().iter();
            phases.any(|(completion, phase)| {
                *phase == AsyncPhase::Start
                    && matches!(completion, Completion::Mbarrier | Completion::CpAsync)
            })
        };
        if !facts.body().insts().any(|(inst, _)| starts_copy(inst)) {
            return None;
        }
        let mut code =
            Code::of_chosen(function, |facts| synchronizes(facts) || uses_groups(facts))?;
        if !code.choose_reads() {
            return None;
        }
        code.complete();
        Some(Self::of_code(code, true))
    }

    fn of_code(code: Code<'_>, contains_reads: bool) -> Self {
        let (facts, variables) = (code.function.facts(), code.function.variables());
        let mut slice = Self {
            steps: vec![Vec::new(); code.decides.len()],
            decides: code.decides,
            slots: vec![None; variables.len()],
            slot_count: 0,
            has_converged_instructions: false,
            reads_parameters: false,
            most_steps: if contains_reads {
                MOST_STEPS_WITH_READS
            } else {
                MOST_STEPS
            },
        };
        for (&(block, stmt, inst), is_chosen) in code.insts.iter().zip(&code.is_chosen) {
            let inst_facts = facts.inst(inst);
            let converges =
                inst_facts.convergence().is_some() || inst_facts.member_mask().is_some();
            let effect = if !is_chosen {
                slice.has_converged_instructions |= converges;
                if !converges {
                    continue;
                }
                Effect::Meets
            } else if synchronizes(inst_facts) {
                Effect::Synchronizes
            } else if uses_groups(inst_facts) {
                Effect::Copies
            } else if contains_reads && shared_read(inst_facts).is_some() {
                Effect::Reads
            } else {
                Effect::Computes
            };
            if *is_chosen {
                let is_parameter = |space| matches!(space, Space::State(space) if space.base() == StateSpace::Param);
                slice.reads_parameters |=
                    inst_facts.memory().any(|access| is_parameter(access.space));
                for mention in inst_facts.registers() {
                    for variable in variables.of(mention.place) {
                        if let Some(slot @ None) = slice.slots.get_mut(variable.index()) {
                            *slot = Some(slice.slot_count as u32);
                            slice.slot_count += 1;
                        }
                    }
                }
            }
            if let Some(steps) = slice.steps.get_mut(block.as_u32() as usize) {
                steps.push(Step { stmt, inst, effect });
            }
        }
        slice
    }

    /// A step of a block.
    pub(super) fn step(&self, block: BlockId, position: usize) -> Option<Step> {
        self.steps
            .get(block.as_u32() as usize)?
            .get(position)
            .copied()
    }

    /// Whether a step depends on the branch at the end of a block.
    pub(super) fn decides(&self, block: BlockId) -> bool {
        self.decides.get(block.as_u32() as usize) == Some(&true)
    }

    /// The number of a variable among those of the slice.
    pub(super) fn slot(&self, variable: VariableId) -> Option<usize> {
        self.slots
            .get(variable.index())
            .copied()
            .flatten()
            .map(|slot| slot as usize)
    }
}
