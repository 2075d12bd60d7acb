//! Failures of the executions of a kernel, each with one execution, and what memory contains at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::{Kernel, KernelCondition};
use crate::execution::Execution;
use crate::explore::{End, Ending, ExploreOptions, Statistics, explore};
use crate::orders::Orders;

/// The largest number of locations whose final contents are compared.
const MAX_LOCATIONS: usize = 64;
/// The largest number of final contents of one execution.
const MAX_CONTENTS: usize = 256;
/// The largest number of different final contents that are kept.
const MAX_OUTCOMES: usize = 10_000;

/// A failure. Instructions have the numbers of events.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Failure {
    /// A data-race of two instructions (8.7.1).
    Race {
        /// The instruction that comes first in the kernel.
        first: u32,
        /// The other instruction.
        second: u32,
        /// Whether the accesses overlap only partially, in which case the axioms do not apply (8.7.2).
        is_mixed_size: bool,
    },
    /// A read of memory that was never written.
    UnwrittenRead {
        /// The instruction.
        instruction: u32,
    },
    /// Threads wait forever.
    Stuck {
        /// The last instructions of the waiting threads.
        instructions: Vec<u32>,
        /// Whether a thread waits at a barrier.
        is_at_barrier: bool,
    },
    /// A thread was stopped by an error.
    Fault {
        /// What happened.
        message: String,
    },
    /// A condition is violated.
    Condition {
        /// The number of the condition.
        number: usize,
    },
}

/// A failure with the first execution in which it was met.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Counterexample {
    /// The failure.
    pub failure: Failure,
    /// The number of executions with this failure.
    pub executions: u64,
    /// The events of the execution and their sources.
    pub execution: Execution,
    /// Orders that make the execution consistent.
    pub orders: Orders,
    /// The events that take part in the failure.
    pub events: Vec<usize>,
    /// The final contents that violate a condition.
    pub memory: Vec<MemoryValue>,
}

/// The final contents of a location.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub struct MemoryValue {
    /// The physical address.
    pub address: u64,
    /// The number of bytes.
    pub bytes: u32,
    /// The bits; `None` if a byte was never written.
    pub bits: Option<u128>,
}

/// Final contents of the locations in global memory that an execution wrote.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct KernelOutcome {
    /// The contents.
    pub memory: Vec<MemoryValue>,
    /// The number of executions with these contents.
    pub executions: u64,
}

/// The result of the exploration of a kernel.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct KernelReport {
    /// The failures.
    pub counterexamples: Vec<Counterexample>,
    /// The final contents of global memory.
    pub outcomes: Vec<KernelOutcome>,
    /// Whether final contents were left out, because there are too many of them.
    pub is_cut: bool,
    /// Whether the kernel reads clocks. No time passes, so that no time limit expires.
    pub reads_clock: bool,
    /// How much was explored.
    pub statistics: Statistics,
}

impl KernelReport {
    /// Whether all executions and all of their final contents were considered. Without it, the absence of failures proves nothing.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.statistics.is_exhaustive() && !self.is_cut && !self.reads_clock
    }
}

/// The failures and contents that were met so far.
#[derive(Default)]
struct Collector<'c> {
    conditions: &'c [KernelCondition],
    failures: BTreeMap<Failure, Counterexample>,
    outcomes: BTreeMap<Vec<MemoryValue>, u64>,
    is_cut: bool,
    ends_early: bool,
    ignores_races: bool,
}

impl crate::explore::Observer<Kernel<'_>> for Collector<'_> {
    fn execution(&mut self, ending: &Ending<'_, Kernel<'_>>) -> ControlFlow<()> {
        self.visit(ending);
        self.next()
    }

    fn repetition(&mut self, ending: &Ending<'_, Kernel<'_>>) -> ControlFlow<()> {
        let failures = self.access_failures(ending);
        self.add(ending, failures);
        self.next()
    }

    fn restart(&mut self) {
        self.failures.clear();
        self.outcomes.clear();
        self.is_cut = false;
    }
}

/// Failures, each with the events that take part in it and the final contents that violate a condition.
type Failures = BTreeMap<Failure, (Vec<usize>, Vec<MemoryValue>)>;

/// The number of the instruction of an event.
fn instruction(ending: &Ending<'_, Kernel<'_>>, event: usize) -> u32 {
    let event = ending.execution.event(event);
    event.map_or(u32::MAX, |event| event.instruction)
}

