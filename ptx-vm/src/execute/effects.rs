//! The effects of steps and actions that decide whether threads repeat a loop for ever.

use ptx_isa::Action;

use super::groups::CallFrame;
use crate::program::{Callee, MALLOC, Step};

/// Whether an action changes only registers, and other threads cannot see it. Barriers decide only when threads go on, which does not matter if all of
/// them repeat loops.
pub(super) const fn is_pure(action: Action) -> bool {
    matches!(
        action,
        Action::Fence
            | Action::Hint
            | Action::RegisterRequest
            | Action::RegisterRelease
            | Action::Sleep
            | Action::GridDependency
            | Action::CopyCommit
            | Action::CopyWait
            | Action::BulkCommit
            | Action::BulkWait
            | Action::CachePolicy
            | Action::ToGeneric
            | Action::FromGeneric
            | Action::TestSpace
            | Action::MapShared
            | Action::SharedRank
            | Action::Shuffle
            | Action::Vote
            | Action::Match
            | Action::ActiveLanes
            | Action::WarpReduce
            | Action::Elect
            | Action::WarpBarrier
            | Action::BarrierSync
            | Action::BarrierArrive
            | Action::BarrierReduce
            | Action::ClusterArrive
            | Action::ClusterWait
            | Action::MbarrierTest
            | Action::MbarrierWait
            | Action::MbarrierPending
            | Action::StackSave
            | Action::StackRestore
            | Action::StackAllocate
            | Action::WarpgroupFence
            | Action::WarpgroupCommit
            | Action::WarpgroupWait
            | Action::OpaqueQuery
    )
}

/// Whether the observer sees all accesses of an action to memory, and the action has no other effects.
pub(super) const fn has_observed_effects(action: Action) -> bool {
    matches!(
        action,
        Action::CopyAsync
            | Action::BulkCopy
            | Action::TensorCopy
            | Action::TensorMapReplace
            | Action::StoreBulk
            | Action::MatrixLoad
            | Action::MatrixStore
            | Action::MatrixTranspose
            | Action::MatrixMultiply
            | Action::FragmentLoad
            | Action::FragmentStore
            | Action::WarpgroupMultiply
            | Action::TextureFetch
            | Action::SurfaceAccess
    )
}

/// Whether a step has effects that an observer of accesses and actions does not see.
pub(super) fn has_effect(step: &Step, call: &CallFrame) -> bool {
    match step {
        Step::Exit | Step::Trap | Step::Unsupported(_) => true,
        Step::Return => call.caller.is_none(),
        // The observer sees allocations.
        Step::Call(call) => matches!(&call.callee, Callee::System(name) if **name != *MALLOC),
        _ => false,
    }
}
