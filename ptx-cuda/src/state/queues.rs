//! Operations that cannot be performed when they are appended to a stream, since it waits for a value in memory. They are tried again at each later call.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use super::graph_execs::Replay;
use super::memory_operations::MemoryOperation;
use super::streams::{LEGACY_STREAM, same_stream};
use super::{Driver, HostFunction, Operation, Stream};
use crate::handles::Raw;
use crate::status::{Outcome, Status};

/// Whether any stream has operations that were not performed.
static BLOCKED: AtomicBool = AtomicBool::new(false);

/// Whether any stream has operations that were not performed. The driver need not be locked.
pub(crate) fn is_any_blocked() -> bool {
    BLOCKED.load(Ordering::Acquire)
}

/// Work of a stream.
#[derive(Clone, Debug)]
pub(crate) enum Pending {
    Operation(Operation),
    /// A launch of a graph that was begun.
    Replay(Replay),
}

impl Pending {
    /// The operation that is next, if it is known.
    fn operation(&self) -> Option<&Operation> {
        match self {
            Self::Operation(operation) => Some(operation),
            Self::Replay(replay) => replay.rest.as_ref(),
        }
    }
}

/// How far work was performed.
#[derive(Debug)]
pub(crate) enum Progress {
    Done,
    /// The caller calls the function while the driver is not locked, and continues with the rest.
    Call(HostFunction, Option<Pending>),
    /// The rest waits for a value in memory or for an event.
    Blocked(Pending),
}

/// An operation that was not performed.
#[derive(Debug)]
struct Entry {
    pending: Pending,
    /// The number of the operation among all that were not performed at once.
    sequence: u64,
    /// The number of the record for which an operation waits, if it waits for an event.
    record: Option<u64>,
}

/// Work that can proceed now.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) stream: Raw,
    pub(crate) pending: Pending,
    /// The number of the record for which an operation waits, if it waits for an event.
    pub(crate) record: Option<u64>,
}

/// The operations of a stream that were not performed.
#[derive(Default, Debug)]
pub(crate) struct Queue {
    entries: VecDeque<Entry>,
    /// Whether the operations wait for those of the legacy default stream, and that one for them.
    is_blocking: bool,
    /// Whether a thread is performing an operation of the stream.
    is_busy: bool,
}

impl Driver {
    /// Whether a stream does not wait for the legacy default stream.
    pub(super) fn is_non_blocking(&self, stream: Raw) -> bool {
        let stream = self.streams.get(stream);
        stream.is_ok_and(|stream| stream.flags & Stream::NON_BLOCKING != 0)
    }

    /// Whether all operations of a stream were performed; for the legacy default stream, those of all streams that wait for it, too.
    pub(crate) fn has_no_work(&self, stream: Raw) -> bool {
        let stream = same_stream(stream);
        let waits = |queue: &Queue| stream == LEGACY_STREAM && queue.is_blocking;
        let mut queues = self.queues.iter();
        !queues.any(|(handle, queue)| *handle == stream || waits(queue))
    }

    /// Whether all operations of all streams were performed.
    pub(crate) fn is_device_idle(&self) -> bool {
        self.queues.is_empty()
    }

    /// Performs an operation if the stream is ready for it, or else keeps it.
    pub(crate) fn submit(&mut self, operation: Operation, stream: Raw) -> Outcome<Progress> {
        let record = match operation {
            Operation::Wait(event) | Operation::WaitExternal(event) => {
                Some(self.events.get(event)?.records.requested())
            }
            _ => None,
        };
        let pending = Pending::Operation(operation);
        if !self.queues.is_empty() && self.must_follow(stream) {
            self.keep(pending, record, stream);
            return Ok(Progress::Done);
        }
        match self.proceed(pending, stream, record)? {
            Progress::Blocked(rest) => {
                self.keep(rest, record, stream);
                Ok(Progress::Done)
            }
            progress => Ok(progress),
        }
    }

    /// Keeps the rest of an operation that was begun.
    pub(crate) fn keep_rest(&mut self, rest: Pending, stream: Raw) {
        self.keep(rest, None, stream);
    }

    /// Whether an operation of a stream has to follow operations that were not performed.
    fn must_follow(&self, stream: Raw) -> bool {
        let stream = same_stream(stream);
        let is_blocking = !self.is_non_blocking(stream);
        self.queues.iter().any(|(handle, queue)| {
            *handle == stream
                || (stream == LEGACY_STREAM && queue.is_blocking)
                || (*handle == LEGACY_STREAM && is_blocking)
        })
    }

    /// Keeps work at the end of the queue of a stream.
    fn keep(&mut self, pending: Pending, record: Option<u64>, stream: Raw) {
        let records = match &pending {
            Pending::Operation(Operation::Record(event) | Operation::RecordExternal(event)) => {
                vec![*event]
            }
            Pending::Operation(Operation::Graph(exec)) => self.events_of_exec(*exec),
            _ => Vec::new(),
        };
        for event in records {
            if let Ok(event) = self.events.get_mut(event) {
                event.records.request();
            }
        }
        let stream = same_stream(stream);
        let is_blocking = !self.is_non_blocking(stream);
        self.kept_operations += 1;
        let queue = self.queues.entry(stream).or_default();
        queue.is_blocking = is_blocking;
        queue.entries.push_back(Entry {
            pending,
            sequence: self.kept_operations,
            record,
        });
        BLOCKED.store(true, Ordering::Release);
    }

