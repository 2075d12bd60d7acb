//! An execution as a story: what each thread did, in an order in which writes precede the reads that return them, and which edge is missing.

use ptx_ir::LineIndex;

use super::{Counterexample, Failure, Kernel};
use crate::event::{Event, EventKind, Order};
use crate::execution::Execution;
use crate::model::{Relations, Version};
use crate::relation::Relation;

/// An operation in a story.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct StoryStep {
    /// The number of the event.
    pub event: usize,
    /// The number of the thread in the launch.
    pub thread: usize,
    /// The line of the instruction, from 1.
    pub line: u32,
    /// The instruction as it is written.
    pub instruction: String,
    /// What the operation did.
    pub effect: String,
}

/// An execution as a story.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Story {
    /// The operations.
    pub steps: Vec<StoryStep>,
    /// Why the execution is allowed, and which edge is missing.
    pub reasons: Vec<String>,
}

impl Kernel<'_> {
    /// The line of an instruction, from 1, and its text.
    #[must_use]
    pub fn source_line(&self, instruction: u32) -> (u32, String) {
        let Some(statement) = self.statement(instruction) else {
            return (0, String::new());
        };
        let span = self.facts.body().source_span(statement);
        let source = self.facts.module().source();
        let text = source
            .get(span.start as usize..span.end as usize)
            .map(|bytes| String::from_utf8_lossy(bytes));
        let words: Vec<&str> = text
            .iter()
            .flat_map(|text| text.split_whitespace())
            .collect();
        let line = LineIndex::new(source).position(span.start).line;
        (line, words.join(" "))
    }

    /// What a failure is, in one sentence.
    #[must_use]
    pub fn describe(&self, failure: &Failure) -> String {
        let place = |instruction: u32| {
            let (line, text) = self.source_line(instruction);
            format!("`{text}` (line {line})")
        };
        match failure {
            Failure::Race {
                first,
                second,
                is_mixed_size,
            } => {
                let sizes = if *is_mixed_size {
                    " of different sizes"
                } else {
                    ""
                };
                let (first, second) = (place(*first), place(*second));
                format!("data-race{sizes} between {first} and {second}")
            }
            Failure::UnwrittenRead { instruction } => {
                format!(
                    "{} reads memory that was never written",
                    place(*instruction)
                )
            }
            Failure::Stuck {
                instructions,
                is_at_barrier,
            } => {
                let places: Vec<String> =
                    instructions.iter().map(|number| place(*number)).collect();
                let kind = if *is_at_barrier { "deadlock" } else { "hang" };
                format!("{kind}: threads wait forever at {}", places.join(" and "))
            }
            Failure::Fault { message } => message.clone(),
            Failure::Condition { number } => format!("condition {} is violated", number + 1),
        }
    }

    /// The story of a counterexample.
    #[must_use]
    pub fn story(&self, example: &Counterexample, version: Version) -> Story {
        let execution = &example.execution;
        let relations = Relations::new(execution, version);
        let order = in_order(execution, &relations);
        let mut numbers = vec![0; execution.len()];
        for (number, &event) in order.iter().enumerate() {
            if let Some(slot) = numbers.get_mut(event) {
                *slot = number + 1;
            }
        }
        let steps = order
            .iter()
            .filter_map(|&number| {
                let event = execution.event(number)?;
                let (line, instruction) = self.source_line(event.instruction);
                Some(StoryStep {
                    event: number,
                    thread: execution.initiator(event) as usize,
                    line,
                    instruction,
                    effect: if execution.initiator(event) == event.thread {
                        self.effect(execution, number, &numbers)
                    } else {
                        format!(
                            "asynchronously {}",
                            self.effect(execution, number, &numbers)
                        )
                    },
                })
            })
            .collect();
        let reasons = match (&example.failure, &example.events[..]) {
            (Failure::Race { .. }, &[first, second]) => {
                let explanation = Explanation {
                    execution,
                    base: &example.orders.causality.base,
                    relations: &relations,
                    numbers: &numbers,
                };
                explanation.race(first, second)
            }
            (Failure::UnwrittenRead { .. }, &[read, ..]) => {
                let number = numbers.get(read).copied().unwrap_or(0);
                vec![format!(
                    "no write to the bytes of step {number} must come before it in causality order, so it may return the initial contents (8.2.6, 8.10.6)"
                )]
            }
            (Failure::Stuck { .. }, _) => {
                vec!["no write that other threads still perform would end the wait".to_owned()]
            }
            _ => Vec::new(),
        };
        Story { steps, reasons }
    }

    fn effect(&self, execution: &Execution, number: usize, numbers: &[usize]) -> String {
        let Some(event) = execution.event(number) else {
            return String::new();
        };
        let value = |bits: Option<u128>| bits.map_or("?".to_owned(), |bits| bits.to_string());
        match event.kind {
            EventKind::Read(location) => {
                let sources: Vec<String> = execution
                    .sources(number)
                    .map(|source| match source.write {
                        0 => "the initial contents".to_owned(),
                        write => {
                            let step = numbers.get(write as usize).copied().unwrap_or(0);
                            format!("step {step}")
                        }
                    })
                    .collect();
                let name = self.location_name(location.address);
                let (value, sources) = (value(event.value), sources.join(" and "));
                format!("reads {value} from {name}, written by {sources}")
                    .replace("written by the initial contents", "its initial contents")
            }
            EventKind::Write(location) => {
                let name = self.location_name(location.address);
                format!("writes {} to {name}", value(event.value))
            }
            EventKind::Fence => "fence".to_owned(),
            EventKind::ProxyFence { .. } => "proxy fence".to_owned(),
            EventKind::Start => "starts an asynchronous operation".to_owned(),
            EventKind::Await => "asynchronous operations are complete".to_owned(),
            _ => "barrier".to_owned(),
        }
    }
}

