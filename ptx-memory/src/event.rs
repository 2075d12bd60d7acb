//! Threads and events of an execution.

/// The place of a thread in the machine, which decides which scopes include it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub struct ThreadPlace {
    /// The number of the CTA, which is unique among all CTAs of all devices.
    pub cta: u32,
    /// The number of the cluster, which is unique among all clusters of all devices.
    pub cluster: u32,
    /// The number of the device.
    pub gpu: u32,
}

/// The scope of a strong operation (8.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum MemoryScope {
    /// The threads of the same CTA.
    Cta,
    /// The threads of the same cluster.
    Cluster,
    /// The threads on the same device.
    Gpu,
    /// All threads.
    Sys,
}

impl MemoryScope {
    /// Whether the scope of an operation of one thread includes another thread.
    #[must_use]
    pub fn includes(self, thread: ThreadPlace, other: ThreadPlace) -> bool {
        match self {
            Self::Cta => thread.cta == other.cta && thread.gpu == other.gpu,
            Self::Cluster => thread.cluster == other.cluster && thread.gpu == other.gpu,
            Self::Gpu => thread.gpu == other.gpu,
            Self::Sys => true,
        }
    }

    /// The word in PTX.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cta => "cta",
            Self::Cluster => "cluster",
            Self::Gpu => "gpu",
            Self::Sys => "sys",
        }
    }
}

/// The order of a memory operation or fence (8.4). Volatile operations are relaxed at system scope (8.4.2), mmio operations are relaxed (8.4.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Order {
    /// A weak operation, without a scope.
    Weak,
    /// A strong operation that orders nothing else.
    Relaxed,
    /// An acquire operation.
    Acquire,
    /// A release operation.
    Release,
    /// An acquire and release operation.
    AcquireRelease,
    /// A fence that is also ordered with other such fences.
    SequentiallyConsistent,
}

impl Order {
    /// Whether operations of this order acquire.
    #[must_use]
    pub fn acquires(self) -> bool {
        matches!(
            self,
            Self::Acquire | Self::AcquireRelease | Self::SequentiallyConsistent
        )
    }

    /// Whether operations of this order release.
    #[must_use]
    pub fn releases(self) -> bool {
        matches!(
            self,
            Self::Release | Self::AcquireRelease | Self::SequentiallyConsistent
        )
    }

    /// The word in PTX.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Weak => "weak",
            Self::Relaxed => "relaxed",
            Self::Acquire => "acquire",
            Self::Release => "release",
            Self::AcquireRelease => "acq_rel",
            Self::SequentiallyConsistent => "sc",
        }
    }
}

/// A method of memory access (8.6).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum MemoryProxy {
    /// Loads, stores and atomic operations.
    Generic,
    /// Texture accesses.
    Texture,
    /// Surface accesses.
    Surface,
    /// Accesses to constant banks.
    Constant,
    /// Bulk copies and other asynchronous operations.
    Asynchronous,
    /// Reads of tensor maps by bulk tensor copies.
    TensorMap,
}

impl MemoryProxy {
    /// The word in `fence.proxy`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Texture => "texture",
            Self::Surface => "surface",
            Self::Constant => "constant",
            Self::Asynchronous => "async",
            Self::TensorMap => "tensormap",
        }
    }
}

/// The bytes that a memory operation accesses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Location {
    /// The physical address of the first byte. Shared memory of each CTA and global memory have different physical addresses.
    pub address: u64,
    /// The number of bytes, 1 to 16.
    pub bytes: u32,
    /// The number of the mapping of virtual addresses. Two accesses of one physical address with different mappings are aliases (8.2.2).
    pub mapping: u32,
}

impl Location {
    /// The address after the last byte.
    #[must_use]
    pub fn end(self) -> u64 {
        self.address.saturating_add(self.bytes.into())
    }

    /// Whether both locations have a common byte, by the same virtual address or not.
    #[must_use]
    pub(crate) fn shares_bytes(self, other: Self) -> bool {
        self.address < other.end() && other.address < self.end()
    }

    /// Whether both locations have a common byte, by the same virtual address (8.2.1).
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        self.mapping == other.mapping && self.shares_bytes(other)
    }

    /// Whether the locations overlap completely (8.2.1).
    #[must_use]
    pub(crate) fn overlaps_completely(self, other: Self) -> bool {
        self == other
    }
}

