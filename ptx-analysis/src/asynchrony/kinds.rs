//! What instructions do, by their actions.

use ptx_ir::facts::{Facts, Flow};
use ptx_isa::{Action, Modifier};

use super::events::Kind;
use super::place::Place;

/// Whether an instruction belongs to a protocol.
pub(super) fn is_relevant(facts: Facts<'_>) -> bool {
    !facts.asynchronous().is_empty()
        || object_kind(facts.action()).is_some()
        || matches!(
            facts.action(),
            Some(
                Action::TensorAllocate
                    | Action::TensorFree
                    | Action::TensorRelinquish
                    | Action::TensorMap
                    | Action::ClusterArrive
                    | Action::ClusterWait
            )
        )
}

/// What is done to an mbarrier object.
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
    let wide = [
        Modifier::Cluster,
        Modifier::Gpu,
        Modifier::Gl,
        Modifier::Sys,
    ];
    facts.scope().is_some_and(|scope| wide.contains(&scope))
}

/// What is done to the barrier of the cluster.
pub(super) fn cluster_kind(action: Option<Action>) -> Option<Kind> {
    match action? {
        Action::ClusterArrive => Some(Kind::ClusterArrive),
        Action::ClusterWait => Some(Kind::ClusterWait),
        _ => None,
    }
}

/// Whether an instruction may do anything to asynchronous operations.
pub(super) fn may_do_anything(facts: Facts<'_>) -> bool {
    matches!(facts.flow(), Flow::Call | Flow::Unknown)
}
