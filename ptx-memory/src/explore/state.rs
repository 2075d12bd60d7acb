//! A partial execution: the events so far, the states of the threads, and the reads that have no source yet.

use crate::event::Location;
use crate::execution::{Execution, ReadsFrom};
use crate::explore::barriers::Barriers;
use crate::program::{Program, Step};
use crate::relation::EventSet;

/// What stopped a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    /// A branch or something else depends on a read without a source.
    Blocked,
    /// The thread waits at a barrier.
    Waiting,
    /// The thread ended.
    Exited,
    /// The last iteration of a loop changed nothing, and the next one would read the same.
    Spinning {
        /// The first operation of the iteration.
        operation: usize,
    },
    /// A loop ran as often as allowed.
    Limit,
    /// The thread was stopped by an error.
    Fault(String),
    /// The program does something that cannot be explored.
    Unsupported(String),
}

/// The events of an operation of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Operation {
    /// The event; `None` as long as its address is not known.
    pub(crate) event: Option<u32>,
    /// The write of an atomic operation.
    pub(crate) write: Option<u32>,
    /// The asynchronous operation that it starts.
    pub(super) asynchronous: Option<Started>,
}

/// An asynchronous operation that was started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Started {
    /// The number of its thread.
    pub(super) thread: usize,
    /// Whether all values of the operation were known at its start.
    pub(super) is_known: bool,
}

/// A visit of a loop head.
#[derive(Clone, Debug)]
pub(super) struct Visit<T> {
    pub(super) head: u32,
    /// The iterations that count since the thread entered the loop.
    pub(super) iterations: usize,
    pub(super) operation: usize,
    pub(super) thread: T,
}

/// A thread of a partial execution.
#[derive(Clone, Debug)]
pub(crate) struct ThreadState<T> {
    /// The state at the first step that is not complete.
    pub(crate) state: T,
    /// That step; `None` at the start.
    pub(super) step: Option<Step>,
    /// The number of operations before it.
    pub(super) completed: usize,
    /// The number of visits of loop heads before it.
    pub(super) completed_visits: usize,
    /// The operations, including those after the first incomplete one.
    pub(crate) operations: Vec<Operation>,
    pub(super) visits: Vec<Visit<T>>,
    /// What stopped the thread.
    pub(crate) status: Status,
    /// The reads on which other threads depended that arrived at the barriers before that step.
    pub(super) barrier_dependencies: EventSet,
    /// The reads on which the addresses and values of incomplete operations depend.
    pub(super) wanted: EventSet,
    /// The reads on which it depends what the thread does next, if it is blocked.
    pub(super) blocking: EventSet,
}

impl<T> ThreadState<T> {
    pub(super) fn new(state: T) -> Self {
        Self {
            state,
            step: None,
            completed: 0,
            completed_visits: 0,
            operations: Vec::new(),
            visits: Vec::new(),
            status: Status::Blocked,
            barrier_dependencies: EventSet::new(),
            wanted: EventSet::new(),
            blocking: EventSet::new(),
        }
    }
}

/// A read without a source for some of its bytes.
#[derive(Clone, Debug)]
pub(crate) struct PendingRead {
    pub(crate) read: u32,
    /// The bytes that need a source next.
    pub(crate) address: u64,
    pub(crate) bytes: u32,
    /// The writes that were passed over: the read returns a write that does not exist yet.
    pub(crate) passed: EventSet,
    /// Whether the read belongs to an atomic operation, which may write.
    pub(crate) is_atomic: bool,
}

/// A partial execution.
#[derive(Debug)]
pub(crate) struct State<P: Program> {
    pub(crate) execution: Execution,
    pub(crate) threads: Vec<ThreadState<P::Thread>>,
    pub(crate) barriers: Barriers,
    /// For each event, the events that it depends on, by dependencies and by the writes that reads return.
    pub(crate) prefixes: Vec<EventSet>,
    pub(crate) pending: Vec<PendingRead>,
    /// The writes whose bits are known, in the order in which they became known.
    pub(crate) writes: Vec<u32>,
}

impl<P: Program> Clone for State<P> {
    fn clone(&self) -> Self {
        Self {
            execution: self.execution.clone(),
            threads: self.threads.clone(),
            barriers: self.barriers.clone(),
            prefixes: self.prefixes.clone(),
            pending: self.pending.clone(),
            writes: self.writes.clone(),
        }
    }
}

/// What a program and options determine for all states.
pub(crate) struct Context<'a, P> {
    pub(crate) program: &'a P,
    /// The largest number of iterations of a loop of a thread.
    pub(crate) unroll: usize,
    /// The addresses at which accesses are split into parts, because other accesses start or end there.
    pub(crate) cuts: std::collections::BTreeSet<u64>,
    /// The accesses so far.
    pub(crate) locations: std::collections::BTreeSet<(u64, u64)>,
    /// Whether an access was split into too few parts, so that the exploration has to start again.
    pub(crate) has_new_cut: bool,
}

