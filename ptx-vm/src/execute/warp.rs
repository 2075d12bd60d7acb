//! A warp and the execution of its steps.

use std::sync::Arc;

use ptx_ir::FuncId;

use super::block::Block;
use super::execution::{Control, Execution};
use super::grid::{Failure, Grid};
use super::groups::Turns;
use super::groups::{After, CallFrame, Groups, State, Stepped};
use crate::account::{Account, Held, Purpose};
use crate::error::StopReason;
use crate::lanes::{Double, LANES, Place, Registers, lanes};
use crate::program::{Function, Step};

/// The bytes that a step handles between looks at the clock.
const LOOK: u64 = 1 << 14;
/// The work of an observed step.
const OBSERVED_STEP: u64 = 64;
/// The bytes that the calls of most programs handle at most.
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
    /// The work of steps since the last look at the clock, in bytes that take as long.
    worked: u64,
    /// The current step waits for a time: other warps run before the next one.
    pub(super) is_suspended: bool,
    /// The index of its first thread in the CTA.
    pub(crate) first: u32,
    /// Steps that it executed and the grid has not counted yet, at its last step other than operations on all lanes.
    pub(crate) uncounted: u64,
    /// The register files of calls that ended, by function.
    spare: Vec<(FuncId, crate::lanes::Registers)>,
    /// The phase of the barrier of the cluster that each lane waits for to end.
    pub(crate) arrived: [Option<u64>; LANES],
}

/// The lanes of a mask for which a guard holds.
fn guarded(guard: Option<(u32, bool)>, mask: u32, registers: &crate::lanes::Registers) -> u32 {
    let Some((predicate, inverted)) = guard else {
        return mask;
    };
    let bits = registers.predicates.get(predicate as usize);
    let bits = bits.copied().unwrap_or(0);
    mask & if inverted { !bits } else { bits }
}

