//! The end of an execution, as an observer sees it.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::state::{Context, State};
use crate::execution::{Execution, ReadsFrom};
use crate::model::{Relations, Version};
use crate::orders::{Demands, LastWrite, Orders, Search, orders};
use crate::program::Program;

/// How an execution ends.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum End {
    /// All threads ended.
    Complete,
    /// These threads wait forever: at a barrier at which others do not arrive, or in a loop that reads the last value forever.
    Stuck {
        /// The threads that wait at barriers.
        at_barriers: Vec<usize>,
        /// The threads that read the same values forever.
        in_loops: Vec<usize>,
    },
    /// A thread was stopped by an error.
    Fault {
        /// The thread.
        thread: usize,
        /// What happened.
        message: String,
    },
}

/// An execution that ends, or cannot end.
pub struct Ending<'a, P: Program> {
    /// How the execution ends.
    pub end: End,
    /// The events and their sources.
    pub execution: &'a Execution,
    /// Orders that make the execution consistent.
    pub orders: &'a Orders,
    pub(super) state: &'a State<P>,
    pub(super) context: &'a Context<'a, P>,
    pub(super) version: Version,
    /// The writes that loops read forever.
    pub(super) last_writes: Vec<LastWrite>,
    /// The events of an iteration that is left out of executions, if they are what the observer looks at.
    pub(super) repeated: Option<Vec<u32>>,
}

impl<P: Program> std::fmt::Debug for Ending<'_, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ending")
            .field("end", &self.end)
            .field("execution", &self.execution)
            .finish_non_exhaustive()
    }
}

/// A data-race (8.7.1): two conflicting operations that are neither morally strong nor related in causality order. An atomic operation is one
/// operation: it is related as soon as its read or its write is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Race {
    /// The first event.
    pub first: usize,
    /// The second event.
    pub second: usize,
    /// Whether the operations overlap only partially (8.7.2), in which case the axioms do not apply.
    pub is_mixed_size: bool,
}

