//! The accesses, fences and barriers of a function that take part in memory ordering.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::memory_access::{self, Provenance};
use ptx_analysis::ssa::ValueId;
use ptx_analysis::values::{Affine, AffineSymbolId};
use ptx_ir::facts::{Facts, Flow, Space};
use ptx_ir::{FunctionKind, InstId, StmtId};
use ptx_isa::{Action, Modifier, StateSpace};

use super::signals::{WaitingLoops, leaves_memory_unchanged, tickets, values_in_comparisons};
use crate::context::FunctionContext;

/// A scope of threads; wider ones are greater.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Level {
    None,
    Cta,
    Cluster,
    Gpu,
    Sys,
}

impl Level {
    fn from_scope(scope: Option<Modifier>) -> Self {
        match scope {
            Some(Modifier::Cta) => Self::Cta,
            Some(Modifier::Cluster) => Self::Cluster,
            Some(Modifier::Gpu | Modifier::Gl) => Self::Gpu,
            Some(Modifier::Sys) => Self::Sys,
            _ => Self::None,
        }
    }

    /// The name of the scope in a fence.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::None | Self::Cta => "`.cta`",
            Self::Cluster => "`.cluster`",
            Self::Gpu => "`.gpu`",
            Self::Sys => "`.sys`",
        }
    }
}

/// A fence that orders accesses through the generic proxy.
#[derive(Copy, Clone, Debug)]
pub(super) struct Fence {
    pub(super) level: Level,
    pub(super) order: Modifier,
}

impl Fence {
    /// Returns the fence of an instruction. Returns `None` for other instructions, and for fences with a guard or with other modifiers than those of the
    /// scope and order.
    fn new(cx: &FunctionContext<'_>, inst: InstId) -> Option<Self> {
        const ALLOWED: &[Modifier] = &[
            Modifier::Sc,
            Modifier::AcqRel,
            Modifier::Acquire,
            Modifier::Release,
            Modifier::Cta,
            Modifier::Cluster,
            Modifier::Gpu,
            Modifier::Gl,
            Modifier::Sys,
        ];
        let facts = cx.facts().inst(inst);
        if facts.action() != Some(Action::Fence) {
            return None;
        }
        let signature = cx.module().signature(cx.body().inst(inst)?.sig);
        let is_allowed = signature
            .modifiers()
            .all(|modifier| ALLOWED.contains(&modifier));
        let level = Level::from_scope(facts.scope());
        (is_allowed && facts.guard().is_none() && level != Level::None).then_some(Self {
            level,
            order: facts.order()?,
        })
    }

    pub(super) fn releases(self) -> bool {
        self.order != Modifier::Acquire
    }

    pub(super) fn acquires(self) -> bool {
        self.order != Modifier::Release
    }

    /// Returns `true` if the fence provides at least the ordering of another fence.
    pub(super) fn covers(self, other: Self) -> bool {
        let covers_order = match other.order {
            Modifier::Sc => self.order == Modifier::Sc,
            Modifier::Acquire => self.acquires(),
            Modifier::Release => self.releases(),
            _ => matches!(self.order, Modifier::AcqRel | Modifier::Sc),
        };
        covers_order && self.level >= other.level
    }
}

/// An access to memory that other threads may access.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// The access is a read-modify-write operation. Those that never change memory do not count as writes.
    pub(super) is_atomic: bool,
    /// The access is to shared memory of the CTA or the cluster.
    pub(super) is_shared: bool,
    /// The access is to shared memory of the cluster.
    pub(super) is_cluster: bool,
    pub(super) is_volatile: bool,
    pub(super) order: Option<Modifier>,
    pub(super) level: Level,
    pub(super) provenance: Option<Provenance>,
    pub(super) address: Option<Affine>,
}

/// An address as a key of sets: the constant, and the symbols with their factors.
pub(super) type AddressKey = (i64, Vec<(AffineSymbolId, i64)>);

impl Access {
    /// Returns the address as a key of sets.
    pub(super) fn address_key(&self) -> Option<AddressKey> {
        let address = self.address?;
        let terms = address
            .terms()
            .iter()
            .map(|term| (term.symbol, term.factor));
        Some((address.constant(), terms.collect()))
    }

