//! A stream of record batches over any number of files.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};

use crate::input::{self, Content, Files, Source, Unreadable};
use crate::output::{Channel, Message, Threads};
use crate::table::TableName;
use crate::table_builders::TableBuilders;

/// The maximum number of files in a group.
const GROUP_FILES: usize = 256;

/// The maximum size of a group of several files in bytes.
const GROUP_BYTES: u64 = 4 << 20;

/// Options of a scan.
#[derive(Clone, Debug)]
pub struct ScanOptions {
    tables: Vec<(TableName, SchemaRef)>,
    max_rows: usize,
    threads: usize,
}

impl ScanOptions {
    /// Options for the default columns of these tables ([`TableName::schema`]), with batches of at most 16,384 rows and a thread for each processor.
    #[must_use]
    pub fn new(tables: &[TableName]) -> Self {
        let mut tables = tables.to_vec();
        tables.sort_unstable();
        tables.dedup();
        Self {
            tables: tables.into_iter().map(|t| (t, t.schema())).collect(),
            max_rows: 1 << 14,
            threads: thread::available_parallelism().map_or(1, usize::from),
        }
    }

    /// Sets the maximum number of rows of a batch.
    #[must_use]
    pub fn rows(mut self, rows: usize) -> Self {
        self.max_rows = rows.max(1);
        self
    }

    /// Sets the number of files that are read at a time.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Selects columns of a table, in the order of the table; this can include columns that are only computed on request.
    ///
    /// # Errors
    ///
    /// The table has no such column.
    pub fn columns(mut self, table: TableName, names: &[&str]) -> Result<Self, ArrowError> {
        let full_schema = table.full_schema();
        let mut indexes = names
            .iter()
            .map(|name| full_schema.index_of(name))
            .collect::<Result<Vec<_>, _>>()?;
        indexes.sort_unstable();
        indexes.dedup();
        let selected = SchemaRef::new(full_schema.project(&indexes)?);
        for (name, schema) in &mut self.tables {
            if *name == table {
                *schema = SchemaRef::clone(&selected);
            }
        }
        Ok(self)
    }

    /// Returns these options for one of the tables only. If the options do not contain the table, the result has no tables.
    #[must_use]
    pub fn only(&self, table: TableName) -> Self {
        let mut options = self.clone();
        options.tables.retain(|(name, _)| *name == table);
        options
    }

    /// The tables with the schemas of their batches.
    #[must_use]
    pub fn tables(&self) -> &[(TableName, SchemaRef)] {
        &self.tables
    }
}

/// An iterator over the batches of the tables of any number of files. The batches of each table are in the order of the files, independent of the
/// number of threads. Memory does not grow with the number of files.
///
/// ```
/// use ptx_table::{ScanOptions, Scan, Source, TableName};
///
/// let text = ".version 8.0\n.target sm_80\n.entry k() { bar.sync 0; ret; }\n";
/// let files = [Source::Bytes("a.ptx".to_owned(), text.into())];
/// let mut rows = 0;
/// for batch in Scan::new(files, &ScanOptions::new(&[TableName::Instructions])) {
///     let (table, batch) = batch?;
///     assert_eq!(table, TableName::Instructions);
///     rows += batch.num_rows();
/// }
/// assert_eq!(rows, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Scan {
    /// The channels of the groups, in the order of the files.
    groups: Receiver<Receiver<Message>>,
    /// The channel of the current group, and above it that of the current part of a file, if any.
    open: Vec<Receiver<Message>>,
    unreadable: Arc<AtomicUsize>,
}

