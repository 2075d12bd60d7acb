//! The ordering between threads that barriers, fences and exchanges establish.

use ptx_isa::{Action, StateSpace};

use super::accesses::ASYNCHRONOUS;
use super::checkers::{Checkers, ClusterPhase};
use super::clock::{Clock, FencedAccesses};
use super::published::Scope;
use super::sites::Site;
use super::warp_clock::join_read;
use crate::execute::{BarrierOperands, Block, Execution, Grid, State, Warp};
use crate::lanes::lanes;
use crate::program::Act;

impl Checkers {
    /// Records the ordering by lanes that performed an action, or wait to perform it.
    pub(super) fn order(&mut self, execution: &Execution<'_>, act: &Act, waits: bool) {
        let block = execution.grid.linear(execution.block.index);
        let number = self
            .sites
            .number(execution.function_id, execution.step_index);
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
                let fenced = fenced_accesses(site, act);
                if !fenced.is_empty() && self.sites.has_async_proxy {
                    let clock = &mut self.own_warp(execution).clock;
                    clock.fence_proxy(execution.active, &fenced);
                }
            }
            Action::TensorMapCopy => {
                let clock = &mut self.own_warp(execution).clock;
                clock.fence(execution.active, site.scope.unwrap_or(Scope::Device));
                // All lanes of the warp copy together.
                if !waits {
                    clock.synchronize(execution.warp.groups.live());
                }
            }
            Action::BarrierArrive => {
                let Some(BarrierOperands { id, .. }) = execution.barrier_operands(act) else {
                    return;
                };
                let released = self.own_warp(execution).clock.release(execution.active);
                let sync = &mut self.block(execution.grid, block).sync;
                if let (Some(arrived), Some(released)) =
                    (sync.arrived.get_mut(id as usize), released)
                {
                    join(arrived, released);
                }
            }
            Action::ClusterArrive if site.releases => {
                let released = self.own_warp(execution).clock.release(execution.active);
                let phase = self.cluster_phase(execution.grid, block);
                if let Some(released) = released {
                    join(&mut phase.arrived, released);
                }
            }
            // A fence before an arrival without ordering is what releases.
            Action::ClusterArrive => {
                for lane in lanes(execution.active) {
                    let clock = &self.own_warp(execution).clock;
                    let fenced = clock.fenced(lane)[Scope::Cluster as usize].clone();
                    if let Some(fenced) = fenced {
                        join(
                            &mut self.cluster_phase(execution.grid, block).arrived,
                            fenced,
                        );
                    }
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
            let lanes_with_mask = lanes(remaining)
                .filter(|&lane| masks[lane] == mask)
                .fold(0, |mask, lane| mask | 1 << lane);
            remaining &= !lanes_with_mask;
            if mask & live != 0 {
                clock.synchronize(mask & live);
            }
        }
    }

    /// The joined clocks of the threads at the barrier of the cluster of a CTA.
    fn cluster_phase(&mut self, grid: &Grid<'_>, block: u64) -> &mut ClusterPhase {
        let cluster = grid.clusters().of_linear(block);
        self.clusters.entry(cluster).or_default()
    }

    /// Completes the phase of the barrier of a cluster, at which all threads arrived: those that wait in a CTA acquire the clocks of all.
    pub(super) fn complete_cluster(&mut self, grid: &Grid<'_>, block: &Block, warps: &[Warp]) {
        let linear = grid.linear(block.index);
        let phase = self.cluster_phase(grid, linear);
        if let Some(arrived) = phase.arrived.take() {
            phase.complete = Some(arrived);
        }
        let Some(complete) = phase.complete.clone() else {
            return;
        };
        for warp in warps {
            let mask = warp.groups.mask_in_state(State::Cluster);
            if mask != 0 {
                let clock = &mut self.warp(grid, linear, warp.first).clock;
                clock.acquire(mask, &complete);
            }
        }
    }

    fn leave_cluster(&mut self, execution: &Execution<'_>) {
        let block = execution.grid.linear(execution.block.index);
        if let Some(complete) = self.cluster_phase(execution.grid, block).complete.clone() {
            self.own_warp(execution)
                .clock
                .acquire(execution.active, &complete);
        }
    }

    /// Begins the next interval of a CTA, whose threads all leave a barrier together: their accesses before it are ordered with those after it.
    /// Returns false if there are too many intervals.
    fn next_interval(&mut self, grid: &Grid<'_>, block: u64) -> bool {
        let only_threads_of_cta =
            grid.clusters().size() == 1 && self.copies == 0 && !self.sites.has_async_proxy;
        let state = self.block(grid, block);
        if state.interval + 1 == ASYNCHRONOUS {
            return false;
        }
        state.interval += 1;
        if only_threads_of_cta {
            state.locations.forget();
        }
        true
    }

    /// Joins the clocks of the threads that are about to leave a barrier of a CTA.
    pub(super) fn complete_barrier(
        &mut self,
        grid: &Grid<'_>,
        block: &Block,
        warps: &[Warp],
        id: u32,
    ) {
        let linear = grid.linear(block.index);
        let mut joined = self
            .block(grid, linear)
            .sync
            .arrived
            .get_mut(id as usize)
            .and_then(Option::take)
            .unwrap_or_else(|| Clock::new(linear));
        let waiting: Vec<(u32, u32)> = warps
            .iter()
            .map(|warp| (warp.first, warp.groups.mask_in_state(State::Barrier(id))))
            .filter(|(_, mask)| *mask != 0)
            .collect();
        let mut read = Default::default();
        for &(first, mask) in &waiting {
            let clock = &mut self.warp(grid, linear, first).clock;
            join_read(&mut read, &clock.read_before_barrier(mask));
            clock.release_into(mask, &mut joined);
        }
        let threads: u32 = waiting.iter().map(|(_, mask)| mask.count_ones()).sum();
        let is_next_interval =
            grid.threads_per_block() == threads && self.next_interval(grid, linear);
        for (first, mask) in waiting {
            let clock = &mut self.warp(grid, linear, first).clock;
            clock.replace(mask, &joined);
            clock.set_read(mask, &read);
            clock.informed = !is_next_interval;
        }
    }
}

/// The accesses that a fence orders with earlier ones through the generic proxy: those to the state space that it names, or to all without a name.
fn fenced_accesses(site: &Site, act: &Act) -> Vec<FencedAccesses> {
    if site.acquires_tensor_maps {
        return vec![FencedAccesses::TensorMaps];
    }
    if !site.async_proxy {
        return Vec::new();
    }
    let named = act
        .modifiers
        .iter()
        .find_map(|modifier| modifier.state_space());
    let named = named.map(StateSpace::base);
    [
        (FencedAccesses::Shared, StateSpace::Shared),
        (FencedAccesses::Global, StateSpace::Global),
    ]
    .into_iter()
    .filter(|(_, space)| named.is_none_or(|named| named == *space))
    .map(|(accesses, _)| accesses)
    .collect()
}

fn join(joined: &mut Option<Clock>, clock: Clock) {
    match joined {
        Some(joined) => joined.join(&clock),
        None => *joined = Some(clock),
    }
}
