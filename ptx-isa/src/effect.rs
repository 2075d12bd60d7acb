//! What an instruction does that its operands do not show.

use crate::{Access, Cond, Modifier};

/// A word, fixed or in a slot.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ModifierSource {
    /// Always this.
    Fixed(Modifier),
    /// What a slot says, or its default.
    Slot(u8),
}

/// How memory is reached.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Proxy {
    /// The ordinary way.
    Generic,
    /// By the asynchronous engines.
    Async,
    /// Through a tensor map.
    Tensormap,
    /// Through the texture units.
    Texture,
    /// Through the surface units.
    Surface,
    /// As read-only data, outside the memory model.
    ReadOnly,
}

/// What happens to control flow.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Control {
    /// It goes to a label.
    Jump,
    /// It goes to one label of a list.
    Table,
    /// It goes to a function and comes back.
    Call,
    /// It goes back to the caller.
    Return,
    /// The thread ends.
    Exit,
    /// The kernel is aborted.
    Trap,
}

/// Threads that execute an instruction together.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ConvergenceScope {
    /// The threads of a warp that happen to be there: which they are is part of the result.
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

/// What waits for an asynchronous operation.
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
    /// The fifth generation's own waits and commits.
    Tcgen05,
}

/// A step in the life of an asynchronous operation.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum AsyncPhase {
    /// It begins.
    Start,
    /// It is put into a group.
    Commit,
    /// Its end is awaited.
    Wait,
}

/// What is done.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EffectKind {
    /// Memory accesses have this order.
    Order(ModifierSource),
    /// Memory accesses have this scope.
    Scope(ModifierSource),
    /// Memory is reached this way.
    Proxy(Proxy),
    /// Control flow.
    Control(Control),
    /// All threads of the group execute it together.
    Converge(ConvergenceScope),
    /// The lanes an operand names execute it together.
    Lanes(u8),
    /// An asynchronous operation.
    Async(Completion, AsyncPhase),
    /// Memory of the space is reached, which no operand addresses: through a tensor map or a descriptor.
    Memory(Access, Modifier),
    /// The carry flag is read.
    CarryRead,
    /// The carry flag is written.
    CarryWrite,
    /// It happens exactly as often as it is written.
    Volatile,
    /// It orders memory accesses.
    Fence,
    /// It waits for other threads.
    Barrier,
    /// All active threads of a warp go the same way.
    Uniform,
    /// One thread acts for all.
    OneThread,
    /// It must stay although it has no result.
    SideEffect,
}

/// An effect, and when it happens.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Effect {
    /// When.
    pub when: Cond,
    /// What.
    pub kind: EffectKind,
}
