//! Loads and stores.

use ptx_isa::TypeKind;

use super::addresses::{Addresses, check_alignment};
use super::asynchronous::Pass;
use super::block::Block;
use super::execution::{Control, Execution, Failed, Outcome};
use super::grid::Grid;
use super::location::{Location, Memory};
use super::touch::Use;
use crate::lanes::{Double, LANES, Place, lanes, vectorized};
use crate::memory;
use crate::memory::{Fault, LaneValue};
use crate::program::{Access, Address};

/// The bytes of all elements of an access, to which its address must be aligned.
fn access_bytes(access: &Access) -> u64 {
    u64::from(access.bytes) * access.places.len() as u64
}

/// Whether the sign of elements is extended to the width of registers.
fn is_extended(access: &Access) -> bool {
    access.ty.kind() == TypeKind::Signed && access.bytes <= 8
}

/// Reads elements at the addresses of lanes of a mask. The error is the first lane whose element cannot be read.
#[inline(always)]
fn read_lanes<V: LaneValue>(
    grid: &Grid<'_>,
    block: &Block,
    stacks: &[Vec<u8>],
    addresses: &Addresses,
    bytes: u8,
    mask: u32,
    values: &mut [V; LANES],
) -> Result<(), usize> {
    let offsets = &addresses.offsets;
    match addresses.memory {
        Memory::Global => grid.device.read_lanes(offsets, bytes, mask, values),
        Memory::Shared(rank) => {
            let memory = block.shared(rank).unwrap_or_default();
            memory::read_lanes(memory, offsets, bytes, mask, values)
        }
        Memory::Parameter => memory::read_lanes(grid.parameters, offsets, bytes, mask, values),
        Memory::Local => lanes(mask).try_for_each(|lane| {
            let stack = stacks.get(lane).ok_or(lane)?;
            let value = memory::read(stack, offsets[lane], bytes).ok_or(lane)?;
            values[lane] = V::from_bits(value as u64);
            Ok(())
        }),
    }
}