    /// Returns `true` if another access certainly has the same address.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.address.is_some() && self.address == other.address
    }

    /// Returns `None` if no other thread can access the memory.
    pub(super) fn new(facts: Facts<'_>, resolved: &memory_access::Access) -> Option<Self> {
        let access = &resolved.access;
        let space = match resolved.space {
            Space::State(space) => Some(space),
            Space::Generic => None,
            _ => return None,
        };
        let base = space.map(StateSpace::base);
        if !matches!(base, None | Some(StateSpace::Shared | StateSpace::Global)) {
            return None;
        }
        let is_volatile = facts.has_modifier(Modifier::Volatile);
        let (order, level) = if is_volatile {
            (Some(Modifier::Relaxed), Level::Sys)
        } else {
            (access.order, Level::from_scope(access.scope))
        };
        Some(Self {
            reads: access.reads(),
            writes: access.writes(),
            is_atomic: access.reads() && access.writes(),
            is_shared: base == Some(StateSpace::Shared),
            is_cluster: space == Some(StateSpace::SharedCluster),
            is_volatile,
            order,
            level,
            provenance: resolved.provenance,
            address: resolved.address,
        })
    }

    /// The scope of the communication: atomic operations without a scope have device scope.
    pub(super) fn scope(&self) -> Level {
        match self.level {
            Level::None => Level::Gpu,
            // Volatile accesses are assumed to have device scope.
            Level::Sys if self.is_volatile => Level::Gpu,
            level => level,
        }
    }

    /// Returns `true` if the access is strong, so that other threads can synchronize with it.
    pub(super) fn is_strong(&self) -> bool {
        self.is_atomic || matches!(self.order, Some(order) if order != Modifier::Weak)
    }

    /// Returns `true` if the access orders earlier accesses.
    pub(super) fn orders_before(&self) -> bool {
        matches!(
            self.order,
            Some(Modifier::Release | Modifier::AcqRel | Modifier::Sc)
        )
    }

    /// Returns `true` if the access orders later accesses.
    pub(super) fn orders_after(&self) -> bool {
        matches!(
            self.order,
            Some(Modifier::Acquire | Modifier::AcqRel | Modifier::Sc)
        )
    }

    /// Returns `true` if another access is certainly to different memory.
    pub(super) fn is_apart(&self, other: &Self) -> bool {
        match (self.provenance, other.provenance) {
            (Some(a), Some(b)) if a != b => true,
            (Some(_), Some(_)) => self.address != other.address,
            _ => false,
        }
    }
}

/// The effect of an instruction on memory ordering.
#[derive(Clone, Debug)]
pub(super) enum Effect {
    Fence(Fence),
    /// A barrier of the CTA that waits.
    Barrier,
    Access(Access),
    /// Anything that may access arbitrary memory, or that allows other threads to do so.
    Other,
}

/// An effect of an instruction. An instruction with several accesses has a step for each of them.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) stmt: StmtId,
    pub(super) inst: InstId,
    pub(super) effect: Effect,
    /// The step waits for a signal: it loads from the same address in a loop until the value ends the loop.
    pub(super) is_poll: bool,
}

/// A fence in the steps of a function.
#[derive(Copy, Clone)]
pub(super) struct FencePosition<'s> {
    pub(super) block: BlockId,
    /// The index of the step in the block.
    pub(super) index: usize,
    pub(super) step: &'s Step,
    pub(super) fence: Fence,
}

/// The side of a fence.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

impl Step {
    pub(super) fn access(&self) -> Option<&Access> {
        match &self.effect {
            Effect::Access(access) => Some(access),
            _ => None,
        }
    }
}

/// The effects of a function on memory ordering.
pub(super) struct Code {
    /// The steps of each block.
    pub(super) blocks: Vec<Vec<Step>>,
    pub(super) is_kernel: bool,
    /// The values that are compared for equality.
    pub(super) compared: BTreeSet<ValueId>,
    /// The atomic operations whose results are only compared.
    pub(super) tickets: BTreeSet<StmtId>,
}

