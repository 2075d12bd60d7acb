//! CTAs and clusters: their warps, shared memory and barriers.

use core::cell::RefCell;

use super::grid::Grid;
use super::groups::State;
use super::observer::Observer;
use super::order::{Turn, mix};
use super::warp::{Failure, Warp};
use crate::error::{RunError, StopReason};
use crate::lanes::lanes;
use crate::program::{ActOperand, Step};

/// The number of barriers of a CTA.
const BARRIERS: usize = 16;

/// What a CTA has besides its warps.
#[derive(Debug)]
pub(crate) struct Block {
    /// `%ctaid`.
    pub(crate) index: [u32; 3],
    /// `%cluster_ctarank`.
    pub(crate) rank: usize,
    pub(crate) cluster: [u32; 3],
    pub(crate) barriers: [Barrier; BARRIERS],
    /// What the CTAs of the cluster share, while one of them runs.
    pub(crate) together: Together,
}

/// What the CTAs of a cluster share.
#[derive(Debug, Default)]
pub(crate) struct Together {
    /// The shared memory of each CTA.
    shared: Vec<Vec<u8>>,
    /// The threads that arrived at the barrier of the cluster, and the number of times that it was completed.
    pub(crate) arrived: u32,
    pub(crate) phase: u64,
    /// What observes the execution.
    pub(crate) observer: Option<Observing>,
}

/// An observer that one instruction at a time uses.
pub(crate) type Observing = RefCell<Box<dyn Observer>>;

/// A barrier of a CTA.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Barrier {
    /// The number of threads that take part; 0 for all that have not ended.
    pub(crate) expected: u32,
    /// Threads that arrived without waiting.
    pub(crate) arrived: u32,
}

/// A cluster of CTAs that run together.
#[derive(Debug)]
pub(crate) struct Cluster {
    blocks: Vec<(Block, Vec<Warp>)>,
    together: Together,
    stuck: bool,
}

impl Block {
    /// The shared memory of a CTA of the cluster.
    pub(crate) fn shared(&self, rank: usize) -> Option<&[u8]> {
        self.together.shared.get(rank).map(Vec::as_slice)
    }

    pub(crate) fn shared_mut(&mut self, rank: usize) -> Option<&mut [u8]> {
        self.together.shared.get_mut(rank).map(Vec::as_mut_slice)
    }

    /// Asks the observer, if there is one.
    #[inline]
    pub(super) fn observe(&self, ask: impl FnOnce(&mut dyn Observer, &Self)) {
        if let Some(observer) = &self.together.observer
            && let Ok(mut observer) = observer.try_borrow_mut()
        {
            ask(&mut **observer, self);
        }
    }

