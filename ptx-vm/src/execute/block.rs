//! A CTA: its shared memory and barriers, and the observer of its execution.

use core::cell::RefCell;

use super::asynchronous::AsyncQueue;
use super::observer::Observer;
use super::warpgroup_order::ProductOrder;
use crate::memory::tensor::TensorMemory;

/// The number of barriers of a CTA.
pub(super) const BARRIERS: usize = 16;

/// A CTA without its warps.
#[derive(Debug)]
pub(crate) struct Block {
    /// `%ctaid`.
    pub(crate) index: [u32; 3],
    /// `%cluster_ctarank`.
    pub(crate) rank: usize,
    /// `%clusterid`.
    pub(crate) cluster: [u32; 3],
    pub(crate) barriers: [Barrier; BARRIERS],
    /// The products of its warpgroups.
    pub(super) products: ProductOrder,
    /// The number of turns that its warps have had.
    pub(super) turns: u64,
    /// The state of the cluster. The CTA owns it while it runs.
    pub(crate) cluster_state: ClusterState,
    /// A thread has let the grids begin that depend on this one.
    pub(super) releases_dependents: bool,
}

/// The state that the CTAs of a cluster share.
#[derive(Debug, Default)]
pub(crate) struct ClusterState {
    /// The shared memory of each CTA.
    pub(super) shared: Vec<Vec<u8>>,
    /// The tensor memory of each CTA up to the last one that used it.
    pub(super) tensor: Vec<TensorMemory>,
    /// Something happened that may let a warp go on that waits for columns of tensor memory.
    pub(super) tensor_changed: bool,
    /// The number of threads that arrived at the barrier of the cluster in this phase.
    pub(crate) arrived: u32,
    /// The number of complete phases of the barrier of the cluster.
    pub(crate) phase: u64,
    /// The asynchronous operations that are performed later; `None` if all are performed at once.
    pub(super) queue: Option<Box<AsyncQueue>>,
    /// The observer of the execution.
    pub(crate) observer: Option<ObserverCell>,
}

/// An observer that is borrowed for one event at a time.
pub(crate) type ObserverCell = RefCell<Box<dyn Observer>>;

/// A barrier of a CTA.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Barrier {
    /// The number of threads that take part; 0 for all that have not ended.
    pub(crate) expected: u32,
    /// The number of threads that arrived without waiting.
    pub(crate) arrived: u32,
}

impl Block {
    /// The shared memory of a CTA of the cluster.
    pub(crate) fn shared(&self, rank: usize) -> Option<&[u8]> {
        self.cluster_state.shared.get(rank).map(Vec::as_slice)
    }

    pub(crate) fn shared_mut(&mut self, rank: usize) -> Option<&mut [u8]> {
        self.cluster_state
            .shared
            .get_mut(rank)
            .map(Vec::as_mut_slice)
    }

    /// The tensor memory of a CTA of the cluster, if it was used.
    pub(crate) fn tensor(&self, rank: usize) -> Option<&TensorMemory> {
        self.cluster_state.tensor.get(rank)
    }

    /// The tensor memory of a CTA of the cluster; `None` if the cluster does not have the CTA.
    pub(super) fn tensor_mut(&mut self, rank: usize) -> Option<&mut TensorMemory> {
        let state = &mut self.cluster_state;
        if rank >= state.shared.len() {
            return None;
        }
        if rank >= state.tensor.len() {
            state.tensor.resize_with(rank + 1, TensorMemory::default);
        }
        state.tensor.get_mut(rank)
    }

    /// Calls a function with the observer, if there is one.
    #[inline]
    pub(super) fn observe<R>(
        &self,
        notify: impl FnOnce(&mut dyn Observer, &Self) -> R,
    ) -> Option<R> {
        let observer = self.cluster_state.observer.as_ref()?;
        let mut observer = observer.try_borrow_mut().ok()?;
        Some(notify(&mut **observer, self))
    }
}
