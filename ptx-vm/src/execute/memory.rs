//! Loads, stores and atomic operations.

use ptx_isa::{StateSpace, TypeKind};

use super::block::Block;
use super::grid::Grid;
use super::warp::{Control, Now, Warp, lanes};
use crate::error::Reason;
use crate::lanes::Place;
use crate::memory::{self, Fault};
use crate::program::{
    Access, Address, Atomic, Base, CODE, LOCAL, PARAMETERS, SHARED, SHARED_STRIDE, Window,
};

/// A place in memory.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Location {
    Global(u64),
    /// The rank of the CTA in its cluster, and the offset.
    Shared(usize, u64),
    Local(u64),
    Parameter(u64),
}

impl Warp {
    /// Where an address is for a lane.
    pub(crate) fn location(
        &self,
        call: usize,
        address: &Address,
        lane: usize,
        block: &Block,
    ) -> Location {
        let base = match address.base {
            Base::Zero => 0,
            Base::Register(place) => self.get(call, place, lane) as u64,
            Base::Frame => {
                let call = self.groups.calls.get(call).and_then(Option::as_ref);
                call.map_or(0, |c| c.base)
            }
        };
        let at = base.wrapping_add(address.offset);
        // An address in a register of 32 bits wraps around there.
        let at = match address.base {
            Base::Register(Place::Word(_)) => at & 0xffff_ffff,
            _ => at,
        };
        match address.window {
            Window::KernelParameters => Location::Parameter(at),
            Window::Local => Location::Local(at),
            Window::State(space) if space.base() == StateSpace::Shared => shared(at, block.rank),
            Window::State(_) => Location::Global(at),
            Window::Generic => generic(at, block.rank),
        }
    }

    /// Reads memory.
    pub(crate) fn read(
        &self,
        location: Location,
        bytes: u8,
        lane: usize,
        block: &Block,
        grid: &Grid<'_>,
    ) -> Result<u128, Fault> {
        aligned(location, bytes)?;
        match location {
            Location::Global(at) => grid.device.read(at, bytes),
            Location::Shared(rank, at) => {
                let memory = block.shared(rank).ok_or(Fault::OutOfBounds(at))?;
                memory::read(memory, at, bytes).ok_or(Fault::OutOfBounds(at))
            }
            Location::Local(at) => {
                let stack = self.stacks.get(lane).ok_or(Fault::OutOfBounds(at))?;
                memory::read(stack, at, bytes).ok_or(Fault::OutOfBounds(at))
            }
            Location::Parameter(at) => {
                memory::read(grid.parameters, at, bytes).ok_or(Fault::OutOfBounds(at))
            }
        }
    }

    /// Writes memory.
    pub(crate) fn write(
        &mut self,
        location: Location,
        bytes: u8,
        value: u128,
        lane: usize,
        block: &mut Block,
        grid: &Grid<'_>,
    ) -> Result<(), Fault> {
        aligned(location, bytes)?;
        match location {
            Location::Global(at) => grid.device.write(at, bytes, value),
            Location::Shared(rank, at) => {
                let memory = block.shared_mut(rank).ok_or(Fault::OutOfBounds(at))?;
                memory::write(memory, at, bytes, value).ok_or(Fault::OutOfBounds(at))
            }
            Location::Local(at) => {
                let stack = self.stacks.get_mut(lane).ok_or(Fault::OutOfBounds(at))?;
                memory::write(stack, at, bytes, value).ok_or(Fault::OutOfBounds(at))
            }
            Location::Parameter(at) => Err(Fault::OutOfBounds(at)),
        }
    }

    pub(super) fn load(
        &mut self,
        now: Now<'_>,
        access: &Access,
        block: &Block,
        grid: &Grid<'_>,
    ) -> Result<Control, (Reason, usize)> {
        let signed = access.ty.kind() == TypeKind::Signed && access.bytes < 8;
        let whole = whole_bytes(access);
        for lane in lanes(now.active) {
            let location = self.location(now.call, &access.address, lane, block);
            aligned_to(location, whole).map_err(|f| (f.into(), lane))?;
            for (n, place) in (0u64..).zip(&access.places) {
                let at = location.plus(n * u64::from(access.bytes));
                let value = self.read(at, access.bytes, lane, block, grid);
                let mut bits = value.map_err(|f| (f.into(), lane))?;
                let width = 8 * u32::from(access.bytes);
                if signed && bits >> (width - 1) & 1 == 1 {
                    bits |= u128::MAX << width;
                }
                if let Some(place) = place {
                    let bits = match now.function.code.width(*place) {
                        16 => bits & 0xffff,
                        _ => bits,
                    };
                    self.set(now.call, *place, lane, bits);
                }
            }
        }
        Ok(Control::Next)
    }

