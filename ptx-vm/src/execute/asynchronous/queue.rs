//! The pending asynchronous operations of a cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptx_ir::FuncId;

use super::super::location::Location;
use super::super::order::mix;
use super::AsyncOperation;
use crate::account::{Account, Held};
use crate::asynchrony::Asynchrony;

/// The most steps of lanes of a warp between two random choices.
const MOST_RANDOM_STEPS: u64 = 16;

/// The kind of groups of asynchronous operations of a thread.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::execute) enum GroupKind {
    /// Groups of `cp.async`.
    Copies,
    /// Bulk groups.
    Bulk,
    /// Groups of products of a warpgroup. Those of a warp belong to its first thread.
    Products,
    /// Products, copies and shifts in tensor memory, which a pair of CTAs performs in the order in which they were started. Arrivals at mbarrier objects follow them.
    TensorMemory,
    /// Stores of a warp to tensor memory.
    TensorStores,
}

/// The mechanism by which threads wait for the completion of an asynchronous operation.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(in crate::execute) enum Completes {
    /// A group of the thread that starts it.
    Group(GroupKind),
    /// Bytes of the transactions of an mbarrier object.
    Transactions { object: Location, bytes: u64 },
    /// An arrival at an mbarrier object.
    Arrival(Location),
}

/// Bytes of memory that an operation reads before it writes.
#[derive(Copy, Clone, Debug)]
pub(in crate::execute) struct SourceRange {
    pub(in crate::execute) start: Location,
    pub(in crate::execute) bytes: u64,
}

/// The thread and the instruction that started an operation.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Origin {
    pub(super) function: FuncId,
    pub(super) step_index: u32,
    /// `%ctaid`.
    pub(super) block: [u32; 3],
    /// The rank of the CTA in its cluster.
    pub(super) rank: usize,
    /// `%clusterid`.
    pub(super) cluster: [u32; 3],
    /// The index of the first thread of the warp.
    pub(super) first: u32,
    pub(super) lane: usize,
}

impl Origin {
    pub(super) fn thread(&self) -> u32 {
        self.first + self.lane as u32
    }

    pub(super) fn is_of_same_thread(&self, other: &Self) -> bool {
        (self.rank, self.thread()) == (other.rank, other.thread())
    }
}

/// The contents of shared memory when the source of an operation was read.
#[derive(Debug)]
pub(super) struct SavedSource {
    pub(super) rank: usize,
    pub(super) offset: usize,
    pub(super) bytes: Vec<u8>,
}

/// An operation that was started and is not performed.
#[derive(Debug)]
pub(in crate::execute) struct PendingOperation {
    pub(super) origin: Origin,
    /// The position in the order in which operations were started.
    pub(super) number: u64,
    /// The number of groups that the thread had committed before.
    pub(super) group: u64,
    pub(in crate::execute) completes: Completes,
    pub(super) source: Option<SourceRange>,
    pub(super) saved: Option<SavedSource>,
    /// The number of steps of the launch when it was started.
    pub(super) started: u64,
    pub(super) operation: AsyncOperation,
}

impl PendingOperation {
    /// Whether it is a product of a warp, whose registers it changes.
    pub(super) fn is_product_of(&self, rank: usize, first: u32) -> bool {
        self.is_product() && (self.origin.rank, self.origin.first) == (rank, first)
    }

    pub(super) fn is_product(&self) -> bool {
        self.completes == Completes::Group(GroupKind::Products)
    }

    pub(super) fn memory(&self) -> u64 {
        let saved = self.saved.as_ref().map_or(0, |saved| saved.bytes.len());
        (size_of::<Self>() + saved) as u64 + self.operation.memory()
    }
}

/// The groups of a kind of a thread.
type GroupsOfThread = (usize, u32, GroupKind);

/// The pending operations of a cluster. Waiting for some of them takes linear time in their number.
#[derive(Debug)]
pub(in crate::execute) struct AsyncQueue {
    /// In the order in which they were started.
    pub(super) pending: Vec<PendingOperation>,
    pub(super) started: u64,
    /// The number of groups that threads committed.
    pub(super) committed: BTreeMap<GroupsOfThread, u64>,
    /// The state of the random choices.
    random: Option<u64>,
    pub(super) held: Held,
}

impl AsyncQueue {
    /// The queue of a cluster; `None` if operations are performed at once.
    pub(in crate::execute) fn new(
        asynchrony: Asynchrony,
        cluster: u64,
        account: &Arc<Account>,
    ) -> Option<Box<Self>> {
        let random = match asynchrony {
            Asynchrony::Immediate => return None,
            Asynchrony::Late => None,
            Asynchrony::Random(seed) => Some(mix(seed ^ mix(cluster))),
        };
        Some(Box::new(Self {
            pending: Vec::new(),
            started: 0,
            committed: BTreeMap::new(),
            random,
            held: Held::new(Arc::clone(account)),
        }))
    }

    /// Removes the operations that satisfy a condition.
    pub(super) fn take(
        &mut self,
        is_due: impl Fn(&PendingOperation) -> bool,
    ) -> Vec<PendingOperation> {
        if !self.pending.iter().any(&is_due) {
            return Vec::new();
        }
        let (due, pending): (Vec<_>, Vec<_>) = core::mem::take(&mut self.pending)
            .into_iter()
            .partition(|pending| is_due(pending));
        self.pending = pending;
        for operation in &due {
            self.held.release(operation.memory());
        }
        due
    }

    /// The operations that complete at an mbarrier object, in the order in which they were started.
    pub(in crate::execute) fn completing_at(
        &self,
        object: Location,
    ) -> impl Iterator<Item = (u64, Completes)> + '_ {
        self.pending
            .iter()
            .filter(move |pending| pending.completes.object() == Some(object))
            .map(|pending| (pending.number, pending.completes))
    }

    /// The position of the first pending operation that has to be performed before the one at a position, or of this one.
    pub(super) fn first_of_sequence(&self, position: usize) -> usize {
        let Some(chosen) = self.pending.get(position) else {
            return position;
        };
        let is_of_sequence = |earlier: &PendingOperation| {
            earlier.completes == chosen.completes
                && earlier.origin.is_of_same_thread(&chosen.origin)
        };
        match chosen.completes {
            Completes::Group(GroupKind::Products) => self
                .pending
                .iter()
                .position(is_of_sequence)
                .unwrap_or(position),
            _ => position,
        }
    }

    /// Makes a random choice: the most steps until the next one, and whether an operation is performed now, by its position.
    pub(super) fn choose(&mut self) -> Option<(u64, Option<usize>)> {
        let state = self.random.as_mut()?;
        *state = mix(*state);
        let steps = 1 + (*state >> 8) % MOST_RANDOM_STEPS;
        let count = self.pending.len();
        let is_performed = *state % 4 == 0 && count > 0;
        let position = is_performed.then(|| (*state >> 16) as usize % count);
        Some((steps, position))
    }
}

impl Completes {
    /// The mbarrier object at which an operation completes.
    pub(in crate::execute) const fn object(self) -> Option<Location> {
        match self {
            Self::Group(_) => None,
            Self::Transactions { object, .. } | Self::Arrival(object) => Some(object),
        }
    }
}
