//! Memories, and places in them.

use ptx_isa::StateSpace;

use crate::program::{CODE, LOCAL, PARAMETERS, SHARED, SHARED_STRIDE};

/// A place in memory.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Location {
    Global(u64),
    /// The rank of the CTA in its cluster, and the offset.
    Shared(usize, u64),
    Local(u64),
    Parameter(u64),
}

/// The memory that a location is in. Each lane has its own local memory.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Memory {
    Global,
    /// The shared memory of the CTA of a rank.
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
    /// The memory that it is in.
    pub(crate) const fn memory(self) -> Memory {
        match self {
            Self::Global(_) => Memory::Global,
            Self::Shared(rank, _) => Memory::Shared(rank),
            Self::Local(_) => Memory::Local,
            Self::Parameter(_) => Memory::Parameter,
        }
    }

    /// The offset there; the address in global memory.
    pub(crate) const fn address(self) -> u64 {
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
pub(super) fn shared(at: u64, rank: usize) -> Location {
    let at = match at {
        SHARED..LOCAL => at - SHARED,
        offset => offset,
    };
    match at / SHARED_STRIDE {
        0 => Location::Shared(rank, at),
        other => Location::Shared(other as usize - 1, at % SHARED_STRIDE),
    }
}
