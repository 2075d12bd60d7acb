//! What other threads did before: which instructions order it before what follows them.

use alloc::vec::Vec;

use ptx_ir::facts::{Facts, FunctionFacts, Space};
use ptx_ir::{EntityId as _, FuncId, Statement};
use ptx_isa::{Action, Modifier, Proxy, StateSpace};

use super::barriers::uses_barrier;
use crate::calls::CallGraph;

/// The threads whose accesses to memory an instruction may order before what follows it.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(super) enum Acquires {
    /// Only its own.
    #[default]
    None,
    /// Those of the CTA.
    Cta,
    /// Those of other CTAs too.
    Beyond,
}

/// What a function and those that it calls do.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Synchronization {
    pub(super) acquires: Acquires,
    /// Whether they wait or arrive at barriers of the CTA.
    pub(super) barriers: bool,
    /// Whether they perform atomic operations on memory that the grid shares.
    pub(super) atomics: bool,
}

impl Synchronization {
    /// That of functions that are not known.
    pub(super) const UNKNOWN: Self = Self {
        acquires: Acquires::Beyond,
        barriers: true,
        atomics: true,
    };

    /// What the instructions of a function do, without those that it calls.
    pub(super) fn of(facts: FunctionFacts<'_>) -> Self {
        let mut found = Self::default();
        for (_, statement) in facts.body().statements() {
            match statement {
                Statement::Inst(inst) => {
                    let of = facts.inst(inst);
                    if of.callees().is_none() {
                        found = found.join(Self {
                            acquires: acquires(&of),
                            barriers: uses_barrier(&of),
                            atomics: is_atomic(&of),
                        });
                    }
                }
                Statement::Opaque(_) => return Self::UNKNOWN,
                _ => {}
            }
        }
        found
    }

    fn join(self, other: Self) -> Self {
        Self {
            acquires: self.acquires.max(other.acquires),
            barriers: self.barriers | other.barriers,
            atomics: self.atomics | other.atomics,
        }
    }
}

/// Of each function of a module, what it and those that it calls do.
#[derive(Clone, Debug, Default)]
pub(super) struct Summaries {
    functions: Vec<Synchronization>,
}

impl Summaries {
    /// `own` says what the instructions of a function do, if it has a body.
    pub(super) fn new(
        count: usize,
        calls: &CallGraph,
        own: impl Fn(FuncId) -> Option<Synchronization>,
    ) -> Self {
        let of = |id: FuncId| match calls.may_call_unknown(id) {
            true => Synchronization::UNKNOWN,
            false => own(id).unwrap_or(Synchronization::UNKNOWN),
        };
        let ids = (0..count).map(|id| FuncId::new(id as u32));
        let mut functions: Vec<Synchronization> = ids.map(of).collect();
        let mut work: Vec<FuncId> = (0..count).map(|id| FuncId::new(id as u32)).collect();
        while let Some(id) = work.pop() {
            let of = functions[id.index()];
            // Those that call it through an address may call anything.
            for caller in calls.direct_callers(id) {
                let Some(known) = functions.get_mut(caller.index()) else {
                    continue;
                };
                let joined = known.join(of);
                if joined != *known {
                    *known = joined;
                    work.push(caller);
                }
            }
        }
        Self { functions }
    }

    /// That of a function.
    pub(super) fn of(&self, id: FuncId) -> Synchronization {
        let known = self.functions.get(id.index()).copied();
        known.unwrap_or(Synchronization::UNKNOWN)
    }
}

/// The threads with which an instruction other than a call synchronizes.
pub(super) fn acquires(facts: &Facts<'_>) -> Acquires {
    if !facts.is_known() {
        return Acquires::Beyond;
    }
    let is_fence = facts.is_fence() || facts.action() == Some(Action::Fence);
    let waits = is_fence || facts.is_barrier();
    let own = (facts.order(), facts.scope());
    let accesses = facts.memory().map(|access| (access.order, access.scope));
    let mut found = Acquires::None;
    for (order, scope) in core::iter::once(own).chain(accesses) {
        found = found.max(match order {
            Some(Modifier::Weak | Modifier::Relaxed | Modifier::Volatile | Modifier::Release) => {
                Acquires::None
            }
            // Fences between proxies order the accesses of a thread.
            None if !waits || facts.proxy() != Proxy::Generic => Acquires::None,
            _ => reached(scope),
        });
    }
    found
}

/// Whether an instruction is an atomic operation on memory that the grid shares.
fn is_atomic(facts: &Facts<'_>) -> bool {
    let is_elsewhere = |space| matches!(space, Space::State(of) if of.base() == StateSpace::Shared);
    let mut accesses = facts.memory();
    accesses.any(|a| a.reads() && a.writes() && !is_elsewhere(a.space))
}

/// The threads of a scope. Without one, it is that of the device at least.
fn reached(scope: Option<Modifier>) -> Acquires {
    match scope {
        Some(Modifier::Cta) => Acquires::Cta,
        _ => Acquires::Beyond,
    }
}
