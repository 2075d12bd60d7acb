//! What threads do: programs as the explorer sees them.

use crate::event::{AddressRange, Location, MemoryProxy, MemoryScope, Order, ThreadPlace};
use crate::relation::EventSet;

/// A value that a thread computes, and the reads that it depends on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Value {
    /// The bits; `None` if they depend on a read whose source is not chosen yet.
    pub bits: Option<u128>,
    /// The reads that the value depends on.
    pub dependencies: EventSet,
}

impl Value {
    /// A value that depends on nothing.
    #[must_use]
    pub fn constant(bits: u128) -> Self {
        Self {
            bits: Some(bits),
            dependencies: EventSet::new(),
        }
    }
}

/// A memory access of a thread.
#[derive(Clone, Debug)]
pub struct ThreadAccess {
    /// The accessed bytes; `None` if they depend on a read whose source is not chosen yet.
    pub location: Option<Location>,
    /// The order.
    pub order: Order,
    /// The scope.
    pub scope: MemoryScope,
    /// The method of memory access.
    pub proxy: MemoryProxy,
    /// The reads on which the address, the data or the execution of the access depend.
    pub dependencies: EventSet,
    /// The number of the instruction.
    pub instruction: u32,
}

/// Which threads a barrier waits for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Participants {
    /// All threads of the CTA.
    Cta,
    /// All threads of the cluster.
    Cluster,
    /// This number of arrivals of threads of the CTA.
    Count(u32),
    /// This number of arrivals of threads of the CTA; threads that arrive later pass.
    AtLeast(u32),
    /// This number of threads of the CTA, which all take part each time.
    Group(u32),
    /// The barrier waits for no thread. The n-th arrivals of the threads of the CTA synchronize.
    Unlimited,
}

/// What a thread passes to the others at a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExchangedValue {
    /// The thread.
    pub thread: usize,
    /// The bits.
    pub bits: u128,
}

/// An operation on a barrier.
#[derive(Clone, Debug)]
pub struct BarrierStep {
    /// The number of the barrier among the barriers of the CTA or cluster.
    pub barrier: u64,
    /// Which threads the barrier waits for.
    pub participants: Participants,
    /// Whether the thread arrives.
    pub arrives: bool,
    /// Whether the thread waits.
    pub waits: bool,
    /// The bits that the thread passes to the others, which all of them wait for. They are passed to [`Program::exchange`].
    pub exchange: Option<u128>,
    /// Whether memory accesses before an arrival precede those after the waits of other threads.
    pub orders: bool,
    /// The instructions whose earlier writes precede what follows the waits of other threads, although the arrival does not order.
    pub released: Vec<u32>,
    /// The reads on which the execution of the operation depends.
    pub dependencies: EventSet,
    /// The number of the instruction.
    pub instruction: u32,
}

/// How a thread came to the head of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Iteration {
    /// It enters the loop.
    First,
    /// It starts another iteration, which counts.
    Next,
    /// It starts another iteration, which does not count because no read decided about it.
    Determined,
}

