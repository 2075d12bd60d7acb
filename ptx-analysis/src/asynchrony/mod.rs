//! Asynchronous operations: where their results, their sources and the objects that they need are used too early.
//!
//! Copies (`cp.async`, bulk and tensor copies), products of a warpgroup and operations on tensor memory go on after their instruction.
//! The PTX ISA manual (9.7.9.25, 9.7.13.15, 9.7.15, 9.7.16) states protocols for them: operations are put in groups or report to an
//! mbarrier object, and their memory and registers must not be accessed before the group or the object was waited for. Some need a fence
//! before they begin. [`violations`] follows these protocols along the paths of a function, each as a separate dataflow problem:
//!
//! | protocol | followed | file |
//! |---|---|---|
//! | groups and mbarriers | operations that are not complete, with the number of groups that were committed after theirs, and phases | `pending.rs` |
//! | ends of pipelines | groups that are committed on some paths of a loop only | `tails.rs` |
//! | sources of bulk copies | writes before a wait for the group of the copy | `sources.rs` |
//! | copies of other threads | copies that arrived and reads, after the last barrier | `sharing.rs` |
//! | bytes of mbarriers | what an object expects and the bytes of its copies | `transactions.rs` |
//! | `wgmma.fence` | registers that were written after the last fence | `warpgroup.rs` |
//! | proxies | variables that were written after the last `fence.proxy.async` | `proxies.rs` |
//! | tensor maps | maps that were changed, and not released or acquired since | `tensor_maps.rs` |
//! | mbarrier objects | objects that were initialized, and whether a barrier followed | `mbarriers.rs` |
//! | ended objects | barriers after which an object is no longer valid | `invalidations.rs` |
//! | parities | waits for phases that are complete already | `parity.rs` |
//! | objects of other CTAs | objects that were initialized since the last barrier of the cluster | `peers.rs` |
//! | tensor memory | allocations that were not freed; the permit to allocate | `tensor_memory.rs` |
//! | `tcgen05.fence` | synchronizations of threads since the last operation on tensor memory | `tensor_fences.rs` |
//! | `barrier.cluster` | whether the thread arrived and did not wait | `cluster.rs` |
//!
//! A path that is not feasible counts as any other. A violation is [`Certainty::Definite`] if it happens on every path that reaches its
//! instruction, and if the two accesses certainly overlap. Accesses whose addresses cannot be compared are assumed to be correct if any data
//! arrived in the variable before, as in a loop that copies into one buffer and reads another.
//!
//! A call and an instruction that is not known may do anything: nothing is known to be pending after them.
//!
//! Cost: linear in the instructions, times the bound on operations that are followed at once, which is 256.

mod addresses;
mod cluster;
mod collect;
mod events;
mod flags;
mod invalidations;
mod kinds;
mod mbarriers;
mod mechanism;
mod order;
mod parity;
mod peers;
mod pending;
mod pending_set;
mod phases;
mod place;
mod places;
mod protocol;
mod proxies;
mod reach;
mod selection;
mod sharing;
mod sources;
mod tails;
mod tensor_conflicts;
mod tensor_fences;
mod tensor_maps;
mod tensor_memory;
mod transactions;
mod warpgroup;

use alloc::vec::Vec;

use ptx_ir::InstId;
use ptx_ir::facts::FunctionFacts;

use crate::function_analysis::FunctionAnalysis;
use events::Events;