/// The events in an order that contains program order and the order of writes and reads that return them, if there is one.
fn in_order(execution: &Execution, relations: &Relations) -> Vec<usize> {
    let mut edges = relations.program_order.union(&relations.reads_from);
    edges.extend(&relations.synchronizes);
    let predecessors: Relation = edges.inverse();
    let mut result: Vec<usize> = Vec::new();
    let mut is_done = vec![false; execution.len()];
    if let Some(initial) = is_done.first_mut() {
        *initial = true;
    }
    let is_ready = |event: usize, is_done: &[bool]| {
        predecessors
            .successors(event)
            .all(|earlier| is_done.get(earlier).is_none_or(|done| *done))
    };
    while result.len() + 1 < execution.len() {
        let remaining = || (1..execution.len()).filter(|event| is_done.get(*event) == Some(&false));
        let last_thread = result
            .last()
            .and_then(|event| execution.event(*event))
            .map(|event| event.thread);
        let position = |event: &usize| execution.event(*event).map(|event| event.position);
        let in_last_thread =
            |event: &usize| execution.event(*event).map(|event| event.thread) == last_thread;
        // A thread continues as long as it can. With a cycle, as in load buffering, the first operation of a thread comes first.
        let next = remaining()
            .filter(|event| is_ready(*event, &is_done))
            .min_by_key(|event| (!in_last_thread(event), position(event)))
            .or_else(|| remaining().min_by_key(|event| position(event)));
        let Some(next) = next else {
            break;
        };
        if let Some(done) = is_done.get_mut(next) {
            *done = true;
        }
        result.push(next);
    }
    result
}

/// The search for the edge that is missing.
struct Explanation<'e> {
    execution: &'e Execution,
    /// Base causality order.
    base: &'e Relation,
    relations: &'e Relations,
    /// The number of the step of each event.
    numbers: &'e [usize],
}

