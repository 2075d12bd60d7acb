//! The order of the products of a warpgroup among its warps.
//!
//! A warpgroup performs a product together. A warp that waits for groups of products goes on when all warps of its warpgroup have committed as many groups:
//! before that, the parts of the other warps may read shared memory.

use super::block::Block;
use super::execution::{Control, Execution, Failed};
use super::groups::State;
use super::warp::Warp;
use crate::error::StopReason;
use crate::lanes::LANES;

/// The warps of a warpgroup.
pub(super) const WARPS: usize = 4;

/// The groups of products of a warp.
#[derive(Copy, Clone, Debug, Default)]
struct WarpProducts {
    /// The number of groups that it committed.
    committed: u64,
    /// The number of groups for which it waits until the other warps have committed them.
    awaited: Option<u64>,
    /// All its threads have ended.
    has_ended: bool,
}

/// The groups of products of the warps of a CTA, up to the last warp that committed one or waits.
#[derive(Debug, Default)]
pub(crate) struct ProductOrder {
    warps: Vec<WarpProducts>,
    /// Some warp waits.
    is_awaited: bool,
}

impl ProductOrder {
    fn of(&self, warp: usize) -> WarpProducts {
        self.warps.get(warp).copied().unwrap_or_default()
    }

    fn of_mut(&mut self, warp: usize) -> Option<&mut WarpProducts> {
        if warp >= self.warps.len() {
            self.warps.resize(warp + 1, WarpProducts::default());
        }
        self.warps.get_mut(warp)
    }

    /// The number of groups that a warp committed.
    pub(super) fn committed(&self, warp: usize) -> u64 {
        self.of(warp).committed
    }

    /// Commits the products of a warp that are in no group to a new one.
    pub(super) fn commit(&mut self, warp: usize) {
        if let Some(products) = self.of_mut(warp) {
            products.committed += 1;
        }
    }

    /// The warps of the warpgroup of a warp that have not committed a number of groups.
    fn missing(&self, warp: usize, groups: u64) -> impl Iterator<Item = usize> + '_ {
        warps_of_warpgroup(warp).filter(move |&other| self.of(other).committed < groups)
    }

    /// What a warp waits for.
    pub(super) fn describe(&self, warp: usize) -> String {
        let Some(groups) = self.of(warp).awaited else {
            return "for the other warps of the warpgroup".into();
        };
        let missing: Vec<String> = self
            .missing(warp, groups)
            .map(|other| format!("warp {other} has committed {}", self.committed(other)))
            .collect();
        format!(
            "for {groups} groups of products of the warpgroup: {}",
            missing.join(", ")
        )
    }
}

/// The indices of the warps of the warpgroup of a warp.
pub(super) fn warps_of_warpgroup(warp: usize) -> core::ops::Range<usize> {
    let first = warp / WARPS * WARPS;
    first..first + WARPS
}

impl Execution<'_> {
    /// The index of the warp in its CTA.
    pub(super) const fn warp_index(&self) -> usize {
        self.warp.first as usize / LANES
    }

    /// Waits until all warps of the warpgroup have committed a number of groups.
    pub(super) fn wait_for_warpgroup(&mut self, groups: u64) -> Result<Control, Failed> {
        let warp = self.warp_index();
        let order = &mut self.block.products;
        let missing: Vec<usize> = order.missing(warp, groups).collect();
        let ended = missing.iter().find(|&&other| order.of(other).has_ended);
        if let Some(&other) = ended {
            let reason = format!(
                "warp {other} ended after {} groups of products of the warpgroup, and warp {warp} waits for {groups}: all four warps must execute the same products",
                order.committed(other)
            );
            return Err((StopReason::Invalid(reason), self.first()));
        }
        let is_waiting = !missing.is_empty();
        if let Some(products) = order.of_mut(warp) {
            products.awaited = is_waiting.then_some(groups);
        }
        order.is_awaited |= is_waiting;
        if is_waiting {
            Ok(Control::Wait(State::Warpgroup))
        } else {
            Ok(Control::Next)
        }
    }
}

impl Block {
    /// Lets the warps execute their waits for products again if that may succeed or fail now; returns whether there were any.
    pub(super) fn resume_warpgroups(&mut self, warps: &mut [Warp]) -> bool {
        if !core::mem::take(&mut self.products.is_awaited) {
            return false;
        }
        for (index, warp) in warps.iter().enumerate() {
            if let Some(products) = self.products.of_mut(index) {
                products.has_ended = warp.is_done();
            }
        }
        let mut any_resumed = false;
        for (index, warp) in warps.iter_mut().enumerate() {
            let order = &mut self.products;
            let Some(groups) = order.of(index).awaited else {
                continue;
            };
            let waits_on = order
                .missing(index, groups)
                .any(|other| !order.of(other).has_ended);
            if waits_on {
                order.is_awaited = true;
                continue;
            }
            for group in &mut warp.groups.all {
                if group.state == State::Warpgroup {
                    group.state = State::Ready;
                    any_resumed = true;
                }
            }
        }
        any_resumed
    }
}
