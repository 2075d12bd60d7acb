//! Reads and writes of memory by one lane.

use super::addresses::check_alignment;
use super::execution::{Execution, Failed};
use super::location::Location;
use super::touch::Use;
use crate::memory::{self, Fault};

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
        let at = to.address();
        let fault = match to {
            Location::Global(at) => self.grid.device.fault(at, bytes.into()),
            _ => Fault::OutOfBounds(at),
        };
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
        written.ok_or_else(|| (self.grid.device.reason(fault), lane))
    }
}