impl Collector<'_> {
    /// Whether the exploration goes on.
    fn next(&self) -> ControlFlow<()> {
        if self.ends_early && !self.failures.is_empty() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// The data-races and the reads of unwritten memory.
    fn access_failures(&self, ending: &Ending<'_, Kernel<'_>>) -> Failures {
        let mut failures = Failures::new();
        let races = if self.ignores_races {
            BTreeSet::new()
        } else {
            ending.races()
        };
        for race in races {
            let numbers = [race.first, race.second].map(|event| instruction(ending, event));
            let failure = Failure::Race {
                first: numbers[0].min(numbers[1]),
                second: numbers[0].max(numbers[1]),
                is_mixed_size: race.is_mixed_size,
            };
            let events = vec![race.first, race.second];
            failures.entry(failure).or_insert((events, Vec::new()));
        }
        for read in ending.unwritten_reads() {
            let failure = Failure::UnwrittenRead {
                instruction: instruction(ending, read),
            };
            failures.entry(failure).or_insert((vec![read], Vec::new()));
        }
        failures
    }

    fn visit(&mut self, ending: &Ending<'_, Kernel<'_>>) {
        let mut failures = self.access_failures(ending);
        match &ending.end {
            End::Complete => self.visit_contents(ending, &mut failures),
            End::Stuck {
                at_barriers,
                in_loops,
            } => {
                let last_event = |thread: &usize| {
                    let events = ending.execution.events.iter();
                    events
                        .enumerate()
                        .filter(|(_, event)| event.thread as usize == *thread)
                        .max_by_key(|(_, event)| event.position)
                        .map(|(number, _)| number)
                };
                let threads = at_barriers.iter().chain(in_loops);
                let events: Vec<usize> = threads.filter_map(last_event).collect();
                let instructions: BTreeSet<u32> = events
                    .iter()
                    .map(|event| instruction(ending, *event))
                    .collect();
                let failure = Failure::Stuck {
                    instructions: instructions.into_iter().collect(),
                    is_at_barrier: !at_barriers.is_empty(),
                };
                failures.insert(failure, (events, Vec::new()));
            }
            End::Fault { message, .. } => {
                let message = message.clone();
                failures.insert(Failure::Fault { message }, (Vec::new(), Vec::new()));
            }
        }
        self.add(ending, failures);
    }

    fn add(&mut self, ending: &Ending<'_, Kernel<'_>>, failures: Failures) {
        for (failure, (events, memory)) in failures {
            self.failures
                .entry(failure.clone())
                .or_insert_with(|| Counterexample {
                    failure,
                    executions: 0,
                    execution: ending.execution.clone(),
                    orders: ending.orders.clone(),
                    events,
                    memory,
                })
                .executions += 1;
        }
    }

    /// The final contents, and the conditions on them.
    fn visit_contents(&mut self, ending: &Ending<'_, Kernel<'_>>, failures: &mut Failures) {
        let written: BTreeSet<(u64, u32)> = ending
            .execution
            .events
            .iter()
            .filter(|event| event.is_write())
            .filter_map(|event| event.location())
            .filter(|location| Kernel::is_global_address(location.address))
            .map(|location| (location.address, location.bytes))
            .collect();
        self.is_cut |= written.len() > MAX_LOCATIONS;
        let mut ranges: Vec<(u64, u32)> = written.into_iter().take(MAX_LOCATIONS).collect();
        let count = ranges.len();
        for condition in self.conditions {
            ranges.extend(condition.ranges());
        }
        let all_contents = ending.final_contents(&ranges, MAX_CONTENTS);
        self.is_cut |= all_contents.len() >= MAX_CONTENTS;
        let mut outcomes = BTreeSet::new();
        for contents in &all_contents {
            let memory: Vec<MemoryValue> = ranges
                .iter()
                .zip(contents)
                .map(|(&(address, bytes), &bits)| MemoryValue {
                    address,
                    bytes,
                    bits,
                })
                .collect();
            for (number, condition) in self.conditions.iter().enumerate() {
                if !condition.is_satisfied(&memory, ending) {
                    failures
                        .entry(Failure::Condition { number })
                        .or_insert_with(|| (Vec::new(), memory.clone()));
                }
            }
            outcomes.insert(memory.get(..count).unwrap_or(&[]).to_vec());
        }
        for outcome in outcomes {
            if self.outcomes.len() < MAX_OUTCOMES || self.outcomes.contains_key(&outcome) {
                *self.outcomes.entry(outcome).or_default() += 1;
            } else {
                self.is_cut = true;
            }
        }
    }
}

impl Kernel<'_> {
    /// Explores all executions, and checks conditions on their ends. With [`ExploreOptions::uses_symmetry`], outcomes and failures are counted once
    /// for executions that differ only in an exchange of symmetric threads.
    #[must_use]
    pub fn check(&self, options: &ExploreOptions, conditions: &[KernelCondition]) -> KernelReport {
        self.collect(options, conditions, false)
    }

    /// Explores the executions until one fails.
    #[must_use]
    pub fn check_until_failure(
        &self,
        options: &ExploreOptions,
        conditions: &[KernelCondition],
    ) -> KernelReport {
        self.collect(options, conditions, true)
    }

    fn collect(
        &self,
        options: &ExploreOptions,
        conditions: &[KernelCondition],
        ends_early: bool,
    ) -> KernelReport {
        let mut options = options.clone();
        // An exchange of threads would change conditions on single threads.
        options.uses_symmetry &= !conditions.iter().any(KernelCondition::names_thread);
        let mut collector = Collector {
            conditions,
            ends_early,
            ignores_races: self.launch.ignores_races,
            ..Collector::default()
        };
        let statistics = explore(self, &options, &mut collector);
        KernelReport {
            counterexamples: collector.failures.into_values().collect(),
            outcomes: collector
                .outcomes
                .into_iter()
                .map(|(memory, executions)| KernelOutcome { memory, executions })
                .collect(),
            is_cut: collector.is_cut,
            reads_clock: self.code.reads_clock,
            statistics,
        }
    }

    /// Whether a physical address is in global memory.
    pub(super) fn is_global_address(address: u64) -> bool {
        super::variables::Variables::is_in_global(address)
    }
}
