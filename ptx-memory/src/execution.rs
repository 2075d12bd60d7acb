//! A candidate execution: events, what they read from, and how they depend on each other.

use crate::event::{Event, EventKind, ThreadPlace};

/// A run of bytes that a read takes from one write.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct ReadsFrom {
    /// The read.
    pub read: u32,
    /// The write; 0 is the initial write.
    pub write: u32,
    /// The physical address of the first byte.
    pub address: u64,
    /// The number of bytes.
    pub bytes: u32,
}

/// An asynchronous operation (8.9.1.1). Its events are those of a separate thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AsynchronousOperation {
    /// The number of the thread of its events.
    pub thread: u32,
    /// The event that starts it. What precedes this event in base causality order precedes the events of the operation, but not what follows them.
    pub start: u32,
    /// The threads of the operations that it follows: their events precede its events.
    pub follows: Vec<u32>,
    /// Whether what precedes the start also precedes what follows the operation.
    pub is_cumulative: bool,
}

/// A wait for asynchronous operations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AsynchronousWait {
    /// The event.
    pub event: u32,
    /// The threads of the operations.
    pub operations: Vec<u32>,
    /// Whether only the reads of the operations are complete.
    pub is_for_reads: bool,
}

/// A candidate execution. Reads may lack a source as long as an execution is explored.
#[derive(Clone, Debug, Default)]
pub struct Execution {
    /// The places of the threads. Those of asynchronous operations come last, in the places of the threads that started them.
    pub threads: Vec<ThreadPlace>,
    /// The events. Event 0 is the initial write.
    pub events: Vec<Event>,
    /// The sources of the reads.
    pub reads_from: Vec<ReadsFrom>,
    /// Pairs of a read and an event whose address, data or existence depends on what the read returns.
    pub dependencies: Vec<(u32, u32)>,
    /// Pairs of events in base causality order by barriers and the start of grids.
    pub synchronization: Vec<(u32, u32)>,
    /// The asynchronous operations.
    pub asynchronous: Vec<AsynchronousOperation>,
    /// The waits for asynchronous operations.
    pub waits: Vec<AsynchronousWait>,
}

impl Execution {
    /// An execution of these threads, without events other than the initial write.
    #[must_use]
    pub fn new(threads: Vec<ThreadPlace>) -> Self {
        Self {
            threads,
            events: vec![Event::INITIAL],
            ..Self::default()
        }
    }

    /// The place of the thread of an event.
    #[must_use]
    pub fn place(&self, event: &Event) -> ThreadPlace {
        self.threads
            .get(event.thread as usize)
            .copied()
            .unwrap_or_default()
    }

    /// The number of the thread that performs or, for an asynchronous operation, started the operation of an event.
    #[must_use]
    pub(crate) fn initiator(&self, event: &Event) -> u32 {
        let mut thread = event.thread;
        // An operation starts no other one, so that one step leads to a thread of the program.
        if let Some(operation) = self.operation_of_thread(thread)
            && let Some(start) = self.event(operation.start as usize)
        {
            thread = start.thread;
        }
        thread
    }

    /// The asynchronous operation whose events have the number of a thread.
    pub(crate) fn operation_of_thread(&self, thread: u32) -> Option<&AsynchronousOperation> {
        self.asynchronous
            .iter()
            .find(|operation| operation.thread == thread)
    }

    /// The event with this number.
    #[must_use]
    pub fn event(&self, number: usize) -> Option<&Event> {
        self.events.get(number)
    }

    /// The number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The writes of a read, with the runs of bytes.
    pub fn sources(&self, read: usize) -> impl Iterator<Item = &ReadsFrom> {
        self.reads_from
            .iter()
            .filter(move |source| source.read as usize == read)
    }

    /// Whether two events access a common byte.
    #[must_use]
    pub fn share_bytes(&self, first: usize, second: usize) -> bool {
        match (self.event(first), self.event(second)) {
            (Some(first), Some(second)) => match (first.location(), second.location()) {
                (Some(a), Some(b)) => a.shares_bytes(b),
                (Some(_), None) => second.kind == EventKind::Initial,
                (None, Some(_)) => first.kind == EventKind::Initial,
                (None, None) => false,
            },
            _ => false,
        }
    }
}
