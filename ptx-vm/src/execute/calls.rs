//! Calls and returns.

use super::block::Block;
use super::execution::{Control, Execution, Failed, Outcome};
use super::grid::Grid;
use super::groups::CallFrame;
use super::location::shared_address;
use super::warp::Warp;
use crate::error::StopReason;
use crate::lanes::{Place, lanes};
use crate::lower::Code;
use crate::memory;
use crate::program::{Argument, Call, Callee, Function, Passed, Step};
use ptx_ir::FuncId;

/// An argument or a result, in a call.
#[derive(Copy, Clone)]
struct ArgumentOfCall<'a> {
    /// The index of the call.
    call: usize,
    argument: &'a Argument,
}

impl ArgumentOfCall<'_> {
    fn element(&self, index: usize, bytes: u64) -> ElementOfCall {
        ElementOfCall {
            call: self.call,
            element: self.argument.element(index, bytes),
        }
    }
}

/// An element of an argument or of a result, in a call.
#[derive(Copy, Clone)]
struct ElementOfCall {
    /// The index of the call.
    call: usize,
    element: Passed,
}

impl Warp {
    /// Begins to execute a kernel.
    pub(crate) fn start(
        &mut self,
        id: FuncId,
        mask: u32,
        block: &Block,
        grid: &Grid<'_>,
    ) -> Result<(), StopReason> {
        if let Some(function) = grid.program.function(id) {
            let call = self.new_call(id, function, mask, None, 0, 0)?;
            self.set_special(call, function, block, grid);
            self.groups.add(mask, call, 0);
            self.grow_stacks(u32::MAX, function.frame.bytes, grid)?;
        }
        Ok(())
    }

    /// Creates a call of a function by the lanes of a mask. `caller` is the index of the calling call and that of its step. The frame begins at `base`.
    fn new_call(
        &mut self,
        id: FuncId,
        function: &Function,
        mask: u32,
        caller: Option<(usize, u32)>,
        base: u64,
        depth: u32,
    ) -> Result<usize, StopReason> {
        let mut registers = self.registers(id, function)?;
        if let Some(frame) = registers.doubles.get_mut(Code::FRAME as usize) {
            frame.fill(base);
        }
        let call = CallFrame {
            function: id,
            registers,
            base,
            top: base + function.frame.bytes,
            live: mask,
            caller: caller.map(|(call, _)| call),
            call_step: caller.map_or(0, |(_, step_index)| step_index),
            depth,
        };
        Ok(match self.groups.calls.iter().position(Option::is_none) {
            Some(free) => {
                self.groups.calls[free] = Some(call);
                free
            }
            None => {
                self.groups.calls.push(Some(call));
                self.groups.calls.len() - 1
            }
        })
    }

    /// Sets the special registers of a call that have a place, and the addresses of shared variables.
    fn set_special(&mut self, call: usize, function: &Function, block: &Block, grid: &Grid<'_>) {
        for &(register, component, place) in &function.special {
            for lane in 0..crate::lanes::LANES {
                let bits = block.special(register, component, self, lane, grid);
                self.set(call, place, lane, bits);
            }
        }
        for &(offset, place) in &function.shared_addresses {
            let address = shared_address(block.rank, offset);
            for lane in 0..crate::lanes::LANES {
                self.set(call, place, lane, address.into());
            }
        }
    }

    /// Copies an argument or a result from one call to another one.
    fn pass(
        &mut self,
        source: ArgumentOfCall<'_>,
        target: ArgumentOfCall<'_>,
        bytes: u64,
        mask: u32,
    ) {
        let elements = source.argument.elements().max(target.argument.elements());
        let element_bytes = bytes / elements.max(1) as u64;
        for index in 0..elements {
            self.pass_element(
                source.element(index, element_bytes),
                target.element(index, element_bytes),
                element_bytes,
                mask,
            );
        }
    }

    /// The beginning of the frame of a call.
    fn base(&self, call: usize) -> u64 {
        let frame = self.groups.calls.get(call).and_then(Option::as_ref);
        frame.map_or(0, |c| c.base)
    }

