//! `synccheck`: barriers, and instructions that the lanes of a warp execute together.

use ptx_ir::Code;
use ptx_isa::{Action, Modifier};

use super::checkers::Checkers;
use super::report::{Actor, Text};
use super::sync_state::Expected;
use crate::execute::{Block, CallFrame, Execution, Grid, State, Stepped, Warp};
use crate::lanes::{LANES, lanes};
use crate::program::{Act, Callee, Step};

impl Checkers {
    /// Checks a barrier or an exchange before it is executed.
    pub(super) fn before_act(&mut self, execution: &Execution<'_>, act: &Act) {
        match act.action {
            Action::BarrierSync | Action::BarrierReduce => {
                self.barrier_count(execution, act);
                self.aligned_barrier(execution, act);
            }
            Action::BarrierArrive => {
                self.barrier_count(execution, act);
                self.aligned_without_waiting(execution);
            }
            Action::ClusterArrive => {
                self.repeated_arrival(execution);
                self.aligned_without_waiting(execution);
            }
            Action::ClusterWait => self.aligned_without_waiting(execution),
            _ => {}
        }
        let masks = execution.member_masks(act);
        for lane in lanes(execution.active & masks.map_or(0, |_| u32::MAX)) {
            let Some(masks) = &masks else { return };
            let mask = masks[lane];
            if mask >> lane & 1 == 0 {
                self.report(execution, Code::LaneMask, lane, || Text {
                    message: format!(
                        "lane {lane} executes the instruction but is not in the mask {mask:#010x}"
                    ),
                    other: None,
                    help: "use a mask of exactly the lanes that reach the instruction",
                });
            }
            let differs = |other: &usize| masks[*other] != mask;
            if let Some(other) = lanes(execution.active & mask).find(differs) {
                self.report(execution, Code::LaneMask, lane, || Text {
                    message: format!(
                        "the mask {mask:#010x} includes lane {other}, whose mask is {:#010x}",
                        masks[other]
                    ),
                    other: None,
                    help: "use the same mask in all lanes of the mask",
                });
            }
        }
    }

    /// Checks that all arrivals at a barrier specify the same number of threads.
    fn barrier_count(&mut self, execution: &Execution<'_>, act: &Act) {
        let Some((id, count)) = execution.barrier_operands(act) else {
            return;
        };
        let Some(barrier) = execution.block.barriers.get(id as usize) else {
            return;
        };
        let waits = |warp: &Warp| {
            let mut groups = warp.groups.all.iter();
            groups.any(|g| g.state == State::Barrier(id))
        };
        let expected_before = barrier.expected;
        let has_arrivals = barrier.arrived > 0 || waits(execution.warp) || expected_before != 0;
        if has_arrivals && expected_before != count {
            self.report(execution, Code::BarrierCount, execution.active.trailing_zeros() as usize, || Text {
                message: format!("barrier {id} is used with {count} threads, but other threads use it with {expected_before} threads (0: all threads of the CTA)"),
                other: None,
                help: "specify the same number of threads in all instructions that use the barrier at the same time",
            });
        }
    }

    /// Records the lanes of the warp that must arrive at an aligned barrier.
    fn aligned_barrier(&mut self, execution: &Execution<'_>, act: &Act) {
        let number = self.sites.number(execution.id, execution.at);
        if !self.sites.get(number).is_some_and(|s| s.aligned) {
            return;
        }
        let first = execution.active.trailing_zeros() as usize;
        let actor = self.actor(execution, first);
        if execution.mask != execution.active {
            let other = Actor {
                thread: execution.warp.first
                    + (execution.mask & !execution.active).trailing_zeros(),
                ..actor
            };
            return self.divergent(execution.grid, actor, other);
        }
        let Some((id, _)) = execution.barrier_operands(act) else {
            return;
        };
        let expected = execution.active | execution.going_on();
        let block = execution.grid.linear(execution.block.index);
        let sync = &mut self.block(execution.grid, block).sync;
        let new = Expected {
            lanes: expected,
            actor,
        };
        sync.expected
            .entry((execution.warp.first, id))
            .or_insert(new);
    }

    /// Records the lanes of the warp that have not yet reached an aligned instruction at which the first lanes do not wait for the others.
    fn aligned_without_waiting(&mut self, execution: &Execution<'_>) {
        let number = self.sites.number(execution.id, execution.at);
        if !self.sites.get(number).is_some_and(|s| s.aligned) {
            return;
        }
        let actor = self.actor(execution, execution.active.trailing_zeros() as usize);
        let missing_lanes = (execution.mask | execution.going_on()) & !execution.active;
        let block = execution.grid.linear(execution.block.index);
        let missing = &mut self.block(execution.grid, block).sync.missing;
        let key = (execution.warp.first, number);
        let Some(first) = missing.remove(&key) else {
            if missing_lanes != 0 {
                let new = Expected {
                    lanes: missing_lanes,
                    actor,
                };
                missing.insert(key, new);
            }
            return;
        };
        let missing_lanes = first.lanes & !execution.active;
        if missing_lanes == first.lanes {
            // The same lanes execute it again, but the others did not reach it.
            self.never_came(execution.grid, &first);
        } else if missing_lanes != 0 {
            missing.insert(
                key,
                Expected {
                    lanes: missing_lanes,
                    ..first
                },
            );
        }
    }