impl Scan {
    /// Starts reading files.
    #[must_use]
    pub fn new<S>(sources: S, options: &ScanOptions) -> Self
    where
        S: IntoIterator<Item = Source>,
        S::IntoIter: Send + 'static,
    {
        let (sender, groups) = sync_channel(options.threads);
        let queue = Queue {
            files: Files::new(sources.into_iter()),
            peeked: None,
            sender,
        };
        let unreadable = Arc::new(AtomicUsize::new(0));
        let queue = Arc::new(Mutex::new(queue));
        let threads = Arc::new(Threads::new(options.threads));
        for _ in 0..options.threads {
            let (queue, options) = (Arc::clone(&queue), options.clone());
            let (unreadable, threads) = (Arc::clone(&unreadable), Arc::clone(&threads));
            thread::spawn(move || {
                work(&queue, &options, &threads, &unreadable);
                threads.end();
            });
        }
        Self {
            groups,
            open: Vec::new(),
            unreadable,
        }
    }

    /// The number of files and parts of files that could not be read so far.
    #[must_use]
    pub fn unreadable(&self) -> usize {
        self.unreadable.load(Ordering::Relaxed)
    }
}

impl Iterator for Scan {
    type Item = Result<(TableName, RecordBatch), ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some(messages) = self.open.last() else {
                self.open.push(self.groups.recv().ok()?);
                continue;
            };
            match messages.recv() {
                Ok(Message::Batch(table, batch)) => return Some(batch.map(|batch| (table, batch))),
                Ok(Message::Part(part)) => self.open.push(part),
                Ok(Message::End) => drop(self.open.pop()),
                Err(_) => {
                    self.open.pop();
                    let error = "a thread of the scan ended before its files were read";
                    return Some(Err(ArrowError::ComputeError(error.to_owned())));
                }
            }
        }
    }
}

/// The files that are not in a group yet.
struct Queue<I> {
    files: Files<I>,
    /// The first file of the next group, if it was already read from `files`.
    peeked: Option<Result<Source, Unreadable>>,
    sender: SyncSender<Receiver<Message>>,
}

/// Consecutive files that one thread reads, and the channel for their batches.
struct Group<'t> {
    files: Vec<Result<Source, Unreadable>>,
    channel: Channel<'t>,
}

impl<I: Iterator<Item = Source>> Queue<I> {
    /// The next group; `None` after the last file, or if the scan was dropped.
    fn next_group<'t>(&mut self, threads: &'t Threads) -> Option<Group<'t>> {
        let mut files = Vec::new();
        let mut bytes = 0;
        while let Some(file) = self.peeked.take().or_else(|| self.files.next()) {
            bytes += file.as_ref().map_or(0, size);
            if files.len() >= GROUP_FILES || (bytes > GROUP_BYTES && !files.is_empty()) {
                self.peeked = Some(file);
                break;
            }
            files.push(file);
        }
        if files.is_empty() {
            return None;
        }
        let (channel, receiver) = Channel::new(threads);
        self.sender.send(receiver).ok()?;
        Some(Group { files, channel })
    }
}

fn size(source: &Source) -> u64 {
    match source {
        Source::Bytes(_, bytes) => bytes.len() as u64,
        Source::Path(path) => fs::metadata(path).map_or(0, |metadata| metadata.len()),
    }
}

/// Reads groups of files until the last one, or until the scan is dropped.
fn work<I: Iterator<Item = Source>>(
    queue: &Mutex<Queue<I>>,
    options: &ScanOptions,
    threads: &Threads,
    unreadable: &AtomicUsize,
) {
    loop {
        let mut locked = queue.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Group { files, mut channel }) = locked.next_group(threads) else {
            return;
        };
        drop(locked);
        let mut tables = TableBuilders::new(&options.tables, options.max_rows);
        let mut add = |content: Content| {
            if let Content::Unreadable(_) = content {
                unreadable.fetch_add(1, Ordering::Relaxed);
            }
            tables.add(content, &mut channel);
        };
        for file in files {
            match file {
                Ok(source) => input::read(source, &mut add),
                Err(unreadable) => add(Content::Unreadable(unreadable)),
            }
        }
        tables.flush(&mut channel);
        let is_open = channel.send(Message::End);
        if !is_open {
            return;
        }
    }
}