impl Execution<'_> {
    /// Executes a load.
    pub(super) fn load(&mut self, access: &Access) -> Outcome {
        self.access(
            access,
            #[inline(always)]
            |execution, addresses| execution.load_lanes(access, addresses),
            |execution| execution.load_by_lane(access),
        )
    }

    /// Executes a store.
    pub(super) fn store(&mut self, access: &Access) -> Outcome {
        self.access(
            access,
            #[inline(always)]
            |execution, addresses| execution.store_lanes(access, addresses),
            |execution| execution.store_by_lane(access),
        )
    }

    /// Executes an access with `together` if all lanes access one memory, and else with `by_lane`.
    #[inline(always)]
    fn access(
        &mut self,
        access: &Access,
        together: impl Fn(&mut Self, &mut Addresses) -> Outcome,
        by_lane: impl Fn(&mut Self) -> Outcome,
    ) -> Outcome {
        vectorized(
            self,
            #[inline(always)]
            |execution: &mut Self| {
                let mut addresses = Addresses::default();
                let bytes = access_bytes(access);
                if execution.common_memory(&access.address, access.bytes, bytes, &mut addresses)? {
                    together(execution, &mut addresses)
                } else {
                    by_lane(execution)
                }
            },
        )
    }

    #[inline(always)]
    fn load_lanes(&mut self, access: &Access, addresses: &mut Addresses) -> Outcome {
        let active = self.active;
        for (index, place) in access.places.iter().enumerate() {
            if index > 0 {
                addresses.advance(access.bytes);
            }
            if let (Some(Place::Word(word)), 1..=4, false) =
                (*place, access.bytes, is_extended(access))
            {
                self.load_words(addresses, access.bytes, word)?;
                continue;
            }
            let mut values = self.read_lanes(addresses, access.bytes)?;
            let Some(place) = *place else { continue };
            if is_extended(access) {
                let unused = 64 - 8 * u32::from(access.bytes);
                let register_mask =
                    u64::MAX >> 64u16.saturating_sub(self.function.code.width(place));
                for value in &mut values {
                    *value = ((*value << unused) as i64 >> unused) as u64 & register_mask;
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

    #[inline(always)]
    fn store_lanes(&mut self, access: &Access, addresses: &mut Addresses) -> Outcome {
        for (index, place) in access.places.iter().enumerate() {
            if index > 0 {
                addresses.advance(access.bytes);
            }
            if let Some(place) = *place {
                let values = self.warp.values(self.call, place);
                self.write_lanes(addresses, access.bytes, &values)?;
            }
        }
        Ok(Control::Next)
    }

    /// Sets the addresses of the lanes. Returns false unless all lanes access the same memory in elements of at most 64 bits. An error if an address is not a
    /// multiple of `access_bytes`, a power of two.
    #[inline(always)]
    pub(super) fn common_memory(
        &self,
        address: &Address,
        element_bytes: u8,
        access_bytes: u64,
        addresses: &mut Addresses,
    ) -> Result<bool, Failed> {
        if element_bytes > 8 || !self.find_addresses(address, addresses) {
            return Ok(false);
        }
        let offsets = &addresses.offsets;
        let is_misaligned =
            |offset: u64| access_bytes.is_power_of_two() && offset & (access_bytes - 1) != 0;
        if is_misaligned(addresses.bits)
            && let Some(lane) = lanes(self.active).find(|&lane| is_misaligned(offsets[lane]))
        {
            return Err((Fault::Misaligned(offsets[lane]).into(), lane));
        }
        Ok(true)
    }

    /// Loads elements to words. A word does not change if one of the elements cannot be read.
    #[inline(always)]
    fn load_words(&mut self, addresses: &Addresses, bytes: u8, word: u32) -> Result<(), Failed> {
        let calls = &mut self.warp.groups.calls;
        let call = calls.get_mut(self.call).and_then(Option::as_mut);
        let Some(values) = call.and_then(|c| c.registers.words.get_mut(word as usize)) else {
            return Ok(());
        };
        let stacks = &self.warp.stacks;
        let values_before = *values;
        let read = read_lanes(
            self.grid,
            self.block,
            stacks,
            addresses,
            bytes,
            self.active,
            values,
        );
        if let Err(lane) = read {
            *values = values_before;
            return Err(self.access_error(addresses, bytes, lane));
        }
        Ok(())
    }

    /// The elements at the addresses of the lanes.
    #[inline(always)]
    pub(super) fn read_lanes(&self, addresses: &Addresses, bytes: u8) -> Result<Double, Failed> {
        let mut values = [0; LANES];
        let stacks = &self.warp.stacks;
        read_lanes(
            self.grid,
            self.block,
            stacks,
            addresses,
            bytes,
            self.active,
            &mut values,
        )
        .map_err(|lane| self.access_error(addresses, bytes, lane))?;
        Ok(values)
    }

    /// Writes the elements at the addresses of the lanes. If several lanes have one address, the element of the last lane stays.
    #[inline(always)]
    pub(super) fn write_lanes(
        &mut self,
        addresses: &Addresses,
        bytes: u8,
        values: &Double,
    ) -> Result<(), Failed> {
        let (offsets, mask) = (&addresses.offsets, self.active);
        let written = match addresses.memory {
            Memory::Global => self.grid.device.write_lanes(offsets, bytes, mask, values),
            Memory::Shared(rank) => {
                let memory = self.block.shared_mut(rank).unwrap_or_default();
                memory::write_lanes(memory, offsets, bytes, mask, values)
            }
            Memory::Parameter => Err(self.first()),
            Memory::Local => lanes(mask).try_for_each(|lane| {
                let stack = self.warp.stacks.get_mut(lane).ok_or(lane)?;
                memory::write(stack, offsets[lane], bytes, values[lane].into()).ok_or(lane)
            }),
        };
        written.map_err(|lane| self.access_error(addresses, bytes, lane))
    }

    /// The error of an access of a lane that is outside of its memory.
    pub(super) fn access_error(&self, addresses: &Addresses, bytes: u8, lane: usize) -> Failed {
        let address = addresses.offsets[lane % LANES];
        let device = self.grid.device;
        let fault = match addresses.memory {
            Memory::Global => device.fault(address, bytes.into()),
            _ => Fault::OutOfBounds(address),
        };
        (device.reason(fault), lane)
    }

    fn load_by_lane(&mut self, access: &Access) -> Outcome {
        for lane in lanes(self.active) {
            let source = self.location(&access.address, lane);
            check_alignment(source, access_bytes(access), lane)?;
            for (n, place) in (0u64..).zip(&access.places) {
                let location = source.plus(n * u64::from(access.bytes));
                let mut bits = self.read(location, access.bytes, lane)?;
                let Some(place) = *place else { continue };
                if is_extended(access) {
                    let unused = 128 - 8 * u32::from(access.bytes);
                    let width = self.function.code.width(place);
                    let register_mask = u128::MAX >> 128u16.saturating_sub(width);
                    bits = ((bits << unused) as i128 >> unused) as u128 & register_mask;
                }
                self.set(place, lane, bits);
            }
        }
        Ok(Control::Next)
    }

    fn store_by_lane(&mut self, access: &Access) -> Outcome {
        for lane in lanes(self.active) {
            let target = self.location(&access.address, lane);
            check_alignment(target, access_bytes(access), lane)?;
            for (n, place) in (0u64..).zip(&access.places) {
                let Some(place) = *place else { continue };
                let location = target.plus(n * u64::from(access.bytes));
                let bits = self.get(place, lane);
                self.write(location, access.bytes, bits, lane)?;
            }
        }
        Ok(Control::Next)
    }
}

impl Execution<'_> {
    /// Reads a power of two of at most 16 bytes in a lane, at a multiple of their number.
    ///
    /// When a pending operation is performed, an impossible read gives zero.
    pub(super) fn read(&self, location: Location, bytes: u8, lane: usize) -> Result<u128, Failed> {
        let value = self.try_read(location, bytes, lane);
        match self.pass {
            Pass::Perform => Ok(value.unwrap_or(0)),
            Pass::Whole | Pass::Announce => value,
        }
    }

    fn try_read(&self, location: Location, bytes: u8, lane: usize) -> Result<u128, Failed> {
        if self.by_byte && !self.touch_one(location, Use::Read, bytes, lane) {
            return Ok(0);
        }
        check_alignment(location, bytes.into(), lane)?;
        let out_of_bounds = Fault::OutOfBounds(location.address());
        let value = match location {
            Location::Global(address) => self.grid.device.read(address, bytes).ok(),
            Location::Shared(rank, offset) => {
                let memory = self.block.shared(rank);
                memory.and_then(|m| memory::read(m, offset, bytes))
            }
            Location::Local(offset) => {
                let stack = self.warp.stacks.get(lane);
                stack.and_then(|s| memory::read(s, offset, bytes))
            }
            Location::Parameter(offset) => memory::read(self.grid.parameters, offset, bytes),
        };
        value.ok_or_else(|| (out_of_bounds.into(), lane))
    }

    /// Writes a power of two of at most 16 bytes in a lane, at a multiple of their number.
    ///
    /// When a pending operation is performed, an impossible write is skipped; when it is announced, nothing is written.
    pub(super) fn write(
        &mut self,
        location: Location,
        bytes: u8,
        value: u128,
        lane: usize,
    ) -> Result<(), Failed> {
        let written = self.try_write(location, bytes, value, lane);
        match self.pass {
            Pass::Perform => Ok(()),
            Pass::Whole | Pass::Announce => written,
        }
    }

    fn try_write(
        &mut self,
        location: Location,
        bytes: u8,
        value: u128,
        lane: usize,
    ) -> Result<(), Failed> {
        if self.by_byte && !self.touch_value(location, Use::Write, (bytes, Some(value)), lane) {
            return Ok(());
        }
        check_alignment(location, bytes.into(), lane)?;
        let address = location.address();
        let fault = match location {
            Location::Global(address) => self.grid.device.fault(address, bytes.into()),
            _ => Fault::OutOfBounds(address),
        };
        let announced = self.pass == Pass::Announce;
        let written = match location {
            Location::Global(address) if announced => {
                self.grid.device.check(address, bytes.into()).ok()
            }
            Location::Shared(rank, address) if announced => {
                let memory = self.block.shared(rank);
                memory
                    .and_then(|m| memory::read(m, address, bytes))
                    .map(drop)
            }
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
