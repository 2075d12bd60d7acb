//! Asynchronous operations: where their results, their sources and the objects that they need are used too early.
//!
//! Copies (`cp.async`, bulk and tensor copies), products of a warpgroup and operations on tensor memory go on after their instruction.
//! The PTX ISA manual (9.7.9.25, 9.7.13.15, 9.7.15, 9.7.16) states protocols for them: operations are put in groups or report to an
//! mbarrier object, and their memory and registers must not be accessed before the group or the object was waited for. Some need a fence
//! before they begin. [`FunctionAnalysis::violations`](crate::function_analysis::FunctionAnalysis::violations) follows these protocols along the paths of a function, each as a separate dataflow problem:
//!
//! | protocol | followed | file |
//! |---|---|---|
//! | groups and mbarriers | operations that are not complete, with the number of groups that were committed after theirs, and phases | `pending.rs` |
//! | ends of pipelines | groups that are committed on some paths of a loop only | `tails.rs` |
//! | sources of bulk copies | writes before a wait for the group of the copy | `sources.rs` |
//! | copies of other threads | copies that arrived and reads, after the last barrier | `sharing.rs` |
//! | bytes of mbarriers | what an object expects and the bytes of its copies | `transactions.rs` |
//! | `wgmma.fence` | registers that were written after the last fence | `warpgroup.rs` |
//! | proxies | writes after the last `fence.proxy.async` | `proxies.rs` |
//! | tensor maps | maps that were changed, and not released or acquired since | `tensor_maps.rs` |
//! | mbarrier objects | objects that were initialized, and whether a barrier followed | `mbarriers.rs` |
//! | ended objects | barriers after which an object is no longer valid | `invalidations.rs` |
//! | arrivals | waits for objects at which nothing arrives | `starved.rs` |
//! | parities | waits for phases that are complete already | `parity.rs` |
//! | objects of other CTAs | objects that were initialized since the last barrier of the cluster | `peers.rs` |
//! | tensor memory | allocations that were not freed; the permit to allocate | `tensor_memory.rs` |
//! | registers of `tcgen05.ld` | registers that were loaded, and neither read nor waited for | `tensor_registers.rs` |
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
mod causes;
mod cluster;
mod collect;
mod events;
mod flags;
mod invalidations;
mod kinds;
mod matrices;
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
mod reports;
mod selection;
mod sharing;
mod sources;
mod starved;
mod tails;
mod tensor_conflicts;
mod tensor_fences;
mod tensor_maps;
mod tensor_memory;
mod tensor_registers;
mod transactions;
mod warpgroup;

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use ptx_ir::InstId;

use crate::function_analysis::FunctionAnalysis;
use events::Events;