impl<P> Context<'_, P> {
    /// The end of the part that starts at an address.
    pub(super) fn part_end(&self, address: u64, end: u64) -> u64 {
        self.cuts
            .range(address + 1..)
            .next()
            .map_or(end, |cut| (*cut).min(end))
    }

    pub(super) fn cut(&mut self, location: Location) {
        let (start, end) = (location.address, location.end());
        if !self.locations.insert((start, end)) {
            return;
        }
        for cut in [start, end] {
            // An access has at most 16 bytes.
            let splits = self
                .locations
                .range((cut.saturating_sub(16), 0)..(cut, 0))
                .any(|(_, end)| *end > cut);
            self.has_new_cut |= self.cuts.insert(cut) && splits;
        }
    }

    /// The parts of a range of bytes.
    pub(crate) fn parts(&self, address: u64, bytes: u32) -> Vec<(u64, u32)> {
        let end = address.saturating_add(bytes.into());
        let mut parts = Vec::new();
        let mut start = address;
        while start < end {
            let next = self.part_end(start, end);
            parts.push((start, (next - start) as u32));
            start = next;
        }
        parts
    }
}

impl<P: Program> State<P> {
    pub(crate) fn new(program: &P) -> Self {
        let places = program.places().to_vec();
        let threads = (0..places.len())
            .map(|thread| ThreadState::new(program.start(thread)))
            .collect();
        Self {
            barriers: Barriers::new(&places),
            execution: Execution::new(places),
            threads,
            prefixes: vec![EventSet::new()],
            pending: Vec::new(),
            writes: vec![0],
        }
    }

    /// The bits that a read returns; `None` if a part has no source.
    pub(crate) fn result(&self, context: &Context<'_, P>, read: u32) -> Option<u128> {
        let location = self.execution.event(read as usize)?.location()?;
        if self.pending.iter().any(|pending| pending.read == read) {
            return None;
        }
        let mut result = 0;
        for source in self.execution.sources(read as usize) {
            let bits = self.part_of(context, source)?;
            result |= bits << (8 * (source.address - location.address));
        }
        Some(result)
    }

    /// The bits of a part of a read.
    pub(crate) fn part_of(&self, context: &Context<'_, P>, source: &ReadsFrom) -> Option<u128> {
        let mask = u128::MAX >> (128 - 8 * source.bytes.clamp(1, 16));
        let write = self.execution.event(source.write as usize)?;
        match write.location() {
            // Memory that was never written has unknown but constant contents; the reads are reported.
            None => Some(
                context
                    .program
                    .initial(source.address, source.bytes)
                    .unwrap_or(0)
                    & mask,
            ),
            Some(location) => {
                Some(write.value? >> (8 * (source.address - location.address)) & mask)
            }
        }
    }

    /// Runs all threads as far as possible.
    pub(crate) fn advance(&mut self, context: &mut Context<'_, P>) {
        loop {
            // Asynchronous operations become threads while others run.
            let mut thread = 0;
            while thread < self.threads.len() {
                self.run(context, thread);
                thread += 1;
            }
            let threads = &self.threads;
            let has_ended = |thread: usize| {
                threads
                    .get(thread)
                    .is_some_and(|thread| thread.status == Status::Exited)
            };
            if self.barriers.complete_without(&has_ended) || self.barriers.take_completed() {
                continue;
            }
            return;
        }
    }

    /// Whether a read that passed over all writes waits for one that only its own thread could still do: a read never returns a later write of its
    /// thread (8.10.5), so such an execution does not exist.
    pub(crate) fn has_unreachable_source(&self, program: &P) -> bool {
        if program.has_asynchronous_operations() {
            return false;
        }
        let has_ended = |number: usize, thread: &ThreadState<P::Thread>| {
            thread.status == Status::Exited
                && !self.pending.iter().any(|pending| {
                    self.execution
                        .event(pending.read as usize)
                        .is_some_and(|event| event.thread as usize == number)
                })
        };
        self.pending.iter().any(|pending| {
            let Some(event) = self.execution.event(pending.read as usize) else {
                return false;
            };
            !super::has_candidates(self, pending)
                && self.threads.iter().enumerate().all(|(number, thread)| {
                    number == event.thread as usize || has_ended(number, thread)
                })
        })
    }

    /// Gives the next part of a pending read a source.
    pub(crate) fn choose(&mut self, context: &Context<'_, P>, index: usize, write: u32) {
        let Some(pending) = self.pending.get(index).cloned() else {
            return;
        };
        let read = pending.read as usize;
        self.execution.reads_from.push(ReadsFrom {
            read: pending.read,
            write,
            address: pending.address,
            bytes: pending.bytes,
        });
        let mut prefix = self
            .prefixes
            .get(write as usize)
            .cloned()
            .unwrap_or_default();
        prefix.insert(write as usize);
        // The operations that depend on the read may be known already: a failing compare-and-swap operation does not wait for its operands.
        for (event, dependencies) in self.prefixes.iter_mut().enumerate() {
            if event == read || dependencies.contains(read) {
                dependencies.extend(&prefix);
            }
        }
        let Some(location) = self
            .execution
            .event(read)
            .and_then(|event| event.location())
        else {
            return;
        };
        let next = pending.address + u64::from(pending.bytes);
        if next < location.end() {
            if let Some(slot) = self.pending.get_mut(index) {
                slot.address = next;
                slot.bytes = (context.part_end(next, location.end()) - next) as u32;
                slot.passed = EventSet::new();
            }
            return;
        }
        self.pending.remove(index);
        let result = self.result(context, pending.read);
        if let Some(event) = self.execution.events.get_mut(read) {
            event.value = result;
        }
    }
}
