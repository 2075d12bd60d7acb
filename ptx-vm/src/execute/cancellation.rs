//! Requests that a cluster that has not begun is canceled, so that the running one can take its work (9.7.13.17 and 9.7.13.18).
//!
//! The machine grants each request while a cluster has not begun, in the order in which clusters begin. Its response is the index of the first CTA:
//!
//! ```text
//! bits   0  1 if a cluster was canceled     32..63  x     64..95  y     96..127  z
//! ```

use std::sync::atomic::Ordering;

use ptx_isa::Modifier;

use super::bulk::{AsyncStore, in_block};
use super::execution::{Control, Execution, Outcome};
use super::grid::Grid;
use super::order::Order;
use crate::lanes::lanes;
use crate::program::Act;

/// The bytes of a response.
const BYTES: u8 = 16;

/// The response to a request that was refused.
const REFUSED: u128 = 0;

impl Grid<'_> {
    /// Begins the next cluster or cancels it: its number; `None` if all clusters have begun.
    pub(super) fn take_cluster(&self) -> Option<u64> {
        let all = self.clusters().count();
        let position = self
            .begun_clusters
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |begun| {
                (begun < all).then_some(begun + 1)
            })
            .ok()?;
        Some(Order::of_clusters(self, all).number_at(position))
    }

    /// Records that all clusters have begun.
    pub(super) fn set_all_begun(&self) {
        let all = self.clusters().count();
        self.begun_clusters.store(all, Ordering::Relaxed);
    }

    /// Whether all clusters have begun or were canceled.
    pub(super) fn have_all_begun(&self) -> bool {
        let begun = self.begun_clusters.load(Ordering::Relaxed);
        begun >= self.clusters().count()
    }

    /// The response to a request.
    fn cancel_cluster(&self) -> u128 {
        let Some(number) = self.take_cluster() else {
            return REFUSED;
        };
        // Its CTAs do not run any more.
        self.cluster_ended();
        self.dependency.release(self.clusters().size());
        let index = self.clusters().index(number);
        let first: [u32; 3] = core::array::from_fn(|i| index[i] * self.cluster[i]);
        let [x, y, z] = first.map(u128::from);
        1 | x << 32 | y << 64 | z << 96
    }
}

impl Execution<'_> {
    /// Requests that a cluster is canceled, and writes the response in this CTA or in all CTAs of the cluster.
    pub(super) fn cancel_cluster(&mut self, act: &Act) -> Outcome {
        let addresses = act.addresses();
        let [target, object] = addresses[..] else {
            return Ok(Control::Next);
        };
        let block_count = self.grid.cluster.iter().product::<u32>() as usize;
        for lane in lanes(self.active) {
            let target = self.location(&target, lane);
            let object = self.location(&object, lane);
            let response = self.grid.cancel_cluster();
            let ranks: Vec<Option<usize>> = if act.is_multicast() {
                (0..block_count).map(Some).collect()
            } else {
                vec![None]
            };
            for rank in ranks {
                let store = AsyncStore {
                    target: in_block(target, rank),
                    bytes: BYTES,
                    elements: vec![response],
                    object: Some(in_block(object, rank)),
                };
                self.start_store(store, lane)?;
            }
        }
        Ok(Control::Next)
    }

    /// Reads a response: whether a cluster was canceled, or the index of its first CTA.
    pub(super) fn canceled_cluster(&mut self, act: &Act) -> Outcome {
        let has = |modifier| act.modifiers.contains(&modifier);
        for lane in lanes(self.active) {
            let response = act.all_places(1).first();
            let response = response.map_or(REFUSED, |place| self.get(*place, lane));
            let index = [32, 64, 96].map(|shift| response >> shift & 0xffff_ffff);
            let result = if has(Modifier::IsCanceled) {
                [response & 1, 0, 0]
            } else if has(Modifier::GetFirstCtaidX) {
                [index[0], 0, 0]
            } else if has(Modifier::GetFirstCtaidY) {
                [index[1], 0, 0]
            } else if has(Modifier::GetFirstCtaidZ) {
                [index[2], 0, 0]
            } else {
                index
            };
            let results = result.into_iter().chain([0]);
            for (place, result) in act.all_places(0).iter().zip(results) {
                self.set(*place, lane, result);
            }
        }
        Ok(Control::Next)
    }
}