    /// Copies an element of an argument or of a result.
    fn pass_element(
        &mut self,
        source: ElementOfCall,
        target: ElementOfCall,
        bytes: u64,
        mask: u32,
    ) {
        self.count_passed(bytes, mask);
        for lane in lanes(mask) {
            match (source.element, target.element) {
                (Passed::Memory(from), Passed::Memory(to)) => {
                    let from = (self.base(source.call) + from) as usize;
                    let to = (self.base(target.call) + to) as usize;
                    let length = bytes as usize;
                    if let Some(stack) = self.stacks.get_mut(lane)
                        && from.max(to) + length <= stack.len()
                    {
                        stack.copy_within(from..from + length, to);
                    }
                }
                (Passed::Register(from), Passed::Register(to)) => {
                    let bits = self.get(source.call, from, lane);
                    self.set(target.call, to, lane, bits);
                }
                (Passed::Register(from), Passed::Memory(to)) => {
                    let bits = self.get(source.call, from, lane);
                    let address = self.base(target.call) + to;
                    if let Some(stack) = self.stacks.get_mut(lane) {
                        let _ = memory::write(stack, address, bytes.min(16) as u8, bits);
                    }
                }
                (Passed::Memory(from), Passed::Register(to)) => {
                    let address = self.base(source.call) + from;
                    let bytes = bytes.min(byte_width(to).into()) as u8;
                    let bits = self
                        .stacks
                        .get(lane)
                        .and_then(|s| memory::read(s, address, bytes));
                    self.set(target.call, to, lane, bits.unwrap_or(0));
                }
                _ => {}
            }
        }
    }

    /// Returns lanes of a group from their function.
    pub(super) fn return_from(&mut self, index: usize, mask: u32, grid: &Grid<'_>) {
        let Some(group) = self.groups.all.get(index) else {
            return;
        };
        let (callee, group_mask) = (group.call, group.mask);
        let Some(call) = self.groups.calls.get(callee).and_then(Option::as_ref) else {
            return;
        };
        let Some(caller) = call.caller else {
            return self.exit(index, mask);
        };
        let (id, call_step) = (call.function, call.call_step);
        self.pass_results(id, callee, caller, call_step, mask, grid);
        if mask == group_mask {
            self.groups.all.swap_remove(index);
        } else {
            let group = &mut self.groups.all[index];
            group.mask = group_mask & !mask;
            group.step_index += 1;
        }
        self.leave(callee, mask);
        self.groups.add(mask, caller, call_step + 1);
    }

    /// Copies the results of a function from the call `callee` to the call `caller`, whose step called it.
    fn pass_results(
        &mut self,
        id: FuncId,
        callee: usize,
        caller: usize,
        call_step: u32,
        mask: u32,
        grid: &Grid<'_>,
    ) {
        let caller_frame = self.groups.calls.get(caller).and_then(Option::as_ref);
        let calling_function = caller_frame.and_then(|c| grid.program.function(c.function));
        let target = calling_function.and_then(|f| f.steps.get(call_step as usize));
        let (Some(function), Some(Step::Call(call))) =
            (grid.program.function(id), target.map(|t| &t.step))
        else {
            return;
        };
        for (result, parameter) in call.results.iter().zip(&function.frame.results) {
            let source = ArgumentOfCall {
                call: callee,
                argument: &parameter.place,
            };
            let target = ArgumentOfCall {
                call: caller,
                argument: result,
            };
            self.pass(source, target, parameter.bytes, mask);
        }
    }

    /// Removes lanes from a call, which ends with its last lane.
    fn leave(&mut self, call: usize, mask: u32) {
        let Some(frame) = self.groups.calls.get_mut(call) else {
            return;
        };
        if let Some(call) = frame {
            call.live &= !mask;
        }
        if frame.as_ref().is_some_and(|call| call.live == 0)
            && let Some(ended) = frame.take()
        {
            self.recycle(ended.function, ended.registers);
        }
    }

