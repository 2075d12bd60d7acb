//! A recorded memory access.

use super::scope::Scope;
use crate::execute::Clusters;

/// The kind of an access.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Read,
    Write,
    /// A strong read in a scope: no race with strong accesses.
    StrongRead(Scope),
    StrongWrite(Scope),
    /// A read and a write in one operation.
    Atomic(Scope),
}

impl Kind {
    pub(super) const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::StrongWrite(_) | Self::Atomic(_))
    }

    pub(super) const fn strength(self) -> Option<Scope> {
        match self {
            Self::StrongRead(scope) | Self::StrongWrite(scope) | Self::Atomic(scope) => Some(scope),
            _ => None,
        }
    }
}

/// An access of lanes of a warp with equal clock values.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Access {
    pub(super) block: u32,
    /// The first thread of the warp in its CTA, or an asynchronous operation.
    pub(super) first: u16,
    /// The accessed bytes of the place, as bits.
    pub(super) bytes: u8,
    pub(super) kind: Kind,
    pub(super) time: u32,
    /// The instruction.
    pub(super) site: u32,
    /// The number of barriers that all threads of the CTA had completed together; [`ASYNCHRONOUS`] for an asynchronous operation.
    pub(super) interval: u32,
}

/// The interval of accesses of asynchronous operations, which barriers do not order.
pub(super) const ASYNCHRONOUS: u32 = u32::MAX;

impl Access {
    /// Whether it is an access of an asynchronous operation.
    pub(super) const fn is_asynchronous(&self) -> bool {
        self.interval == ASYNCHRONOUS
    }

    /// Whether both are by the same warp.
    #[inline]
    pub(super) const fn is_of_same_warp(&self, other: &Self) -> bool {
        self.block == other.block && self.first == other.first
    }

    /// Whether both are strong and the scope of each includes the thread of the other.
    pub(super) fn is_strong_with(&self, other: &Self, clusters: Clusters) -> bool {
        let (Some(a), Some(b)) = (self.kind.strength(), other.kind.strength()) else {
            return false;
        };
        let cluster = |block: u32| clusters.of_linear(block.into());
        match a.min(b) {
            Scope::Device => true,
            Scope::Cluster => cluster(self.block) == cluster(other.block),
            Scope::Cta => self.block == other.block,
        }
    }
}
