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
                    let start = self.grid.heap.allocate(bytes);
                    self.observe(|observer, _| observer.allocated(start, bytes));
                    (start, 8)
                }
                "free" => {
                    let start = self.pointer(call, 0, lane);
                    self.grid.heap.free(start);
                    self.observe(|observer, execution| observer.freed(execution, lane, start));
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
                other => return Err((StopReason::Undefined(other.into()), lane)),
            };
            self.return_value(call, lane, value, bytes);
        }
        Ok(Control::Next)
    }

    /// Prints the output of `vprintf`, and returns the number of its arguments.
    fn print(&mut self, call: &Call, lane: usize) -> Result<u64, Failed> {
        let text = self.text(self.pointer(call, 0, lane), lane, LONGEST)?;
        let arguments = generic(self.pointer(call, 1, lane), self.block.rank);
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
    fn argument(&self, call: &Call, n: usize, bytes: u8, lane: usize) -> u64 {
        match call.arguments.get(n).map(|a| a.element(0, 0)) {
            Some(Passed::Register(place)) => self.get(place, lane) as u64,
            Some(Passed::Memory(offset)) => {
                let address = self.frame() + offset;
                let stack = self.warp.stacks.get(lane);
                stack
                    .and_then(|s| memory::read(s, address, bytes))
                    .unwrap_or(0) as u64
            }
            _ => 0,
        }
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
        let start = generic(address, self.block.rank);
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