/// What a violation breaks.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Rule {
    /// Memory that an asynchronous copy writes is accessed before the copy was waited for.
    CopyNotAwaited,
    /// Memory that copies of other threads write is read before a barrier.
    CopyNotVisible,
    /// A copy overwrites memory before a barrier after other threads read it.
    ReadNotFinished,
    /// An mbarrier object expects another number of bytes than is copied.
    ExpectedBytes,
    /// Memory that an asynchronous copy reads is written before the copy was waited for.
    SourceNotAwaited,
    /// A register of an asynchronous product of a warpgroup is accessed before the product was waited for.
    ProductNotAwaited,
    /// A register that is loaded from tensor memory is accessed before the load was waited for.
    TensorLoadNotAwaited,
    /// Tensor memory is accessed or freed before the operations that access it were waited for.
    TensorMemoryNotAwaited,
    /// There is no `tcgen05.fence` after a synchronization between operations on tensor memory.
    TensorFence,
    /// There is no `tcgen05.fence` before a synchronization between operations on tensor memory.
    TensorFenceBefore,
    /// There is no `wgmma.fence` between a write of a register and the product of a warpgroup that uses it.
    WarpgroupFence,
    /// There is no `fence.proxy.async` between an ordinary write and the asynchronous operation that reads the memory.
    ProxyFence,
    /// There is no `fence.proxy.tensormap` between a change of a tensor map and its use.
    TensorMapFence,
    /// An mbarrier object is used before it is initialized, or before other threads know that it is.
    MbarrierNotInitialized,
    /// An mbarrier object is initialized although it is one.
    MbarrierInitializedTwice,
    /// A thread arrives at the barrier of the cluster without a fence after it initialized an mbarrier object.
    MbarrierNotPublished,
    /// A wait for the parity of a phase of an mbarrier object that is complete already.
    MbarrierPhase,
    /// An asynchronous operation reports to an mbarrier object that its thread initialized, without a fence in between.
    MbarrierNotFenced,
    /// The memory of an mbarrier object is written while it is one.
    MbarrierOverwritten,
    /// A thread arrives at the barrier of the cluster twice, or waits there without having arrived.
    ClusterBarrier,
    /// Tensor memory is allocated and never freed.
    TensorMemoryNotFreed,
    /// Tensor memory is allocated after the permit was given up.
    AllocationAfterRelinquish,
    /// Tensor memory is freed that is not allocated.
    FreeWithoutAllocation,
    /// Tensor memory is freed with another number of columns than it was allocated with.
    FreeOfOtherSize,
    /// Tensor memory is freed by some threads, without a barrier after others accessed it.
    FreeWithoutBarrier,
    /// More columns of tensor memory are allocated than before.
    AllocationOfMore,
    /// Tensor memory is used after it was freed.
    TensorMemoryFreed,
    /// The address of tensor memory is read before a barrier after another warp stored it.
    TensorAddressNotVisible,
}

/// On which paths a violation happens.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Certainty {
    /// On some paths that reach the instruction, or only if two addresses are equal.
    Possible,
    /// On all paths that reach it.
    Definite,
}

impl Certainty {
    /// `possible` or `definite`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Possible => "possible",
            Self::Definite => "definite",
        }
    }
}

/// An instruction that breaks a protocol.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub struct Violation {
    /// The instruction.
    pub inst: InstId,
    /// What it breaks.
    pub rule: Rule,
    /// On which paths.
    pub certainty: Certainty,
    /// The other instruction, if there is one: the operation that is pending, or the write that needs a fence.
    pub cause: Option<InstId>,
}

/// Every violation in a function, in the order of instructions, at most one of each rule for an instruction.
///
/// ```
/// use ptx_analysis::asynchrony::{Certainty, Rule, violations};
/// use ptx_analysis::function_analysis::FunctionAnalysis;
/// use ptx_ir::facts::ModuleFacts;
///
/// let text = b".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p)\n{\n\
///     .shared .align 16 .b8 tile[16]; .reg .b64 %p; .reg .b32 %r;\n\
///     ld.param.u64 %p, [p];\n\
///     cp.async.ca.shared.global [tile], [%p], 16;\n\
///     cp.async.commit_group;\n\
///     ld.shared.b32 %r, [tile+4];\n\
///     ret;\n}\n";
/// let module = ptx_parse::parse(text).module;
/// let facts = ModuleFacts::new(&module);
/// let function = facts.function(module.function("k").unwrap()).unwrap();
/// let found = violations(function, &FunctionAnalysis::new(function));
/// assert_eq!(found[0].rule, Rule::CopyNotAwaited);
/// assert_eq!(found[0].certainty, Certainty::Definite);
/// ```
#[must_use]
pub fn violations(facts: FunctionFacts<'_>, analysis: &FunctionAnalysis) -> Vec<Violation> {
    let Some(events) = Events::new(facts, analysis) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let cfg = analysis.cfg();
    pending::check(&events, analysis, &mut found);
    tails::check(&events, analysis, &mut found);
    sharing::check(&events, analysis, &mut found);
    transactions::check(&events, cfg, &mut found);
    warpgroup::check(&events, cfg, &mut found);
    proxies::check(&events, cfg, &mut found);
    tensor_maps::check(&events, cfg, &mut found);
    mbarriers::check(&events, analysis, &mut found);
    parity::check(&events, analysis, &mut found);
    peers::check(&events, cfg, &mut found);
    tensor_memory::check(&events, analysis, &mut found);
    tensor_fences::check(&events, analysis, &mut found);
    cluster::check(&events, cfg, &mut found);
    let order = |v: &Violation| (events.order(v.inst), v.rule);
    found.sort_by_key(|v| (order(v), core::cmp::Reverse(v.certainty), v.cause));
    found.dedup_by_key(|v| (v.inst, v.rule));
    // What is not awaited is not visible either.
    let pending = found.iter().filter(|v| v.rule == Rule::CopyNotAwaited);
    let pending: Vec<InstId> = pending.map(|v| v.inst).collect();
    found.retain(|v| v.rule != Rule::CopyNotVisible || !pending.contains(&v.inst));
    found
}
