//! Reads and writes of memory by one lane, and atomic operations.

use super::execution::{Control, Execution, Failed, Outcome};
use super::location::{Location, check_alignment};
use super::observer::Use;
use crate::lanes::lanes;
use crate::memory::{self, Fault};
use crate::program::{Atomic, ChangedElement};

impl Execution<'_> {
    /// Reads at most 16 bytes at a multiple of their number.
    pub(super) fn read(&self, from: Location, bytes: u8, lane: usize) -> Result<u128, Failed> {
        if self.by_byte && !self.touch_one(from, Use::Read, bytes, lane) {
            return Ok(0);
        }
        check_alignment(from, bytes.into(), lane)?;
        let out_of_bounds = Fault::OutOfBounds(from.address());
        let value = match from {
            Location::Global(at) => self.grid.device.read(at, bytes).ok(),
            Location::Shared(rank, at) => {
                let memory = self.block.shared(rank);
                memory.and_then(|m| memory::read(m, at, bytes))
            }
            Location::Local(at) => {
                let stack = self.warp.stacks.get(lane);
                stack.and_then(|s| memory::read(s, at, bytes))
            }
            Location::Parameter(at) => memory::read(self.grid.parameters, at, bytes),
        };
        value.ok_or_else(|| (out_of_bounds.into(), lane))
    }

    /// Writes at most 16 bytes at a multiple of their number.
    pub(super) fn write(
        &mut self,
        to: Location,
        bytes: u8,
        value: u128,
        lane: usize,
    ) -> Result<(), Failed> {
        if self.by_byte && !self.touch_one(to, Use::Write, bytes, lane) {
            return Ok(());
        }
        check_alignment(to, bytes.into(), lane)?;
        let out_of_bounds = Fault::OutOfBounds(to.address());
        let written = match to {
            Location::Global(at) => self.grid.device.write(at, bytes, value).ok(),
            Location::Shared(rank, at) => {
                let memory = self.block.shared_mut(rank);
                memory.and_then(|m| memory::write(m, at, bytes, value))
            }
            Location::Local(at) => {
                let stack = self.warp.stacks.get_mut(lane);
                stack.and_then(|s| memory::write(s, at, bytes, value))
            }
            Location::Parameter(_) => None,
        };
        written.ok_or_else(|| (out_of_bounds.into(), lane))
    }

    /// Lanes perform the operation one after the other.
    pub(super) fn atomic(&mut self, atomic: &Atomic) -> Outcome {
        for lane in lanes(self.active) {
            let mut at = self.location(&atomic.address, lane);
            for element in &atomic.elements {
                self.change(element, at, None, lane)?;
                at = at.plus(element.bytes.into());
            }
        }
        Ok(Control::Next)
    }

    /// Changes an element in memory, with one from another place if the operation has two.
    pub(super) fn change(
        &mut self,
        element: &ChangedElement,
        at: Location,
        other: Option<Location>,
        lane: usize,
    ) -> Result<(), Failed> {
        for (place, from) in element.loaded.iter().zip([Some(at), other]) {
            if let Some(from) = from {
                let value = self.read(from, element.bytes, lane)?;
                self.set(*place, lane, value);
            }
        }
        let ops = &self.function.code.ops[element.ops.0 as usize..element.ops.1 as usize];
        if let Some(registers) = self.registers() {
            for op in ops {
                registers.execute(op, 1 << lane);
            }
        }
        let new = self.get(element.new, lane);
        self.write(at, element.bytes, new, lane)
    }
}
