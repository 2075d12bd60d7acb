//! System functions that CUDA compilers call.

use super::execution::{Control, Execution, Failed, Outcome};
use super::format;
use super::location::generic;
use crate::error::StopReason;
use crate::lanes::lanes;
use crate::memory;
use crate::program::{Call, MALLOC, Passed};

/// The most bytes of a text.
const LONGEST: u64 = 1 << 16;

impl Execution<'_> {
    /// Calls a function that the system provides.
    pub(super) fn system_call(&mut self, name: &str, call: &Call) -> Outcome {
        for lane in lanes(self.active) {
            let (value, bytes) = match name {
                "vprintf" => (self.print(call, lane)?, 4),
                MALLOC => {
                    let bytes = self.pointer(call, 0, lane);
                    (self.allocate_on_heap(bytes), 8)
                }
                "free" => {
                    let start = self.pointer(call, 0, lane);
                    self.free_on_heap(start, lane);
                    (0, 0)
                }
                "__assertfail" => {
                    let message = self.text(self.pointer(call, 0, lane), lane, LONGEST)?;
                    let file = self.text(self.pointer(call, 1, lane), lane, LONGEST)?;
                    let line = self.argument(call, 2, 4, lane);
                    let message = String::from_utf8_lossy(&message);
                    let file = String::from_utf8_lossy(&file);
                    let text = format!("{file}:{line}: {message}");
                    return Err((StopReason::Assertion(text), lane));
                }
                other => match self.device_runtime_call(other, call, lane)? {
                    Some(result) => result,
                    None => return Err((StopReason::Undefined(other.into()), lane)),
                },
            };
            self.return_value(call, lane, value, bytes);
        }
        Ok(Control::Next)
    }

    /// The address of new memory of the heap; 0 if there is not enough.
    pub(super) fn allocate_on_heap(&mut self, bytes: u64) -> u64 {
        let start = self.grid.heap.allocate(bytes);
        self.observe(|observer, _| observer.allocated(start, bytes));
        start
    }

    pub(super) fn free_on_heap(&mut self, start: u64, lane: usize) {
        self.grid.heap.free(start);
        self.observe(|observer, execution| observer.freed(execution, lane, start));
    }

    /// Prints the output of `vprintf`, and returns the number of its arguments.
    fn print(&mut self, call: &Call, lane: usize) -> Result<u64, Failed> {
        let text = self.text(self.pointer(call, 0, lane), lane, LONGEST)?;
        let arguments = generic(self.pointer(call, 1, lane));
        let read_argument = |offset: u64, bytes: u8| {
            self.read(arguments.plus(offset), bytes, lane)
                .map(|v| v as u64)
                .map_err(|(reason, _)| reason)
        };
        let read_string = |address: u64, max_len: u64| {
            self.text(address, lane, max_len.min(LONGEST))
                .map_err(|(reason, _)| reason)
        };
        let (written, count) =
            format::format(&text, read_argument, read_string).map_err(|reason| (reason, lane))?;
        self.handle((text.len() + written.len()) as u64, lane)?;
        let printed = self.grid.print(self.block.index, written);
        printed.map_err(|reason| (reason, lane))?;
        Ok(count)
    }

    /// The value of an argument that is an address.
    fn pointer(&self, call: &Call, n: usize, lane: usize) -> u64 {
        self.argument(call, n, 8, lane)
    }

    /// The value of an argument.
    pub(super) fn argument(&self, call: &Call, n: usize, bytes: u8, lane: usize) -> u64 {
        self.argument_at(call, n, 0, bytes, lane)
    }

    /// The value of bytes of an argument, from an offset on.
    pub(super) fn argument_at(
        &self,
        call: &Call,
        n: usize,
        offset: u64,
        bytes: u8,
        lane: usize,
    ) -> u64 {
        let value = match call.arguments.get(n).map(|a| a.element(0, 0)) {
            Some(Passed::Register(place)) => self.get(place, lane).checked_shr(8 * offset as u32),
            Some(Passed::Memory(start)) => {
                let address = self.frame() + start + offset;
                let stack = self.warp.stacks.get(lane);
                stack.and_then(|s| memory::read(s, address, bytes))
            }
            _ => None,
        };
        let unused = 64 - 8 * u32::from(bytes.clamp(1, 8));
        value.unwrap_or(0) as u64 & u64::MAX >> unused
    }

    fn return_value(&mut self, call: &Call, lane: usize, value: u64, bytes: u8) {
        match call.results.first().map(|a| a.element(0, 0)) {
            Some(Passed::Register(place)) => self.set(place, lane, value.into()),
            Some(Passed::Memory(offset)) => {
                let address = self.frame() + offset;
                if let Some(stack) = self.warp.stacks.get_mut(lane) {
                    let _ = memory::write(stack, address, bytes, value.into());
                }
            }
            _ => {}
        }
    }

    /// The bytes of a text up to its zero, at most a number of them.
    fn text(&self, address: u64, lane: usize, max_len: u64) -> Result<Vec<u8>, Failed> {
        let start = generic(address);
        let mut text = Vec::new();
        for offset in 0..max_len {
            let byte = self.read(start.plus(offset), 1, lane);
            match byte? as u8 {
                0 => break,
                byte => text.push(byte),
            }
        }
        Ok(text)
    }
}
