//! The memories and offsets of addresses.

use ptx_isa::StateSpace;

use super::execution::{Execution, Failed};
use super::location::{Location, Memory, generic, shared_of_block, shared_of_cluster};
use crate::error::StopReason;
use crate::lanes::{Double, LANES, Place, each, lanes};
use crate::memory::Fault;
use crate::program::{Address, Base, SHARED, SHARED_STRIDE, Window};

/// The memory and the offsets of the addresses of all lanes.
pub(super) struct Addresses {
    /// The memory of all lanes.
    pub(super) memory: Memory,
    /// The offset of each lane; in global memory the address.
    pub(super) offsets: Double,
    /// The bits that are set in the offset of any lane that executes the step.
    pub(super) bits: u64,
}

impl Default for Addresses {
    #[inline(always)]
    fn default() -> Self {
        Self {
            memory: Memory::Global,
            offsets: [0; LANES],
            bits: 0,
        }
    }
}

impl Addresses {
    /// Advances to the next elements.
    pub(super) fn advance(&mut self, bytes: u8) {
        for offset in &mut self.offsets {
            *offset = offset.wrapping_add(bytes.into());
        }
    }
}

impl Execution<'_> {
    /// The location of an address in a lane.
    pub(crate) fn location(&self, address: &Address, lane: usize) -> Location {
        let base = match address.base {
            Base::Zero => 0,
            Base::Register(place) => self.get(place, lane) as u64,
            Base::Frame => self.frame(),
        };
        self.resolve(address, base.wrapping_add(address.offset))
    }

    /// The offset of the frame of the call on the stack.
    pub(crate) fn frame(&self) -> u64 {
        let call = self.warp.groups.calls.get(self.call);
        call.and_then(Option::as_ref).map_or(0, |c| c.base)
    }

    /// The location of the sum of the base and the offset of an address.
    fn resolve(&self, address: &Address, sum: u64) -> Location {
        // An address in a register of 32 bits wraps around at 32 bits.
        let sum = match address.base {
            Base::Register(Place::Word(_)) => sum & 0xffff_ffff,
            _ => sum,
        };
        match address.window {
            Window::KernelParameters => Location::Parameter(sum),
            Window::Local => Location::Local(sum),
            Window::State(StateSpace::SharedCluster) => shared_of_cluster(sum),
            Window::State(StateSpace::Shared) => shared_of_block(sum, self.block.rank),
            Window::State(_) => Location::Global(sum),
            Window::Generic => generic(sum),
        }
    }

    /// Sets the locations of an address in all lanes that execute the step. Returns false if they are not all in the same memory.
    #[inline(always)]
    pub(super) fn find_addresses(&self, address: &Address, found: &mut Addresses) -> bool {
        let Base::Register(place) = address.base else {
            let base = match address.base {
                Base::Frame => self.frame(),
                _ => 0,
            };
            let location = self.resolve(address, base.wrapping_add(address.offset));
            found.memory = location.memory();
            found.offsets = [location.address(); LANES];
            found.bits = location.address();
            return true;
        };
        let address_mask = match place {
            Place::Word(_) => u32::MAX.into(),
            _ => u64::MAX,
        };
        let values = self.warp.values(self.call, place);
        found.offsets = each(|lane| values[lane].wrapping_add(address.offset) & address_mask);
        found.bits = bits_of_lanes(self.active, &found.offsets);
        self.resolve_lanes(address.window, found)
    }

    /// Finds the memory that contains the addresses of all lanes, which become offsets in that memory. Returns false if they are in several memories.
    #[inline(always)]
    fn resolve_lanes(&self, window: Window, addresses: &mut Addresses) -> bool {
        // No address is greater than the bits that any of them has.
        let address_bits = addresses.bits;
        addresses.memory = match window {
            Window::KernelParameters => Memory::Parameter,
            Window::Local => Memory::Local,
            Window::State(space) if space.base() != StateSpace::Shared => Memory::Global,
            Window::State(StateSpace::Shared | StateSpace::SharedCta)
                if address_bits < SHARED_STRIDE =>
            {
                Memory::Shared(self.block.rank)
            }
            Window::Generic if address_bits < SHARED => Memory::Global,
            _ => return self.resolve_each(window, addresses),
        };
        true
    }

    /// The same for addresses of any memory.
    fn resolve_each(&self, window: Window, addresses: &mut Addresses) -> bool {
        let resolve = |address: u64| match window {
            Window::Generic => generic(address),
            Window::State(StateSpace::SharedCluster) => shared_of_cluster(address),
            _ => shared_of_block(address, self.block.rank),
        };
        addresses.memory = resolve(addresses.offsets[self.first() % LANES]).memory();
        for lane in lanes(self.active) {
            let location = resolve(addresses.offsets[lane]);
            if location.memory() != addresses.memory {
                return false;
            }
            addresses.offsets[lane] = location.address();
        }
        addresses.bits = bits_of_lanes(self.active, &addresses.offsets);
        true
    }
}

/// The bits that are set in the value of any lane of a mask.
#[inline(always)]
fn bits_of_lanes(mask: u32, values: &Double) -> u64 {
    if mask == u32::MAX {
        return values.iter().fold(0, |bits, value| bits | value);
    }
    let used: Double = each(|lane| {
        if mask >> lane & 1 == 1 {
            values[lane]
        } else {
            0
        }
    });
    used.iter().fold(0, |bits, value| bits | value)
}

/// Returns an error if the address of a location is not a multiple of a number of bytes.
pub(super) fn check_alignment(location: Location, bytes: u64, lane: usize) -> Result<(), Failed> {
    let address = location.address();
    if bytes.is_power_of_two() && !address.is_multiple_of(bytes) {
        Err((StopReason::from(Fault::Misaligned(address)), lane))
    } else {
        Ok(())
    }
}
