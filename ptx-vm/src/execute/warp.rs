//! A warp and the execution of its steps.

use std::sync::Arc;

use ptx_ir::FuncId;

use super::asynchronous::{Pass, perform_at_random};
use super::block::Block;
use super::execution::{Control, Execution};
use super::grid::{Failure, Grid};
use super::groups::{CallFrame, Group, Groups, LaneOutcome, LaneStep, State, Turns, steps_alone};
use crate::account::{Account, Held, Purpose};
use crate::error::StopReason;
use crate::lanes::{Double, LANES, Place, Registers, lanes};
use crate::program::{Function, Guard, Step, Target};

/// The bytes that steps handle, or their work, between looks at the clock.
const CLOCK_BYTES: u64 = 1 << 14;
/// The work of observing a step, as the number of bytes that take the same time to handle.
const OBSERVED_STEP: u64 = 64;
/// The bytes that each call may handle without being counted.
const LARGE: u64 = 1 << 16;
/// The bytes that count as one more step: those of a vector access of all lanes.
const BYTES_OF_STEP: u64 = 512;

/// A warp.
#[derive(Debug)]
pub(crate) struct Warp {
    pub(crate) groups: Groups,
    turns: Turns,
    /// The stack of each lane.
    pub(crate) stacks: Vec<Vec<u8>>,
    /// The memory that stacks and registers use.
    held: Held,
    /// The bytes that the current step has handled beyond those that every step may.
    handled: u64,
    /// The work of steps since the last look at the clock, as the number of bytes that take the same time to handle.
    worked: u64,
    /// The current step waits for a while: other warps run before the next step.
    pub(super) is_suspended: bool,
    /// The index of its first thread in the CTA.
    pub(crate) first: u32,
    /// The number of executed steps that the grid has not counted yet, at the last step other than operations on all lanes.
    pub(crate) uncounted: u64,
    /// The register files of calls that ended, with their functions.
    spare_registers: Vec<(FuncId, Registers)>,
    /// The phase of the barrier of the cluster in which each lane arrived and has not waited.
    pub(crate) arrived: [Option<u64>; LANES],
    /// The last error of the device runtime in each lane; `None` before the first one.
    pub(super) last_errors: Option<Box<[u32; LANES]>>,
}

/// The lanes of a mask for which a guard holds.
fn guarded(guard: Option<Guard>, mask: u32, registers: &Registers) -> u32 {
    let Some(guard) = guard else {
        return mask;
    };
    let values = registers.predicates.get(guard.predicate as usize);
    let values = values.copied().unwrap_or(0);
    mask & if guard.is_negated { !values } else { values }
}

/// Executes the operations `first..end` of a function.
#[inline]
pub(super) fn execute(
    function: &Function,
    registers: &mut Registers,
    (first, end): (u32, u32),
    active: u32,
) {
    if first == end || active == 0 {
        return;
    }
    registers.execute_all(&function.code.ops[first as usize..end as usize], active);
}

/// The greatest number of steps from one on, which is `target`, that may be executed in one go.
#[inline]
fn run_limit<const OBSERVED: bool>(
    block: &Block,
    (function, step_index, target): (FuncId, u32, &Target),
    steps_left: u64,
) -> u32 {
    let count = u64::from(target.run).min(steps_left) as u32;
    if !OBSERVED || count == 0 {
        return count;
    }
    block
        .observe(|observer, _| observer.unobserved_steps(function, step_index, count))
        .unwrap_or(count)
}

/// Executes steps that are operations on all lanes without a guard, by the first one and their number.
#[inline]
fn execute_run(
    function: &Function,
    registers: &mut Registers,
    (first, count): (u32, u32),
    mask: u32,
) {
    let last = first as usize + count as usize - 1;
    if let (Some(first), Some(last)) =
        (function.steps.get(first as usize), function.steps.get(last))
        && let Step::Lanes(_, end) = last.step
    {
        execute(function, registers, (first.operand_ops.0, end), mask);
    }
}