/// Where a thread stops next.
#[derive(Clone, Debug)]
pub enum Step {
    /// A read. The explorer passes the result to [`Program::receive`].
    Read(ThreadAccess),
    /// A write of these bits; `None` if they depend on a read whose source is not chosen yet.
    Write(ThreadAccess, Option<u128>),
    /// An atomic operation. [`Program::update`] says what is written. The explorer passes the old value to [`Program::receive`].
    Atomic {
        /// The access.
        access: ThreadAccess,
        /// Whether the operation is a reduction.
        is_reduction: bool,
    },
    /// A memory fence.
    Fence {
        /// The order.
        order: Order,
        /// The scope.
        scope: MemoryScope,
        /// The reads on which the execution of the fence depends.
        dependencies: EventSet,
        /// The number of the instruction.
        instruction: u32,
    },
    /// A proxy fence.
    ProxyFence {
        /// The proxy; `None` for a fence of aliases.
        proxy: Option<MemoryProxy>,
        /// The order of a one-directional fence; otherwise `Weak`.
        order: Order,
        /// The scope of a one-directional fence.
        scope: MemoryScope,
        /// The bytes whose accesses the fence orders.
        range: AddressRange,
        /// The reads on which the execution of the fence depends.
        dependencies: EventSet,
        /// The number of the instruction.
        instruction: u32,
    },
    /// An operation on a barrier.
    Barrier(BarrierStep),
    /// The start of an asynchronous operation, which runs as a separate thread from [`Program::asynchronous`].
    Start {
        /// Whether all values of the operation are known. If not, the operation starts again when they are.
        is_known: bool,
        /// The operations of this thread that come before it, numbered in the order of their starts from 0.
        follows: Vec<usize>,
        /// Whether events before the start also precede what follows the operation.
        is_cumulative: bool,
        /// The reads on which the start depends.
        dependencies: EventSet,
        /// The number of the instruction.
        instruction: u32,
    },
    /// A wait for asynchronous operations of this thread.
    Await {
        /// The operations, numbered in the order of their starts from 0.
        operations: Vec<usize>,
        /// Whether only the reads of the operations must be complete.
        is_for_reads: bool,
        /// The reads on which the wait depends.
        dependencies: EventSet,
        /// The number of the instruction.
        instruction: u32,
    },
    /// The head of a loop with this number.
    LoopHead(u32, Iteration),
    /// What the thread does next depends on reads of which one has no source yet.
    Blocked(EventSet),
    /// The thread ended.
    Exit,
    /// The thread was stopped by an error, such as an access outside of memory or a trap.
    Fault(String),
    /// The program does something that cannot be explored.
    Unsupported(String),
}

/// What an atomic operation writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Update {
    /// These bits.
    Write(u128),
    /// Nothing, as a compare-and-swap operation that fails.
    Nothing,
    /// This depends on a read whose source is not chosen yet.
    Unknown,
}

/// A program of several threads. Threads are deterministic: what a thread does depends only on what its reads return.
pub trait Program {
    /// The state of a thread between two steps.
    type Thread: Clone;

    /// The places of the threads.
    fn places(&self) -> &[ThreadPlace];

    /// The state at the start of a thread.
    fn start(&self, thread: usize) -> Self::Thread;

    /// Runs a thread to its next step. At `Blocked`, `Exit` and errors, the next call returns the same step.
    fn next(&self, thread: &mut Self::Thread) -> Step;

    /// Passes the result of the read or atomic operation at which a thread stopped.
    fn receive(&self, thread: &mut Self::Thread, value: Value);

    /// Passes the values of all threads that take part in the exchange at which a thread stopped, and the reads on which they depend.
    fn exchange(
        &self,
        thread: &mut Self::Thread,
        values: &[ExchangedValue],
        dependencies: &EventSet,
    ) {
        let _ = (thread, values, dependencies);
    }

    /// The state at the start of the asynchronous operation at which a thread stopped.
    fn asynchronous(&self, thread: &Self::Thread) -> Self::Thread {
        thread.clone()
    }

    /// Whether threads may start asynchronous operations.
    fn has_asynchronous_operations(&self) -> bool {
        false
    }

    /// What the atomic operation at which a thread stopped writes if the old value is `old`.
    fn update(&self, thread: &Self::Thread, old: u128) -> Update;

    /// Whether two states at a loop head continue in the same way if all reads return the same values.
    fn is_same(&self, first: &Self::Thread, second: &Self::Thread) -> bool;

    /// The initial contents of bytes; `None` if they were never written.
    fn initial(&self, address: u64, bytes: u32) -> Option<u128>;

    /// Whether two threads run the same code with the same values, until their reads return different values.
    fn are_symmetric(&self, first: usize, second: usize) -> bool {
        let _ = (first, second);
        false
    }
}
