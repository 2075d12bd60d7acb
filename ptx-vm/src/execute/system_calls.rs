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
            let argument = |of: &Self, n: usize, bytes: u8| of.argument(call, n, bytes, lane);
            let pointer = |of: &Self, n: usize| argument(of, n, 8);
            let result = match name {
                "vprintf" => {
                    let text = self.text(pointer(self, 0), lane, LONGEST)?;
                    let arguments = generic(pointer(self, 1), self.block.rank);
                    let read = |offset: u64, bytes: u8| {
                        self.read(arguments.plus(offset), bytes, lane)
                            .map(|v| v as u64)
                            .map_err(|(reason, _)| reason)
                    };
                    let string = |address: u64, most: u64| {
                        let text = self.text(address, lane, most.min(LONGEST));
                        text.map_err(|(reason, _)| reason)
                    };
                    let (written, count) =
                        format::format(&text, read, string).map_err(|reason| (reason, lane))?;
                    self.handle((text.len() + written.len()) as u64, lane)?;
                    let printed = self.grid.print(self.block.index, written);
                    printed.map_err(|reason| (reason, lane))?;
                    (count, 4)
                }
                MALLOC => {
                    let bytes = pointer(self, 0);
                    let start = self.grid.heap.allocate(bytes);
                    self.observe(|observer, _| observer.allocated(start, bytes));
                    (start, 8)
                }
                "free" => {
                    let start = pointer(self, 0);
                    self.grid.heap.free(start);
                    self.observe(|observer, of| observer.freed(of, lane, start));
                    (0, 0)
                }
                "__assertfail" => {
                    let message = self.text(pointer(self, 0), lane, LONGEST)?;
                    let file = self.text(pointer(self, 1), lane, LONGEST)?;
                    let line = argument(self, 2, 4);
                    let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                    let what = format!("{}:{line}: {}", show(&file), show(&message));
                    return Err((StopReason::Assertion(what), lane));
                }
                other => return Err((StopReason::Undefined(other.into()), lane)),
            };
            self.return_value(call, lane, result);
        }
        Ok(Control::Next)
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

    fn return_value(&mut self, call: &Call, lane: usize, (value, bytes): (u64, u8)) {
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

    /// The bytes of a text up to its zero, at most that many.
    fn text(&self, address: u64, lane: usize, most: u64) -> Result<Vec<u8>, Failed> {
        let start = generic(address, self.block.rank);
        let mut text = Vec::new();
        for at in 0..most {
            let byte = self.read(start.plus(at), 1, lane);
            match byte? as u8 {
                0 => break,
                byte => text.push(byte),
            }
        }
        Ok(text)
    }
}
