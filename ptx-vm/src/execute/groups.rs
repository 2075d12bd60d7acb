//! Groups of converged lanes of a warp, and the choice of the group that runs next.

use ptx_ir::FuncId;

use crate::lanes::Registers;

/// The state of a group of lanes: ready, or waiting.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Ready,
    /// Waits for the lanes of the warp in a mask.
    Lanes(u32),
    /// Waits for the other lanes of the warp at a matrix instruction.
    Matrix,
    /// Waits at a barrier of the CTA.
    Barrier(u32),
    /// Waits at the barrier of the cluster.
    Cluster,
    /// Waits for columns of tensor memory, or for the request of the other CTA of a pair.
    TensorColumns,
    /// Waits for the other warps of the warpgroup to execute the products that it waits for.
    Warpgroup,
    /// Waits for another grid to begin or to end.
    OtherGrid,
}

/// Lanes at the same step in the same call.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) mask: u32,
    /// The index of the call.
    pub(crate) call: usize,
    /// The index of the next step.
    pub(crate) step_index: u32,
    pub(crate) state: State,
    /// The time at which the group ran last.
    pub(crate) last_run: u64,
}

/// A call of a function by lanes of a warp.
#[derive(Clone, Debug)]
pub(crate) struct CallFrame {
    pub(crate) function: FuncId,
    pub(crate) registers: Registers,
    /// The offset of the frame in local memory.
    pub(crate) base: u64,
    /// The end of the stack.
    pub(crate) top: u64,
    /// The lanes that have not returned.
    pub(crate) live: u32,
    /// The index of the call to which it returns.
    pub(crate) caller: Option<usize>,
    /// The index of the step of the caller that called.
    pub(crate) call_step: u32,
    /// The number of callers.
    pub(crate) depth: u32,
}

/// An instruction that lanes of a warp are about to execute.
#[derive(Copy, Clone)]
pub(crate) struct LaneStep {
    pub(crate) function: FuncId,
    /// The index of the step.
    pub(crate) index: u32,
    pub(crate) call: usize,
    /// The lanes that are at the step.
    pub(crate) mask: u32,
    /// The lanes at the step whose guard holds.
    pub(crate) active: u32,
}

impl LaneStep {
    pub(crate) const fn new(
        function: FuncId,
        index: u32,
        call: usize,
        mask: u32,
        active: u32,
    ) -> Self {
        Self {
            function,
            index,
            call,
            mask,
            active,
        }
    }
}

/// The states of the active lanes of a step after it.
#[derive(Copy, Clone, Default)]
pub(crate) struct LaneOutcome {
    /// The lanes that continue with the next step: their registers contain the results.
    pub(crate) done: u32,
    /// The lanes that wait for other threads.
    pub(crate) waiting: u32,
    /// The lanes that have entered the function that they called.
    pub(crate) calling: u32,
}

/// The number of steps from that of a group on, at most `max_steps`, before one at which other lanes are ready.
#[inline]
pub(super) fn steps_alone(groups: &[Group], index: usize, max_steps: u32) -> u32 {
    let mut steps = max_steps;
    if groups.len() > 1
        && let Some(group) = groups.get(index)
    {
        for (other_index, other) in groups.iter().enumerate() {
            if other_index != index
                && other.state == State::Ready
                && let Some(distance) = other.step_index.checked_sub(group.step_index)
            {
                steps = steps.min(distance);
            }
        }
    }
    steps
}

/// The groups of a warp. Lanes of one call at one step are one group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    pub(crate) all: Vec<Group>,
    pub(crate) calls: Vec<Option<CallFrame>>,
    time: u64,
}

impl Groups {
    /// The lanes that have not ended.
    pub(crate) fn live(&self) -> u32 {
        self.all.iter().fold(0, |mask, group| mask | group.mask)
    }

    /// The lanes of the groups in a state.
    pub(crate) fn mask_in_state(&self, state: State) -> u32 {
        self.all
            .iter()
            .filter(|group| group.state == state)
            .fold(0, |mask, group| mask | group.mask)
    }

    /// The number of groups that do not wait.
    pub(crate) fn ready(&self) -> usize {
        self.all.iter().filter(|g| g.state == State::Ready).count()
    }

    /// Adds ready lanes at a step of a call, to the group at this step if there is one.
    pub(crate) fn add(&mut self, mask: u32, call: usize, step_index: u32) {
        let group = self.all.iter_mut().find(|group| {
            group.call == call && group.step_index == step_index && group.state == State::Ready
        });
        match group {
            Some(group) => group.mask |= mask,
            None => self.add_in(State::Ready, mask, call, step_index),
        }
    }

