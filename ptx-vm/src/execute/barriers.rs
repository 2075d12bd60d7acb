//! Barriers of a CTA, and the reductions of predicates at them.

use super::block::{BARRIERS, Barrier, Block};
use super::grid::Grid;
use super::groups::State;
use super::warp::Warp;
use crate::lanes::{Place, lanes};
use crate::program::{Act, ActOperand, Step};

impl Block {
    /// Completes the barriers at which enough threads are; whether there were any.
    pub(super) fn complete_barriers(&mut self, warps: &mut [Warp], grid: &Grid<'_>) -> bool {
        let mut waiting = [0; BARRIERS];
        let mut live = 0;
        for group in warps.iter().flat_map(|w| &w.groups.all) {
            live += group.mask.count_ones();
            if let State::Barrier(id) = group.state {
                waiting[id as usize % BARRIERS] += group.mask.count_ones();
            }
        }
        let mut any = false;
        for (id, &waiting) in (0u32..).zip(&waiting) {
            let barrier = self.barriers[id as usize];
            let expected = match barrier.expected {
                0 => live,
                n => n,
            };
            if waiting == 0 || waiting + barrier.arrived < expected {
                continue;
            }
            self.observe(|observer, of| observer.barrier(grid, of, warps, id));
            self.barriers[id as usize] = Barrier::default();
            any = true;
            release(warps, id, grid);
        }
        any
    }
}

/// The threads that wait at a barrier go on, with the result of a reduction.
fn release(warps: &mut [Warp], id: u32, grid: &Grid<'_>) {
    let (mut count, mut all) = (0u32, 0u32);
    let mut waiting = Vec::new();
    for (w, warp) in warps.iter().enumerate() {
        for (g, group) in warp.groups.all.iter().enumerate() {
            if group.state != State::Barrier(id) {
                continue;
            }
            let reduction = reduction(warp, group.call, group.at, grid);
            if let Some((_, source)) = reduction {
                for lane in lanes(group.mask) {
                    count += u32::from(warp.get(group.call, source, lane) != 0);
                }
            }
            all += group.mask.count_ones();
            waiting.push((w, g, reduction));
        }
    }
    for (w, g, reduction) in waiting {
        let Some(warp) = warps.get_mut(w) else {
            continue;
        };
        let group = &mut warp.groups.all[g];
        group.state = State::Ready;
        let (call, mask, at) = (group.call, group.mask, group.at);
        group.at += 1;
        if let Some((to, _)) = reduction {
            let value = reduced(warp, call, at, grid, count, all);
            for lane in lanes(mask) {
                warp.set(call, to, lane, value.into());
            }
        }
    }
}

/// The result and the predicate of a reduction at a barrier.
pub(super) fn reduction(
    warp: &Warp,
    call: usize,
    at: u32,
    grid: &Grid<'_>,
) -> Option<(Place, Place)> {
    let act = act(warp, call, at, grid)?;
    if act.action != ptx_isa::Action::BarrierReduce {
        return None;
    }
    let place = |operand: &Option<ActOperand>| match operand {
        Some(ActOperand::Places(places)) => places.first().copied(),
        _ => None,
    };
    Some((place(act.operands.first()?)?, place(act.operands.last()?)?))
}

fn reduced(warp: &Warp, call: usize, at: u32, grid: &Grid<'_>, count: u32, all: u32) -> u32 {
    let modifiers = act(warp, call, at, grid).map(|a| &a.modifiers[..]);
    let has = |m| modifiers.unwrap_or_default().contains(&m);
    match () {
        () if has(ptx_isa::Modifier::And) => u32::from(count == all),
        () if has(ptx_isa::Modifier::Or) => u32::from(count > 0),
        () => count,
    }
}

fn act<'a>(warp: &Warp, call: usize, at: u32, grid: &Grid<'a>) -> Option<&'a Act> {
    let call = warp.groups.calls.get(call)?.as_ref()?;
    match &grid
        .program
        .function(call.function)?
        .steps
        .get(at as usize)?
        .step
    {
        Step::Act(act) => Some(act),
        _ => None,
    }
}
