//! Where the batches of a group of files go.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use crate::table::TableName;

/// The batches that wait until they are asked for, of a group of files or of a part of a file.
const WAITING: usize = 8;

/// What a thread made.
pub(crate) enum Message {
    Batch(TableName, Result<RecordBatch, ArrowError>),
    /// The batches of a part of a file come from here.
    Part(Receiver<Message>),
    /// The group, or the part, is complete.
    End,
}

/// Gets batches.
pub(crate) trait Output {
    /// The next batch.
    fn batch(&mut self, table: TableName, batch: Result<RecordBatch, ArrowError>);

    /// Calls `work` for each of a number of parts, on any thread. The batches of the parts are in the order of the parts.
    fn parts(&mut self, count: usize, work: &(dyn Fn(usize, &mut dyn Output) + Sync));
}

/// Sends the batches to the scan.
pub(crate) struct Channel<'a> {
    sender: SyncSender<Message>,
    /// The scan was dropped.
    stopped: bool,
    threads: &'a Threads,
}

/// The threads of a scan.
pub(crate) struct Threads {
    most: usize,
    busy: AtomicUsize,
}

impl Threads {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            busy: AtomicUsize::new(most),
        }
    }

    /// A thread has nothing to do any more.
    pub(crate) fn end(&self) {
        self.busy.fetch_sub(1, Ordering::Relaxed);
    }

    /// Takes the place of threads that have nothing to do: their number.
    fn take(&self) -> usize {
        let busy = self.busy.swap(self.most, Ordering::Relaxed);
        self.most - busy
    }

    fn give_back(&self, count: usize) {
        self.busy.fetch_sub(count, Ordering::Relaxed);
    }
}

impl<'a> Channel<'a> {
    /// Makes one, and what its messages are received from.
    pub(crate) fn new(threads: &'a Threads) -> (Self, Receiver<Message>) {
        let (sender, receiver) = sync_channel(WAITING);
        let channel = Self {
            sender,
            stopped: false,
            threads,
        };
        (channel, receiver)
    }

    /// Whether the scan still wants messages.
    pub(crate) fn send(&mut self, message: Message) -> bool {
        self.stopped |= self.sender.send(message).is_err();
        !self.stopped
    }
}

impl Output for Channel<'_> {
    fn batch(&mut self, table: TableName, batch: Result<RecordBatch, ArrowError>) {
        self.send(Message::Batch(table, batch));
    }

    fn parts(&mut self, count: usize, work: &(dyn Fn(usize, &mut dyn Output) + Sync)) {
        let threads = self.threads;
        let parts = Mutex::new((0..count, self));
        // The next part, and where its batches go. Sending waits while the scan has enough parts, which limits memory.
        let next = || {
            let mut parts = parts.lock().unwrap_or_else(PoisonError::into_inner);
            let (numbers, channel) = &mut *parts;
            let number = numbers.next()?;
            let (part, receiver) = Channel::new(threads);
            channel
                .send(Message::Part(receiver))
                .then_some((number, part))
        };
        let all = || {
            while let Some((number, mut part)) = next() {
                work(number, &mut part);
                part.send(Message::End);
            }
        };
        let others = threads.take();
        thread::scope(|scope| {
            for _ in 0..others.min(count.saturating_sub(1)) {
                scope.spawn(all);
            }
            all();
        });
        threads.give_back(others);
    }
}
