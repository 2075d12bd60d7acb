//! Operations on tensor memory that access what others, which are pending, access.

use ptx_isa::Action;

use super::events::Operation;
use super::mechanism::Mechanism;
use super::pending_set::Pending;
use super::place::Place;
use super::{Certainty, Rule};

/// What the function waits for at all.
pub(super) struct TensorMemory {
    pub(super) waits_for_stores: bool,
    pub(super) waits_for_mbarriers: bool,
}

/// What is known about a pending product.
pub(super) struct Product {
    /// Any product was waited for on a path.
    pub(super) arrived: bool,
    /// It is committed to an object later.
    pub(super) is_committed: bool,
}

/// Whether two sets of places have an address in common: certainly, or perhaps.
fn common(a: &[Place], b: &[Place]) -> Option<bool> {
    let pairs = || a.iter().flat_map(|a| b.iter().map(move |b| (a, b)));
    if pairs().any(|(a, b)| a.is_same_address(*b)) {
        return Some(true);
    }
    let perhaps = pairs().any(|(a, b)| a.distance(*b).is_none());
    perhaps.then_some(false)
}

impl TensorMemory {
    /// What an operation breaks if another one is pending when it begins.
    pub(super) fn conflict(
        &self,
        started: &Operation,
        operation: &Operation,
        pending: Pending,
        product: Product,
    ) -> Option<(Rule, Certainty)> {
        let (writes, reads) = (&operation.tensor_writes, &operation.tensor_reads);
        let (same, is_followed) = match operation.mechanism {
            Mechanism::TensorStores if !is_store(started) => {
                let read = common(&started.tensor_reads, writes);
                (
                    read.max(common(&started.tensor_writes, writes)),
                    self.waits_for_stores,
                )
            }
            Mechanism::Tensor if started.loads_tensor_memory() => {
                let waits = product.arrived || !pending.on_all_paths();
                let is_followed = product.is_committed && waits && self.waits_for_mbarriers;
                (common(&started.tensor_reads, writes), is_followed)
            }
            Mechanism::Tensor if is_store(started) => {
                let write = common(&started.tensor_writes, writes);
                (write.max(common(&started.tensor_writes, reads)), true)
            }
            Mechanism::TensorLoads if !started.loads_tensor_memory() => {
                (common(&started.tensor_writes, reads), true)
            }
            _ => return None,
        };
        let certainty = match (same?, pending.on_all_paths()) {
            (true, true) => Certainty::Definite,
            (true, false) => Certainty::Possible,
            (false, _) if !is_followed => Certainty::Possible,
            _ => return None,
        };
        Some((Rule::TensorMemoryNotAwaited, certainty))
    }

    /// Tensor memory is freed while an operation is pending.
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
