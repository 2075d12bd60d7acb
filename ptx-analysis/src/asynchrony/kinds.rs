//! Classification of instructions by their actions.

use ptx_ir::facts::{Facts, Flow};
use ptx_isa::{Action, Modifier};

use super::events::Kind;
use super::place::Place;

/// Whether an instruction belongs to one of the protocols.
pub(super) fn is_relevant(facts: Facts<'_>) -> bool {
    !facts.asynchronous().is_empty()
        || object_kind(facts.action()).is_some()
        || matches!(
            facts.action(),
            Some(
                Action::TensorAllocate
                    | Action::TensorFree
                    | Action::TensorRelinquish
                    | Action::TensorMapReplace
                    | Action::TensorMapCopy
                    | Action::ClusterArrive
                    | Action::ClusterWait
            )
        )
}

/// The constructor of the event of an action on an mbarrier object.
pub(super) fn object_kind(action: Option<Action>) -> Option<fn(Place) -> Kind> {
    Some(match action? {
        Action::MbarrierInit => Kind::Initialize,
        Action::MbarrierInvalidate => Kind::Invalidate,
        Action::MbarrierExpect
        | Action::MbarrierComplete
        | Action::MbarrierArrive
        | Action::MbarrierDrop
        | Action::CopyArrive => Kind::Object,
        Action::MbarrierTest | Action::MbarrierWait => Kind::Await,
        _ => return None,
    })
}

/// Whether the scope of a fence is wider than the CTA.
pub(super) fn is_beyond_cta(facts: Facts<'_>) -> bool {
    matches!(
        facts.scope(),
        Some(Modifier::Cluster | Modifier::Gpu | Modifier::Gl | Modifier::Sys)
    )
}

/// The event of an action on the barrier of the cluster.
pub(super) fn cluster_kind(action: Option<Action>) -> Option<Kind> {
    match action? {
        Action::ClusterArrive => Some(Kind::ClusterArrive),
        Action::ClusterWait => Some(Kind::ClusterWait),
        _ => None,
    }
}

/// Whether an instruction is a call or unknown, so that it may start, complete or access any operation.
pub(super) fn may_do_anything(facts: Facts<'_>) -> bool {
    matches!(facts.flow(), Flow::Call | Flow::Unknown)
}