    /// Completes the barriers at which enough threads are; whether there were any.
    fn complete_barriers(&mut self, warps: &mut [Warp], grid: &Grid<'_>) -> bool {
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
fn reduction(
    warp: &Warp,
    call: usize,
    at: u32,
    grid: &Grid<'_>,
) -> Option<(crate::lanes::Place, crate::lanes::Place)> {
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

fn act<'a>(warp: &Warp, call: usize, at: u32, grid: &Grid<'a>) -> Option<&'a crate::program::Act> {
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

/// What the shared memory of a CTA holds before its first step.
fn shared_at_first(grid: &Grid<'_>, cluster: [u32; 3], rank: u32, bytes: usize) -> Vec<u8> {
    let Some(seed) = grid.shared_seed else {
        return vec![0; bytes];
    };
    let parts = cluster.into_iter().chain([rank]);
    let start = parts.fold(seed, |seed, part| mix(seed ^ u64::from(part)));
    let words = (0..bytes.div_ceil(8) as u64).map(|at| mix(start.wrapping_add(at)));
    let mut all: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    all.truncate(bytes);
    all
}

impl Cluster {
    /// The CTAs of a cluster, before their first step.
    pub(crate) fn new(grid: &Grid<'_>, index: [u32; 3]) -> Result<Self, RunError> {
        let bytes = grid.program.variables.shared.end(grid.kernel, grid.shared);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let [x, y, z] = grid.cluster;
        let count = x * y * z;
        let mut cluster = Self {
            blocks: Vec::new(),
            together: Together {
                shared: (0..count)
                    .map(|rank| shared_at_first(grid, index, rank, bytes))
                    .collect(),
                ..Together::default()
            },
            stuck: false,
        };
        for rank in 0..count {
            let inner = [rank % x, rank / x % y, rank / (x * y)];
            let block = Block {
                index: core::array::from_fn(|i| index[i] * grid.cluster[i] + inner[i]),
                rank: rank as usize,
                cluster: index,
                barriers: [Barrier::default(); BARRIERS],
                together: Together::default(),
            };
            let threads = grid.threads_per_block();
            let mut warps = Vec::new();
            for first in (0..threads).step_by(crate::lanes::LANES) {
                let mask = match threads - first {
                    n @ ..32 => (1 << n) - 1,
                    _ => u32::MAX,
                };
                let mut warp = Warp::new(first);
                warp.start(grid.kernel, mask, &block, grid);
                let frame = grid
                    .program
                    .function(grid.kernel)
                    .map_or(0, |f| f.frame.bytes);
                for stack in &mut warp.stacks {
                    stack.resize(frame as usize, 0);
                }
                warps.push(warp);
            }
            cluster.blocks.push((block, warps));
        }
        Ok(cluster)
    }

    pub(crate) fn is_done(&self) -> bool {
        let mut warps = self.blocks.iter().flat_map(|(_, warps)| warps);
        warps.all(Warp::is_done)
    }

    /// Asks the observer, if there is one, about each CTA.
    fn observe(&self, mut ask: impl FnMut(&mut dyn Observer, &Block, &[Warp])) {
        let Some(observer) = &self.together.observer else {
            return;
        };
        for (block, warps) in &self.blocks {
            if let Ok(mut observer) = observer.try_borrow_mut() {
                ask(&mut **observer, block, warps);
            }
        }
    }

    /// Runs about that many steps, which an observer sees; whether a thread made progress.
    pub(crate) fn run_observed(
        &mut self,
        grid: &Grid<'_>,
        steps: u64,
        observer: &mut Option<Observing>,
    ) -> Result<bool, RunError> {
        self.together.observer = observer.take();
        let result = self.run(grid, steps);
        if self.is_done() {
            self.observe(|observer, block, _| observer.ended(grid, block));
        }
        *observer = self.together.observer.take();
        result
    }

    /// Shows to the observer that no thread of the launch can continue.
    pub(crate) fn show_stuck(&mut self, grid: &Grid<'_>, observer: &mut Option<Observing>) {
        self.together.observer = observer.take();
        self.observe(|observer, block, warps| observer.stuck(grid, block, warps));
        *observer = self.together.observer.take();
    }

    /// Whether no thread could continue when it ran last.
    pub(crate) const fn is_stuck(&self) -> bool {
        self.stuck
    }

    /// `%ctaid` of its first CTA.
    pub(super) fn first_block(&self) -> [u32; 3] {
        self.blocks.first().map_or([0; 3], |(block, _)| block.index)
    }

    /// Something happened that may let threads continue.
    pub(crate) const fn wake(&mut self) {
        self.stuck = false;
    }

    /// Runs about that many steps; whether a thread made progress.
    fn run(&mut self, grid: &Grid<'_>, steps: u64) -> Result<bool, RunError> {
        let mut left = steps;
        let mut any = false;
        while left > 0 && !self.is_done() {
            let mut progress = false;
            for (block, warps) in &mut self.blocks {
                block.together = core::mem::take(&mut self.together);
                let result = run_block(block, warps, grid, left.min(1 << 14));
                let completed = result.is_ok() && block.complete_barriers(warps, grid);
                self.together = core::mem::take(&mut block.together);
                let done = result?;
                progress |= done > 0 || completed;
                left = left.saturating_sub(done);
            }
            progress |= self.complete_cluster_barrier(grid);
            any |= progress;
            if !progress {
                break;
            }
        }
        self.stuck = !any;
        Ok(any)
    }

    /// Completes the barrier of the cluster if all threads arrived.
    fn complete_cluster_barrier(&mut self, grid: &Grid<'_>) -> bool {
        let warps = || self.blocks.iter().flat_map(|(_, warps)| warps);
        let live: u32 = warps().map(|w| w.groups.live().count_ones()).sum();
        if self.together.arrived == 0 || self.together.arrived < live {
            return false;
        }
        self.observe(|observer, block, warps| observer.cluster_barrier(grid, block, warps));
        self.together.arrived = 0;
        self.together.phase += 1;
        for warp in self.blocks.iter_mut().flat_map(|(_, warps)| warps) {
            for group in &mut warp.groups.all {
                if group.state == State::Cluster {
                    group.state = State::Ready;
                    group.at += 1;
                    lanes(group.mask).for_each(|lane| warp.arrived[lane] = None);
                }
            }
        }
        true
    }
}

/// Runs the warps of a CTA one after the other; gives the number of steps.
fn run_block(
    block: &mut Block,
    warps: &mut [Warp],
    grid: &Grid<'_>,
    most: u64,
) -> Result<u64, RunError> {
    let mut done = 0;
    let turn = Turn::new(grid, warps.len(), most);
    for position in 0..warps.len() {
        let Some(warp) = warps.get_mut(turn.warp(position)) else {
            continue;
        };
        let first = warp.first;
        let steps = match warp.run(block, grid, turn.steps(position).min(grid.steps_left() + 1)) {
            Ok(steps) => steps,
            Err(failure) => return Err(grid.error(failure, block.index, first)),
        };
        done += steps;
        let limit = |reason| Failure {
            reason,
            function: None,
            at: 0,
            lane: 0,
        };
        let counted: Result<(), StopReason> = grid.count(steps);
        counted.map_err(|r| grid.error(limit(r), block.index, first))?;
    }
    Ok(done)
}
