//! Functions that the system provides: those that CUDA compilers call.

use super::block::Block;
use super::format;
use super::grid::Grid;
use super::memory::generic;
use super::warp::{Control, Now, Warp, lanes};
use crate::error::Reason;
use crate::memory;
use crate::program::{Argument, Call};

/// The most bytes of a text.
const LONGEST: u64 = 1 << 16;

type Outcome = Result<Control, (Reason, usize)>;

impl Warp {
    /// Calls a function that the system provides.
    pub(super) fn system_call(
        &mut self,
        now: Now<'_>,
        name: &str,
        call: &Call,
        block: &mut Block,
        grid: &Grid<'_>,
    ) -> Outcome {
        for lane in lanes(now.active) {
            let argument =
                |warp: &Self, n: usize, bytes: u8| warp.argument(now, call, n, bytes, lane);
            let pointer = |warp: &Self, n: usize| argument(warp, n, 8);
            let result = match name {
                "vprintf" => {
                    let text = self.text(pointer(self, 0), lane, block, grid)?;
                    let at = generic(pointer(self, 1), block.rank);
                    let read = |offset: u64, bytes: u8| {
                        self.read(at.plus(offset), bytes, lane, block, grid)
                            .map(|v| v as u64)
                            .map_err(Reason::from)
                    };
                    let string = |address: u64| {
                        self.text(address, lane, block, grid)
                            .map_err(|(reason, _)| reason)
                    };
                    let (written, count) =
                        format::format(&text, read, string).map_err(|reason| (reason, lane))?;
                    if let Ok(mut output) = grid.output.lock() {
                        output.extend(written);
                    }
                    count
                }
                "malloc" => grid.allocate(pointer(self, 0)),
                // Memory of the heap is not used again.
                "free" => 0,
                "__assertfail" => {
                    let message = self.text(pointer(self, 0), lane, block, grid)?;
                    let file = self.text(pointer(self, 1), lane, block, grid)?;
                    let line = argument(self, 2, 4);
                    let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                    let what = format!("{}:{line}: {}", show(&file), show(&message));
                    return Err((Reason::Assertion(what), lane));
                }
                other => return Err((Reason::Undefined(other.into()), lane)),
            };
            self.return_value(now, call, lane, result);
        }
        Ok(Control::Next)
    }

    /// The value of an argument.
    fn argument(&self, now: Now<'_>, call: &Call, n: usize, bytes: u8, lane: usize) -> u64 {
        match call.arguments.get(n) {
            Some(Argument::Register(place)) => self.get(now.call, *place, lane) as u64,
            Some(Argument::Memory(offset)) => {
                let frame = self.groups.calls.get(now.call).and_then(Option::as_ref);
                let at = frame.map_or(0, |c| c.base) + offset;
                let stack = self.stacks.get(lane);
                stack.and_then(|s| memory::read(s, at, bytes)).unwrap_or(0) as u64
            }
            _ => 0,
        }
    }

    fn return_value(&mut self, now: Now<'_>, call: &Call, lane: usize, value: u64) {
        match call.results.first() {
            Some(Argument::Register(place)) => self.set(now.call, *place, lane, value.into()),
            Some(Argument::Memory(offset)) => {
                let frame = self.groups.calls.get(now.call).and_then(Option::as_ref);
                let at = frame.map_or(0, |c| c.base) + offset;
                if let Some(stack) = self.stacks.get_mut(lane) {
                    // A result of 32 bits may be the last thing in the frame.
                    let written = memory::write(stack, at, 8, value.into());
                    if written.is_none() {
                        let _ = memory::write(stack, at, 4, value.into());
                    }
                }
            }
            _ => {}
        }
    }

    /// The bytes of a text up to its zero.
    fn text(
        &self,
        address: u64,
        lane: usize,
        block: &Block,
        grid: &Grid<'_>,
    ) -> Result<Vec<u8>, (Reason, usize)> {
        let start = generic(address, block.rank);
        let mut text = Vec::new();
        for at in 0..LONGEST {
            let byte = self.read(start.plus(at), 1, lane, block, grid);
            match byte.map_err(|f| (Reason::from(f), lane))? as u8 {
                0 => break,
                byte => text.push(byte),
            }
        }
        Ok(text)
    }
}
