//! Memories, and places in them.

use ptx_isa::StateSpace;

use crate::program::{CODE, LOCAL, PARAMETERS, SHARED, SHARED_STRIDE};

/// A place in memory.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Location {
    /// The address.
    Global(u64),
    /// The rank of the CTA in its cluster, and the offset.
    Shared(usize, u64),
    /// The offset in the stack of the lane.
    Local(u64),
    /// The offset in the parameters of the kernel.
    Parameter(u64),
}

/// The memory that a location is in. Each lane has its own local memory.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Memory {
    Global,
    /// The shared memory of the CTA with a rank in the cluster.
    Shared(usize),
    Local,
    Parameter,
}

impl Memory {
    pub(crate) const fn space(self) -> StateSpace {
        match self {
            Self::Global => StateSpace::Global,
            Self::Shared(_) => StateSpace::Shared,
            Self::Local => StateSpace::Local,
            Self::Parameter => StateSpace::Param,
        }
    }
}

impl Location {
    /// The memory that contains the location.
    pub(crate) const fn memory(self) -> Memory {
        match self {
            Self::Global(_) => Memory::Global,
            Self::Shared(rank, _) => Memory::Shared(rank),
            Self::Local(_) => Memory::Local,
            Self::Parameter(_) => Memory::Parameter,
        }
    }

    /// The offset in that memory; in global memory the address.
    pub(crate) const fn address(self) -> u64 {
        match self {
            Self::Global(address) => address,
            Self::Shared(_, offset) | Self::Local(offset) | Self::Parameter(offset) => offset,
        }
    }

    /// The location that is `bytes` bytes later.
    pub(crate) const fn plus(self, bytes: u64) -> Self {
        match self {
            Self::Global(address) => Self::Global(address.wrapping_add(bytes)),
            Self::Shared(rank, offset) => Self::Shared(rank, offset.wrapping_add(bytes)),
            Self::Local(offset) => Self::Local(offset.wrapping_add(bytes)),
            Self::Parameter(offset) => Self::Parameter(offset.wrapping_add(bytes)),
        }
    }
}

/// The location of a generic address.
pub(crate) const fn generic(address: u64) -> Location {
    match address {
        LOCAL..PARAMETERS => Location::Local(address - LOCAL),
        PARAMETERS..CODE => Location::Parameter(address - PARAMETERS),
        SHARED..LOCAL => shared_of_cluster(address),
        _ => Location::Global(address),
    }
}

/// The address of an offset in the shared memory of the CTA of a rank.
pub(super) const fn shared_address(rank: usize, offset: u64) -> u64 {
    rank as u64 * SHARED_STRIDE + offset
}

/// The location of an address in the shared memory of a cluster, which may be a generic address.
pub(super) const fn shared_of_cluster(address: u64) -> Location {
    let offset = offset_in_window(address);
    let rank = offset / SHARED_STRIDE;
    Location::Shared(rank as usize, offset % SHARED_STRIDE)
}

/// The location of an address in the shared memory of the CTA of a rank, which may be a generic address or an offset. Addresses of other CTAs are out of
/// bounds, but for those of the first CTA, which are the same as offsets.
pub(super) const fn shared_of_block(address: u64, rank: usize) -> Location {
    let offset = offset_in_window(address);
    let own = shared_address(rank, 0);
    if offset >= own && offset - own < SHARED_STRIDE {
        Location::Shared(rank, offset - own)
    } else {
        Location::Shared(rank, offset)
    }
}

/// The offset of an address in the window of shared memory. The address is a generic one if the instruction does not name the state space.
const fn offset_in_window(address: u64) -> u64 {
    if address >= SHARED && address < LOCAL {
        address - SHARED
    } else {
        address
    }
}