    /// Ends lanes of a group.
    pub(super) fn exit(&mut self, index: usize, mask: u32) {
        let Some(group) = self.groups.all.get_mut(index) else {
            return;
        };
        let mut call = Some(group.call);
        group.mask &= !mask;
        group.step_index += 1;
        if group.mask == 0 {
            self.groups.all.swap_remove(index);
        }
        // The lanes leave all calls that they are in.
        while let Some(index) = call {
            let frame = self.groups.calls.get(index).and_then(Option::as_ref);
            call = frame.and_then(|c| c.caller);
            self.leave(index, mask);
        }
        self.groups.stop_waiting_for(mask);
    }
}

impl Execution<'_> {
    /// The function that the first lane calls, and the lanes that call it.
    fn callee(&self, callee: &Callee) -> Result<(FuncId, u32), Failed> {
        let first = self.first();
        match callee {
            Callee::Function(id) => Ok((*id, self.active)),
            Callee::System(_) => Err((StopReason::BadTarget, first)),
            Callee::Indirect(place) => {
                let address = self.get(*place, first);
                let calling = lanes(self.active)
                    .filter(|&lane| self.get(*place, lane) == address)
                    .fold(0, |mask, lane| mask | 1 << lane);
                let id = u64::try_from(address)
                    .ok()
                    .and_then(|address| self.grid.program.variables.function_at(address));
                Ok((id.ok_or((StopReason::BadTarget, first))?, calling))
            }
        }
    }

    /// Calls a function.
    pub(super) fn enter(&mut self, call: &Call) -> Outcome {
        let first = self.first();
        if let Callee::System(name) = &call.callee {
            return self.system_call(name, call);
        }
        let (id, calling) = self.callee(&call.callee)?;
        let function = self.grid.program.function(id);
        let function = function.ok_or((StopReason::BadTarget, first))?;
        let Some(caller) = self
            .warp
            .groups
            .calls
            .get(self.call)
            .and_then(Option::as_ref)
        else {
            return Ok(Control::Next);
        };
        let (base, depth) = (caller.top, caller.depth + 1);
        let variable_bytes = match function.frame.unsized_parameter {
            Some(_) => call.last_bytes.next_multiple_of(16),
            None => 0,
        };
        let top = base
            .saturating_add(function.frame.bytes)
            .saturating_add(variable_bytes);
        if depth > self.grid.limits.call_depth || top > self.grid.limits.stack_bytes {
            return Err((StopReason::StackLimit, first));
        }
        self.warp
            .grow_stacks(calling, top, self.grid)
            .map_err(|reason| (reason, first))?;
        let caller = Some((self.call, self.step_index));
        let callee = self
            .warp
            .new_call(id, function, calling, caller, base, depth)
            .map_err(|reason| (reason, first))?;
        self.warp
            .set_special(callee, function, self.block, self.grid);
        if let Some(frame) = self.warp.call(callee) {
            frame.top = top;
        }
        for (argument, parameter) in call.arguments.iter().zip(&function.frame.parameters) {
            let bytes = match (function.frame.unsized_parameter, &parameter.place) {
                (Some(variable), Argument::Memory(offset)) if variable == *offset => {
                    call.last_bytes
                }
                _ => parameter.bytes,
            };
            let source = ArgumentOfCall {
                call: self.call,
                argument,
            };
            let target = ArgumentOfCall {
                call: callee,
                argument: &parameter.place,
            };
            self.warp.pass(source, target, bytes, calling);
        }
        let group = &mut self.warp.groups.all[self.group];
        if calling == self.mask {
            (group.call, group.step_index) = (callee, 0);
            return Ok(Control::Moved);
        }
        // Lanes that call another function execute the instruction again.
        let repeating = self.active & !calling;
        let next_step = self.step_index + 1;
        if repeating == 0 {
            (group.mask, group.step_index) = (self.mask & !calling, next_step);
        } else {
            group.mask = repeating;
            if self.active != self.mask {
                let skipping = self.mask & !self.active;
                self.warp.groups.add(skipping, self.call, next_step);
            }
        }
        self.warp.groups.add(calling, callee, 0);
        Ok(Control::Moved)
    }
}

/// The bytes of a register; 1 for a predicate.
const fn byte_width(place: Place) -> u8 {
    match place {
        Place::Predicate(_) => 1,
        Place::Word(_) => 4,
        Place::Double(_) => 8,
        Place::Quad(_) => 16,
    }
}
