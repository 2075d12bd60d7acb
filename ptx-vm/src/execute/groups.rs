//! Groups of converged lanes of a warp, and the choice of the group that runs next.

use ptx_ir::FuncId;

use crate::lanes::Registers;

/// The state of a group of lanes: ready, or waiting.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Ready,
    /// Other lanes of the warp that a mask names.
    Lanes(u32),
    /// The other lanes of the warp, at a matrix instruction.
    Matrix,
    /// A barrier of the CTA.
    Barrier(u32),
    /// The barrier of the cluster.
    Cluster,
}

/// Lanes at the same place in the same call.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) mask: u32,
    pub(crate) call: usize,
    /// The next step.
    pub(crate) at: u32,
    pub(crate) state: State,
    /// The time at which it ran last.
    pub(crate) ran: u64,
}

/// A call of a function by lanes of a warp.
#[derive(Clone, Debug)]
pub(crate) struct CallFrame {
    pub(crate) function: FuncId,
    pub(crate) registers: Registers,
    /// The offset of its frame in local memory, and the end of the stack.
    pub(crate) base: u64,
    pub(crate) top: u64,
    /// The lanes that have not returned.
    pub(crate) live: u32,
    /// The call that it returns to.
    pub(crate) caller: Option<usize>,
    /// The step of the caller that called.
    pub(crate) called_at: u32,
    pub(crate) depth: u32,
}

/// An instruction that lanes of a warp are about to execute.
#[derive(Copy, Clone)]
pub(crate) struct Stepped {
    pub(crate) function: FuncId,
    /// The index of the step.
    pub(crate) at: u32,
    pub(crate) call: usize,
    /// The lanes that are at the step.
    pub(crate) mask: u32,
    /// The lanes at the step whose guard holds.
    pub(crate) active: u32,
}

impl Stepped {
    pub(crate) const fn new(
        function: FuncId,
        at: u32,
        call: usize,
        mask: u32,
        active: u32,
    ) -> Self {
        Self {
            function,
            at,
            call,
            mask,
            active,
        }
    }
}

/// The active lanes of a step after it.
#[derive(Copy, Clone, Default)]
pub(crate) struct After {
    /// The lanes that go on: their registers have the results.
    pub(crate) done: u32,
    /// The lanes that wait for other threads.
    pub(crate) waiting: u32,
    /// The lanes that are in the function that they called.
    pub(crate) calling: u32,
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
        self.all.iter().fold(0, |all, g| all | g.mask)
    }

    /// The number of groups that do not wait.
    pub(crate) fn ready(&self) -> usize {
        let ready = self.all.iter().filter(|g| g.state == State::Ready);
        ready.count()
    }

    /// Adds lanes at a place, to the group that is there.
    pub(crate) fn add(&mut self, mask: u32, call: usize, at: u32) {
        let is_there = |g: &&mut Group| g.call == call && g.at == at && g.state == State::Ready;
        match self.all.iter_mut().find(is_there) {
            Some(group) => group.mask |= mask,
            None => self.add_in(State::Ready, mask, call, at),
        }
    }

    /// Adds a separate group.
    pub(crate) fn add_in(&mut self, state: State, mask: u32, call: usize, at: u32) {
        self.all.push(Group {
            mask,
            call,
            at,
            state,
            ran: self.time,
        });
    }

    /// Lets the groups that wait in a state go on with the next step.
    pub(crate) fn release(&mut self, state: State) {
        for group in self.all.iter_mut().filter(|g| g.state == state) {
            group.state = State::Ready;
            group.at += 1;
        }
    }

    /// Lanes that waited for others of a mask, which have ended, execute their instruction again.
    pub(crate) fn wait_no_more_for(&mut self, ended: u32) {
        let live = self.live();
        for index in 0..self.all.len() {
            let State::Lanes(mask) = self.all[index].state else {
                continue;
            };
            let waiting = self.all.iter().filter(|g| g.state == State::Lanes(mask));
            let present = waiting.fold(0, |all, g| all | g.mask);
            if mask & ended != 0 && mask & live & !present == 0 {
                self.all[index].state = State::Ready;
            }
        }
    }

    /// Divides the active lanes of a step by their state after it, if groups were changed by it. Those that execute it again are nowhere.
    pub(super) fn after(&self, step: Stepped, after: &mut After) {
        let mut again = 0;
        for group in &self.all {
            let lanes = group.mask & step.active;
            let call = self.calls.get(group.call).and_then(Option::as_ref);
            let calls = call.is_some_and(|c| (c.caller, c.called_at) == (Some(step.call), step.at));
            match (group.call == step.call && group.at == step.at, group.state) {
                (true, State::Ready) => again |= lanes,
                (true, _) => after.waiting |= lanes,
                _ if calls => after.calling |= lanes,
                _ => {}
            }
        }
        after.done = step.active & !(again | after.waiting | after.calling);
    }

    /// The group that runs next: the deepest call first, then what comes first in the code, so that lanes meet again after a branch. With
    /// `fair`, the one that ran least recently.
    pub(crate) fn next(
        &mut self,
        fair: bool,
        rank: impl Fn(&Group, &CallFrame) -> u32,
    ) -> Option<usize> {
        let ready = |g: &&(usize, &Group)| g.1.state == State::Ready;
        let key = |&(_, group): &(usize, &Group)| {
            let call = self.calls.get(group.call).and_then(Option::as_ref);
            let depth = call.map_or(0, |c| c.depth);
            let rank = call.map_or(0, |c| rank(group, c));
            if fair {
                (group.ran, 0, 0)
            } else {
                (u64::from(u32::MAX - depth), rank, group.at)
            }
        };
        let all = self.all.iter().enumerate();
        let (index, _) = all.filter(|g| ready(&g)).min_by_key(key)?;
        self.time += 1;
        self.all[index].ran = self.time;
        Some(index)
    }

    /// Joins a group with all others at the same place; gives the index of the joined group.
    pub(crate) fn join(&mut self, mut index: usize) -> usize {
        while let Some(group) = self.all.get(index) {
            let (call, at, mask) = (group.call, group.at, group.mask);
            let other = self.all.iter().enumerate().position(|(i, g)| {
                i != index && g.call == call && g.at == at && g.state == State::Ready
            });
            let Some(other) = other else { break };
            self.all[other].mask |= mask;
            self.all.swap_remove(index);
            index = if other == self.all.len() {
                index
            } else {
                other
            };
        }
        index
    }
}

/// Steps until the groups run in turn, and steps that they do then.
const SLICE: u64 = 1024;

/// Whether the group that runs is the one that lets lanes meet again soonest, or the one that ran least recently.
#[derive(Debug)]
pub(crate) struct Turns {
    pub(crate) fair: bool,
    /// The steps until that changes.
    pub(crate) left: u64,
    /// Whether a step since the last change read what other lanes may write: a loop without such steps does not wait for them.
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
    /// Counts the steps of a group; `alone` if no other one was ready.
    pub(crate) fn count(&mut self, steps: u64, alone: bool) {
        if alone {
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