    pub(super) fn store(
        &mut self,
        now: Now<'_>,
        access: &Access,
        block: &mut Block,
        grid: &Grid<'_>,
    ) -> Result<Control, (Reason, usize)> {
        let whole = whole_bytes(access);
        for lane in lanes(now.active) {
            let location = self.location(now.call, &access.address, lane, block);
            aligned_to(location, whole).map_err(|f| (f.into(), lane))?;
            for (n, place) in (0u64..).zip(&access.places) {
                let Some(place) = place else { continue };
                let at = location.plus(n * u64::from(access.bytes));
                let bits = self.get(now.call, *place, lane);
                self.write(at, access.bytes, bits, lane, block, grid)
                    .map_err(|f| (f.into(), lane))?;
            }
        }
        Ok(Control::Next)
    }

    /// Lanes perform the operation one after the other.
    pub(super) fn atomic(
        &mut self,
        now: Now<'_>,
        atomic: &Atomic,
        block: &mut Block,
        grid: &Grid<'_>,
    ) -> Result<Control, (Reason, usize)> {
        let ops = &now.function.code.ops;
        for lane in lanes(now.active) {
            let location = self.location(now.call, &atomic.address, lane, block);
            for (n, element) in (0u64..).zip(&atomic.elements) {
                let at = location.plus(n * u64::from(atomic.bytes));
                let old = self.read(at, atomic.bytes, lane, block, grid);
                let old = old.map_err(|f| (Reason::from(f), lane))?;
                self.set(now.call, element.old, lane, old);
                let range = element.ops.0 as usize..element.ops.1 as usize;
                if let Some(call) = self.call(now.call) {
                    for op in &ops[range] {
                        call.registers.execute(op, 1 << lane);
                    }
                }
                let new = self.get(now.call, element.new, lane);
                self.write(at, atomic.bytes, new, lane, block, grid)
                    .map_err(|f| (f.into(), lane))?;
            }
        }
        Ok(Control::Next)
    }
}

impl Location {
    const fn address(self) -> u64 {
        match self {
            Self::Global(at) | Self::Shared(_, at) | Self::Local(at) | Self::Parameter(at) => at,
        }
    }

    pub(crate) const fn plus(self, bytes: u64) -> Self {
        match self {
            Self::Global(at) => Self::Global(at.wrapping_add(bytes)),
            Self::Shared(rank, at) => Self::Shared(rank, at.wrapping_add(bytes)),
            Self::Local(at) => Self::Local(at.wrapping_add(bytes)),
            Self::Parameter(at) => Self::Parameter(at.wrapping_add(bytes)),
        }
    }
}

/// A generic address.
pub(crate) fn generic(at: u64, rank: usize) -> Location {
    match at {
        LOCAL..PARAMETERS => Location::Local(at - LOCAL),
        PARAMETERS..CODE => Location::Parameter(at - PARAMETERS),
        SHARED..LOCAL => shared(at, rank),
        _ => Location::Global(at),
    }
}

/// An address of shared memory: offsets below the stride are in the CTA itself. Where an instruction does not name the state space, it is a
/// generic address.
fn shared(at: u64, rank: usize) -> Location {
    let at = match at {
        SHARED..LOCAL => at - SHARED,
        offset => offset,
    };
    match at / SHARED_STRIDE {
        0 => Location::Shared(rank, at),
        other => Location::Shared(other as usize - 1, at % SHARED_STRIDE),
    }
}

/// The bytes of a vector, to which its address must be aligned.
fn whole_bytes(access: &Access) -> u64 {
    u64::from(access.bytes) * access.places.len() as u64
}

fn aligned(location: Location, bytes: u8) -> Result<(), Fault> {
    aligned_to(location, bytes.into())
}

fn aligned_to(location: Location, bytes: u64) -> Result<(), Fault> {
    let at = location.address();
    match bytes.is_power_of_two() && !at.is_multiple_of(bytes) {
        true => Err(Fault::Misaligned(at)),
        false => Ok(()),
    }
}
