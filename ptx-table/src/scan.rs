//! A stream of record batches over any number of files.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};

use crate::input::{self, Content, Files, Found, Source};
use crate::output::{Channel, Message, Threads};
use crate::table::TableName;
use crate::tables::Tables;

/// Files that one thread reads one after the other: their number and their bytes.
const GROUP_FILES: usize = 256;
const GROUP_BYTES: u64 = 4 << 20;

/// Options of a scan.
#[derive(Clone, Debug)]
pub struct ScanOptions {
    tables: Vec<(TableName, SchemaRef)>,
    rows: usize,
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
            rows: 1 << 14,
            threads: thread::available_parallelism().map_or(1, usize::from),
        }
    }

    /// Sets the maximum number of rows of a batch.
    #[must_use]
    pub fn rows(mut self, rows: usize) -> Self {
        self.rows = rows.max(1);
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
    /// If the table has no such column.
    pub fn columns(mut self, table: TableName, names: &[&str]) -> Result<Self, ArrowError> {
        let all = table.full_schema();
        let mut wanted = names
            .iter()
            .map(|name| all.index_of(name))
            .collect::<Result<Vec<_>, _>>()?;
        wanted.sort_unstable();
        wanted.dedup();
        let schema = SchemaRef::new(all.project(&wanted)?);
        for (of, old) in &mut self.tables {
            if *of == table {
                *old = SchemaRef::clone(&schema);
            }
        }
        Ok(self)
    }

    /// The same for one of the tables, or for none if it is not among them.
    #[must_use]
    pub fn only(&self, table: TableName) -> Self {
        let mut options = self.clone();
        options.tables.retain(|(of, _)| *of == table);
        options
    }

    /// The tables with the schemas of their batches.
    #[must_use]
    pub fn tables(&self) -> &[(TableName, SchemaRef)] {
        &self.tables
    }
}

/// The batches of the tables of any number of files. The batches of each table are in the order of the files, whatever the
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
    groups: Receiver<Receiver<Message>>,
    /// The group whose batches are next, and the part of a file in it, if any.
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
            next: None,
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

/// The files that no thread has taken yet.
struct Queue<I> {
    files: Files<I>,
    /// The first file of the next group.
    next: Option<Found>,
    sender: SyncSender<Receiver<Message>>,
}

impl<I: Iterator<Item = Source>> Queue<I> {
    /// Some files, and where their batches go.
    fn group<'t>(&mut self, threads: &'t Threads) -> Option<(Vec<Found>, Channel<'t>)> {
        let mut group = Vec::new();
        let mut bytes = 0;
        while let Some(found) = self.next.take().or_else(|| self.files.next()) {
            bytes += size(&found);
            if group.len() >= GROUP_FILES || (bytes > GROUP_BYTES && !group.is_empty()) {
                self.next = Some(found);
                break;
            }
            group.push(found);
        }
        if group.is_empty() {
            return None;
        }
        let (channel, receiver) = Channel::new(threads);
        self.sender.send(receiver).ok()?;
        Some((group, channel))
    }
}

fn size(found: &Found) -> u64 {
    match found {
        Found::File(Source::Bytes(_, bytes)) => bytes.len() as u64,
        Found::File(Source::Path(path)) => fs::metadata(path).map_or(0, |m| m.len()),
        Found::Unreadable(..) => 0,
    }
}

/// Reads one group of files after the other.
fn work<I: Iterator<Item = Source>>(
    queue: &Mutex<Queue<I>>,
    options: &ScanOptions,
    threads: &Threads,
    unreadable: &AtomicUsize,
) {
    loop {
        let mut locked = queue.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((files, mut out)) = locked.group(threads) else {
            return;
        };
        drop(locked);
        let mut tables = Tables::new(&options.tables, options.rows);
        let mut add = |content: Content| {
            if matches!(content, Content::Unreadable(..)) {
                unreadable.fetch_add(1, Ordering::Relaxed);
            }
            tables.add(content, &mut out);
        };
        for found in files {
            match found {
                Found::File(source) => input::read(source, &mut add),
                Found::Unreadable(path, error) => {
                    add(input::unreadable(&input::name_of(&path), &error));
                }
            }
        }
        tables.finish(&mut out);
        // The scan was dropped if this cannot be sent.
        if !out.send(Message::End) {
            return;
        }
    }
}
