//! The exploration of all consistent executions of a program.
//!
//! The threads run as far as possible without knowing what their reads return. Then the sources of one read are tried, one after the other. A
//! read may also return a write that does not exist yet: the read is then *passed*, and tried again when there are more writes. Each consistent
//! execution has exactly one sequence of choices, so no execution is explored twice. Without [`ExploreOptions::passes_always`], a read is only passed if a
//! write was met, in the executions in which it returned another one, that it could return. The memory is quadratic in the number of events of one execution.

mod asynchronous;
mod barriers;
mod end;
mod finish;
mod restrict;
mod run;
mod state;
mod symmetry;

use std::ops::ControlFlow;

use crate::model::Version;
use crate::orders::{Demands, LastWrite, orders};
use crate::program::Program;
use crate::relation::EventSet;

pub use end::{End, Ending, Race};
use state::{Context, State, Status};

/// What is explored, and how far.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExploreOptions {
    /// The version of the memory consistency model.
    pub version: Version,
    /// The largest number of iterations of a loop. Iterations that only read, and change nothing that the thread uses, do not count.
    pub unroll: usize,
    /// The largest number of executions.
    pub max_executions: u64,
    /// The largest number of choices that are tried.
    pub max_steps: u64,
    /// Whether only one of the executions is explored that differ in an exchange of symmetric threads ([`Program::are_symmetric`]). The final states
    /// of the others are those of the explored one with the threads exchanged.
    pub uses_symmetry: bool,
    /// Whether every read is also tried without a source, and not only those for which a write was met that they could return. Then no execution is
    /// missed by construction. Without it there are far fewer dead ends; tests with random programs compare the results of both.
    pub passes_always: bool,
}

impl Default for ExploreOptions {
    fn default() -> Self {
        Self {
            version: Version::default(),
            unroll: 8,
            max_executions: 1_000_000,
            max_steps: 100_000_000,
            uses_symmetry: false,
            passes_always: true,
        }
    }
}

/// How much was explored.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// The complete executions.
    pub executions: u64,
    /// The executions that cannot end: deadlocks, hangs and faults.
    pub failures: u64,
    /// The partial executions that were considered.
    pub steps: u64,
    /// The partial executions that have no continuation.
    pub dead_ends: u64,
    /// The executions in which a loop ran as often as allowed, so that their continuations are not explored.
    pub unrolled: u64,
    /// The limit that ended the exploration.
    pub limit: Option<Limit>,
    /// What the program does that cannot be explored.
    pub unsupported: Option<String>,
}

impl Statistics {
    /// Whether every execution was explored.
    #[must_use]
    pub fn is_exhaustive(&self) -> bool {
        self.unrolled == 0 && self.limit.is_none() && self.unsupported.is_none()
    }
}

/// A limit of an exploration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Limit {
    /// [`ExploreOptions::max_executions`].
    Executions,
    /// [`ExploreOptions::max_steps`].
    Steps,
    /// The observer ended the exploration.
    Observer,
}