    /// Reports the lanes that did not reach aligned instructions with the others of their warp.
    pub(super) fn missing_lanes(&mut self, grid: &Grid<'_>, block: u64) {
        let missing = core::mem::take(&mut self.block(grid, block).sync.missing);
        let mut all: Vec<Expected> = missing.into_values().collect();
        all.sort_by_key(|first| (first.actor.site, first.actor.thread));
        for first in all {
            self.never_came(grid, &first);
        }
    }

    fn never_came(&mut self, grid: &Grid<'_>, first: &Expected) {
        let warp = first.actor.thread - first.actor.thread % LANES as u32;
        let other = Actor {
            thread: warp + first.lanes.trailing_zeros() % LANES as u32,
            ..first.actor
        };
        self.divergent(grid, first.actor, other);
    }

    /// Checks that a thread waits between two arrivals.
    fn repeated_arrival(&mut self, execution: &Execution<'_>) {
        let again = lanes(execution.active).find(|lane| execution.warp.arrived[*lane].is_some());
        if let Some(lane) = again {
            self.report(execution, Code::RepeatedArrival, lane, || Text {
                message:
                    "the thread arrives at the cluster barrier twice without a wait in between"
                        .into(),
                other: None,
                help: "execute `barrier.cluster.wait` between two arrivals",
            });
        }
    }

    fn divergent(&mut self, grid: &Grid<'_>, actor: Actor, other: Actor) {
        let sites = std::sync::Arc::clone(&self.sites);
        self.reports
            .add((grid, &sites), Code::DivergentBarrier, actor, || Text {
                message: "the lanes of a warp do not execute the aligned barrier converged".into(),
                other: Some((other, "another lane of the warp")),
                help: "move the barrier out of the divergent code, or use `barrier` without `.aligned`",
            });
    }

    /// Checks, before threads leave a barrier, that the lanes of each warp arrived together.
    pub(super) fn leave_barrier(
        &mut self,
        grid: &Grid<'_>,
        block: &Block,
        warps: &[Warp],
        id: u32,
    ) {
        let linear = grid.linear(block.index);
        for warp in warps {
            let sync = &mut self.block(grid, linear).sync;
            let Some(expected) = sync.expected.remove(&(warp.first, id)) else {
                continue;
            };
            let groups = warp.groups.all.iter();
            let waiting = groups.filter(|g| g.state == State::Barrier(id));
            let mut there = 0;
            let mut elsewhere = None;
            for group in waiting {
                let Some(site) = self.site_of(warp, group.call, group.at) else {
                    continue;
                };
                if site == expected.actor.site {
                    there |= group.mask
                } else {
                    elsewhere = Some((site, group.mask))
                }
            }
            let missing = expected.lanes & !there;
            if missing == 0 {
                continue;
            }
            let (site, mask) = elsewhere.unwrap_or((expected.actor.site, missing));
            let other = Actor {
                site,
                block: linear,
                thread: warp.first + mask.trailing_zeros() % LANES as u32,
            };
            self.divergent(grid, expected.actor, other);
        }
    }

    /// The number of the instruction at which lanes are.
    fn site_of(&self, warp: &Warp, call: usize, at: u32) -> Option<u32> {
        let call = warp.groups.calls.get(call)?.as_ref()?;
        Some(self.sites.number(call.function, at))
    }

