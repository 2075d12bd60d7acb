//! Resolves addresses to memories and offsets.

use ptx_isa::StateSpace;

use super::execution::{Execution, Failed};
use super::location::{Location, Memory, generic, shared};
use crate::error::StopReason;
use crate::lanes::{Double, LANES, Place, lanes};
use crate::memory::Fault;
use crate::program::{Address, Base, SHARED, SHARED_STRIDE, Window};

/// The memory and the offsets of the addresses of all lanes.
pub(super) struct Addresses {
    /// The memory of all of them.
    pub(super) memory: Memory,
    /// The offset of each lane; the address in global memory.
    pub(super) at: Double,
    /// Whether the offsets are the same by construction.
    pub(super) uniform: bool,
}

impl Addresses {
    /// Goes on to the next elements.
    pub(super) fn advance(&mut self, bytes: u8) {
        for at in &mut self.at {
            *at = at.wrapping_add(bytes.into());
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
    fn resolve(&self, address: &Address, at: u64) -> Location {
        // An address in a register of 32 bits wraps around there.
        let at = match address.base {
            Base::Register(Place::Word(_)) => at & 0xffff_ffff,
            _ => at,
        };
        match address.window {
            Window::KernelParameters => Location::Parameter(at),
            Window::Local => Location::Local(at),
            Window::State(space) if space.base() == StateSpace::Shared => {
                shared(at, self.block.rank)
            }
            Window::State(_) => Location::Global(at),
            Window::Generic => generic(at, self.block.rank),
        }
    }

    /// The locations of an address in all lanes that execute the step; `None` if they are not all in the same memory.
    pub(super) fn addresses(&self, address: &Address) -> Option<Addresses> {
        let Base::Register(place) = address.base else {
            let base = match address.base {
                Base::Frame => self.frame(),
                _ => 0,
            };
            let only = self.resolve(address, base.wrapping_add(address.offset));
            return Some(Addresses {
                memory: only.memory(),
                at: [only.address(); LANES],
                uniform: true,
            });
        };
        let mut at = self.warp.values(self.call, place);
        let kept = match place {
            Place::Word(_) => u32::MAX.into(),
            _ => u64::MAX,
        };
        for at in &mut at {
            *at = at.wrapping_add(address.offset) & kept;
        }
        let memory = self.common(address.window, &mut at)?;
        Some(Addresses {
            memory,
            at,
            uniform: false,
        })
    }

    /// The memory that all addresses are in, which become offsets there.
    fn common(&self, window: Window, at: &mut Double) -> Option<Memory> {
        let own_memory = Memory::Shared(self.block.rank);
        let all_below = |end: u64| !any(self.active, at, |at| at >= end);
        match window {
            Window::KernelParameters => return Some(Memory::Parameter),
            Window::Local => return Some(Memory::Local),
            Window::State(space) if space.base() != StateSpace::Shared => {
                return Some(Memory::Global);
            }
            Window::State(_) if all_below(SHARED_STRIDE) => return Some(own_memory),
            Window::Generic if all_below(SHARED) => return Some(Memory::Global),
            _ => {}
        }
        let resolve = |at: u64| match window {
            Window::Generic => generic(at, self.block.rank),
            _ => shared(at, self.block.rank),
        };
        let memory = resolve(at[self.first() % LANES]).memory();
        for lane in lanes(self.active) {
            let location = resolve(at[lane]);
            if location.memory() != memory {
                return None;
            }
            at[lane] = location.address();
        }
        Some(memory)
    }
}

/// Whether a condition holds for a lane of a mask.
pub(super) fn any(mask: u32, values: &Double, condition: impl Fn(u64) -> bool) -> bool {
    let each: [bool; LANES] =
        core::array::from_fn(|lane| condition(values[lane]) & (mask >> lane & 1 == 1));
    each.contains(&true)
}

/// Whether a location is a multiple of a number of bytes.
pub(super) fn check_alignment(location: Location, bytes: u64, lane: usize) -> Result<(), Failed> {
    let address = location.address();
    if bytes.is_power_of_two() && !address.is_multiple_of(bytes) {
        Err((StopReason::from(Fault::Misaligned(address)), lane))
    } else {
        Ok(())
    }
}