impl Explanation<'_> {
    fn step(&self, event: usize) -> usize {
        self.numbers.get(event).copied().unwrap_or(0)
    }

    fn race(&self, first: usize, second: usize) -> Vec<String> {
        let mut reasons = vec![format!(
            "steps {} and {} access common bytes, at least one of them writes, they are not morally strong (8.7), and no causality order relates them (8.7.1, 8.9.5)",
            self.step(first),
            self.step(second)
        )];
        let proxies = [first, second].map(|event| {
            let event = self.execution.event(event);
            event.map_or("generic", |event| event.proxy.name())
        });
        if self.base.contains(first, second) || self.base.contains(second, first) {
            let text = if proxies[0] == proxies[1] {
                "by different addresses or, by the same proxy, in different CTAs".to_owned()
            } else {
                format!("by the {} proxy and the {} proxy", proxies[0], proxies[1])
            };
            reasons.push(format!(
                "base causality order relates them, but they access memory {text}, and no proxy fence for both is on the way (8.6, 8.9.5)"
            ));
            return reasons;
        }
        let missing = self
            .missing(first, second)
            .or_else(|| self.missing(second, first));
        reasons.push(missing.unwrap_or_else(|| {
            let (first, second) = (self.step(first), self.step(second));
            format!(
                "no thread reads, before one of the steps {first} and {second}, what the other thread wrote after the other one, and no barrier separates them: nothing synchronizes them (8.9.4)"
            )
        }));
        reasons
    }

    /// Why a write after `first` that a read before `second` returns does not synchronize the threads; `None` if there is no such read.
    fn missing(&self, first: usize, second: usize) -> Option<String> {
        let is_from =
            |write: usize| write == first || self.relations.program_order.contains(first, write);
        let is_to =
            |read: usize| read == second || self.relations.program_order.contains(read, second);
        let (write, read) = self
            .relations
            .reads_from
            .pairs()
            .find(|&(write, read)| write != 0 && is_from(write) && is_to(read))?;
        Some(self.reason(first, second, write, read))
    }

    fn reason(&self, first: usize, second: usize, write: usize, read: usize) -> String {
        let event = |number: usize| {
            self.execution
                .event(number)
                .copied()
                .unwrap_or(Event::INITIAL)
        };
        let (w, r) = (event(write), event(read));
        let (write_step, read_step) = (self.step(write), self.step(read));
        let prefix = format!("step {read_step} returns what step {write_step} wrote, but");
        if !self.relations.morally_strong.contains(write, read) {
            let weak = [(w, write_step), (r, read_step)]
                .into_iter()
                .find(|(event, _)| event.order == Order::Weak);
            return match weak {
                Some((_, step)) => format!(
                    "{prefix} step {step} is weak, so it is not part of a release or acquire pattern (8.4, 8.8)"
                ),
                None if w.proxy != r.proxy => {
                    format!("{prefix} they access memory by different proxies (8.6, 8.7)")
                }
                None if w.location() != r.location() => {
                    format!("{prefix} they do not access exactly the same bytes (8.7)")
                }
                None => format!(
                    "{prefix} the scope of one of them does not include the thread of the other, so they are not morally strong (8.5, 8.7)"
                ),
            };
        }
        let fences = |orders: &dyn Fn(Order) -> bool, is_between: &dyn Fn(usize) -> bool| {
            self.execution
                .events
                .iter()
                .enumerate()
                .any(|(number, event)| {
                    event.is_fence() && orders(event.order) && is_between(number)
                })
        };
        let order = &self.relations.program_order;
        let releases = w.order.releases()
            || fences(&Order::releases, &|fence| {
                (order.contains(first, fence) || first == fence) && order.contains(fence, write)
            });
        let acquires = (r.order.acquires() && !r.is_reduction)
            || fences(&Order::acquires, &|fence| {
                order.contains(read, fence) && order.contains(fence, second)
            });
        match (releases, acquires) {
            (false, _) => format!(
                "{prefix} step {write_step} does not end a release pattern that starts after step {}: it is neither a release operation nor preceded by a fence (8.8)",
                self.step(first)
            ),
            (_, false) => format!(
                "{prefix} step {read_step} does not start an acquire pattern that ends before step {}: it is neither an acquire operation nor followed by a fence (8.8)",
                self.step(second)
            ),
            _ => format!(
                "{prefix} the scopes of the release pattern and of the acquire pattern do not include both threads, so the patterns do not synchronize (8.5, 8.9.4)"
            ),
        }
    }
}
