//! Synchronization of a thread with other threads: which instructions order the accesses of others before what follows them.

use alloc::vec::Vec;

use ptx_ir::facts::{Facts, FunctionFacts, Space};
use ptx_ir::{EntityId as _, FuncId, Statement};
use ptx_isa::{Action, Modifier, Proxy, StateSpace};

use crate::calls::CallGraph;

/// The threads whose memory accesses an instruction may order before what follows it.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(super) enum Acquires {
    /// The thread itself.
    #[default]
    None,
    /// The threads of the CTA.
    Cta,
    /// Threads of other CTAs too.
    Beyond,
}

/// The synchronization that may happen before a load, a call or a function begins.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Before {
    /// The thread may have synchronized with others since all threads of the CTA met at a barrier, or since the start of the grid.
    pub(super) since_barrier: bool,
    /// Threads of the CTA may have synchronized with those of other CTAs.
    pub(super) beyond: bool,
}

impl Before {
    /// The least precise information.
    pub(super) const ANYTHING: Self = Self {
        since_barrier: true,
        beyond: true,
    };

    pub(super) const fn join(self, other: Self) -> Self {
        Self {
            since_barrier: self.since_barrier | other.since_barrier,
            beyond: self.beyond | other.beyond,
        }
    }

    /// Adds an instruction that orders the accesses of other threads before what follows it.
    pub(super) fn after(self, acquires: Acquires) -> Self {
        self.join(Self {
            since_barrier: acquires > Acquires::None,
            beyond: acquires == Acquires::Beyond,
        })
    }
}

/// The synchronization of a function and of the functions that it calls.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Synchronization {
    pub(super) acquires: Acquires,
    /// They wait or arrive at barriers of the CTA.
    pub(super) barriers: bool,
    /// They perform atomic operations on memory that the grid shares.
    pub(super) atomics: bool,
}

impl Synchronization {
    /// The synchronization of an unknown function.
    pub(super) const UNKNOWN: Self = Self {
        acquires: Acquires::Beyond,
        barriers: true,
        atomics: true,
    };

    /// Collects the synchronization of the instructions of a function, without the functions that it calls.
    pub(super) fn of(facts: FunctionFacts<'_>) -> Self {
        let mut synchronization = Self::default();
        for (_, statement) in facts.body().statements() {
            match statement {
                Statement::Inst(inst) => {
                    let inst = facts.inst(inst);
                    if inst.callees().is_none() {
                        synchronization = synchronization.join(Self {
                            acquires: acquires(&inst),
                            barriers: uses_barrier(&inst),
                            atomics: is_atomic(&inst),
                        });
                    }
                }
                Statement::Opaque(_) => return Self::UNKNOWN,
                _ => {}
            }
        }
        synchronization
    }

    fn join(self, other: Self) -> Self {
        Self {
            acquires: self.acquires.max(other.acquires),
            barriers: self.barriers | other.barriers,
            atomics: self.atomics | other.atomics,
        }
    }
}

/// The synchronization of each function of a module, with the functions that it calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Summaries {
    functions: Vec<Synchronization>,
}

impl Summaries {
    /// Propagates the synchronization of functions to their callers. `of_body` returns that of the instructions of a function, or `None` if it has no body.
    pub(super) fn new(
        count: usize,
        calls: &CallGraph,
        of_body: impl Fn(FuncId) -> Option<Synchronization>,
    ) -> Self {
        let ids = || (0..count).map(|id| FuncId::new(id as u32));
        let mut functions: Vec<Synchronization> = ids()
            .map(|id| {
                let body = of_body(id).filter(|_| !calls.may_call_unknown(id));
                body.unwrap_or(Synchronization::UNKNOWN)
            })
            .collect();
        let mut worklist: Vec<FuncId> = ids().collect();
        while let Some(callee) = worklist.pop() {
            let summary = functions[callee.index()];
            // Functions that call it through an address count as calls of unknown functions.
            for caller in calls.direct_callers(callee) {
                let Some(old) = functions.get_mut(caller.index()) else {
                    continue;
                };
                let joined = old.join(summary);
                if joined != *old {
                    *old = joined;
                    worklist.push(caller);
                }
            }
        }
        Self { functions }
    }

    /// The synchronization of a function.
    pub(super) fn function(&self, id: FuncId) -> Synchronization {
        let summary = self.functions.get(id.index()).copied();
        summary.unwrap_or(Synchronization::UNKNOWN)
    }
}

/// The threads with which an instruction other than a call synchronizes.
pub(super) fn acquires(facts: &Facts<'_>) -> Acquires {
    if !facts.is_known() {
        return Acquires::Beyond;
    }
    let is_fence = facts.is_fence() || facts.action() == Some(Action::Fence);
    let waits = is_fence || facts.is_barrier();
    let instruction = (facts.order(), facts.scope());
    let accesses = facts.memory().map(|access| (access.order, access.scope));
    let mut acquires = Acquires::None;
    for (order, scope) in core::iter::once(instruction).chain(accesses) {
        acquires = acquires.max(match order {
            Some(Modifier::Weak | Modifier::Relaxed | Modifier::Volatile | Modifier::Release) => {
                Acquires::None
            }
            // Fences between proxies order the accesses of a thread.
            None if !waits || facts.proxy() != Proxy::Generic => Acquires::None,
            // Without a scope, it is that of the device at least.
            _ if scope == Some(Modifier::Cta) => Acquires::Cta,
            _ => Acquires::Beyond,
        });
    }
    acquires
}

/// Returns whether an instruction is an atomic operation on memory that the grid shares.
fn is_atomic(facts: &Facts<'_>) -> bool {
    let mut accesses = facts.memory();
    accesses.any(|access| {
        let is_in_cta =
            matches!(access.space, Space::State(space) if space.base() == StateSpace::Shared);
        access.reads() && access.writes() && !is_in_cta
    })
}

/// Returns whether an instruction waits or arrives at a barrier of the CTA.
pub(super) fn uses_barrier(facts: &Facts<'_>) -> bool {
    matches!(
        facts.action(),
        Some(Action::BarrierSync | Action::BarrierArrive | Action::BarrierReduce)
    )
}
