//! Effects of instructions besides reading and writing operands.

use crate::{Access, Cond, Modifier};

/// A fixed modifier, or one in a slot.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ModifierSource {
    /// This modifier.
    Fixed(Modifier),
    /// The modifier in a slot, or its default.
    Slot(u8),
}

/// The proxy of a memory access.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Proxy {
    /// The generic proxy.
    Generic,
    /// The async proxy.
    Async,
    /// The tensormap proxy.
    Tensormap,
    /// The texture proxy.
    Texture,
    /// The surface proxy.
    Surface,
    /// Read-only data, outside the memory consistency model.
    ReadOnly,
}

/// An effect on control flow.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Control {
    /// A branch to a label.
    Jump,
    /// A branch to one label of a list.
    Table,
    /// A call.
    Call,
    /// A return to the caller.
    Return,
    /// The thread terminates.
    Exit,
    /// The kernel is aborted.
    Trap,
}

/// Threads that execute an instruction together.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ConvergenceScope {
    /// The active threads of a warp: the result depends on which threads are active.
    Active,
    /// All threads of a warp.
    Warp,
    /// All threads of four warps.
    Warpgroup,
    /// All threads of a CTA.
    Cta,
    /// All threads of a cluster.
    Cluster,
}

/// The completion mechanism of an asynchronous operation.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Completion {
    /// Groups of `cp.async`.
    CpAsync,
    /// Bulk groups.
    Bulk,
    /// An mbarrier object.
    Mbarrier,
    /// Groups of `wgmma`.
    Wgmma,
    /// The wait and commit instructions of tensor memory.
    Tcgen05,
}

/// A phase of an asynchronous operation.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum AsyncPhase {
    /// The operation starts.
    Start,
    /// It is committed to a group.
    Commit,
    /// Its completion is awaited.
    Wait,
}

/// The kinds of effects.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum EffectKind {
    /// Memory accesses have this order.
    Order(ModifierSource),
    /// Memory accesses have this scope.
    Scope(ModifierSource),
    /// Memory is accessed through this proxy.
    Proxy(Proxy),
    /// Control flow.
    Control(Control),
    /// All threads of the group execute it together.
    Converge(ConvergenceScope),
    /// The lanes in an operand execute it together.
    Lanes(u8),
    /// An asynchronous operation.
    Async(Completion, AsyncPhase),
    /// Memory of the state space is accessed through a tensor map or a descriptor, not through an address operand.
    Memory(Access, Modifier),
    /// The carry flag is read.
    CarryRead,
    /// The carry flag is written.
    CarryWrite,
    /// The instruction must not be removed, duplicated or merged.
    Volatile,
    /// It orders memory accesses.
    Fence,
    /// It waits for other threads.
    Barrier,
    /// All active threads of a warp take the same branch.
    Uniform,
    /// It is performed once for all participating threads.
    OneThread,
    /// It has a side effect and must not be removed.
    SideEffect,
    /// It multiplies matrices on tensor cores.
    MatrixMultiply,
    /// It moves matrices between memory, registers and threads, in the layout of tensor cores.
    MatrixMove,
}

record! {
    /// An effect with its condition.
    #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
    pub struct Effect {
        /// The condition.
        when: Cond,
        /// The effect.
        kind: EffectKind,
    }
}
