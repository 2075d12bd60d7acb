//! Conflicts between an operation on tensor memory that starts and a pending one that accesses the same tensor memory.

use ptx_isa::Action;

use super::events::Operation;
use super::mechanism::Mechanism;
use super::pending_set::Pending;
use super::place::{Overlap, Place};
use super::{Certainty, Rule};

/// The waits that the function contains.
pub(super) struct TensorMemory {
    pub(super) waits_for_stores: bool,
    pub(super) waits_for_mbarriers: bool,
}

/// The state of a pending product.
pub(super) struct Product {
    /// The thread waited for any product on some path.
    pub(super) arrived: bool,
    /// A later instruction may commit the product to an mbarrier object.
    pub(super) is_committed: bool,
}

/// The overlap of two sets of places: certain if one address is in both, possible if addresses cannot be compared.
fn overlap(a: &[Place], b: &[Place]) -> Overlap {
    let mut overlap = Overlap::Never;
    for place in a {
        for other in b {
            if place.is_same_address(*other) {
                return Overlap::Certain;
            }
            if place.distance(*other).is_none() {
                overlap = Overlap::Possible;
            }
        }
    }
    overlap
}

/// The overlap of each of two sets of places with a third one.
fn overlap_of_either(a: [&[Place]; 2], b: &[Place]) -> Overlap {
    overlap(a[0], b).max(overlap(a[1], b))
}

impl TensorMemory {
    /// The violation of an operation that starts while another one is pending.
    pub(super) fn conflict(
        &self,
        started: &Operation,
        operation: &Operation,
        pending: Pending,
        product: Product,
    ) -> Option<(Rule, Certainty)> {
        let (writes, reads) = (&operation.tensor_writes, &operation.tensor_reads);
        let (started_writes, started_reads) = (&started.tensor_writes, &started.tensor_reads);
        // An access to an address that cannot be compared is correct if the function follows the protocol of the pending operation otherwise.
        let (overlap, follows_protocol) = match operation.mechanism {
            Mechanism::TensorStores if !is_store(started) => (
                overlap_of_either([started_reads, started_writes], writes),
                self.waits_for_stores,
            ),
            Mechanism::Tensor if started.loads_tensor_memory() => {
                let may_be_complete = product.arrived || !pending.on_all_paths();
                (
                    overlap(started_reads, writes),
                    product.is_committed && may_be_complete && self.waits_for_mbarriers,
                )
            }
            Mechanism::Tensor if is_store(started) => {
                (overlap_of_either([writes, reads], started_writes), true)
            }
            Mechanism::TensorLoads if !started.loads_tensor_memory() => {
                (overlap(started_writes, reads), true)
            }
            _ => return None,
        };
        let certainty = match overlap {
            Overlap::Certain if pending.on_all_paths() => Certainty::Definite,
            Overlap::Certain => Certainty::Possible,
            Overlap::Possible if !follows_protocol => Certainty::Possible,
            Overlap::Possible | Overlap::Never => return None,
        };
        Some((Rule::TensorMemoryNotAwaited, certainty))
    }

    /// The violation of a deallocation of tensor memory while an operation is pending.
    pub(super) fn free(pending: Pending) -> Option<(Rule, Certainty)> {
        let is_tensor = matches!(
            pending.mechanism,
            Mechanism::Tensor | Mechanism::TensorLoads | Mechanism::TensorStores
        );
        (is_tensor && pending.on_all_paths())
            .then_some((Rule::TensorMemoryNotAwaited, Certainty::Definite))
    }
}

fn is_store(operation: &Operation) -> bool {
    operation.action == Some(Action::TensorStore)
}
