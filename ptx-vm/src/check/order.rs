//! The ordering between threads that barriers, fences and exchanges establish.

use ptx_isa::Action;

use super::access::ASYNCHRONOUS;
use super::checkers::Checkers;
use super::clock::Clock;
use super::scope::Scope;
use crate::execute::{Block, Execution, Grid, State, Warp};
use crate::lanes::lanes;
use crate::program::Act;

impl Checkers {
    /// Handles lanes that performed an action, or wait to do so.
    pub(super) fn order(&mut self, of: &Execution<'_>, act: &Act, waits: bool) {
        let block = of.grid.linear(of.block.index);
        let number = self.sites.number(of.id, of.at);
        let sites = std::sync::Arc::clone(&self.sites);
        let Some(site) = sites.get(number) else {
            return;
        };
        match act.action {
            Action::Fence => {
                let scope = site.scope.unwrap_or(Scope::Device);
                self.own_warp(of).clock.fence(of.active, scope);
            }
            Action::BarrierArrive => {
                let Some((id, _)) = of.barrier_operands(act) else {
                    return;
                };
                let known = self.own_warp(of).clock.release(of.active);
                let arrived = self.block(of.grid, block).sync.arrived.get_mut(id as usize);
                if let (Some(arrived), Some(known)) = (arrived, known) {
                    join(arrived, known);
                }
            }
            Action::ClusterArrive if site.releases => {
                let known = self.own_warp(of).clock.release(of.active);
                let cluster = self.cluster(of.grid, block);
                if let Some(known) = known {
                    join(&mut cluster.0, known);
                }
            }
            Action::ClusterWait if !waits && site.acquires => self.leave_cluster(of),
            _ if !waits => {
                if let Some(masks) = of.member_masks(act) {
                    self.exchange(of, &masks);
                }
            }
            _ => {}
        }
    }

    /// Joins the clocks of the lanes of each mask.
    fn exchange(&mut self, of: &Execution<'_>, masks: &[u32; 32]) {
        let live = of.warp.groups.live();
        let clock = &mut self.own_warp(of).clock;
        let mut left = of.active;
        while left != 0 {
            let mask = masks[left.trailing_zeros() as usize % 32];
            let same = lanes(left).filter(|&l| masks[l] == mask);
            left &= !same.fold(0, |all, lane| all | 1 << lane);
            if mask & live != 0 {
                clock.synchronize(mask & live);
            }
        }
    }

    /// Joins the clocks of the threads of a cluster that arrive at its barrier, and of those that arrived in the last phase.
    fn cluster(&mut self, grid: &Grid<'_>, block: u64) -> &mut (Option<Clock>, Option<Clock>) {
        let cluster = grid.clusters().of_linear(block);
        self.clusters.entry(cluster).or_default()
    }

    /// All threads arrived at the barrier of a cluster; those that wait go on.
    pub(super) fn complete_cluster(&mut self, grid: &Grid<'_>, block: &Block, warps: &[Warp]) {
        let linear = grid.linear(block.index);
        let phase = self.cluster(grid, linear);
        if let Some(known) = phase.0.take() {
            phase.1 = Some(known);
        }
        let Some(known) = phase.1.clone() else { return };
        for warp in warps {
            let waiting = warp.groups.all.iter();
            let waiting = waiting.filter(|g| g.state == State::Cluster);
            let mask = waiting.fold(0, |all, g| all | g.mask);
            if mask != 0 {
                let clock = &mut self.warp(grid, linear, warp.first).clock;
                clock.acquire(mask, &known);
            }
        }
    }

    fn leave_cluster(&mut self, of: &Execution<'_>) {
        let block = of.grid.linear(of.block.index);
        if let Some(known) = self.cluster(of.grid, block).1.clone() {
            self.own_warp(of).clock.acquire(of.active, &known);
        }
    }

    /// All threads of a CTA leave a barrier together: what they did before is ordered with what they do next. Gives whether there can be one
    /// interval more.
    fn next_interval(&mut self, grid: &Grid<'_>, block: u64) -> bool {
        let only_threads_of_cta = grid.clusters().size() == 1 && self.copies == 0;
        let state = self.block(grid, block);
        if state.interval + 1 == ASYNCHRONOUS {
            return false;
        }
        state.interval += 1;
        if only_threads_of_cta {
            state.places.forget();
        }
        true
    }

    /// Threads are about to leave a barrier of a CTA.
    pub(super) fn complete_barrier(
        &mut self,
        grid: &Grid<'_>,
        block: &Block,
        warps: &[Warp],
        id: u32,
    ) {
        let linear = grid.linear(block.index);
        let state = self.block(grid, linear);
        let arrived = state.sync.arrived.get_mut(id as usize);
        let arrived = arrived.and_then(Option::take);
        let mut all = arrived.unwrap_or_else(|| Clock::new(linear));
        let waiting: Vec<(u32, u32)> = warps
            .iter()
            .map(|warp| {
                let groups = warp.groups.all.iter();
                let waiting = groups.filter(|g| g.state == State::Barrier(id));
                (warp.first, waiting.fold(0, |mask, g| mask | g.mask))
            })
            .filter(|(_, mask)| *mask != 0)
            .collect();
        for &(first, mask) in &waiting {
            let clock = &mut self.warp(grid, linear, first).clock;
            clock.acquire_read(mask);
            clock.release_into(mask, &mut all);
        }
        let threads: u32 = waiting.iter().map(|(_, mask)| mask.count_ones()).sum();
        let together = grid.threads_per_block() == threads && self.next_interval(grid, linear);
        for (first, mask) in waiting {
            let clock = &mut self.warp(grid, linear, first).clock;
            clock.replace(mask, &all);
            clock.informed = !together;
        }
    }
}

fn join(into: &mut Option<Clock>, known: Clock) {
    match into {
        Some(all) => all.join(&known),
        none => *none = Some(known),
    }
}
