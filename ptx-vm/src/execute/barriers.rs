//! Barriers of a CTA, and the reductions of predicates at them.

use ptx_isa::{Action, Modifier};

use super::block::{BARRIERS, Barrier, Block};
use super::grid::Grid;
use super::groups::{Group, State};
use super::warp::Warp;
use crate::lanes::{Place, lanes};
use crate::program::Step;

impl Block {
    /// Completes the barriers at which enough threads have arrived; returns whether there were any.
    pub(super) fn complete_barriers(&mut self, warps: &mut [Warp], grid: &Grid<'_>) -> bool {
        let mut waiting = [0; BARRIERS];
        let mut live = 0;
        for group in warps.iter().flat_map(|w| &w.groups.all) {
            live += group.mask.count_ones();
            if let State::Barrier(id) = group.state {
                waiting[id as usize % BARRIERS] += group.mask.count_ones();
            }
        }
        let mut any_completed = false;
        for (id, &waiting) in (0u32..).zip(&waiting) {
            let barrier = self.barriers[id as usize];
            let expected = match barrier.expected {
                0 => live,
                count => count,
            };
            if waiting == 0 || waiting + barrier.arrived < expected {
                continue;
            }
            self.observe(|observer, block| observer.barrier(grid, block, warps, id));
            self.barriers[id as usize] = Barrier::default();
            any_completed = true;
            release(warps, id, grid);
        }
        any_completed
    }
}

/// Lets the threads that wait at a barrier go on, with the result of a reduction.
fn release(warps: &mut [Warp], id: u32, grid: &Grid<'_>) {
    let (mut true_count, mut thread_count) = (0u32, 0u32);
    let mut waiting = Vec::new();
    for (warp_index, warp) in warps.iter().enumerate() {
        for (group_index, group) in warp.groups.all.iter().enumerate() {
            if group.state != State::Barrier(id) {
                continue;
            }
            let reduction = reduction(warp, group, grid);
            if let Some(reduction) = &reduction {
                for lane in lanes(group.mask) {
                    let holds = warp.get(group.call, reduction.predicate, lane) != 0;
                    true_count += u32::from(holds);
                }
            }
            thread_count += group.mask.count_ones();
            waiting.push((warp_index, group_index, reduction));
        }
    }
    for (warp_index, group_index, reduction) in waiting {
        let Some(warp) = warps.get_mut(warp_index) else {
            continue;
        };
        let group = &mut warp.groups.all[group_index];
        group.state = State::Ready;
        group.step_index += 1;
        let (call, mask) = (group.call, group.mask);
        if let Some(reduction) = reduction {
            let value = reduction.value(true_count, thread_count);
            for lane in lanes(mask) {
                warp.set(call, reduction.result, lane, value.into());
            }
        }
    }
}

/// A reduction of predicates at a barrier.
pub(super) struct Reduction<'a> {
    /// The place of the result.
    result: Place,
    /// The place of the predicate of each lane.
    pub(super) predicate: Place,
    modifiers: &'a [Modifier],
}

impl Reduction<'_> {
    /// The result if the predicate is true in `true_count` of `thread_count` threads.
    fn value(&self, true_count: u32, thread_count: u32) -> u32 {
        if self.modifiers.contains(&Modifier::And) {
            u32::from(true_count == thread_count)
        } else if self.modifiers.contains(&Modifier::Or) {
            u32::from(true_count > 0)
        } else {
            true_count
        }
    }
}

/// The reduction at the barrier instruction at which a group is.
pub(super) fn reduction<'a>(warp: &Warp, group: &Group, grid: &Grid<'a>) -> Option<Reduction<'a>> {
    let call = warp.groups.calls.get(group.call)?.as_ref()?;
    let function = grid.program.function(call.function)?;
    let Step::Act(act) = &function.steps.get(group.step_index as usize)?.step else {
        return None;
    };
    if act.action != Action::BarrierReduce {
        return None;
    }
    Some(Reduction {
        result: act.place(0)?,
        predicate: act.place(act.operands.len().checked_sub(1)?)?,
        modifiers: &act.modifiers,
    })
}
