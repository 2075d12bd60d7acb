//! Asynchronous operations: threads that start while others run.

use super::run::Run;
use super::state::{Context, Started, State, Status, ThreadState};
use crate::event::{Event, EventKind};
use crate::execution::{AsynchronousOperation, AsynchronousWait};
use crate::program::{Program, Step};

impl<P: Program> State<P> {
    /// Starts an asynchronous operation, or waits for some.
    pub(super) fn asynchronous(
        &mut self,
        context: &Context<'_, P>,
        thread: usize,
        run: &mut Run<P::Thread>,
        step: &Step,
    ) {
        match step {
            Step::Start {
                is_known,
                follows,
                is_cumulative,
                dependencies,
                instruction,
            } => {
                let event = Event {
                    kind: EventKind::Start,
                    instruction: *instruction,
                    ..Event::INITIAL
                };
                let number = run.operation;
                let start = self.simple_event(thread, run, event, dependencies);
                let started = self.start(context, thread, number, run, *is_known);
                if let Some(operation) = started {
                    let follows = self.operations_of(thread, number, follows);
                    let place = self.execution.threads.get(thread).copied();
                    self.execution.threads.push(place.unwrap_or_default());
                    self.execution.asynchronous.push(AsynchronousOperation {
                        thread: operation as u32,
                        start,
                        follows,
                        is_cumulative: *is_cumulative,
                    });
                }
            }
            Step::Await {
                operations,
                is_for_reads,
                dependencies,
                instruction,
            } => {
                let event = Event {
                    kind: EventKind::Await,
                    instruction: *instruction,
                    ..Event::INITIAL
                };
                let number = run.operation;
                let is_new = self
                    .operation(thread, number)
                    .is_none_or(|operation| operation.event.is_none());
                let event = self.simple_event(thread, run, event, dependencies);
                if is_new {
                    let operations = self.operations_of(thread, number, operations);
                    self.execution.waits.push(AsynchronousWait {
                        event,
                        operations,
                        is_for_reads: *is_for_reads,
                    });
                }
            }
            _ => {}
        }
    }

    /// Starts the operation with a number of a thread, or starts it again with more known values. Returns the number of its thread if it is new.
    fn start(
        &mut self,
        context: &Context<'_, P>,
        thread: usize,
        number: usize,
        run: &Run<P::Thread>,
        is_known: bool,
    ) -> Option<usize> {
        let mut operation = self.operation(thread, number)?;
        let earlier = operation.asynchronous;
        if earlier.is_some_and(|started| started.is_known) {
            return None;
        }
        let state = context.program.asynchronous(&run.state);
        let index = earlier.map_or(self.threads.len(), |started| started.thread);
        operation.asynchronous = Some(Started {
            thread: index,
            is_known,
        });
        self.set_operation(thread, number, operation);
        match self.threads.get_mut(index) {
            // The events that exist keep their positions.
            Some(started) => {
                started.state = state;
                started.step = None;
                started.completed = 0;
                started.completed_visits = 0;
                started.status = Status::Blocked;
                None
            }
            None => {
                let mut started = ThreadState::new(state);
                started.barrier_dependencies = run.barrier_dependencies.clone();
                self.threads.push(started);
                Some(index)
            }
        }
    }

    /// The threads of operations that a thread started before an operation, by their numbers.
    fn operations_of(&self, thread: usize, end: usize, numbers: &[usize]) -> Vec<u32> {
        let operations = self.threads.get(thread).map(|thread| &thread.operations);
        let started: Vec<usize> = operations
            .into_iter()
            .flatten()
            .take(end)
            .filter_map(|operation| Some(operation.asynchronous?.thread))
            .collect();
        numbers
            .iter()
            .filter_map(|&number| Some(*started.get(number)? as u32))
            .collect()
    }
}
