//! Atomic operations.

use super::addresses::Addresses;
use super::execution::{Control, Execution, Failed, Outcome};
use super::location::{Location, Memory};
use crate::lanes::{
    Double, Integer, Kind, LANES, Place, each_source, lanes, vectorized, with_integer, word,
};
use crate::memory;
use crate::program::{Atomic, ChangedElement};

impl Execution<'_> {
    /// Performs an atomic operation in all lanes, as if in one lane after the other. Lanes with different addresses are processed together.
    pub(super) fn atomic(&mut self, atomic: &Atomic) -> Outcome {
        vectorized(
            self,
            #[inline(always)]
            |execution| execution.atomic_lanes(atomic),
        )
    }

    #[inline(always)]
    fn atomic_lanes(&mut self, atomic: &Atomic) -> Outcome {
        let bytes = atomic.elements.first().map_or(16, |e| e.bytes);
        let bytes_of_elements = u64::from(bytes) * atomic.elements.len() as u64;
        let mut addresses = Addresses::default();
        if !self.common_memory(&atomic.address, bytes, bytes_of_elements, &mut addresses)? {
            return self.atomic_by_lane(atomic);
        }
        let active = self.active;
        for element in &atomic.elements {
            if self.change_words_in_turn(element, &addresses)? {
                addresses.advance(bytes);
                continue;
            }
            let mut distinct = lanes_with_distinct_addresses(active, &addresses.offsets);
            let is_done = distinct != active && self.change_in_turn(element, &addresses)?;
            let mut remaining = if is_done { 0 } else { active };
            while remaining != 0 {
                remaining &= !distinct;
                self.active = distinct;
                let changed = self.change_lanes(element, &addresses);
                self.active = active;
                changed?;
                distinct = lanes_with_distinct_addresses(remaining, &addresses.offsets);
            }
            addresses.advance(bytes);
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

    /// Changes an element in each lane. The addresses of the lanes are different.
    fn change_lanes(
        &mut self,
        element: &ChangedElement,
        addresses: &Addresses,
    ) -> Result<(), Failed> {
        let first = self.first();
        let worked = self.warp.work(work_of_change(element), self.grid);
        worked.map_err(|reason| (reason, first))?;
        let old = self.read_lanes(addresses, element.bytes)?;
        let active = self.active;
        let ops = &self.function.code.ops[element.ops.0 as usize..element.ops.1 as usize];
        if let (Some(place), Some(registers)) = (element.loaded.first(), self.registers()) {
            registers.set_values(*place, active, &old);
            registers.execute_all(ops, active);
        }
        let new = self.warp.values(self.call, element.new);
        self.write_lanes(addresses, element.bytes, &new)
    }

    /// Changes a word in one lane after the other, if its new value is the result of one operation on integers. Returns false if nothing was changed.
    fn change_words_in_turn(
        &mut self,
        element: &ChangedElement,
        addresses: &Addresses,
    ) -> Result<bool, Failed> {
        let ops = &self.function.code.ops[element.ops.0 as usize..element.ops.1 as usize];
        let (Some(&Place::Word(loaded)), Some(op), Some(call)) = (
            element.loaded.first(),
            ops.first().filter(|op| op.result() == element.new),
            self.warp.call(self.call),
        ) else {
            return Ok(false);
        };
        let (Kind::Word(operation), 4) = (op.kind, element.bytes) else {
            return Ok(false);
        };
        let registers = &mut call.registers;
        let mut old_values = *registers.word(loaded);
        let sources = each_source([op.a, op.b, op.c], |index| {
            (index == loaded, registers.word(index))
        });
        let offsets = &addresses.offsets;
        let changed = match addresses.memory {
            Memory::Shared(rank) => {
                let memory = self.block.shared_mut(rank).unwrap_or_default();
                with_integer!(operation, {
                    let change = word_change(operation, op.imm, sources, &mut old_values);
                    memory::change_words(memory, offsets, self.active, change)
                })
            }
            Memory::Global => with_integer!(operation, {
                let change = word_change(operation, op.imm, sources, &mut old_values);
                self.grid.device.change_words(offsets, self.active, change)
            }),
            Memory::Local | Memory::Parameter => return Ok(false),
        };
        let done = match changed {
            Ok(()) => self.active,
            Err(lane) => self.active & ((1 << lane) - 1),
        };
        registers.set_words(loaded, done, &old_values);
        registers.execute_all(ops, done);
        changed
            .map(|()| true)
            .map_err(|lane| self.access_error(addresses, element.bytes, lane))
    }

    /// Changes an element in one lane after the other, if the operations are on integers: these cost less in one lane than in all. Returns false if nothing
    /// was changed.
    fn change_in_turn(
        &mut self,
        element: &ChangedElement,
        addresses: &Addresses,
    ) -> Result<bool, Failed> {
        let ops = &self.function.code.ops[element.ops.0 as usize..element.ops.1 as usize];
        let are_integer_operations = ops
            .iter()
            .all(|op| matches!(op.kind, Kind::Word(_) | Kind::Double(_)));
        let (Some(loaded), Some(call)) = (element.loaded.first(), self.warp.call(self.call)) else {
            return Ok(false);
        };
        if !are_integer_operations {
            return Ok(false);
        }
        let registers = &mut call.registers;
        let mut change = |lane: usize, old: u64| {
            registers.set(*loaded, lane, old.into());
            for op in ops {
                registers.execute_in(lane, op);
            }
            registers.get(element.new, lane) as u64
        };
        let bytes = element.bytes;
        let changed = match addresses.memory {
            Memory::Shared(rank) => {
                let memory = self.block.shared_mut(rank).unwrap_or_default();
                lanes(self.active).try_for_each(|lane| {
                    memory::change(memory, addresses.offsets[lane], bytes, |old| {
                        change(lane, old)
                    })
                    .ok_or(lane)
                })
            }
            Memory::Global => lanes(self.active).try_for_each(|lane| {
                let device = self.grid.device;
                let old = device
                    .read(addresses.offsets[lane], bytes)
                    .map_err(|_| lane)?;
                let new = change(lane, old as u64);
                let written = device.write(addresses.offsets[lane], bytes, new.into());
                written.map_err(|_| lane)
            }),
            Memory::Local | Memory::Parameter => return Ok(false),
        };
        changed
            .map(|()| true)
            .map_err(|lane| self.access_error(addresses, bytes, lane))
    }

    /// Changes an element in memory in one lane, with an element at a second location if the operation has two.
    pub(super) fn change(
        &mut self,
        element: &ChangedElement,
        location: Location,
        second: Option<Location>,
        lane: usize,
    ) -> Result<(), Failed> {
        let worked = self.warp.work(work_of_change(element), self.grid);
        worked.map_err(|reason| (reason, lane))?;
        for (place, source) in element.loaded.iter().zip([Some(location), second]) {
            if let Some(source) = source {
                let value = self.read(source, element.bytes, lane)?;
                self.set(*place, lane, value);
            }
        }
        let ops = &self.function.code.ops[element.ops.0 as usize..element.ops.1 as usize];
        if let Some(registers) = self.registers() {
            registers.execute_all(ops, 1 << lane);
        }
        let new = self.get(element.new, lane);
        self.write(location, element.bytes, new, lane)
    }
}

/// A function that returns the new value of a word, by the lane and the old value, which it keeps. A source is the old value, or has a word for each lane.
#[inline(always)]
fn word_change<'a>(
    operation: Integer,
    imm: u8,
    sources: [(bool, &'a [u32; LANES]); 3],
    old_values: &'a mut [u32; LANES],
) -> impl FnMut(usize, u32) -> u32 + 'a {
    #[inline(always)]
    move |lane, old| {
        old_values[lane] = old;
        let values = each_source(
            sources,
            |(is_old, words)| if is_old { old } else { words[lane] },
        );
        word(operation, values, imm)
    }
}

/// The work of a change of an element, as the number of bytes that take the same time to handle.
const fn work_of_change(element: &ChangedElement) -> u64 {
    8 * (element.ops.1 - element.ops.0) as u64
}

/// A subset of a mask whose lanes have different addresses. The first lane of each address in the mask is considered.
fn lanes_with_distinct_addresses(mask: u32, addresses: &Double) -> u32 {
    let (mut seen, mut distinct) = (0u64, 0);
    for lane in lanes(mask) {
        // Different addresses may share a bit: then only one of their lanes is in the subset.
        let bit = 1 << (addresses[lane] / 4 % 64);
        if seen & bit == 0 {
            distinct |= 1 << lane;
        }
        seen |= bit;
    }
    distinct
}
