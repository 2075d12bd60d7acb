//! Loads and stores.

use ptx_isa::TypeKind;

use super::addresses::{Addresses, any, check_alignment};
use super::execution::{Control, Execution, Failed, Outcome};
use super::location::{Location, Memory};
use super::touch::Use;
use crate::lanes::{Double, LANES, Place, lanes};
use crate::memory;
use crate::memory::Fault;
use crate::program::{Access, Address};

/// The bytes of an access, to which its address must be aligned.
fn whole_bytes(access: &Access) -> u64 {
    u64::from(access.bytes) * access.places.len() as u64
}

/// Whether elements are extended by their sign to the width of registers.
fn is_extended(access: &Access) -> bool {
    access.ty.kind() == TypeKind::Signed && access.bytes <= 8
}

impl Execution<'_> {
    pub(super) fn load(&mut self, access: &Access) -> Outcome {
        let Some(mut from) =
            self.common_memory(&access.address, access.bytes, whole_bytes(access))?
        else {
            return self.load_by_lane(access);
        };
        let active = self.active;
        for place in &access.places {
            let mut values = self.read_lanes(&from, access.bytes)?;
            from.advance(access.bytes);
            let Some(place) = *place else { continue };
            if is_extended(access) {
                let unused = 64 - 8 * u32::from(access.bytes);
                let kept = u64::MAX >> 64u16.saturating_sub(self.function.code.width(place));
                for value in &mut values {
                    *value = ((*value << unused) as i64 >> unused) as u64 & kept;
                }
                if let Place::Quad(_) = place {
                    for lane in lanes(active) {
                        self.set(place, lane, i128::from(values[lane] as i64) as u128);
                    }
                    continue;
                }
            }
            if let Some(registers) = self.registers() {
                registers.set_values(place, active, &values);
            }
        }
        Ok(Control::Next)
    }

    pub(super) fn store(&mut self, access: &Access) -> Outcome {
        let Some(mut to) =
            self.common_memory(&access.address, access.bytes, whole_bytes(access))?
        else {
            return self.store_by_lane(access);
        };
        for place in &access.places {
            if let Some(place) = *place {
                let values = self.warp.values(self.call, place);
                self.write_lanes(&to, access.bytes, &values)?;
            }
            to.advance(access.bytes);
        }
        Ok(Control::Next)
    }

    /// The addresses of the lanes, multiples of a number of bytes, if all lanes access the same memory in elements of at most 64 bits.
    pub(super) fn common_memory(
        &self,
        address: &Address,
        element: u8,
        whole: u64,
    ) -> Result<Option<Addresses>, Failed> {
        if element > 8 {
            return Ok(None);
        }
        let addresses = self.addresses(address);
        let is_misaligned = |at: u64| whole.is_power_of_two() && at & (whole - 1) != 0;
        if let Some(Addresses { at, .. }) = &addresses
            && any(self.active, at, is_misaligned)
            && let Some(lane) = lanes(self.active).find(|&lane| is_misaligned(at[lane]))
        {
            return Err((Fault::Misaligned(at[lane]).into(), lane));
        }
        Ok(addresses)
    }

    /// The elements at the addresses of the lanes.
    pub(super) fn read_lanes(&self, from: &Addresses, bytes: u8) -> Result<Double, Failed> {
        let (at, mask) = (&from.at, self.active);
        let mask = if from.uniform && from.memory != Memory::Local {
            mask & mask.wrapping_neg()
        } else {
            mask
        };
        let values = match from.memory {
            Memory::Global => self.grid.device.read_lanes(at, bytes, mask),
            Memory::Shared(rank) => {
                let memory = self.block.shared(rank).unwrap_or_default();
                memory::read_lanes(memory, at, bytes, mask)
            }
            Memory::Parameter => memory::read_lanes(self.grid.parameters, at, bytes, mask),
            Memory::Local => {
                let mut values = [0; LANES];
                let read = lanes(mask).try_for_each(|lane| {
                    let stack = self.warp.stacks.get(lane).ok_or(lane)?;
                    let value = memory::read(stack, at[lane], bytes).ok_or(lane)?;
                    values[lane] = value as u64;
                    Ok(())
                });
                read.map(|()| values)
            }
        };
        let mut values = values.map_err(|lane| self.impossible(from, bytes, lane))?;
        if mask != self.active {
            values = [values[self.first() % LANES]; LANES];
        }
        Ok(values)
    }

    /// Writes the elements at the addresses of the lanes; of several at one address, that of the last lane stays.
    pub(super) fn write_lanes(
        &mut self,
        to: &Addresses,
        bytes: u8,
        values: &Double,
    ) -> Result<(), Failed> {
        let (at, mask) = (&to.at, self.active);
        let written = match to.memory {
            Memory::Global => self.grid.device.write_lanes(at, bytes, mask, values),
            Memory::Shared(rank) => {
                let memory = self.block.shared_mut(rank).unwrap_or_default();
                memory::write_lanes(memory, at, bytes, mask, values)
            }
            Memory::Parameter => Err(self.first()),
            Memory::Local => lanes(mask).try_for_each(|lane| {
                let stack = self.warp.stacks.get_mut(lane).ok_or(lane)?;
                memory::write(stack, at[lane], bytes, values[lane].into()).ok_or(lane)
            }),
        };
        written.map_err(|lane| self.impossible(to, bytes, lane))
    }

    /// Why an access of a lane is impossible.
    pub(super) fn impossible(&self, addresses: &Addresses, bytes: u8, lane: usize) -> Failed {
        let address = addresses.at[lane % LANES];
        let device = self.grid.device;
        let fault = match addresses.memory {
            Memory::Global => device.fault(address, bytes.into()),
            _ => Fault::OutOfBounds(address),
        };
        (device.reason(fault), lane)
    }

    fn load_by_lane(&mut self, access: &Access) -> Outcome {
        for lane in lanes(self.active) {
            let from = self.location(&access.address, lane);
            check_alignment(from, whole_bytes(access), lane)?;
            for (n, place) in (0u64..).zip(&access.places) {
                let location = from.plus(n * u64::from(access.bytes));
                let mut bits = self.read(location, access.bytes, lane)?;
                let Some(place) = *place else { continue };
                if is_extended(access) {
                    let unused = 128 - 8 * u32::from(access.bytes);
                    let width = self.function.code.width(place);
                    let kept = u128::MAX >> 128u16.saturating_sub(width);
                    bits = ((bits << unused) as i128 >> unused) as u128 & kept;
                }
                self.set(place, lane, bits);
            }
        }
        Ok(Control::Next)
    }

    fn store_by_lane(&mut self, access: &Access) -> Outcome {
        for lane in lanes(self.active) {
            let to = self.location(&access.address, lane);
            check_alignment(to, whole_bytes(access), lane)?;
            for (n, place) in (0u64..).zip(&access.places) {
                let Some(place) = *place else { continue };
                let location = to.plus(n * u64::from(access.bytes));
                let bits = self.get(place, lane);
                self.write(location, access.bytes, bits, lane)?;
            }
        }
        Ok(Control::Next)
    }
}

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
        let address = to.address();
        let fault = match to {
            Location::Global(address) => self.grid.device.fault(address, bytes.into()),
            _ => Fault::OutOfBounds(address),
        };
        let written = match to {
            Location::Global(address) => self.grid.device.write(address, bytes, value).ok(),
            Location::Shared(rank, address) => {
                let memory = self.block.shared_mut(rank);
                memory.and_then(|m| memory::write(m, address, bytes, value))
            }
            Location::Local(address) => {
                let stack = self.warp.stacks.get_mut(lane);
                stack.and_then(|s| memory::write(s, address, bytes, value))
            }
            Location::Parameter(_) => None,
        };
        written.ok_or_else(|| (self.grid.device.reason(fault), lane))
    }
}
