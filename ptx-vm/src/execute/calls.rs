//! Calls and returns.

use super::block::Block;
use super::execution::{Control, Execution, Failed, Outcome};
use super::grid::Grid;
use super::groups::CallFrame;
use super::warp::Warp;
use crate::error::StopReason;
use crate::lanes::Place;
use crate::lanes::lanes;
use crate::lower::Code;
use crate::memory;
use crate::program::{Argument, Call, Callee, Function, Passed, function_at};
use ptx_ir::FuncId;

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

    fn new_call(
        &mut self,
        id: FuncId,
        function: &Function,
        live: u32,
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
            live,
            caller: caller.map(|(call, _)| call),
            called_at: caller.map_or(0, |(_, at)| at),
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

    /// Gives the places of special registers their values.
    fn set_special(&mut self, call: usize, function: &Function, block: &Block, grid: &Grid<'_>) {
        for &(register, component, place) in &function.special {
            for lane in 0..crate::lanes::LANES {
                let bits = block.special(register, component, self, lane, grid);
                self.set(call, place, lane, bits);
            }
        }
    }

    /// Copies an argument or a result.
    fn pass(
        &mut self,
        (from_call, from): (usize, &Argument),
        (to_call, to): (usize, &Argument),
        bytes: u64,
        mask: u32,
    ) {
        let elements = from.elements().max(to.elements());
        let each = bytes / elements.max(1) as u64;
        for n in 0..elements {
            let (from, to) = (from.element(n, each), to.element(n, each));
            self.pass_element((from_call, from), (to_call, to), each, mask);
        }
    }

    /// Copies an element of an argument or of a result.
    fn pass_element(
        &mut self,
        (from_call, from): (usize, Passed),
        (to_call, to): (usize, Passed),
        bytes: u64,
        mask: u32,
    ) {
        self.passed(bytes, mask);
        let base = |warp: &Self, call: usize| {
            let call = warp.groups.calls.get(call).and_then(Option::as_ref);
            call.map_or(0, |c| c.base)
        };
        for lane in lanes(mask) {
            match (from, to) {
                (Passed::Memory(a), Passed::Memory(b)) => {
                    let (a, b) = (base(self, from_call) + a, base(self, to_call) + b);
                    if let Some(stack) = self.stacks.get_mut(lane) {
                        let (a, b, n) = (a as usize, b as usize, bytes as usize);
                        if a.max(b) + n <= stack.len() {
                            stack.copy_within(a..a + n, b);
                        }
                    }
                }
                (Passed::Register(a), Passed::Register(b)) => {
                    let bits = self.get(from_call, a, lane);
                    self.set(to_call, b, lane, bits);
                }
                (Passed::Register(a), Passed::Memory(b)) => {
                    let (bits, address) = (self.get(from_call, a, lane), base(self, to_call) + b);
                    let bytes = bytes.min(16) as u8;
                    if let Some(stack) = self.stacks.get_mut(lane) {
                        let _ = memory::write(stack, address, bytes, bits);
                    }
                }
                (Passed::Memory(a), Passed::Register(b)) => {
                    let address = base(self, from_call) + a;
                    let bytes = bytes.min(width(b).into()) as u8;
                    let bits = self
                        .stacks
                        .get(lane)
                        .and_then(|s| memory::read(s, address, bytes));
                    self.set(to_call, b, lane, bits.unwrap_or(0));
                }
                _ => {}
            }
        }
    }

    /// Lanes of a group return from their function.
    pub(super) fn return_from(&mut self, index: usize, mask: u32, grid: &Grid<'_>) {
        let Some(group) = self.groups.all.get(index) else {
            return;
        };
        let (from, all) = (group.call, group.mask);
        let Some(call) = self.groups.calls.get(from).and_then(Option::as_ref) else {
            return;
        };
        let Some(caller) = call.caller else {
            return self.exit(index, mask);
        };
        let (id, at) = (call.function, call.called_at);
        self.pass_results(id, from, caller, at, mask, grid);
        if mask == all {
            self.groups.all.swap_remove(index);
        } else {
            let group = &mut self.groups.all[index];
            group.mask = all & !mask;
            group.at += 1;
        }
        self.leave(from, mask);
        self.groups.add(mask, caller, at + 1);
    }

    fn pass_results(
        &mut self,
        id: FuncId,
        from: usize,
        caller: usize,
        at: u32,
        mask: u32,
        grid: &Grid<'_>,
    ) {
        let callers = self.groups.calls.get(caller).and_then(Option::as_ref);
        let calling = callers.and_then(|c| grid.program.function(c.function));
        let step = calling.and_then(|f| f.steps.get(at as usize));
        let (Some(function), Some(crate::program::Step::Call(call))) =
            (grid.program.function(id), step.map(|s| &s.step))
        else {
            return;
        };
        for (result, parameter) in call.results.iter().zip(&function.frame.results) {
            let from = (from, &parameter.place);
            self.pass(from, (caller, result), parameter.bytes, mask);
        }
    }

    /// Lanes leave a call; the last one ends it.
    fn leave(&mut self, call: usize, mask: u32) {
        let Some(frame) = self.groups.calls.get_mut(call) else {
            return;
        };
        let ended = match frame {
            Some(of) => {
                of.live &= !mask;
                of.live == 0
            }
            None => false,
        };
        if ended && let Some(of) = frame.take() {
            self.recycle(of.function, of.registers);
        }
    }

    /// Lanes of a group end.
    pub(super) fn exit(&mut self, index: usize, mask: u32) {
        let Some(group) = self.groups.all.get_mut(index) else {
            return;
        };
        let mut call = Some(group.call);
        group.mask &= !mask;
        group.at += 1;
        if group.mask == 0 {
            self.groups.all.swap_remove(index);
        }
        // They leave all calls that they are in.
        while let Some(at) = call {
            let frame = self.groups.calls.get(at).and_then(Option::as_ref);
            call = frame.and_then(|c| c.caller);
            self.leave(at, mask);
        }
        self.groups.wait_no_more_for(mask);
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
                let with_address = lanes(self.active).filter(|&l| self.get(*place, l) == address);
                let calling = with_address.fold(0, |all, lane| all | 1 << lane);
                let id = u64::try_from(address).ok().and_then(function_at);
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
        let (id, taken) = self.callee(&call.callee)?;
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
        let variable = match function.frame.variable {
            Some(_) => call.last_bytes.next_multiple_of(16),
            None => 0,
        };
        let top = base.saturating_add(function.frame.bytes);
        let top = top.saturating_add(variable);
        if depth > self.grid.limits.call_depth || top > self.grid.limits.stack_bytes {
            return Err((StopReason::StackLimit, first));
        }
        let grown = self.warp.grow_stacks(taken, top, self.grid);
        grown.map_err(|reason| (reason, first))?;
        let (registers, at) = (Some((self.call, self.at)), self.at);
        let callee = self
            .warp
            .new_call(id, function, taken, registers, base, depth)
            .map_err(|reason| (reason, first))?;
        self.warp
            .set_special(callee, function, self.block, self.grid);
        if let Some(of) = self.warp.call(callee) {
            of.top = top;
        }
        for (argument, parameter) in call.arguments.iter().zip(&function.frame.parameters) {
            let bytes = match (function.frame.variable, &parameter.place) {
                (Some(variable), Argument::Memory(offset)) if variable == *offset => {
                    call.last_bytes
                }
                _ => parameter.bytes,
            };
            let from = (self.call, argument);
            self.warp
                .pass(from, (callee, &parameter.place), bytes, taken);
        }
        let group = &mut self.warp.groups.all[self.group];
        if taken == self.mask {
            (group.call, group.at) = (callee, 0);
            return Ok(Control::Moved);
        }
        // Lanes that call another function execute the instruction again.
        let again = self.active & !taken;
        match again {
            0 => (group.mask, group.at) = (self.mask & !taken, at + 1),
            _ => {
                group.mask = again;
                if self.active != self.mask {
                    self.warp
                        .groups
                        .add(self.mask & !self.active, self.call, at + 1);
                }
            }
        }
        self.warp.groups.add(taken, callee, 0);
        Ok(Control::Moved)
    }
}

const fn width(place: Place) -> u8 {
    match place {
        Place::Predicate(_) => 1,
        Place::Word(_) => 4,
        Place::Double(_) => 8,
        Place::Quad(_) => 16,
    }
}