    /// Takes the first work that can proceed now from a queue. The stream is busy until [`give_back`](Self::give_back).
    pub(crate) fn take_ready(&mut self) -> Option<Ready> {
        let first = |queue: &Queue| {
            queue
                .entries
                .front()
                .map_or(u64::MAX, |entry| entry.sequence)
        };
        let legacy = self.queues.get(&LEGACY_STREAM).map_or(u64::MAX, first);
        let others = self
            .queues
            .iter()
            .filter(|(handle, queue)| **handle != LEGACY_STREAM && queue.is_blocking);
        let others = others.map(|(_, queue)| first(queue)).min();
        let others = others.unwrap_or(u64::MAX);
        let stream = self.queues.iter().find_map(|(handle, queue)| {
            let entry = queue.entries.front()?;
            let earlier = match *handle {
                LEGACY_STREAM => others,
                _ if queue.is_blocking => legacy,
                _ => u64::MAX,
            };
            let is_ready = !queue.is_busy && entry.sequence < earlier && self.can_proceed(entry);
            is_ready.then_some(*handle)
        })?;
        let queue = self.queues.get_mut(&stream)?;
        queue.is_busy = true;
        let entry = queue.entries.front_mut()?;
        // The entry stays until its work ends, so that operations after it wait.
        let empty = Pending::Operation(Operation::Empty);
        Some(Ready {
            stream,
            pending: std::mem::replace(&mut entry.pending, empty),
            record: entry.record,
        })
    }

    /// Whether work at the front of a queue is not blocked.
    fn can_proceed(&self, entry: &Entry) -> bool {
        match entry.pending.operation() {
            Some(Operation::Wait(event) | Operation::WaitExternal(event)) => {
                self.is_recorded(*event, entry.record)
            }
            Some(Operation::Memory(operations)) => operations
                .first()
                .is_none_or(|operation| self.is_met(operation).unwrap_or(true)),
            _ => true,
        }
    }

    /// Ends the use of a stream: with work that could not end, or without.
    pub(crate) fn give_back(&mut self, stream: Raw, rest: Option<Pending>) {
        let Some(queue) = self.queues.get_mut(&stream) else {
            return;
        };
        queue.is_busy = false;
        match (rest, queue.entries.front_mut()) {
            (Some(rest), Some(entry)) => entry.pending = rest,
            _ => {
                queue.entries.pop_front();
            }
        }
        if queue.entries.is_empty() {
            self.queues.remove(&stream);
        }
        BLOCKED.store(!self.queues.is_empty(), Ordering::Release);
    }

    /// Removes the operations of a stream that were not performed.
    pub(super) fn forget_queue(&mut self, stream: Raw) {
        self.queues.remove(&stream);
        BLOCKED.store(!self.queues.is_empty(), Ordering::Release);
    }

    /// Performs work until it ends, a function of the program has to be called, or the stream has to wait.
    pub(crate) fn proceed(
        &mut self,
        pending: Pending,
        stream: Raw,
        record: Option<u64>,
    ) -> Outcome<Progress> {
        let operation = match pending {
            Pending::Operation(operation) => operation,
            Pending::Replay(replay) => return self.replay(replay, stream),
        };
        match operation {
            Operation::Host(function) => Ok(Progress::Call(function, None)),
            Operation::Graph(exec) => {
                let replay = self.begin_replay(exec)?;
                self.replay(replay, stream)
            }
            Operation::Wait(event) | Operation::WaitExternal(event)
                if !self.is_recorded(event, record) =>
            {
                Ok(Progress::Blocked(Pending::Operation(operation)))
            }
            Operation::Memory(operations) => {
                let waiting = self.perform_memory_operations(operations)?;
                if waiting.is_empty() {
                    return Ok(Progress::Done);
                }
                let waiting = Operation::Memory(waiting);
                Ok(Progress::Blocked(Pending::Operation(waiting)))
            }
            operation => {
                self.perform(operation)?;
                Ok(Progress::Done)
            }
        }
    }

    /// Whether an event was recorded so often, or destroyed.
    fn is_recorded(&self, event: Raw, record: Option<u64>) -> bool {
        self.events.get(event).map_or(true, |event| {
            let records = &event.records;
            records.completed() >= record.unwrap_or_else(|| records.requested())
        })
    }

    /// Describes the streams that wait, for the message that they cannot end.
    pub(crate) fn describe_blocked(&self) -> String {
        let streams = self.queues.iter().filter_map(|(handle, queue)| {
            let entry = queue.entries.front()?;
            let reason = match entry.pending.operation() {
                Some(Operation::Memory(operations)) => match operations.first()? {
                    MemoryOperation::Wait(wait) => wait.to_string(),
                    _ => return None,
                },
                Some(Operation::Wait(_) | Operation::WaitExternal(_)) => {
                    "an event that was not recorded".to_owned()
                }
                _ => return None,
            };
            Some(format!("stream {handle:#x} waits for {reason}"))
        });
        let streams: Vec<String> = streams.collect();
        streams.join("; ")
    }

    /// Fails if operations of streams for which the legacy default stream waits were not performed.
    pub(super) fn check_not_blocked(&self) -> Outcome<()> {
        if self.has_no_work(LEGACY_STREAM) {
            return Ok(());
        }
        eprintln!(
            "ptxkit: the operations before this function cannot end: {}",
            self.describe_blocked()
        );
        Err(Status::LAUNCH_TIMEOUT)
    }
}