    /// Reports the barriers at which threads wait when no thread can continue.
    pub(super) fn deadlock(&mut self, grid: &Grid<'_>, block: &Block, warps: &[Warp]) {
        let linear = grid.linear(block.index);
        self.missing_lanes(grid, linear);
        let all = || {
            let groups = |warp: &'_ Warp| warp.groups.all.clone().into_iter();
            warps
                .iter()
                .flat_map(move |w| groups(w).map(move |g| (w, g)))
        };
        let sites = std::sync::Arc::clone(&self.sites);
        for (warp, group) in all() {
            let Some(site) = self.site_of(warp, group.call, group.at) else {
                continue;
            };
            let (what, help) = match group.state {
                State::Ready => continue,
                State::Lanes(mask) => (
                    format!("not all lanes of the mask {mask:#010x} reach the instruction"),
                    "use a mask of exactly the lanes that reach the instruction",
                ),
                State::Matrix => (
                    "not all lanes of the warp reach the instruction".into(),
                    "move the instruction out of the divergent code",
                ),
                State::Barrier(id) => (
                    format!("not all threads reach barrier {id}"),
                    "move the barrier to code that all threads execute, or specify the number of participating threads",
                ),
                State::Cluster => (
                    "not all threads of the cluster arrive at the cluster barrier".into(),
                    "arrive at the barrier in all threads of all CTAs of the cluster",
                ),
            };
            let actor = Actor {
                site,
                block: linear,
                thread: warp.first + group.mask.trailing_zeros(),
            };
            let elsewhere = all().find(|(w, g)| {
                (g.state != group.state) && (w.first != warp.first || g.mask & group.mask == 0)
            });
            let other = elsewhere.and_then(|(w, g)| {
                let other = Actor {
                    site: self.site_of(w, g.call, g.at)?,
                    block: linear,
                    thread: w.first + g.mask.trailing_zeros(),
                };
                Some((other, "another thread waits here"))
            });
            self.reports
                .add((grid, &sites), Code::MissingThreads, actor, || Text {
                    message: what,
                    other,
                    help,
                });
        }
    }
}

impl Execution<'_> {
    /// The masks of the lanes that execute an instruction together, if it has one.
    pub(crate) fn member_masks(&self, act: &Act) -> Option<[u32; LANES]> {
        let has_mask = match act.action {
            Action::WarpBarrier => true,
            Action::Shuffle | Action::Vote | Action::Match | Action::WarpReduce | Action::Elect => {
                act.modifiers.contains(&Modifier::Sync)
            }
            _ => false,
        };
        let place = has_mask.then(|| act.last_place())??;
        let mut masks = [0; LANES];
        for lane in lanes(self.active) {
            masks[lane] = self.get(place, lane) as u32;
        }
        Some(masks)
    }

    /// The lanes of the warp that are not about to end.
    fn going_on(&self) -> u32 {
        let groups = self.warp.groups.all.iter();
        let live_groups = groups.filter(|group| !self.ends(group));
        live_groups.fold(0, |lanes, group| lanes | group.mask)
    }

    /// Whether lanes are about to end, or have nothing to do but to jump to the end.
    fn ends(&self, group: &crate::execute::Group) -> bool {
        let Some(call) = self.call_frame(group.call) else {
            return false;
        };
        let Some(function) = self.grid.program.function(call.function) else {
            return false;
        };
        let mut step = group.at;
        for _ in 0..8 {
            let Some(target) = function.steps.get(step as usize) else {
                return call.caller.is_none();
            };
            step = match (&target.step, target.guard) {
                (Step::Return, None) => return call.caller.is_none(),
                (Step::Exit, None) => return true,
                (Step::Jump(to), None) => *to,
                _ => return false,
            };
        }
        false
    }
}

impl Checkers {
    /// The active lanes of a branch that is marked as uniform must take the same path.
    pub(super) fn uniform_branch(
        &mut self,
        grid: &Grid<'_>,
        (index, warp): ([u32; 3], u32),
        (step, call): (Stepped, &CallFrame),
    ) {
        let site = self.sites.number(step.function, step.at);
        if !self.sites.get(site).is_some_and(|s| s.uniform) || step.active == 0 {
            return;
        }
        let first = step.active.trailing_zeros();
        let Some(other) = other_way(grid, step, call) else {
            return;
        };
        let block = grid.linear(index);
        let actor = |lane: u32| Actor {
            site,
            block,
            thread: warp + lane,
        };
        let sites = std::sync::Arc::clone(&self.sites);
        let text = || Text {
            message: "lanes of a warp diverge at a branch that is marked as uniform".into(),
            other: Some((actor(other), "another lane of the warp")),
            help: "remove `.uni`, or make the condition uniform in the warp",
        };
        self.reports
            .add((grid, &sites), Code::UniformBranch, actor(first), text);
    }
}

/// A lane that takes a different path than the first active one.
fn other_way(grid: &Grid<'_>, step: Stepped, call: &CallFrame) -> Option<u32> {
    let skipped = step.mask & !step.active;
    if skipped != 0 {
        return Some(skipped.trailing_zeros());
    }
    let target = grid
        .program
        .function(step.function)?
        .steps
        .get(step.at as usize)?;
    let place = match &target.step {
        Step::Table(index, _) => *index,
        Step::Call(of) => match of.callee {
            Callee::Indirect(place) => place,
            _ => return None,
        },
        _ => return None,
    };
    let first = call
        .registers
        .get(place, step.active.trailing_zeros() as usize);
    let mut active = lanes(step.active);
    let other = active.find(|lane| call.registers.get(place, *lane) != first)?;
    u32::try_from(other).ok()
}