/// A range of physical addresses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct AddressRange {
    /// The first address.
    pub start: u64,
    /// The last address.
    pub last: u64,
}

impl AddressRange {
    /// All addresses.
    pub const ALL: Self = Self {
        start: 0,
        last: u64::MAX,
    };

    /// Whether the range contains the first byte of a location.
    #[must_use]
    pub(crate) fn contains(self, location: Location) -> bool {
        self.start <= location.address && location.address <= self.last
    }
}

/// The kind of an event.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EventKind {
    /// The hypothetical write that initializes all memory (8.2.6). It is event 0 of each execution, and the only one of this kind.
    Initial,
    /// A read of a location.
    Read(Location),
    /// A write of a location.
    Write(Location),
    /// A memory fence.
    Fence,
    /// A fence of a proxy, or of aliases with the generic proxy.
    ProxyFence {
        /// Whether the fence orders accesses by different virtual addresses.
        is_alias: bool,
        /// The bytes whose accesses the fence orders.
        range: AddressRange,
    },
    /// The arrival at a barrier, or the end of the wait for the barrier.
    Barrier,
    /// The start of an asynchronous operation, whose events belong to a separate thread (8.9.1.1).
    Start,
    /// The end of a wait for asynchronous operations.
    Await,
}

/// An operation of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// The number of the thread, or of the asynchronous operation ([`Execution::asynchronous`](crate::Execution)).
    pub thread: u32,
    /// The position among the operations of the thread. The two events of an atomic operation have consecutive positions.
    pub position: u32,
    /// What the operation does.
    pub kind: EventKind,
    /// The order; `Weak` for events other than memory operations and fences.
    pub order: Order,
    /// The scope of a strong operation.
    pub scope: MemoryScope,
    /// The method of memory access.
    pub proxy: MemoryProxy,
    /// The bits that a write writes, or that a read returned, the lowest byte first; unknown for a read that has no source yet.
    pub value: Option<u128>,
    /// For both events of an atomic operation, the other event.
    pub partner: Option<u32>,
    /// Whether the event belongs to a reduction, whose read acquires nothing (8.11.1).
    pub is_reduction: bool,
    /// The number of the instruction in its program.
    pub instruction: u32,
}

impl Event {
    /// The initial write of all memory.
    pub(crate) const INITIAL: Self = Self {
        thread: u32::MAX,
        position: 0,
        kind: EventKind::Initial,
        order: Order::Weak,
        scope: MemoryScope::Sys,
        proxy: MemoryProxy::Generic,
        value: None,
        partner: None,
        is_reduction: false,
        instruction: u32::MAX,
    };

    /// The location of a read or write of a thread.
    #[must_use]
    pub fn location(&self) -> Option<Location> {
        match self.kind {
            EventKind::Read(location) | EventKind::Write(location) => Some(location),
            _ => None,
        }
    }

    /// Whether the event is a read.
    #[must_use]
    pub fn is_read(&self) -> bool {
        matches!(self.kind, EventKind::Read(_))
    }

    /// Whether the event is a write of a thread.
    #[must_use]
    pub fn is_write(&self) -> bool {
        matches!(self.kind, EventKind::Write(_))
    }

    /// Whether the event is a memory fence.
    #[must_use]
    pub fn is_fence(&self) -> bool {
        self.kind == EventKind::Fence
    }

    /// Whether the event is a strong operation (8.4).
    #[must_use]
    pub fn is_strong(&self) -> bool {
        match self.kind {
            EventKind::Read(_) | EventKind::Write(_) => self.order != Order::Weak,
            EventKind::Fence => true,
            _ => false,
        }
    }

    /// Whether the event acquires. Reductions do not.
    #[must_use]
    pub fn acquires(&self) -> bool {
        match self.kind {
            EventKind::Read(_) => self.order.acquires() && !self.is_reduction,
            EventKind::Fence => self.order.acquires(),
            _ => false,
        }
    }

    /// Whether the event releases.
    #[must_use]
    pub fn releases(&self) -> bool {
        match self.kind {
            EventKind::Write(_) | EventKind::Fence => self.order.releases(),
            _ => false,
        }
    }

    /// Whether the event is a `fence.sc`.
    #[must_use]
    pub(crate) fn is_fence_sc(&self) -> bool {
        self.is_fence() && self.order == Order::SequentiallyConsistent
    }
}
