//! The memories and offsets of addresses.

use ptx_isa::StateSpace;

use super::execution::{Execution, Failed};
use super::location::{Location, Memory, generic, shared_of_block, shared_of_cluster};
use crate::error::StopReason;
use crate::lanes::{Double, LANES, Place, lanes};
use crate::memory::Fault;
use crate::program::{Address, Base, SHARED, SHARED_STRIDE, Window};

/// The memory and the offsets of the addresses of all lanes.
pub(super) struct Addresses {
    /// The memory of all lanes.
    pub(super) memory: Memory,
    /// The offset of each lane; in global memory the address.
    pub(super) offsets: Double,
    /// The offsets are the same by construction.
    pub(super) uniform: bool,
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

    /// The locations of an address in all lanes that execute the step; `None` if they are not all in the same memory.
    pub(super) fn addresses(&self, address: &Address) -> Option<Addresses> {
        let Base::Register(place) = address.base else {
            let base = match address.base {
                Base::Frame => self.frame(),
                _ => 0,
            };
            let location = self.resolve(address, base.wrapping_add(address.offset));
            return Some(Addresses {
                memory: location.memory(),
                offsets: [location.address(); LANES],
                uniform: true,
            });
        };
        let mut offsets = self.warp.values(self.call, place);
        let address_mask = match place {
            Place::Word(_) => u32::MAX.into(),
            _ => u64::MAX,
        };
        for offset in &mut offsets {
            *offset = offset.wrapping_add(address.offset) & address_mask;
        }
        let memory = self.resolve_lanes(address.window, &mut offsets)?;
        Some(Addresses {
            memory,
            offsets,
            uniform: false,
        })
    }

    /// The memory that contains the addresses of all lanes, which become offsets in that memory; `None` if they are in several memories.
    fn resolve_lanes(&self, window: Window, addresses: &mut Double) -> Option<Memory> {
        let own_memory = Memory::Shared(self.block.rank);
        let are_below = |end: u64| !any_lane(self.active, addresses, |address| address >= end);
        match window {
            Window::KernelParameters => return Some(Memory::Parameter),
            Window::Local => return Some(Memory::Local),
            Window::State(space) if space.base() != StateSpace::Shared => {
                return Some(Memory::Global);
            }
            Window::State(StateSpace::Shared) if are_below(SHARED_STRIDE) => {
                return Some(own_memory);
            }
            Window::Generic if are_below(SHARED) => return Some(Memory::Global),
            _ => {}
        }
        let resolve = |address: u64| match window {
            Window::Generic => generic(address),
            Window::State(StateSpace::SharedCluster) => shared_of_cluster(address),
            _ => shared_of_block(address, self.block.rank),
        };
        let memory = resolve(addresses[self.first() % LANES]).memory();
        for lane in lanes(self.active) {
            let location = resolve(addresses[lane]);
            if location.memory() != memory {
                return None;
            }
            addresses[lane] = location.address();
        }
        Some(memory)
    }
}

/// Whether a condition holds for the value of a lane of a mask.
pub(super) fn any_lane(mask: u32, values: &Double, condition: impl Fn(u64) -> bool) -> bool {
    let holds: [bool; LANES] =
        core::array::from_fn(|lane| condition(values[lane]) & (mask >> lane & 1 == 1));
    holds.contains(&true)
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