impl Code {
    /// The steps of a function; `None` if fences do not matter in it.
    pub(super) fn new(cx: &FunctionContext<'_>) -> Option<Self> {
        if !cx.instructions().any(|inst| may_synchronize(&inst.facts)) {
            return None;
        }
        let mut accesses_of_stmt: BTreeMap<StmtId, Vec<&memory_access::Access>> = BTreeMap::new();
        for access in cx.accesses()?.all() {
            accesses_of_stmt
                .entry(access.stmt)
                .or_default()
                .push(access);
        }
        let mut blocks = vec![Vec::new(); cx.cfg().len()];
        let mut loops = WaitingLoops::new(cx);
        for inst in cx.instructions() {
            let block = cx.cfg().of_statement(inst.stmt);
            let Some(steps) = block.and_then(|b| blocks.get_mut(b.as_u32() as usize)) else {
                continue;
            };
            let accesses = accesses_of_stmt
                .get(&inst.stmt)
                .map_or(&[][..], Vec::as_slice);
            for mut effect in effects(cx, inst.inst, inst.facts, accesses) {
                if let Effect::Access(access) = &mut effect
                    && access.is_atomic
                {
                    access.writes = !leaves_memory_unchanged(cx, &inst);
                }
                let is_poll = match &effect {
                    Effect::Access(access) => loops.is_poll(&inst, access),
                    _ => false,
                };
                steps.push(Step {
                    stmt: inst.stmt,
                    inst: inst.inst,
                    effect,
                    is_poll,
                });
            }
        }
        let function = cx.module().functions().get(cx.id());
        Some(Self {
            tickets: tickets(cx, &blocks),
            blocks,
            is_kernel: function.is_some_and(|f| f.kind == FunctionKind::Entry),
            compared: values_in_comparisons(cx),
        })
    }

    pub(super) fn steps_of(&self, block: BlockId) -> &[Step] {
        self.blocks
            .get(block.as_u32() as usize)
            .map_or(&[], Vec::as_slice)
    }

    pub(super) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.blocks.iter().flatten()
    }

    /// Returns the fences of the function, in the order of the blocks.
    pub(super) fn fences(
        &self,
        cx: &FunctionContext<'_>,
    ) -> impl Iterator<Item = FencePosition<'_>> {
        cx.cfg().blocks().flat_map(move |(block, _)| {
            let steps = self.steps_of(block).iter().enumerate();
            steps.filter_map(move |(index, step)| match step.effect {
                Effect::Fence(fence) => Some(FencePosition {
                    block,
                    index,
                    step,
                    fence,
                }),
                _ => None,
            })
        })
    }

    /// Returns the steps that may be executed before or after a fence on some path.
    pub(super) fn reachable_steps(
        &self,
        cx: &FunctionContext<'_>,
        fence: &FencePosition<'_>,
        side: Side,
    ) -> Vec<&Step> {
        let steps = self.steps_of(fence.block);
        let steps_in_block = match side {
            Side::Before => steps.get(..fence.index),
            Side::After => steps.get(fence.index + 1..),
        };
        let mut reachable: Vec<&Step> = steps_in_block.unwrap_or_default().iter().collect();
        let mut is_visited = vec![false; self.blocks.len()];
        let mut worklist = vec![fence.block];
        while let Some(block) = worklist.pop() {
            let neighbors = match side {
                Side::Before => cx.cfg().predecessors(block),
                Side::After => cx.cfg().successors(block),
            };
            for &neighbor in neighbors {
                if let Some(slot @ false) = is_visited.get_mut(neighbor.as_u32() as usize) {
                    *slot = true;
                    reachable.extend(self.steps_of(neighbor));
                    worklist.push(neighbor);
                }
            }
        }
        reachable
    }
}

/// Returns `true` for fences, and for accesses that may be strong.
fn may_synchronize(facts: &Facts<'_>) -> bool {
    facts.action() == Some(Action::Fence)
        || facts.has_modifier(Modifier::Volatile)
        || facts
            .memory()
            .any(|access| access.scope.is_some() || access.reads() && access.writes())
}

/// Returns the effects of an instruction. `accesses` are its memory accesses whose addresses are resolved.
fn effects(
    cx: &FunctionContext<'_>,
    inst: InstId,
    facts: Facts<'_>,
    accesses: &[&memory_access::Access],
) -> Vec<Effect> {
    if let Some(fence) = Fence::new(cx, inst) {
        return vec![Effect::Fence(fence)];
    }
    let waits = matches!(
        facts.action(),
        Some(Action::BarrierSync | Action::BarrierReduce)
    );
    if waits && facts.guard().is_none() {
        return vec![Effect::Barrier];
    }
    let is_unknown = matches!(facts.flow(), Flow::Call | Flow::Unknown)
        || !facts.is_known()
        || facts.is_fence()
        || facts.is_barrier()
        || !facts.asynchronous().is_empty()
        || facts.action() == Some(Action::GridDependency);
    let has_unknown_access = facts.memory().any(|access| {
        matches!(access.space, Space::Surface | Space::Tensor | Space::Any) || access.is_mbarrier
    });
    if is_unknown || has_unknown_access {
        return vec![Effect::Other];
    }
    accesses
        .iter()
        .filter_map(|access| Access::new(facts, access))
        .map(Effect::Access)
        .collect()
}
