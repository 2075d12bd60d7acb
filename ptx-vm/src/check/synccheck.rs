//! `synccheck`: checks of barriers, and of instructions that the lanes of a warp execute together.

use ptx_ir::Code;
use ptx_isa::{Action, Modifier};

use super::checkers::Checkers;
use super::report::{Actor, Text};
use super::sync_state::ExpectedLanes;
use crate::execute::{
    BarrierOperands, Block, CallFrame, Execution, Grid, Group, LaneStep, State, Warp,
};
use crate::lanes::{LANES, lanes};
use crate::program::{Act, Callee, Step};

/// The maximum number of jumps between lanes and the end of their function.
const MOST_JUMPS: u32 = 8;

impl Checkers {
    /// Checks a barrier or an exchange before it is executed.
    pub(super) fn before_act(&mut self, execution: &Execution<'_>, act: &Act) {
        match act.action {
            Action::BarrierSync | Action::BarrierReduce => {
                self.check_thread_count(execution, act);
                self.check_aligned_barrier(execution, act);
            }
            Action::BarrierArrive => {
                self.check_thread_count(execution, act);
                self.check_aligned_instruction(execution);
            }
            Action::ClusterArrive => {
                self.check_repeated_arrival(execution);
                self.check_aligned_instruction(execution);
            }
            Action::ClusterWait => self.check_aligned_instruction(execution),
            _ => {}
        }
        let Some(masks) = execution.member_masks(act) else {
            return;
        };
        for lane in lanes(execution.active) {
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
            if let Some(other) = lanes(execution.active & mask).find(|other| masks[*other] != mask)
            {
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
    fn check_thread_count(&mut self, execution: &Execution<'_>, act: &Act) {
        let Some(BarrierOperands { id, threads }) = execution.barrier_operands(act) else {
            return;
        };
        let Some(barrier) = execution.block.barriers.get(id as usize) else {
            return;
        };
        let expected = barrier.expected;
        let has_waiting_lanes = execution.warp.groups.mask_in_state(State::Barrier(id)) != 0;
        let has_arrivals = barrier.arrived > 0 || has_waiting_lanes || expected != 0;
        if has_arrivals && expected != threads {
            self.report(execution, Code::BarrierCount, execution.active.trailing_zeros() as usize, || Text {
                message: format!("barrier {id} is used with {threads} threads, but other threads use it with {expected} threads (0: all threads of the CTA)"),
                other: None,
                help: "specify the same number of threads in all instructions that use the barrier at the same time",
            });
        }
    }

    /// Records the lanes of the warp that must arrive at an aligned barrier.
    fn check_aligned_barrier(&mut self, execution: &Execution<'_>, act: &Act) {
        let number = self
            .sites
            .number(execution.function_id, execution.step_index);
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
            return self.report_divergence(execution.grid, actor, other);
        }
        let Some(BarrierOperands { id, .. }) = execution.barrier_operands(act) else {
            return;
        };
        let block = execution.grid.linear(execution.block.index);
        let sync = &mut self.block(execution.grid, block).sync;
        sync.expected
            .entry((execution.warp.first, id))
            .or_insert(ExpectedLanes {
                lanes: execution.active | execution.lanes_going_on(),
                actor,
            });
    }

    /// Records the lanes of the warp that have not yet reached an aligned instruction at which the first lanes do not wait for the other lanes.
    fn check_aligned_instruction(&mut self, execution: &Execution<'_>) {
        let number = self
            .sites
            .number(execution.function_id, execution.step_index);
        if !self.sites.get(number).is_some_and(|s| s.aligned) {
            return;
        }
        let actor = self.actor(execution, execution.active.trailing_zeros() as usize);
        let missing_lanes = (execution.mask | execution.lanes_going_on()) & !execution.active;
        let block = execution.grid.linear(execution.block.index);
        let missing = &mut self.block(execution.grid, block).sync.missing;
        let key = (execution.warp.first, number);
        let Some(expected) = missing.remove(&key) else {
            if missing_lanes != 0 {
                missing.insert(
                    key,
                    ExpectedLanes {
                        lanes: missing_lanes,
                        actor,
                    },
                );
            }
            return;
        };
        let missing_lanes = expected.lanes & !execution.active;
        if missing_lanes == expected.lanes {
            // Lanes execute the instruction again that the missing lanes did not reach.
            self.report_missing(execution.grid, &expected);
        } else if missing_lanes != 0 {
            missing.insert(
                key,
                ExpectedLanes {
                    lanes: missing_lanes,
                    ..expected
                },
            );
        }
    }

    /// Reports the lanes that did not reach aligned instructions with the other lanes of their warp.
    pub(super) fn report_missing_lanes(&mut self, grid: &Grid<'_>, block: u64) {
        let missing = core::mem::take(&mut self.block(grid, block).sync.missing);
        let mut missing: Vec<ExpectedLanes> = missing.into_values().collect();
        missing.sort_by_key(|expected| (expected.actor.site, expected.actor.thread));
        for expected in missing {
            self.report_missing(grid, &expected);
        }
    }

    fn report_missing(&mut self, grid: &Grid<'_>, expected: &ExpectedLanes) {
        let warp = expected.actor.thread - expected.actor.thread % LANES as u32;
        let other = Actor {
            thread: warp + expected.lanes.trailing_zeros() % LANES as u32,
            ..expected.actor
        };
        self.report_divergence(grid, expected.actor, other);
    }

    /// Checks that a thread waits between two arrivals.
    fn check_repeated_arrival(&mut self, execution: &Execution<'_>) {
        let arrived = &execution.warp.arrived;
        if let Some(lane) = lanes(execution.active).find(|lane| arrived[*lane].is_some()) {
            self.report(execution, Code::RepeatedArrival, lane, || Text {
                message:
                    "the thread arrives at the cluster barrier twice without a wait in between"
                        .into(),
                other: None,
                help: "execute `barrier.cluster.wait` between two arrivals",
            });
        }
    }

    /// Reports that a lane executes an aligned instruction without another lane of its warp.
    fn report_divergence(&mut self, grid: &Grid<'_>, actor: Actor, other: Actor) {
        let sites = std::sync::Arc::clone(&self.sites);
        self.reports
            .add(grid, &sites, Code::DivergentBarrier, actor, || Text {
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
            let mut arrived = 0;
            let mut other_instruction = None;
            for group in &warp.groups.all {
                if group.state != State::Barrier(id) {
                    continue;
                }
                let Some(site) = self.site_of_group(warp, group) else {
                    continue;
                };
                if site == expected.actor.site {
                    arrived |= group.mask
                } else {
                    other_instruction = Some((site, group.mask))
                }
            }
            let missing = expected.lanes & !arrived;
            if missing == 0 {
                continue;
            }
            let (site, mask) = other_instruction.unwrap_or((expected.actor.site, missing));
            let other = Actor {
                site,
                block: linear,
                thread: warp.first + mask.trailing_zeros() % LANES as u32,
            };
            self.report_divergence(grid, expected.actor, other);
        }
    }

    /// The number of the instruction at which a group of lanes is.
    fn site_of_group(&self, warp: &Warp, group: &Group) -> Option<u32> {
        let call = warp.groups.calls.get(group.call)?.as_ref()?;
        Some(self.sites.number(call.function, group.step_index))
    }

    /// Reports the barriers at which threads wait when no thread can continue.
    pub(super) fn report_deadlock(&mut self, grid: &Grid<'_>, block: &Block, warps: &[Warp]) {
        let linear = grid.linear(block.index);
        self.report_missing_lanes(grid, linear);
        let sites = std::sync::Arc::clone(&self.sites);
        let groups: Vec<(&Warp, &Group)> = warps
            .iter()
            .flat_map(|warp| warp.groups.all.iter().map(move |group| (warp, group)))
            .collect();
        for &(warp, group) in &groups {
            let Some(site) = self.site_of_group(warp, group) else {
                continue;
            };
            let (message, help) = match group.state {
                State::Ready => continue,
                State::Lanes(mask) => (
                    format!("not all lanes of the mask {mask:#010x} reach the instruction"),
                    "use a mask of exactly the lanes that reach the instruction",
                ),
                State::Warpgroup => (
                    "not all warps of the warpgroup execute the products that the instruction waits for".into(),
                    "execute the same products in all four warps of the warpgroup",
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
                State::OtherGrid => (
                    "the grid that the threads wait for does not end".into(),
                    "end the threads of the grid that is launched before",
                ),
                State::TensorColumns => (
                    "the columns of tensor memory are never free, or the other CTA of the pair does not request them".into(),
                    "free columns before others are allocated; with `.cta_group::2`, allocate in both CTAs",
                ),
            };
            let actor = Actor {
                site,
                block: linear,
                thread: warp.first + group.mask.trailing_zeros(),
            };
            let other = groups.iter().find(|(other_warp, other_group)| {
                let are_different =
                    other_warp.first != warp.first || other_group.mask & group.mask == 0;
                other_group.state != group.state && are_different
            });
            let other = other.and_then(|(other_warp, other_group)| {
                let actor = Actor {
                    site: self.site_of_group(other_warp, other_group)?,
                    block: linear,
                    thread: other_warp.first + other_group.mask.trailing_zeros(),
                };
                Some((actor, "another thread waits here"))
            });
            self.reports
                .add(grid, &sites, Code::MissingThreads, actor, || Text {
                    message,
                    other,
                    help,
                });
        }
    }
}

impl Execution<'_> {
    /// The masks of the lanes that execute an instruction together, by lane; `None` for an instruction without such masks.
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
    fn lanes_going_on(&self) -> u32 {
        self.warp
            .groups
            .all
            .iter()
            .filter(|group| !self.is_about_to_end(group))
            .fold(0, |lanes, group| lanes | group.mask)
    }

    /// Whether the lanes of a group are about to end, possibly after a few jumps.
    fn is_about_to_end(&self, group: &Group) -> bool {
        let Some(call) = self.call_frame(group.call) else {
            return false;
        };
        let Some(function) = self.grid.program.function(call.function) else {
            return false;
        };
        let mut step_index = group.step_index;
        for _ in 0..MOST_JUMPS {
            let Some(target) = function.steps.get(step_index as usize) else {
                return call.caller.is_none();
            };
            step_index = match (&target.step, target.guard) {
                (Step::Return, None) => return call.caller.is_none(),
                (Step::Exit, None) => return true,
                (Step::Jump(target), None) => *target,
                _ => return false,
            };
        }
        false
    }
}

impl Checkers {
    /// Checks that the active lanes of a branch that is marked as uniform take the same path.
    pub(super) fn check_uniform_branch(
        &mut self,
        grid: &Grid<'_>,
        block: &Block,
        warp: u32,
        step: LaneStep,
        call: &CallFrame,
    ) {
        let site = self.sites.number(step.function, step.index);
        if !self.sites.get(site).is_some_and(|s| s.uniform) || step.active == 0 {
            return;
        }
        let first = step.active.trailing_zeros();
        let Some(other) = diverging_lane(grid, step, call) else {
            return;
        };
        let block = grid.linear(block.index);
        let [first, other] = [first, other].map(|lane| Actor {
            site,
            block,
            thread: warp + lane,
        });
        let sites = std::sync::Arc::clone(&self.sites);
        self.reports
            .add(grid, &sites, Code::UniformBranch, first, || Text {
                message: "lanes of a warp diverge at a branch that is marked as uniform".into(),
                other: Some((other, "another lane of the warp")),
                help: "remove `.uni`, or make the condition uniform in the warp",
            });
    }
}

/// A lane that takes a different path than the first active lane.
fn diverging_lane(grid: &Grid<'_>, step: LaneStep, call: &CallFrame) -> Option<u32> {
    let skipped = step.mask & !step.active;
    if skipped != 0 {
        return Some(skipped.trailing_zeros());
    }
    let target = grid
        .program
        .function(step.function)?
        .steps
        .get(step.index as usize)?;
    let place = match &target.step {
        Step::Table(index, _) => *index,
        Step::Call(call) => match call.callee {
            Callee::Indirect(place) => place,
            _ => return None,
        },
        _ => return None,
    };
    let first_lane = step.active.trailing_zeros() as usize;
    let first_value = call.registers.get(place, first_lane);
    let diverging =
        lanes(step.active).find(|lane| call.registers.get(place, *lane) != first_value)?;
    u32::try_from(diverging).ok()
}