    /// Adds a separate group.
    pub(crate) fn add_in(&mut self, state: State, mask: u32, call: usize, step_index: u32) {
        self.all.push(Group {
            mask,
            call,
            step_index,
            state,
            last_run: self.time,
        });
    }

    /// Lets the groups that wait in a state go on with the next step.
    pub(crate) fn release(&mut self, state: State) {
        for group in self.all.iter_mut().filter(|g| g.state == state) {
            group.state = State::Ready;
            group.step_index += 1;
        }
    }

    /// Makes the groups ready whose masks contain no lanes any more that they wait for, since the lanes of `ended` ended. They execute their instruction
    /// again.
    pub(crate) fn stop_waiting_for(&mut self, ended: u32) {
        let live = self.live();
        for index in 0..self.all.len() {
            let State::Lanes(mask) = self.all[index].state else {
                continue;
            };
            let present = self.mask_in_state(State::Lanes(mask));
            if mask & ended != 0 && mask & live & !present == 0 {
                self.all[index].state = State::Ready;
            }
        }
    }

    /// Sets the outcome of a step that changed groups. Lanes that execute the step again are in none of the sets.
    pub(super) fn set_outcome(&self, step: LaneStep, outcome: &mut LaneOutcome) {
        let mut repeating = 0;
        for group in &self.all {
            let lanes = group.mask & step.active;
            let call = self.calls.get(group.call).and_then(Option::as_ref);
            let is_callee =
                call.is_some_and(|c| (c.caller, c.call_step) == (Some(step.call), step.index));
            match (
                group.call == step.call && group.step_index == step.index,
                group.state,
            ) {
                (true, State::Ready) => repeating |= lanes,
                (true, _) => outcome.waiting |= lanes,
                _ if is_callee => outcome.calling |= lanes,
                _ => {}
            }
        }
        outcome.done = step.active & !(repeating | outcome.waiting | outcome.calling);
    }

    /// Chooses the group that runs next: the one in the deepest call, and there the one with the least rank, so that lanes meet again after a branch.
    /// With `fair`, it is the group that ran least recently.
    pub(crate) fn next(
        &mut self,
        fair: bool,
        rank: impl Fn(&Group, &CallFrame) -> u32,
    ) -> Option<usize> {
        let (index, _) = self
            .all
            .iter()
            .enumerate()
            .filter(|(_, group)| group.state == State::Ready)
            .min_by_key(|(_, group)| {
                let call = self.calls.get(group.call).and_then(Option::as_ref);
                let depth = call.map_or(0, |c| c.depth);
                let rank = call.map_or(0, |c| rank(group, c));
                if fair {
                    (group.last_run, 0, 0)
                } else {
                    (u64::from(u32::MAX - depth), rank, group.step_index)
                }
            })?;
        self.time += 1;
        self.all[index].last_run = self.time;
        Some(index)
    }

    /// Joins a group with all other ready groups at the same step of the same call; returns the index of the joined group.
    #[inline]
    pub(crate) fn join(&mut self, index: usize) -> usize {
        if self.all.len() > 1 {
            self.join_with_others(index)
        } else {
            index
        }
    }

    fn join_with_others(&mut self, mut index: usize) -> usize {
        while let Some(group) = self.all.get(index) {
            let (call, step_index, mask) = (group.call, group.step_index, group.mask);
            let equal_group = self.all.iter().enumerate().position(|(i, g)| {
                i != index
                    && g.call == call
                    && g.step_index == step_index
                    && g.state == State::Ready
            });
            let Some(partner) = equal_group else { break };
            self.all[partner].mask |= mask;
            self.all.swap_remove(index);
            // The last group has moved to `index`.
            if partner < self.all.len() {
                index = partner;
            }
        }
        index
    }
}

/// The number of steps between changes of the way in which the next group is chosen.
const SLICE: u64 = 1024;

/// The way in which the next group of a warp is chosen. It changes between the group that lets lanes meet again soonest and the group that ran least
/// recently, so that lanes that wait for others in a loop do not keep these from running.
#[derive(Debug)]
pub(crate) struct Turns {
    /// The group that ran least recently is chosen.
    pub(crate) fair: bool,
    /// The number of steps until the next change.
    pub(crate) left: u64,
    /// A step since the last change read memory that other lanes may write: a loop without such steps does not wait for them.
    pub(crate) reads: bool,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            fair: false,
            left: SLICE,
            reads: false,
        }
    }
}

impl Turns {
    /// Counts the steps of a group. `is_only_ready`: no other group was ready.
    pub(crate) fn count(&mut self, steps: u64, is_only_ready: bool) {
        if is_only_ready {
            *self = Self::default();
            return;
        }
        self.left = self.left.saturating_sub(steps);
        if self.left == 0 {
            *self = Self {
                fair: !self.fair && self.reads,
                ..Self::default()
            };
        }
    }
}
