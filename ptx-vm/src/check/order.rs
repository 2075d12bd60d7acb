//! The ordering between threads that barriers, fences and exchanges establish.

use std::collections::HashMap;

use ptx_isa::Action;

use super::accesses::ASYNCHRONOUS;
use super::checkers::Checkers;
use super::clock::Clock;
use super::scope::Scope;
use crate::execute::{Block, Execution, Grid, State, Warp};
use crate::lanes::lanes;
use crate::program::Act;

impl Checkers {
    /// Handles lanes that performed an action, or wait to do so.
    pub(super) fn order(&mut self, execution: &Execution<'_>, act: &Act, waits: bool) {
        let block = execution.grid.linear(execution.block.index);
        let number = self.sites.number(execution.id, execution.at);
        let sites = std::sync::Arc::clone(&self.sites);
        let Some(site) = sites.get(number) else {
            return;
        };
        match act.action {
            Action::Fence => {
                let scope = site.scope.unwrap_or(Scope::Device);
                self.own_warp(execution)
                    .clock
                    .fence(execution.active, scope);
            }
            Action::BarrierArrive => {
                let Some((id, _)) = execution.barrier_operands(act) else {
                    return;
                };
                let released = self.own_warp(execution).clock.release(execution.active);
                let arrived = self
                    .block(execution.grid, block)
                    .sync
                    .arrived
                    .get_mut(id as usize);
                if let (Some(arrived), Some(released)) = (arrived, released) {
                    join(arrived, released);
                }
            }
            Action::ClusterArrive if site.releases => {
                let released = self.own_warp(execution).clock.release(execution.active);
                let cluster = self.cluster(execution.grid, block);
                if let Some(released) = released {
                    join(&mut cluster.0, released);
                }
            }
            Action::ClusterWait if !waits && site.acquires => self.leave_cluster(execution),
            _ if !waits => {
                if let Some(masks) = execution.member_masks(act) {
                    self.exchange(execution, &masks);
                }
            }
            _ => {}
        }
    }

    /// Joins the clocks of the lanes of each mask.
    fn exchange(&mut self, execution: &Execution<'_>, masks: &[u32; 32]) {
        let live = execution.warp.groups.live();
        let clock = &mut self.own_warp(execution).clock;
        let mut remaining = execution.active;
        while remaining != 0 {
            let mask = masks[remaining.trailing_zeros() as usize % 32];
            let with_mask = lanes(remaining).filter(|&l| masks[l] == mask);
            remaining &= !with_mask.fold(0, |all, lane| all | 1 << lane);
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

    fn leave_cluster(&mut self, execution: &Execution<'_>) {
        let block = execution.grid.linear(execution.block.index);
        if let Some(known) = self.cluster(execution.grid, block).1.clone() {
            self.own_warp(execution)
                .clock
                .acquire(execution.active, &known);
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

/// A CTA and its cluster, by their linear indices.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Home {
    pub(super) block: u64,
    pub(super) cluster: u64,
}

/// The clocks that the stores to a location publish.
#[derive(Clone, Debug, Default)]
pub(super) struct Published {
    device: Option<Clock>,
    clusters: HashMap<u64, Clock>,
    blocks: HashMap<u64, Clock>,
}

impl Published {
    /// Publishes a clock to the threads of a scope.
    pub(super) fn add(&mut self, home: Home, scope: Scope, clock: &Clock) {
        join_entry(self.blocks.entry(home.block), clock);
        if scope >= Scope::Cluster {
            join_entry(self.clusters.entry(home.cluster), clock);
        }
        if scope == Scope::Device {
            match &mut self.device {
                Some(known) => known.join(clock),
                none => *none = Some(clock.clone()),
            }
        }
    }

    /// The clock that a thread acquires by a read in a scope.
    pub(super) fn get(&self, home: Home, scope: Scope) -> impl Iterator<Item = &Clock> {
        let device = self.device.as_ref().filter(|_| scope == Scope::Device);
        let cluster = self.clusters.get(&home.cluster);
        let cluster = cluster.filter(|_| scope >= Scope::Cluster);
        let block = self.blocks.get(&home.block);
        device.into_iter().chain(cluster).chain(block)
    }
}

fn join_entry(entry: std::collections::hash_map::Entry<'_, u64, Clock>, clock: &Clock) {
    match entry {
        std::collections::hash_map::Entry::Occupied(mut known) => known.get_mut().join(clock),
        std::collections::hash_map::Entry::Vacant(free) => {
            free.insert(clock.clone());
        }
    }
}
