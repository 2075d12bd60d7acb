//! The order of the products of a warpgroup among its warps.
//!
//! A warpgroup performs a product together. A warp that waits for groups of products goes on when all warps of its warpgroup have committed as many groups:
//! before that, the parts of the other warps may read shared memory. Manual 9.7.15.5.2, 9.7.15.7: all warps must execute the same instructions, with the same
//! matrix descriptors.

use std::collections::VecDeque;

use ptx_ir::FuncId;

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

/// The most instructions of a warp that are compared with those of warps that execute them later.
const MOST_AHEAD: usize = 1 << 12;

/// An instruction of a warpgroup that a warp executes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct WarpgroupStep {
    pub(super) function: FuncId,
    pub(super) step_index: u32,
    /// The operands that are the same in all warps.
    pub(super) operands: [u64; 4],
}

/// The instructions of a warpgroup that some of its warps have not executed yet.
#[derive(Debug, Default)]
struct WarpgroupSteps {
    /// The number of instructions of each warp.
    executed: [u64; WARPS],
    /// The number of instructions before those in `pending`.
    dropped: u64,
    /// The instructions, with the first warp that executed them.
    pending: VecDeque<(WarpgroupStep, usize)>,
}

impl WarpgroupSteps {
    /// Adds an instruction of a warp. The error is the instruction that another warp executed in its place, and this warp.
    fn add(&mut self, warp: usize, step: WarpgroupStep) -> Result<(), (WarpgroupStep, usize)> {
        let Some(count) = self.executed.get_mut(warp % WARPS) else {
            return Ok(());
        };
        let position = *count;
        *count += 1;
        // Instructions that were dropped are not compared.
        let Some(index) = position.checked_sub(self.dropped) else {
            return Ok(());
        };
        if let Some(other) = self.pending.get(index as usize) {
            if other.0 != step {
                return Err(*other);
            }
        } else {
            self.pending.push_back((step, warp));
        }
        let complete = self.executed.iter().min().copied().unwrap_or(0);
        while self.dropped < complete || self.pending.len() > MOST_AHEAD {
            self.pending.pop_front();
            self.dropped += 1;
        }
        Ok(())
    }
}

/// The groups of products of the warps of a CTA, up to the last warp that committed one or waits.
#[derive(Debug, Default)]
pub(crate) struct ProductOrder {
    warps: Vec<WarpProducts>,
    /// The instructions of each warpgroup, up to the last one that executed any.
    steps: Vec<WarpgroupSteps>,
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

    /// Records that the warp executes an instruction of its warpgroup, and compares it with those that other warps executed in its place. `operands` are those
    /// that must be the same.
    pub(super) fn record_warpgroup_step(&mut self, operands: [u64; 4]) -> Result<(), Failed> {
        let warp = self.warp_index();
        let step = WarpgroupStep {
            function: self.function_id,
            step_index: self.step_index,
            operands,
        };
        let steps = &mut self.block.products.steps;
        let warpgroup = warp / WARPS;
        if warpgroup >= steps.len() {
            steps.resize_with(warpgroup + 1, WarpgroupSteps::default);
        }
        let added = steps
            .get_mut(warpgroup)
            .map_or(Ok(()), |steps| steps.add(warp, step));
        added.map_err(|(expected, other)| {
            let reason = self.describe_difference(&expected, &step, [other, warp]);
            (StopReason::Invalid(reason), self.first())
        })
    }

    fn describe_difference(
        &self,
        expected: &WarpgroupStep,
        step: &WarpgroupStep,
        [other, warp]: [usize; 2],
    ) -> String {
        let is_same_instruction =
            (expected.function, expected.step_index) == (step.function, step.step_index);
        let operands = expected.operands.iter().zip(&step.operands);
        let different = operands.clone().find(|(expected, found)| expected != found);
        if let (true, Some((expected, found))) = (is_same_instruction, different) {
            return format!(
                "all four warps of a warpgroup must execute the instruction with the same matrix descriptors, sparsity selector and predicate: expected {expected:#x} as in warp {other}, found {found:#x} in warp {warp}"
            );
        }
        format!(
            "all four warps of a warpgroup must execute the same instructions: warp {warp} executes this instruction instead of `{}`, which warp {other} executed",
            self.instruction_text(expected)
        )
    }

    fn instruction_text(&self, step: &WarpgroupStep) -> String {
        let function = self.grid.program.function(step.function);
        let target = function.and_then(|f| f.steps.get(step.step_index as usize));
        let place = target.and_then(|target| self.grid.place(step.function, target.inst));
        place.map_or_else(String::new, |place| place.text)
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
