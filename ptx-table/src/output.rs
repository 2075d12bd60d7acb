//! The channels on which threads send batches to a scan.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use crate::table::TableName;

/// The number of messages that a channel holds. A thread that sends more of them waits for the scan, which limits memory.
const CHANNEL_CAPACITY: usize = 8;

/// A message of a thread to the scan.
pub(crate) enum Message {
    Batch(TableName, Result<RecordBatch, ArrowError>),
    /// The batches of a part of a file come from this channel, up to its [`End`](Self::End).
    Part(Receiver<Message>),
    /// The group of files, or the part of a file, is complete.
    End,
}

/// Receives the batches of tables.
pub(crate) trait Output {
    /// Receives the next batch of a table.
    fn batch(&mut self, table: TableName, batch: Result<RecordBatch, ArrowError>);

    /// Calls `work` once for each index below `count`, on any thread. The order of the batches is that of the indexes.
    fn parts(&mut self, count: usize, work: &(dyn Fn(usize, &mut dyn Output) + Sync));
}

/// Sends the batches of a group of files, or of a part of a file, to the scan.
pub(crate) struct Channel<'a> {
    sender: SyncSender<Message>,
    /// Whether the scan was dropped.
    is_closed: bool,
    threads: &'a Threads,
}

/// Counts the threads of a scan, so that a large file can use the processors of threads that have ended.
pub(crate) struct Threads {
    total: usize,
    busy: AtomicUsize,
}

impl Threads {
    pub(crate) fn new(total: usize) -> Self {
        Self {
            total,
            busy: AtomicUsize::new(total),
        }
    }

    /// Records that a thread ended.
    pub(crate) fn end(&self) {
        self.busy.fetch_sub(1, Ordering::Relaxed);
    }

    /// Records that all idle threads are replaced by threads of the caller. Returns their number.
    fn claim_idle(&self) -> usize {
        let busy = self.busy.swap(self.total, Ordering::Relaxed);
        self.total - busy
    }

    /// Records that the threads of [`claim_idle`](Self::claim_idle) ended.
    fn release(&self, count: usize) {
        self.busy.fetch_sub(count, Ordering::Relaxed);
    }
}

impl<'a> Channel<'a> {
    /// Creates a channel, and the receiver of its messages.
    pub(crate) fn new(threads: &'a Threads) -> (Self, Receiver<Message>) {
        let (sender, receiver) = sync_channel(CHANNEL_CAPACITY);
        let channel = Self {
            sender,
            is_closed: false,
            threads,
        };
        (channel, receiver)
    }

    /// Sends a message. Returns false if the scan was dropped.
    pub(crate) fn send(&mut self, message: Message) -> bool {
        self.is_closed |= self.sender.send(message).is_err();
        !self.is_closed
    }

    /// Takes the next index and opens the channel of its part. The lock makes the order of the channels that of the indexes.
    fn open_part(
        indexes_and_channel: &Mutex<(std::ops::Range<usize>, &mut Self)>,
    ) -> Option<(usize, Self)> {
        let mut locked = indexes_and_channel
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let (indexes, channel) = &mut *locked;
        let index = indexes.next()?;
        let (part, receiver) = Channel::new(channel.threads);
        channel
            .send(Message::Part(receiver))
            .then_some((index, part))
    }
}

impl Output for Channel<'_> {
    fn batch(&mut self, table: TableName, batch: Result<RecordBatch, ArrowError>) {
        self.send(Message::Batch(table, batch));
    }

    fn parts(&mut self, count: usize, work: &(dyn Fn(usize, &mut dyn Output) + Sync)) {
        let threads = self.threads;
        let indexes_and_channel = Mutex::new((0..count, self));
        let work_on_parts = || {
            while let Some((index, mut part)) = Channel::open_part(&indexes_and_channel) {
                work(index, &mut part);
                part.send(Message::End);
            }
        };
        let helpers = threads.claim_idle();
        thread::scope(|scope| {
            for _ in 0..helpers.min(count.saturating_sub(1)) {
                scope.spawn(work_on_parts);
            }
            work_on_parts();
        });
        threads.release(helpers);
    }
}