impl<P: Program> Ending<'_, P> {
    /// The state of a thread at its end.
    #[must_use]
    pub fn thread(&self, thread: usize) -> Option<&P::Thread> {
        self.state.threads.get(thread).map(|thread| &thread.state)
    }

    /// The possible final contents of ranges of bytes, with all combinations. A range of which a byte was never written, and has no initial
    /// value, is `None`. The number of combinations is bounded by `limit`.
    #[must_use]
    pub fn final_contents(
        &self,
        ranges: &[(u64, u32)],
        limit: usize,
    ) -> BTreeSet<Vec<Option<u128>>> {
        let parts: Vec<Vec<(u64, u32)>> = ranges
            .iter()
            .map(|&(address, bytes)| self.context.parts(address, bytes))
            .collect();
        let flat: Vec<(u64, u32)> = parts.iter().flatten().copied().collect();
        let mut chosen = vec![self.last_writes.clone()];
        for &(address, bytes) in &flat {
            let mut next = Vec::new();
            for prefix in &chosen {
                // A byte that several ranges contain has one last write.
                let known = prefix.get(self.last_writes.len()..).unwrap_or(&[]);
                if let Some(same) = known.iter().find(|last| last.address == address) {
                    let mut demands = prefix.clone();
                    demands.push(*same);
                    next.push(demands);
                    continue;
                }
                let candidates = self.last_candidates(address);
                let is_only = candidates.len() == 1;
                for write in candidates {
                    let mut demands = prefix.clone();
                    demands.push(LastWrite {
                        write,
                        address,
                        bytes,
                    });
                    if next.len() < limit && (is_only || self.is_consistent(&demands)) {
                        next.push(demands);
                    }
                }
            }
            chosen = next;
        }
        chosen
            .into_iter()
            .map(|demands| self.contents(&parts, demands.get(self.last_writes.len()..)))
            .collect()
    }

    fn is_consistent(&self, demands: &[LastWrite]) -> bool {
        let demands = Demands {
            last_writes: demands,
        };
        orders(self.execution, self.version, demands).is_some()
    }

    /// The writes of a byte; the initial write only if there are no others.
    fn last_candidates(&self, address: u64) -> Vec<u32> {
        let writes: Vec<u32> = (0..self.execution.len() as u32)
            .filter(|&write| {
                self.execution
                    .event(write as usize)
                    .filter(|event| event.is_write())
                    .and_then(|event| event.location())
                    .is_some_and(|location| location.address <= address && address < location.end())
            })
            .collect();
        if writes.is_empty() { vec![0] } else { writes }
    }

    fn contents(
        &self,
        parts: &[Vec<(u64, u32)>],
        demands: Option<&[LastWrite]>,
    ) -> Vec<Option<u128>> {
        let mut demands = demands.unwrap_or(&[]).iter();
        parts
            .iter()
            .map(|range| {
                let start = range.first().map_or(0, |part| part.0);
                let mut result = Some(0);
                for (_, last) in range.iter().zip(demands.by_ref()) {
                    let bits = self.bits(last);
                    result = result
                        .zip(bits)
                        .map(|(result, bits)| result | bits << (8 * (last.address - start)));
                }
                result
            })
            .collect()
    }

    fn bits(&self, last: &LastWrite) -> Option<u128> {
        if last.write == 0 {
            return self.context.program.initial(last.address, last.bytes);
        }
        self.state.part_of(
            self.context,
            &ReadsFrom {
                read: 0,
                write: last.write,
                address: last.address,
                bytes: last.bytes,
            },
        )
    }

    /// The reads of memory that was never written.
    #[must_use]
    pub fn unwritten_reads(&self) -> Vec<usize> {
        let mut reads: Vec<usize> = self
            .execution
            .reads_from
            .iter()
            .filter(|source| {
                source.write == 0
                    && self
                        .context
                        .program
                        .initial(source.address, source.bytes)
                        .is_none()
            })
            .map(|source| source.read as usize)
            .filter(|read| self.is_observed(*read))
            .collect();
        reads.dedup();
        reads
    }

    /// The data-races that exist with some Fence-SC order. At most 64 such orders are considered.
    #[must_use]
    pub fn races(&self) -> BTreeSet<Race> {
        let relations = Relations::new(self.execution, self.version);
        let search = Search::new(
            self.execution,
            &relations,
            self.version,
            Demands {
                last_writes: &self.last_writes,
            },
        );
        let mut races = BTreeSet::new();
        let mut count = 0;
        let _ = search.for_each_fence_order(&mut |orders| {
            add_races(self.execution, &relations, &orders, &mut races);
            count += 1;
            if count == 64 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        if self.repeated.is_some() {
            races.retain(|race| {
                let events = [race.first, race.second];
                events.iter().any(|event| self.is_observed(*event))
                    && events.iter().all(|event| self.is_after_known_reads(*event))
            });
        }
        races
    }

    fn is_observed(&self, event: usize) -> bool {
        self.repeated
            .as_ref()
            .is_none_or(|repeated| repeated.contains(&(event as u32)))
    }

    /// Whether the sources of all earlier reads of the thread of an event are chosen, so that no further synchronization can precede it.
    fn is_after_known_reads(&self, event: usize) -> bool {
        let Some(event) = self.execution.event(event) else {
            return false;
        };
        let pending = self.state.pending.iter();
        let mut reads = pending.filter_map(|pending| self.execution.event(pending.read as usize));
        !reads.any(|read| read.thread == event.thread && read.position < event.position)
    }
}

/// The events of the operation of an event: an atomic operation is one operation that reads and writes (8.2).
fn operation_events(execution: &Execution, event: usize) -> [usize; 2] {
    let partner = execution.event(event).and_then(|event| event.partner);
    [event, partner.map_or(event, |partner| partner as usize)]
}

fn add_races(
    execution: &Execution,
    relations: &Relations,
    orders: &Orders,
    races: &mut BTreeSet<Race>,
) {
    let order = &orders.causality.order;
    let precedes = |first: usize, second: usize| {
        operation_events(execution, first).iter().any(|&first| {
            operation_events(execution, second)
                .iter()
                .any(|&second| order.contains(first, second))
        })
    };
    for (first, a) in execution.events.iter().enumerate() {
        for (second, b) in execution.events.iter().enumerate().skip(first + 1) {
            let (Some(one), Some(other)) = (a.location(), b.location()) else {
                continue;
            };
            let conflict = (a.is_write() || b.is_write()) && one.shares_bytes(other);
            if conflict
                && a.thread != b.thread
                && !relations.morally_strong.contains(first, second)
                && !precedes(first, second)
                && !precedes(second, first)
            {
                races.insert(Race {
                    first,
                    second,
                    is_mixed_size: (one.address, one.bytes) != (other.address, other.bytes),
                });
            }
        }
    }
}