/// What a violation breaks.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Rule {
    /// An access to the destination of a pending asynchronous copy.
    CopyNotAwaited,
    /// A read of data that other threads copied, without a barrier after their waits.
    CopyNotVisible,
    /// A copy that overwrites memory without a barrier after the reads of other threads.
    ReadNotFinished,
    /// An mbarrier object that expects a different number of bytes than is copied.
    ExpectedBytes,
    /// An mbarrier object that expects another number of bytes than elsewhere for copies by the same tensor maps.
    ExpectedBytesDiffer,
    /// A write to the source of a pending asynchronous copy.
    SourceNotAwaited,
    /// An access to a register of a pending asynchronous matrix operation of a warpgroup.
    ProductNotAwaited,
    /// A write to a register of a pending load from tensor memory. A read waits for the load.
    TensorLoadNotAwaited,
    /// An access to tensor memory, or its deallocation, while an operation on it is pending.
    TensorMemoryNotAwaited,
    /// A missing `tcgen05.fence` after a synchronization between operations on tensor memory.
    TensorFence,
    /// A missing `tcgen05.fence` before a synchronization between operations on tensor memory.
    TensorFenceBefore,
    /// A missing `wgmma.fence` between a write of a register and the matrix operation that uses it.
    WarpgroupFence,
    /// A missing `fence.proxy.async` between an ordinary write and the asynchronous operation that reads the memory.
    ProxyFence,
    /// A missing `fence.proxy.tensormap` between a modification of a tensor map and its use.
    TensorMapFence,
    /// A use of an mbarrier object before it is initialized, or before the initialization is visible to the thread.
    MbarrierNotInitialized,
    /// An initialization of an mbarrier object that is already initialized.
    MbarrierInitializedTwice,
    /// An arrival at the cluster barrier without a fence after the initialization of an mbarrier object.
    MbarrierNotPublished,
    /// A wait for an mbarrier object at which no instruction arrives.
    MbarrierNotArrived,
    /// A wait for the parity of a phase of an mbarrier object that is already complete.
    MbarrierPhase,
    /// An asynchronous operation that reports to an mbarrier object without a fence after its initialization by the same thread.
    MbarrierNotFenced,
    /// A write to the memory of an initialized mbarrier object.
    MbarrierOverwritten,
    /// A second arrival at the cluster barrier without a wait in between, or a wait without an arrival.
    ClusterBarrier,
    /// An allocation of tensor memory that is never freed.
    TensorMemoryNotFreed,
    /// An allocation of tensor memory after the allocation permit was relinquished.
    AllocationAfterRelinquish,
    /// A deallocation of tensor memory that is not allocated.
    FreeWithoutAllocation,
    /// A deallocation of tensor memory with a different number of columns than allocated.
    FreeOfOtherSize,
    /// A deallocation of tensor memory without a barrier after the accesses of other warps.
    FreeWithoutBarrier,
    /// An allocation of more columns of tensor memory than an earlier one.
    AllocationOfMore,
    /// A use of tensor memory after it was freed.
    TensorMemoryFreed,
    /// A read of the address of tensor memory without a barrier after another warp allocated it.
    TensorAddressNotVisible,
}

/// The certainty of a violation.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Certainty {
    /// It occurs on some paths that reach the instruction, or only if two addresses are equal.
    Possible,
    /// It occurs on all paths that reach the instruction.
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

/// A violation of the protocol of asynchronous operations.
///
/// ```
/// use ptx_analysis::asynchrony::{Certainty, Rule};
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
/// let function = FunctionAnalysis::new(facts.function(module.function("k").unwrap()).unwrap());
/// let found = function.violations();
/// assert_eq!(found[0].rule, Rule::CopyNotAwaited);
/// assert_eq!(found[0].certainty, Certainty::Definite);
/// ```
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub struct Violation {
    /// The instruction.
    pub inst: InstId,
    /// The violated rule.
    pub rule: Rule,
    /// The certainty.
    pub certainty: Certainty,
    /// The other instruction, if there is one: the pending operation, the write that needs a fence, or the initialization of the object.
    pub cause: Option<InstId>,
}

/// Finds all violations in a function, in the order of instructions, at most one of each rule for an instruction.
pub(crate) fn violations(analysis: &FunctionAnalysis<'_>) -> Vec<Violation> {
    ptx_dataflow::internals::record_build("violations", analysis.facts());
    let Some(events) = Events::new(analysis) else {
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
    starved::check(&events, &mut found);
    peers::check(&events, cfg, &mut found);
    tensor_memory::check(&events, analysis, &mut found);
    tensor_registers::check(&events, cfg, &mut found);
    tensor_fences::check(&events, analysis, &mut found);
    cluster::check(&events, cfg, &mut found);
    let order = |v: &Violation| (events.order(v.inst), v.rule);
    found.sort_by_key(|v| (order(v), core::cmp::Reverse(v.certainty), v.cause));
    found.dedup_by_key(|v| (v.inst, v.rule));
    // What is not awaited is not visible either.
    let pending = found.iter().filter(|v| v.rule == Rule::CopyNotAwaited);
    let pending: BTreeSet<InstId> = pending.map(|v| v.inst).collect();
    found.retain(|v| v.rule != Rule::CopyNotVisible || !pending.contains(&v.inst));
    causes::add(&events, &mut found);
    found
}