/// An observer of the executions.
pub trait Observer<P: Program> {
    /// Called for each execution that ends, and for each one that cannot end. `Break` ends the exploration.
    fn execution(&mut self, ending: &Ending<'_, P>) -> ControlFlow<()>;

    /// Called where a thread repeats an iteration of a loop that changes nothing, before other threads have ended. Executions without such iterations are
    /// passed to [`Observer::execution`]; only the data-races and the reads of unwritten memory of the iteration itself are those of other executions.
    /// `Break` ends the exploration.
    fn repetition(&mut self, _: &Ending<'_, P>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Called if the exploration starts again, because an access overlaps another one partially. All executions will be passed again.
    fn restart(&mut self);
}

impl<P: Program, F: FnMut(&Ending<'_, P>) -> ControlFlow<()>> Observer<P> for F {
    fn execution(&mut self, ending: &Ending<'_, P>) -> ControlFlow<()> {
        self(ending)
    }

    fn restart(&mut self) {}
}

/// Explores all consistent executions of a program.
pub fn explore<P: Program>(
    program: &P,
    options: &ExploreOptions,
    observer: &mut dyn Observer<P>,
) -> Statistics {
    let mut context = Context {
        program,
        unroll: options.unroll,
        cuts: std::collections::BTreeSet::new(),
        locations: std::collections::BTreeSet::new(),
        has_new_cut: false,
    };
    loop {
        context.has_new_cut = false;
        context.locations.clear();
        let mut explorer = Explorer {
            context,
            options,
            observer: &mut *observer,
            statistics: Statistics::default(),
            nodes: Vec::new(),
        };
        let result = explorer.run();
        let (statistics, returned) = (explorer.statistics, explorer.context);
        if result.is_continue() || !returned.has_new_cut {
            return statistics;
        }
        context = returned;
        observer.restart();
    }
}

/// The choice of a source for a read, or of a generation for an arrival at a barrier.
struct Node<P: Program> {
    state: State<P>,
    choice: Choice,
    /// Whether a write was met that the read could return, and that is not a candidate.
    is_marked: bool,
    /// The candidates with which the execution is consistent.
    survivors: usize,
    is_passed: bool,
    next: usize,
}

enum Choice {
    Source {
        /// The index among the pending reads.
        index: usize,
        candidates: Vec<u32>,
    },
    Barrier(usize),
}

/// What a partial execution leads to.
enum Settled<P: Program> {
    Inconsistent,
    Spinning(State<P>),
    /// A choice, or nothing more.
    Consistent(Option<Node<P>>),
}

struct Explorer<'a, 'o, P: Program> {
    context: Context<'a, P>,
    options: &'a ExploreOptions,
    observer: &'o mut dyn Observer<P>,
    statistics: Statistics,
    nodes: Vec<Node<P>>,
}

impl<P: Program> Explorer<'_, '_, P> {
    fn run(&mut self) -> ControlFlow<()> {
        let state = State::new(self.context.program);
        if let Settled::Consistent(Some(node)) = self.settle(state)? {
            self.nodes.push(node);
        }
        while let Some(node) = self.nodes.last_mut() {
            let number = node.next;
            node.next += 1;
            match &node.choice {
                Choice::Source { index, candidates } => match candidates.get(number).copied() {
                    Some(write) => {
                        let index = *index;
                        self.try_source(index, write)?;
                    }
                    None => self.pass()?,
                },
                Choice::Barrier(index) => {
                    let index = *index;
                    if number == 2 {
                        self.nodes.pop();
                        continue;
                    }
                    let mut state = node.state.clone();
                    state
                        .barriers
                        .choose(index, number == 0, &mut state.execution.synchronization);
                    if let Settled::Consistent(Some(node)) = self.settle(state)? {
                        self.nodes.push(node);
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Explores the executions in which the read of the last node returns a write.
    fn try_source(&mut self, index: usize, write: u32) -> ControlFlow<()> {
        let Some(node) = self.nodes.last_mut() else {
            return ControlFlow::Continue(());
        };
        let mut state = node.state.clone();
        let Some(pending) = state.pending.get(index).cloned() else {
            return ControlFlow::Continue(());
        };
        if self.options.uses_symmetry
            && state.is_redundant(self.context.program, pending.read, write)
        {
            return ControlFlow::Continue(());
        }
        state.choose(&self.context, index, write);
        match self.settle(state)? {
            Settled::Inconsistent => self.mark_rejected(pending.read, write),
            Settled::Spinning(state) => {
                self.report_repetition(&state)?;
                let last = LastWrite {
                    write,
                    address: pending.address,
                    bytes: pending.bytes,
                };
                let demands = Demands {
                    last_writes: &[last],
                };
                let may_hang = orders(&state.execution, self.options.version, demands).is_some();
                if let Some(node) = self.nodes.last_mut() {
                    node.is_marked |= may_hang;
                }
            }
            Settled::Consistent(next) => {
                if let Some(node) = self.nodes.last_mut() {
                    node.survivors += 1;
                }
                self.nodes.extend(next);
            }
        }
        ControlFlow::Continue(())
    }

    /// Explores the executions in which the read of the last node returns a write that does not exist yet, if there may be any.
    fn pass(&mut self) -> ControlFlow<()> {
        let Some(node) = self.nodes.last_mut() else {
            return ControlFlow::Continue(());
        };
        let is_needed = node.is_marked || node.survivors == 0 || self.options.passes_always;
        if node.is_passed || !is_needed {
            self.nodes.pop();
            return ControlFlow::Continue(());
        }
        node.is_passed = true;
        let mut state = node.state.clone();
        if let Choice::Source { index, candidates } = &node.choice
            && let Some(pending) = state.pending.get_mut(*index)
        {
            for &write in candidates {
                pending.passed.insert(write as usize);
            }
        }
        if let Some(next) = self.next_node(state)? {
            self.nodes.push(next);
        }
        ControlFlow::Continue(())
    }

    /// Runs the threads of a state and finds out whether it is consistent.
    fn settle(&mut self, mut state: State<P>) -> ControlFlow<(), Settled<P>> {
        self.statistics.steps += 1;
        if self.statistics.steps > self.options.max_steps {
            self.statistics.limit = Some(Limit::Steps);
            return ControlFlow::Break(());
        }
        let known = state.writes.len();
        state.advance(&mut self.context);
        if self.context.has_new_cut {
            return ControlFlow::Break(());
        }
        for thread in &state.threads {
            match &thread.status {
                Status::Unsupported(message) => {
                    self.statistics.unsupported = Some(message.clone());
                    return ControlFlow::Break(());
                }
                Status::Spinning { .. } => {
                    return ControlFlow::Continue(Settled::Spinning(state));
                }
                _ => {}
            }
        }
        // A write of an inconsistent execution may be returned by an earlier read instead of what makes the execution inconsistent.
        self.mark_readers(&state, known);
        if orders(&state.execution, self.options.version, Demands::default()).is_none() {
            return ControlFlow::Continue(Settled::Inconsistent);
        }
        if state
            .threads
            .iter()
            .any(|thread| thread.status == Status::Limit)
        {
            if state.has_unreachable_source(self.context.program) {
                self.statistics.dead_ends += 1;
            } else {
                self.statistics.unrolled += 1;
            }
            return ControlFlow::Continue(Settled::Consistent(None));
        }
        let next = self.next_node(state)?;
        ControlFlow::Continue(Settled::Consistent(next))
    }

    /// The next choice of a state; `None` if there is none.
    fn next_node(&mut self, mut state: State<P>) -> ControlFlow<(), Option<Node<P>>> {
        if let Some(index) = state.barriers.next_choice() {
            return ControlFlow::Continue(Some(Node::new(state, Choice::Barrier(index))));
        }
        if let Some((index, candidates)) = next_read(&state) {
            let choice = Choice::Source { index, candidates };
            return ControlFlow::Continue(Some(Node::new(state, choice)));
        }
        if state
            .barriers
            .release_late(&mut state.execution.synchronization)
        {
            return match self.settle(state)? {
                Settled::Consistent(next) => ControlFlow::Continue(next),
                _ => ControlFlow::Continue(None),
            };
        }
        self.finish(state)?;
        ControlFlow::Continue(None)
    }

    /// Marks the nodes whose reads could return a write that became known.
    fn mark_readers(&mut self, state: &State<P>, known: usize) {
        for &write in state.writes.get(known..).unwrap_or(&[]) {
            for node in &mut self.nodes {
                if !node.is_marked && node.could_return(state, write, self.options.version) {
                    node.is_marked = true;
                }
            }
        }
    }

    /// A read cannot return a write. If both are parts of atomic operations, another one may have returned the write before: that one may also
    /// return what this one would write.
    fn mark_rejected(&mut self, read: u32, write: u32) {
        let Some(last) = self.nodes.last() else {
            return;
        };
        let mut prefix = last
            .state
            .prefixes
            .get(read as usize)
            .cloned()
            .unwrap_or_default();
        prefix.insert(write as usize);
        if let Some(more) = last.state.prefixes.get(write as usize) {
            prefix.extend(more);
        }
        let rivals: EventSet = last
            .state
            .execution
            .reads_from
            .iter()
            .filter(|source| {
                source.write == write
                    && last
                        .state
                        .execution
                        .event(source.read as usize)
                        .is_some_and(|event| event.partner.is_some())
                    && last
                        .state
                        .execution
                        .share_bytes(read as usize, source.read as usize)
                    && !prefix.contains(source.read as usize)
            })
            .map(|source| source.read as usize)
            .collect();
        for node in &mut self.nodes {
            if let Choice::Source { index, .. } = &node.choice
                && let Some(pending) = node.state.pending.get(*index)
                && rivals.contains(pending.read as usize)
            {
                node.is_marked = true;
            }
        }
    }
}

impl<P: Program> Node<P> {
    fn new(state: State<P>, choice: Choice) -> Self {
        Self {
            state,
            choice,
            is_marked: false,
            survivors: 0,
            is_passed: false,
            next: 0,
        }
    }

    /// Whether the read of the node could return a write of a later state.
    fn could_return(&self, later: &State<P>, write: u32, version: Version) -> bool {
        let Choice::Source { index, .. } = &self.choice else {
            return false;
        };
        let Some(pending) = self.state.pending.get(*index) else {
            return false;
        };
        let has_byte = later
            .execution
            .event(write as usize)
            .and_then(|event| event.location())
            .is_some_and(|location| {
                location.address <= pending.address && pending.address < location.end()
            });
        let depends = later
            .prefixes
            .get(write as usize)
            .is_some_and(|prefix| prefix.contains(pending.read as usize));
        if !has_byte || depends {
            return false;
        }
        let execution = restrict::with_write(self, later, pending, write);
        orders(&execution, version, Demands::default()).is_some()
    }
}

/// The next read that gets a source, with the writes that it may return; `None` without one. If a read waits for a write that does not
/// exist yet, only reads are considered that may lead to a write: without one, the waiting read never gets a source.
fn next_read<P: Program>(state: &State<P>) -> Option<(usize, Vec<u32>)> {
    let all: Vec<Vec<u32>> = state
        .pending
        .iter()
        .map(|pending| candidates(state, pending))
        .collect();
    let waiting: EventSet = state
        .pending
        .iter()
        .zip(&all)
        .filter(|(_, candidates)| candidates.is_empty())
        .map(|(pending, _)| pending.read as usize)
        .collect();
    let may_lead_to_write = |pending: &state::PendingRead| {
        let read = pending.read as usize;
        let thread = state
            .execution
            .event(read)
            .and_then(|event| state.threads.get(event.thread as usize));
        pending.is_atomic
            || thread.is_some_and(|thread| {
                // A thread that is blocked by a waiting read, too, does not go on.
                thread.blocking.contains(read)
                    && !thread.blocking.iter().any(|other| waiting.contains(other))
            })
            // The values of an asynchronous operation come from the thread that started it.
            || state.threads.iter().any(|thread| thread.wanted.contains(read))
    };
    let (index, candidates) = state
        .pending
        .iter()
        .zip(all)
        .enumerate()
        .find(|(_, (pending, candidates))| {
            !candidates.is_empty() && (waiting.is_empty() || may_lead_to_write(pending))
        })
        .map(|(index, (_, candidates))| (index, candidates))?;
    Some((index, candidates))
}

/// Whether there is a write that a pending read may return.
fn has_candidates<P: Program>(state: &State<P>, pending: &state::PendingRead) -> bool {
    !candidates(state, pending).is_empty()
}

/// The writes that a pending read may return, in the order in which they became known. A write whose bits are known can still depend on the read, which must
/// not return it then: values do not appear out of thin air.
fn candidates<P: Program>(state: &State<P>, pending: &state::PendingRead) -> Vec<u32> {
    state
        .writes
        .iter()
        .copied()
        .filter(|&write| {
            let event = state.execution.event(write as usize);
            let has_bytes = event.is_some_and(|event| {
                event.location().is_none_or(|location| {
                    location.address <= pending.address && pending.address < location.end()
                })
            });
            let depends = state
                .prefixes
                .get(write as usize)
                .is_some_and(|prefix| prefix.contains(pending.read as usize));
            has_bytes
                && !depends
                && !pending.passed.contains(write as usize)
                && event.is_some_and(|event| event.partner != Some(pending.read))
        })
        .collect()
}
