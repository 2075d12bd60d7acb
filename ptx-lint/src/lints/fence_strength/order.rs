//! The accesses, fences and barriers of a function that take part in memory ordering.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::memory_access::{Access as Known, Provenance};
use ptx_analysis::ssa::ValueId;
use ptx_analysis::values::{Affine, SymbolId};
use ptx_ir::facts::{Facts, Flow, Space};
use ptx_ir::{FunctionKind, InstId, StmtId};
use ptx_isa::{Action, Modifier, StateSpace};

use super::signals::{WaitingLoops, compared};
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
    pub(super) fn of(scope: Option<Modifier>) -> Self {
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

/// A fence for memory.
#[derive(Copy, Clone, Debug)]
pub(super) struct Fence {
    pub(super) level: Level,
    pub(super) order: Modifier,
}

impl Fence {
    fn of(cx: &FunctionContext<'_>, inst: InstId) -> Option<Self> {
        const PLAIN: &[Modifier] = &[
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
        let is_plain = signature.modifiers().all(|m| PLAIN.contains(&m));
        let level = Level::of(facts.scope());
        (is_plain && facts.guard().is_none() && level != Level::None).then_some(Self {
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

    /// Whether it provides at least the ordering of another fence.
    pub(super) fn covers(self, other: Self) -> bool {
        let order = match other.order {
            Modifier::Sc => self.order == Modifier::Sc,
            Modifier::Acquire => self.acquires(),
            Modifier::Release => self.releases(),
            _ => matches!(self.order, Modifier::AcqRel | Modifier::Sc),
        };
        order && self.level >= other.level
    }
}

/// An access to memory that other threads may access.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// Whether it is atomic: it reads and writes.
    pub(super) is_atomic: bool,
    /// Whether only threads of the CTA can reach it.
    pub(super) is_shared: bool,
    pub(super) is_cluster: bool,
    pub(super) is_volatile: bool,
    pub(super) order: Option<Modifier>,
    pub(super) level: Level,
    pub(super) provenance: Option<Provenance>,
    pub(super) address: Option<Affine>,
}

impl Access {
    /// The address, as a key of sets.
    pub(super) fn key(&self) -> Option<(i64, Vec<(SymbolId, i64)>)> {
        let address = self.address?;
        let terms = address
            .terms()
            .iter()
            .map(|term| (term.symbol, term.factor));
        Some((address.constant(), terms.collect()))
    }

    /// Whether another access certainly has the same address.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.address.is_some() && self.address == other.address
    }

    fn of(facts: Facts<'_>, known: &Known) -> Option<Self> {
        let access = &known.access;
        let space = match known.space {
            Space::State(space) => Some(space),
            Space::Generic => None,
            _ => return None,
        };
        let base = space.map(StateSpace::base);
        if !matches!(base, None | Some(StateSpace::Shared | StateSpace::Global)) {
            return None;
        }
        let is_volatile = facts.has_modifier(Modifier::Volatile);
        let order = match is_volatile {
            true => Some(Modifier::Relaxed),
            false => access.order,
        };
        Some(Self {
            reads: access.reads(),
            writes: access.writes(),
            is_atomic: access.reads() && access.writes(),
            is_shared: base == Some(StateSpace::Shared),
            is_cluster: space == Some(StateSpace::SharedCluster),
            is_volatile,
            order,
            level: match is_volatile {
                true => Level::Sys,
                false => Level::of(access.scope),
            },
            provenance: known.provenance,
            address: known.address,
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

    /// Whether it is strong, so that other threads can synchronize with it.
    pub(super) fn is_strong(&self) -> bool {
        self.is_atomic || matches!(self.order, Some(order) if order != Modifier::Weak)
    }

    /// Whether it orders earlier accesses.
    pub(super) fn orders_before(&self) -> bool {
        let order = self.order;
        matches!(
            order,
            Some(Modifier::Release | Modifier::AcqRel | Modifier::Sc)
        )
    }

    /// Whether it orders later accesses.
    pub(super) fn orders_after(&self) -> bool {
        let order = self.order;
        matches!(
            order,
            Some(Modifier::Acquire | Modifier::AcqRel | Modifier::Sc)
        )
    }

    /// Whether another access is certainly to different memory.
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
pub(super) enum Act {
    Fence(Fence),
    /// A barrier of the CTA that waits.
    Barrier,
    Access(Access),
    /// Anything that may access arbitrary memory, or that allows other threads to do so.
    Other,
}

#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) stmt: StmtId,
    pub(super) inst: InstId,
    pub(super) act: Act,
    /// Whether it waits for a signal: it loads from the same address in a loop until the value ends the loop.
    pub(super) is_poll: bool,
}

impl Step {
    pub(super) fn access(&self) -> Option<&Access> {
        match &self.act {
            Act::Access(access) => Some(access),
            _ => None,
        }
    }
}

/// The steps of the blocks of a function.
pub(super) struct Code {
    pub(super) blocks: Vec<Vec<Step>>,
    pub(super) is_kernel: bool,
    /// The values that are compared for equality.
    pub(super) compared: BTreeSet<ValueId>,
}

impl Code {
    /// The steps of a function; `None` if fences do not matter in it.
    pub(super) fn new(cx: &FunctionContext<'_>) -> Option<Self> {
        let strong = |f: Facts<'_>| {
            f.action() == Some(Action::Fence)
                || f.memory()
                    .any(|a| a.reads() && (a.writes() || a.scope.is_some()))
                || f.memory().any(|a| a.scope.is_some())
                || f.has_modifier(Modifier::Volatile)
        };
        if !cx.instructions().any(|i| strong(i.facts)) {
            return None;
        }
        let mut known: BTreeMap<StmtId, Vec<&Known>> = BTreeMap::new();
        for access in cx.accesses()?.all() {
            known.entry(access.stmt).or_default().push(access);
        }
        let mut blocks = vec![Vec::new(); cx.cfg().len()];
        let mut loops = WaitingLoops::new(cx);
        for reached in cx.instructions() {
            let block = cx.cfg().of_statement(reached.stmt);
            let Some(steps) = block.and_then(|b| blocks.get_mut(b.as_u32() as usize)) else {
                continue;
            };
            let accesses = known.get(&reached.stmt).map_or(&[][..], Vec::as_slice);
            for act in acts(cx, reached.inst, reached.facts, accesses) {
                let is_poll = match &act {
                    Act::Access(access) => loops.is_poll(&reached, access),
                    _ => false,
                };
                steps.push(Step {
                    stmt: reached.stmt,
                    inst: reached.inst,
                    act,
                    is_poll,
                });
            }
        }
        let function = cx.module().functions().get(cx.id());
        Some(Self {
            blocks,
            is_kernel: function.is_some_and(|f| f.kind == FunctionKind::Entry),
            compared: compared(cx),
        })
    }

    pub(super) fn of(&self, block: BlockId) -> &[Step] {
        self.blocks
            .get(block.as_u32() as usize)
            .map_or(&[], Vec::as_slice)
    }

    pub(super) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.blocks.iter().flatten()
    }

    /// The steps that may be executed before, or after, a step of a block on some path.
    pub(super) fn around(
        &self,
        cx: &FunctionContext<'_>,
        block: BlockId,
        index: usize,
        after: bool,
    ) -> Vec<&Step> {
        let own = self.of(block);
        let near = match after {
            true => own.get(index + 1..),
            false => own.get(..index),
        };
        let mut found: Vec<&Step> = near.unwrap_or_default().iter().collect();
        let mut seen = vec![false; self.blocks.len()];
        let mut open = vec![block];
        while let Some(at) = open.pop() {
            let next = match after {
                true => cx.cfg().successors(at),
                false => cx.cfg().predecessors(at),
            };
            for &to in next {
                let slot = seen.get_mut(to.as_u32() as usize);
                if let Some(slot) = slot.filter(|slot| !**slot) {
                    *slot = true;
                    found.extend(self.of(to));
                    open.push(to);
                }
            }
        }
        found
    }
}

fn acts(cx: &FunctionContext<'_>, inst: InstId, facts: Facts<'_>, known: &[&Known]) -> Vec<Act> {
    if let Some(fence) = Fence::of(cx, inst) {
        return vec![Act::Fence(fence)];
    }
    let waits = matches!(
        facts.action(),
        Some(Action::BarrierSync | Action::BarrierReduce)
    );
    if waits && facts.guard().is_none() {
        return vec![Act::Barrier];
    }
    let may_be_anything = matches!(facts.flow(), Flow::Call | Flow::Unknown)
        || !facts.is_known()
        || facts.is_fence()
        || facts.is_barrier()
        || !facts.asynchronous().is_empty()
        || facts.action() == Some(Action::GridDependency);
    if may_be_anything {
        return vec![Act::Other];
    }
    let accesses = known.iter().filter_map(|k| Access::of(facts, k));
    let mut acts: Vec<Act> = accesses.map(Act::Access).collect();
    let others = facts
        .memory()
        .any(|a| matches!(a.space, Space::Surface | Space::Tensor | Space::Any) || a.is_mbarrier);
    if others {
        acts = vec![Act::Other];
    }
    acts
}