/// Executes a range of operations.
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
    for op in &function.code.ops[first as usize..end as usize] {
        registers.execute(op, active);
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
            spare: Vec::new(),
            arrived: [None; LANES],
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.groups.all.is_empty()
    }

    /// The call of an index.
    pub(crate) fn call(&mut self, index: usize) -> Option<&mut CallFrame> {
        self.groups.calls.get_mut(index)?.as_mut()
    }

    /// The bits of a value in a lane.
    pub(crate) fn get(&self, call: usize, place: Place, lane: usize) -> u128 {
        let call = self.groups.calls.get(call).and_then(Option::as_ref);
        call.map_or(0, |c| c.registers.get(place, lane))
    }

    /// The lowest 64 bits of a value in each lane.
    pub(crate) fn values(&self, call: usize, place: Place) -> Double {
        let call = self.groups.calls.get(call).and_then(Option::as_ref);
        call.map_or([0; LANES], |c| c.registers.values(place))
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
        if let Some(at) = self.spare.iter().position(|(of, _)| *of == id) {
            return Ok(self.spare.swap_remove(at).1);
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
        let most = usize::try_from(grid.limits.stack_bytes).unwrap_or(usize::MAX);
        let capacity = |stack: &Vec<u8>| {
            if end > stack.capacity() {
                end.max(most.min(2 * stack.capacity()))
            } else {
                stack.capacity()
            }
        };
        let growth = |lane: usize| {
            let stack = self.stacks.get(lane);
            stack.map_or(0, |stack| (capacity(stack) - stack.capacity()) as u64)
        };
        let growth = lanes(mask).map(growth).sum();
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
    pub(crate) const fn passed(&mut self, bytes: u64, mask: u32) {
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
        if handled_before / LOOK == self.handled / LOOK {
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
        if self.worked < LOOK {
            return Ok(());
        }
        self.worked = 0;
        grid.interrupted()
    }

    /// Keeps the register file of a call that ended. What registers hold at the start of a call is undefined.
    pub(crate) fn recycle(&mut self, id: FuncId, registers: crate::lanes::Registers) {
        if self.spare.len() < 16 {
            self.spare.push((id, registers));
        } else {
            self.held.release(registers.bytes());
        }
    }

    /// Executes at most that many steps; gives how many were executed.
    pub(crate) fn run(
        &mut self,
        block: &mut Block,
        grid: &Grid<'_>,
        most: u64,
    ) -> Result<u64, Failure> {
        let mut done = 0;
        while done < most {
            let rank = |group: &super::groups::Group, call: &CallFrame| {
                let function = grid.program.function(call.function);
                let step = function.and_then(|f| f.steps.get(group.at as usize));
                step.map_or(u32::MAX, |s| s.rank)
            };
            let Some(group) = self.groups.next(self.turns.fair, rank) else {
                return Ok(done);
            };
            let alone = self.groups.ready() == 1;
            let most = if alone {
                most - done
            } else {
                (most - done).min(self.turns.left)
            };
            let steps = match block.together.observer.is_some() {
                true => self.run_group::<true>(group, block, grid, (done, most)),
                false => self.run_group::<false>(group, block, grid, (done, most)),
            }?;
            done += steps;
            self.turns.count(steps, alone);
            if core::mem::take(&mut self.is_suspended) && alone {
                return Ok(done);
            }
        }
        Ok(done)
    }

    /// Runs a group until another one may be next, for at most that many steps after those that were done; gives the number of steps.
    fn run_group<const OBSERVED: bool>(
        &mut self,
        mut index: usize,
        block: &mut Block,
        grid: &Grid<'_>,
        (done, mut most): (u64, u64),
    ) -> Result<u64, Failure> {
        let mut steps = 0;
        loop {
            index = self.groups.join(index);
            let Some(group) = self.groups.all.get(index) else {
                return Ok(steps);
            };
            let (call, at, mask) = (group.call, group.at, group.mask);
            let frame = self.groups.calls.get_mut(call).and_then(Option::as_mut);
            let Some(frame) = frame else {
                return Ok(steps);
            };
            let id = frame.function;
            let Some(function) = grid.program.function(id) else {
                return Ok(steps);
            };
            steps += 1;
            let Some(target) = function.steps.get(at as usize) else {
                // The end of the body is a return.
                self.return_from(index, mask, grid);
                return Ok(steps);
            };
            let active = guarded(target.guard, mask, &frame.registers);
            let step = Stepped::new(id, at, call, mask, active);
            if OBSERVED {
                block.observe(|observer, of| observer.step(grid, of, self.first, step, frame));
            }
            execute(function, &mut frame.registers, target.before, active);
            let control = if let Step::Lanes(first, end) = target.step {
                execute(function, &mut frame.registers, (first, end), active);
                Control::Next
            } else if active == 0 {
                Control::Next
            } else {
                self.uncounted = done + steps;
                self.turns.reads |= target.step.reads_shared();
                let step = (index, step);
                let control =
                    self.execute_step::<OBSERVED>(block, grid, (function, &target.step), step)?;
                if self.handled != 0 {
                    steps += core::mem::take(&mut self.handled) / BYTES_OF_STEP;
                }
                if self.is_suspended {
                    most = steps;
                }
                control
            };
            if OBSERVED {
                self.check_memory(grid, step)?;
                let lanes_after_step = self.after(&control, step);
                block.observe(|observer, of| {
                    observer.stepped(grid, of, self, step, lanes_after_step)
                });
            }
            match control {
                Control::Next => self.groups.all[index].at = at + 1,
                Control::Jump(taken, to) if taken == mask => self.groups.all[index].at = to,
                divided => {
                    self.divide(index, divided, step);
                    return Ok(steps);
                }
            }
            let alone = self.groups.all.len() == 1;
            if steps >= most {
                return Ok(steps);
            }
            if !alone && !self.turns.fair && !self.is_first(index, grid) {
                return Ok(steps);
            }
        }
    }

    /// An error if checkers need more memory than allowed, or the launch has to end.
    fn check_memory(&mut self, grid: &Grid<'_>, step: Stepped) -> Result<(), Failure> {
        let worked = self.work(OBSERVED_STEP, grid);
        worked
            .and_then(|()| grid.account().check())
            .map_err(|reason| Failure {
                reason,
                function: Some(step.function),
                at: step.at,
                lane: step.mask.trailing_zeros() as usize % LANES,
            })
    }

    /// Executes a step other than operations on all lanes, for the lanes of a group.
    #[inline]
    fn execute_step<const OBSERVED: bool>(
        &mut self,
        block: &mut Block,
        grid: &Grid<'_>,
        (function, step): (&Function, &Step),
        (group, of): (usize, Stepped),
    ) -> Result<Control, Failure> {
        let mut execution = Execution {
            warp: self,
            block,
            grid,
            function,
            id: of.function,
            group,
            call: of.call,
            at: of.at,
            mask: of.mask,
            active: of.active,
            by_byte: false,
        };
        let control = if OBSERVED {
            execution.observed_step(step)
        } else {
            execution.step(step)
        };
        control.map_err(|(reason, lane)| Failure {
            reason,
            function: Some(of.function),
            at: of.at,
            lane,
        })
    }

    /// The lanes of a group do not all go on together.
    fn divide(&mut self, index: usize, control: Control, step: Stepped) {
        match control {
            Control::Jump(taken, to) => {
                let group = &mut self.groups.all[index];
                (group.mask, group.at) = (step.mask & !taken, step.at + 1);
                self.groups.add(taken, step.call, to);
            }
            Control::Wait(state) => self.wait(index, step.active, state),
            Control::Next | Control::Moved => {}
        }
    }

    /// The lanes that executed a step, by their state after it, for the observer: the groups are still at the step unless they moved.
    fn after(&self, control: &Control, step: Stepped) -> After {
        let done = match control {
            Control::Next | Control::Jump(..) => step.active,
            Control::Wait(_) | Control::Moved => 0,
        };
        let mut lanes_after = After {
            done,
            ..After::default()
        };
        match control {
            Control::Wait(_) => lanes_after.waiting = step.active,
            Control::Moved => self.groups.after(step, &mut lanes_after),
            Control::Next | Control::Jump(..) => {}
        }
        lanes_after
    }

    /// Whether no other group that is ready comes before a group.
    fn is_first(&mut self, index: usize, grid: &Grid<'_>) -> bool {
        let key = |group: &super::groups::Group| {
            let call = self.groups.calls.get(group.call).and_then(Option::as_ref);
            let depth = call.map_or(0, |c| c.depth);
            let function = call.and_then(|c| grid.program.function(c.function));
            let step = function.and_then(|f| f.steps.get(group.at as usize));
            (
                u32::MAX - depth,
                step.map_or(u32::MAX, |s| s.rank),
                group.at,
            )
        };
        let own_key = key(&self.groups.all[index]);
        let other_groups = self.groups.all.iter().enumerate();
        other_groups
            .filter(|(i, g)| *i != index && g.state == State::Ready)
            .all(|(_, g)| key(g) > own_key)
    }

    /// Lanes of a group wait; those whose guard does not hold go on.
    fn wait(&mut self, index: usize, active: u32, state: State) {
        let group = &mut self.groups.all[index];
        let (call, at, passing) = (group.call, group.at, group.mask & !active);
        (group.mask, group.state) = (active, state);
        if passing != 0 {
            self.groups.add(passing, call, at + 1);
        }
    }
}