impl Warp {
    pub(crate) fn new(first: u32, account: &Arc<Account>) -> Self {
        Self {
            groups: Groups::default(),
            turns: Turns::default(),
            stacks: vec![Vec::new(); LANES],
            held: Held::new(Arc::clone(account)),
            handled: 0,
            worked: 0,
            is_suspended: false,
            first,
            uncounted: 0,
            spare_registers: Vec::new(),
            arrived: [None; LANES],
            last_errors: None,
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.groups.all.is_empty()
    }

    /// The call with an index.
    pub(crate) fn call(&mut self, index: usize) -> Option<&mut CallFrame> {
        self.groups.calls.get_mut(index)?.as_mut()
    }

    /// The bits of a value in a lane.
    pub(crate) fn get(&self, call: usize, place: Place, lane: usize) -> u128 {
        let call = self.groups.calls.get(call).and_then(Option::as_ref);
        call.map_or(0, |c| c.registers.get(place, lane))
    }

    /// The lowest 64 bits of a value in each lane.
    #[inline(always)]
    pub(crate) fn values(&self, call: usize, place: Place) -> Double {
        match self.groups.calls.get(call) {
            Some(Some(call)) => call.registers.values(place),
            _ => [0; LANES],
        }
    }

    pub(crate) fn set(&mut self, call: usize, place: Place, lane: usize, bits: u128) {
        if let Some(call) = self.call(call) {
            call.registers.set(place, lane, bits);
        }
    }

    /// The register file at the start of a call.
    pub(crate) fn registers(
        &mut self,
        id: FuncId,
        function: &Function,
    ) -> Result<Registers, StopReason> {
        let spare = self
            .spare_registers
            .iter()
            .position(|(function, _)| *function == id);
        if let Some(index) = spare {
            return Ok(self.spare_registers.swap_remove(index).1);
        }
        let bytes = function.code.initial.bytes();
        self.held.take(bytes, Purpose::Registers)?;
        self.count_large(bytes);
        Ok(function.code.initial.clone())
    }

    /// Grows the stacks of lanes to a size. They double, so that a loop that allocates memory does not copy them each time.
    pub(crate) fn grow_stacks(
        &mut self,
        mask: u32,
        end: u64,
        grid: &Grid<'_>,
    ) -> Result<(), StopReason> {
        let end = usize::try_from(end).unwrap_or(usize::MAX);
        let max_bytes = usize::try_from(grid.limits.stack_bytes).unwrap_or(usize::MAX);
        let capacity = |stack: &Vec<u8>| {
            if end > stack.capacity() {
                end.max(max_bytes.min(2 * stack.capacity()))
            } else {
                stack.capacity()
            }
        };
        let growth = lanes(mask)
            .filter_map(|lane| self.stacks.get(lane))
            .map(|stack| (capacity(stack) - stack.capacity()) as u64)
            .sum();
        if growth > 0 {
            self.held.take(growth, Purpose::Stacks)?;
            self.count_large(growth);
        }
        for lane in lanes(mask) {
            if let Some(stack) = self.stacks.get_mut(lane)
                && stack.len() < end
            {
                if stack.capacity() == 0 {
                    // Zeros of the host take no memory before they are written.
                    *stack = vec![0; end];
                    continue;
                }
                stack.reserve_exact(capacity(stack) - stack.len());
                stack.resize(end, 0);
            }
        }
        Ok(())
    }

    /// Counts the bytes of an argument or a result that lanes copy.
    pub(crate) const fn count_passed(&mut self, bytes: u64, mask: u32) {
        self.count_large(bytes.saturating_mul(mask.count_ones() as u64));
    }

    /// Counts bytes that all lanes together handle in a step, unless every step may handle as many.
    const fn count_large(&mut self, bytes: u64) {
        if bytes > LARGE {
            self.handled = self.handled.saturating_add(bytes);
        }
    }

    /// Counts bytes that the current step handles one after the other. An error if the launch has to end.
    #[inline]
    pub(crate) fn handle(&mut self, bytes: u64, grid: &Grid<'_>) -> Result<(), StopReason> {
        let handled_before = self.handled;
        self.handled = handled_before.saturating_add(bytes);
        if handled_before / CLOCK_BYTES == self.handled / CLOCK_BYTES {
            return Ok(());
        }
        if self.handled / BYTES_OF_STEP > grid.steps_left() {
            Err(StopReason::StepLimit)
        } else {
            grid.interrupted()
        }
    }

    /// Counts work that takes as long as handling bytes, and is not counted as steps. An error if the launch has to end.
    #[inline]
    pub(crate) fn work(&mut self, bytes: u64, grid: &Grid<'_>) -> Result<(), StopReason> {
        self.worked += bytes;
        if self.worked < CLOCK_BYTES {
            return Ok(());
        }
        self.worked = 0;
        grid.interrupted()
    }

    /// Keeps the register file of a call that ended, for a later call of the function. The values of registers at the start of a call are undefined.
    pub(crate) fn recycle(&mut self, id: FuncId, registers: Registers) {
        if self.spare_registers.len() < 16 {
            self.spare_registers.push((id, registers));
        } else {
            self.held.release(registers.bytes());
        }
    }

    /// Executes at most `max_steps` steps; returns the number of executed steps.
    pub(crate) fn run(
        &mut self,
        block: &mut Block,
        grid: &Grid<'_>,
        max_steps: u64,
    ) -> Result<u64, Failure> {
        let mut executed = 0;
        while executed < max_steps {
            let group = self.groups.next(self.turns.fair, |group, call| {
                let function = grid.program.function(call.function);
                let target = function.and_then(|f| f.steps.get(group.step_index as usize));
                target.map_or(u32::MAX, |target| target.rank)
            });
            let Some(group) = group else {
                return Ok(executed);
            };
            let is_only_ready = self.groups.ready() == 1;
            let mut group_steps = if is_only_ready {
                max_steps - executed
            } else {
                (max_steps - executed).min(self.turns.left)
            };
            if let Some(steps) =
                perform_at_random(self, block, grid).map_err(Failure::without_step)?
            {
                group_steps = group_steps.min(steps);
            }
            let steps = if block.cluster_state.observer.is_some() {
                self.run_group::<true>(group, block, grid, executed, group_steps)?
            } else {
                self.run_group::<false>(group, block, grid, executed, group_steps)?
            };
            executed += steps;
            self.turns.count(steps, is_only_ready);
            if core::mem::take(&mut self.is_suspended) && is_only_ready {
                return Ok(executed);
            }
        }
        Ok(executed)
    }

    /// Runs a group until another group may be next, for at most `max_steps` steps after the `executed` steps of the warp; returns the number of steps.
    fn run_group<const OBSERVED: bool>(
        &mut self,
        mut index: usize,
        block: &mut Block,
        grid: &Grid<'_>,
        executed: u64,
        mut max_steps: u64,
    ) -> Result<u64, Failure> {
        let mut steps = 0;
        loop {
            index = self.groups.join(index);
            let Some(group) = self.groups.all.get(index) else {
                return Ok(steps);
            };
            let (call, step_index, mask) = (group.call, group.step_index, group.mask);
            let frame = self.groups.calls.get_mut(call).and_then(Option::as_mut);
            let Some((id, frame)) = frame.map(|frame| (frame.function, frame)) else {
                return Ok(steps);
            };
            let Some(function) = grid.program.function(id) else {
                return Ok(steps);
            };
            let Some(target) = function.steps.get(step_index as usize) else {
                // The end of the body is a return.
                self.return_from(index, mask, grid);
                return Ok(steps + 1);
            };
            let steps_left = max_steps.saturating_sub(steps);
            let most = run_limit::<OBSERVED>(block, (id, step_index, target), steps_left);
            let run = steps_alone(&self.groups.all, index, most);
            if run > 0 {
                execute_run(function, &mut frame.registers, (step_index, run), mask);
                steps += u64::from(run);
                self.groups.all[index].step_index = step_index + run;
                if self.must_yield(index, steps, max_steps, grid) {
                    return Ok(steps);
                }
                continue;
            }
            steps += 1;
            let active = guarded(target.guard, mask, &frame.registers);
            let step = LaneStep::new(id, step_index, call, mask, active);
            if OBSERVED {
                block.observe(|observer, block| {
                    observer.step(grid, block, self.first, step, frame);
                });
            }
            execute(function, &mut frame.registers, target.operand_ops, active);
            let control = if let Step::Lanes(first, end) = target.step {
                execute(function, &mut frame.registers, (first, end), active);
                Control::Next
            } else if active == 0 {
                Control::Next
            } else {
                self.uncounted = executed + steps;
                self.turns.reads |= target.step.reads_shared();
                let control = self.execute_step::<OBSERVED>(
                    block,
                    grid,
                    function,
                    &target.step,
                    index,
                    step,
                )?;
                if self.handled != 0 {
                    steps += core::mem::take(&mut self.handled) / BYTES_OF_STEP;
                }
                if self.is_suspended {
                    max_steps = steps;
                }
                control
            };
            if OBSERVED {
                self.check_memory(grid, step)?;
                let outcome = self.outcome(&control, step);
                block.observe(|observer, block| {
                    observer.stepped(grid, block, self, step, outcome);
                });
            }
            let is_divided = self.proceed(index, control, step);
            if is_divided || self.must_yield(index, steps, max_steps, grid) {
                return Ok(steps);
            }
        }
    }

    /// Moves a group after a step. Returns true if its lanes do not all go on together.
    #[inline]
    fn proceed(&mut self, index: usize, control: Control, step: LaneStep) -> bool {
        match control {
            Control::Next => self.groups.all[index].step_index = step.index + 1,
            Control::Jump(jumping, target) if jumping == step.mask => {
                self.groups.all[index].step_index = target;
            }
            control => {
                self.divide(index, control, step);
                return true;
            }
        }
        false
    }

    /// Whether a group has made all its steps, or another group may be next.
    #[inline]
    fn must_yield(&self, index: usize, steps: u64, max_steps: u64, grid: &Grid<'_>) -> bool {
        let is_only_group = self.groups.all.len() == 1;
        steps >= max_steps || !is_only_group && !self.turns.fair && !self.is_first(index, grid)
    }

    /// Returns an error if checkers need more memory than allowed, or the launch has to end.
    fn check_memory(&mut self, grid: &Grid<'_>, step: LaneStep) -> Result<(), Failure> {
        self.work(OBSERVED_STEP, grid)
            .and_then(|()| grid.account().check())
            .map_err(|reason| Failure {
                reason,
                function: Some(step.function),
                step_index: step.index,
                lane: step.mask.trailing_zeros() as usize % LANES,
            })
    }

    /// Executes a step other than operations on all lanes, for the lanes of a group.
    #[inline]
    fn execute_step<const OBSERVED: bool>(
        &mut self,
        block: &mut Block,
        grid: &Grid<'_>,
        function: &Function,
        step: &Step,
        group: usize,
        lane_step: LaneStep,
    ) -> Result<Control, Failure> {
        let mut execution = Execution {
            warp: self,
            block,
            grid,
            function,
            function_id: lane_step.function,
            group,
            call: lane_step.call,
            step_index: lane_step.index,
            mask: lane_step.mask,
            active: lane_step.active,
            by_byte: false,
            pass: Pass::Whole,
        };
        let control = if OBSERVED {
            execution.observed_step(step)
        } else {
            execution.step(step)
        };
        control.map_err(|(reason, lane)| Failure {
            reason,
            function: Some(lane_step.function),
            step_index: lane_step.index,
            lane,
        })
    }

    /// Moves the lanes of a group that do not all go on together.
    fn divide(&mut self, index: usize, control: Control, step: LaneStep) {
        match control {
            Control::Jump(jumping, target) => {
                let group = &mut self.groups.all[index];
                (group.mask, group.step_index) = (step.mask & !jumping, step.index + 1);
                self.groups.add(jumping, step.call, target);
            }
            Control::Wait(state) => self.wait(index, step.active, state),
            Control::Next | Control::Moved => {}
        }
    }

    /// The outcome of a step for the observer. The groups are still at the step unless they moved.
    fn outcome(&self, control: &Control, step: LaneStep) -> LaneOutcome {
        let mut outcome = LaneOutcome::default();
        match control {
            Control::Next | Control::Jump(..) => outcome.done = step.active,
            Control::Wait(_) => outcome.waiting = step.active,
            Control::Moved => self.groups.set_outcome(step, &mut outcome),
        }
        outcome
    }

    /// Whether no other group that is ready comes before a group.
    fn is_first(&self, index: usize, grid: &Grid<'_>) -> bool {
        let key = |group: &Group| {
            let call = self.groups.calls.get(group.call).and_then(Option::as_ref);
            let depth = call.map_or(0, |c| c.depth);
            let function = call.and_then(|c| grid.program.function(c.function));
            let step = function.and_then(|f| f.steps.get(group.step_index as usize));
            (
                u32::MAX - depth,
                step.map_or(u32::MAX, |s| s.rank),
                group.step_index,
            )
        };
        let group_key = key(&self.groups.all[index]);
        self.groups
            .all
            .iter()
            .enumerate()
            .filter(|(i, other)| *i != index && other.state == State::Ready)
            .all(|(_, other)| key(other) > group_key)
    }

    /// Makes the active lanes of a group wait. The lanes whose guard does not hold go on.
    fn wait(&mut self, index: usize, active: u32, state: State) {
        let group = &mut self.groups.all[index];
        let (call, step_index, passing) = (group.call, group.step_index, group.mask & !active);
        (group.mask, group.state) = (active, state);
        if passing != 0 {
            self.groups.add(passing, call, step_index + 1);
        }
    }
}
