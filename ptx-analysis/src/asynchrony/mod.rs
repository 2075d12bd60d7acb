//! Asynchronous operations: accesses to their results, sources and objects that come too early.
//!
//! Copies (`cp.async`, bulk and tensor copies), products of a warpgroup and operations on tensor memory continue after their instruction.
//! The PTX ISA manual (9.7.9.25, 9.7.13.15, 9.7.15, 9.7.16) states protocols for them: operations are put in groups or report to an
//! mbarrier object, and their memory and registers must not be accessed before a wait for the group or the object. Some need a fence
//! before they begin.
//!
//! ```text
//!                                 commit                    wait(n) when n later groups are committed
//!         ┌──────▶ in no group ──────────▶ in a group ──────────────────────────┐
//!  start ─┤                                                                     ├─▶ complete
//!         └──────▶ reports to an mbarrier object ───────────────────────────────┘
//!                                                    wait for a phase of the object
//! ```
//!
//! [`FunctionAnalysis::violations`](crate::function_analysis::FunctionAnalysis::violations) follows these protocols along the paths of a function,
//! each as a separate dataflow problem:
//!
//! | protocol | state | file |
//! |---|---|---|
//! | groups and mbarriers | operations that are not complete, with the number of groups that were committed after theirs, and phases | `pending.rs` |
//! | ends of pipelines | groups that are committed on some paths of a loop only | `tails.rs` |
//! | sources of bulk copies | writes before a wait for the group of the copy | `sources.rs` |
//! | copies of other threads | copies that arrived and reads, after the last barrier | `sharing.rs` |
//! | bytes of mbarriers | bytes that an object expects and bytes of its copies | `transactions.rs` |
//! | `wgmma.fence` | registers that were written after the last fence | `warpgroup.rs` |
//! | proxies | writes after the last `fence.proxy.async` | `proxies.rs` |
//! | tensor maps | maps that were changed, and not released or acquired since | `tensor_maps.rs` |
//! | mbarrier objects | objects that were initialized, and whether a barrier followed | `mbarriers.rs`, `mbarrier_visibility.rs` |
//! | waits for mbarriers | objects at which nothing arrives, and phases that are complete already | `mbarrier_waits.rs` |
//! | clusters | whether the thread arrived at the barrier of the cluster and did not wait; objects of other CTAs that were initialized since that barrier | `cluster.rs` |
//! | tensor memory | allocations that were not freed; the permit to allocate | `tensor_memory.rs` |
//! | registers of `tcgen05.ld` | registers that were loaded, and neither read nor awaited | `tensor_registers.rs` |
//! | `tcgen05.fence` | synchronizations of threads since the last operation on tensor memory | `tensor_fences.rs` |
//!
//! All files use these terms:
//!
//! * An *operation* is asynchronous. Its *mechanism* is the means by which its completion is awaited.
//! * An *event* is an effect of an instruction on operations or objects. It is *conditional* if a guard may skip the instruction, and *selected* if
//!   only some threads of the CTA execute it.
//! * A *place* is memory that an instruction accesses. Its *root* is the number of the variable that contains it.
//! * An *object* is an mbarrier object.
//! * A *product* is a multiplication of matrices on tensor cores.
//!
//! A path that is not feasible counts as any other. A violation is [`Certainty::Definite`] if it happens on every path that reaches its
//! instruction, and if the two accesses certainly overlap. Accesses whose addresses cannot be compared are assumed to be correct if any data
//! arrived in the variable before, as in a loop that copies into one buffer and reads another.
//!
//! A call and an unknown instruction may do anything: no operation is known to be pending after them.
//!
//! Cost: linear in the instructions, times the bound on operations that are followed at once, which is 256.

mod addresses;
mod causes;
mod cluster;
mod collect;
mod events;
mod flags;
mod kinds;
mod matrices;
mod mbarrier_visibility;
mod mbarrier_waits;
mod mbarriers;
pub(crate) mod mechanism;
mod paths;
mod pending;
mod pending_set;
mod phases;
mod place;
mod places;
mod protocol;
mod proxies;
mod reports;
mod selection;
mod sharing;
mod sources;
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

use crate::function_dataflow::FunctionDataflow;
use collect::collect_events;

/// The rule that a violation breaks.
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
/// let violations = function.violations();
/// assert_eq!(violations[0].rule, Rule::CopyNotAwaited);
/// assert_eq!(violations[0].certainty, Certainty::Definite);
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
pub(crate) fn violations(analysis: &FunctionDataflow<'_>) -> Vec<Violation> {
    ptx_dataflow::internals::record_build("violations", analysis.facts());
    let Some(events) = collect_events(analysis) else {
        return Vec::new();
    };
    let mut violations = Vec::new();
    let cfg = analysis.cfg();
    pending::check(&events, analysis, &mut violations);
    tails::check(&events, analysis, &mut violations);
    sharing::check(&events, analysis, &mut violations);
    transactions::check(&events, cfg, &mut violations);
    warpgroup::check(&events, cfg, &mut violations);
    proxies::check(&events, cfg, &mut violations);
    tensor_maps::check(&events, cfg, &mut violations);
    mbarriers::check(&events, analysis, &mut violations);
    mbarrier_waits::check_parities(&events, analysis, &mut violations);
    mbarrier_waits::check_arrivals(&events, &mut violations);
    cluster::check(&events, cfg, &mut violations);
    tensor_memory::check(&events, analysis, &mut violations);
    tensor_registers::check(&events, cfg, &mut violations);
    tensor_fences::check(&events, analysis, &mut violations);
    violations.sort_by_key(|v| {
        let position = (events.order(v.inst), v.rule);
        (position, core::cmp::Reverse(v.certainty), v.cause)
    });
    violations.dedup_by_key(|v| (v.inst, v.rule));
    // A read of data that the thread itself did not await is one violation, although other threads do not see the data either.
    let not_awaited: BTreeSet<InstId> = violations
        .iter()
        .filter(|v| v.rule == Rule::CopyNotAwaited)
        .map(|v| v.inst)
        .collect();
    violations.retain(|v| v.rule != Rule::CopyNotVisible || !not_awaited.contains(&v.inst));
    causes::add(&events, &mut violations);
    violations
}
