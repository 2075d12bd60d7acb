//! Atomic operations.

use super::addresses::Addresses;
use super::execution::{Control, Execution, Failed, Outcome};
use super::location::{Location, Memory};
use crate::lanes::{Double, Kind, LaneOp, lanes};
use crate::memory;
use crate::program::{Atomic, ChangedElement};

impl Execution<'_> {
    /// Lanes perform the operation one after the other. Those that change different places do so together.
    pub(super) fn atomic(&mut self, atomic: &Atomic) -> Outcome {
        let bytes = atomic.elements.first().map_or(16, |e| e.bytes);
        let bytes_of_elements = u64::from(bytes) * atomic.elements.len() as u64;
        let Some(mut at) = self.common_memory(&atomic.address, bytes, bytes_of_elements)? else {
            return self.atomic_by_lane(atomic);
        };
        let all = self.active;
        for element in &atomic.elements {
            let mut together = distinct(all, &at.at);
            let in_turn = together != all && self.change_in_turn(element, &at)?;
            let mut remaining = if in_turn { 0 } else { all };
            while remaining != 0 {
                remaining &= !together;
                self.active = together;
                let changed = self.change_lanes(element, &at);
                self.active = all;
                changed?;
                together = distinct(remaining, &at.at);
            }
            at.advance(bytes);
        }
        Ok(Control::Next)
    }

    fn atomic_by_lane(&mut self, atomic: &Atomic) -> Outcome {
        for lane in lanes(self.active) {
            let mut location = self.location(&atomic.address, lane);
            for element in &atomic.elements {
                self.change(element, location, None, lane)?;
                location = location.plus(element.bytes.into());
            }
        }
        Ok(Control::Next)
    }

    /// Changes an element of each lane. Their places are different.
    fn change_lanes(&mut self, element: &ChangedElement, at: &Addresses) -> Result<(), Failed> {
        let first = self.first();
        let worked = self.warp.work(work(element), self.grid);
        worked.map_err(|reason| (reason, first))?;
        let old = self.read_lanes(at, element.bytes)?;
        let active = self.active;
        let ops = &self.function.code.ops[element.ops.0 as usize..element.ops.1 as usize];
        if let (Some(place), Some(registers)) = (element.loaded.first(), self.registers()) {
            registers.set_values(*place, active, &old);
            for op in ops {
                registers.execute(op, active);
            }
        }
        let new = self.warp.values(self.call, element.new);
        self.write_lanes(at, element.bytes, &new)
    }

    /// Changes an element of each lane, of one lane after the other, if the memory is the same for all lanes and the operations are ones on
    /// integers, which cost less in one lane than in all.
    fn change_in_turn(&mut self, element: &ChangedElement, at: &Addresses) -> Result<bool, Failed> {
        let ops = &self.function.code.ops[element.ops.0 as usize..element.ops.1 as usize];
        let integers = |op: &LaneOp| matches!(op.kind, Kind::Word(_) | Kind::Double(_));
        let (Some(loaded), true) = (element.loaded.first(), ops.iter().all(integers)) else {
            return Ok(false);
        };
        let Some(call) = self.warp.call(self.call) else {
            return Ok(false);
        };
        let registers = &mut call.registers;
        let mut change = |lane: usize, old: u64| {
            registers.set(*loaded, lane, old.into());
            for op in ops {
                registers.execute_in(lane, op);
            }
            registers.get(element.new, lane) as u64
        };
        let bytes = element.bytes;
        let changed = match at.memory {
            Memory::Shared(rank) => {
                let memory = self.block.shared_mut(rank).unwrap_or_default();
                lanes(self.active).try_for_each(|lane| {
                    memory::change(memory, at.at[lane], bytes, |old| change(lane, old)).ok_or(lane)
                })
            }
            Memory::Global => lanes(self.active).try_for_each(|lane| {
                let device = self.grid.device;
                let old = device.read(at.at[lane], bytes).map_err(|_| lane)?;
                let new = change(lane, old as u64);
                let written = device.write(at.at[lane], bytes, new.into());
                written.map_err(|_| lane)
            }),
            Memory::Local | Memory::Parameter => return Ok(false),
        };
        changed
            .map(|()| true)
            .map_err(|lane| self.impossible(at, bytes, lane))
    }

    /// Changes an element in memory, with one from another place if the operation has two.
    pub(super) fn change(
        &mut self,
        element: &ChangedElement,
        at: Location,
        other: Option<Location>,
        lane: usize,
    ) -> Result<(), Failed> {
        let worked = self.warp.work(work(element), self.grid);
        worked.map_err(|reason| (reason, lane))?;
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

/// The work of a change of an element, which takes as long as handling that many bytes.
const fn work(element: &ChangedElement) -> u64 {
    8 * (element.ops.1 - element.ops.0) as u64
}

/// Lanes of a mask at different addresses. Of those at one address, the first is among them.
fn distinct(mask: u32, at: &Double) -> u32 {
    let (mut seen, mut found) = (0u64, 0);
    for lane in lanes(mask) {
        // Addresses that share a bit may be different; their lanes come later.
        let bit = 1 << (at[lane] / 4 % 64);
        if seen & bit == 0 {
            found |= 1 << lane;
        }
        seen |= bit;
    }
    found
}
