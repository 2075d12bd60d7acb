//! The end of executions: complete executions, and those in which threads wait forever.

use std::ops::ControlFlow;

use super::end::{End, Ending};
use super::state::{State, Status};
use super::{Explorer, Limit, candidates};
use crate::orders::{Demands, LastWrite, orders};
use crate::program::Program;

impl<P: Program> Explorer<'_, '_, P> {
    /// Reports a state without further choices.
    pub(super) fn finish(&mut self, state: State<P>) -> ControlFlow<()> {
        if state.barriers.has_choices() {
            self.statistics.dead_ends += 1;
            return ControlFlow::Continue(());
        }
        if !state.pending.is_empty() {
            return self.finish_pending(state);
        }
        let mut at_barriers = Vec::new();
        for (number, thread) in state.threads.iter().enumerate() {
            match &thread.status {
                Status::Waiting => at_barriers.push(number),
                Status::Fault(message) => {
                    let end = End::Fault {
                        thread: number,
                        message: message.clone(),
                    };
                    return self.report(&state, end, Vec::new());
                }
                _ => {}
            }
        }
        let end = if at_barriers.is_empty() {
            End::Complete
        } else {
            End::Stuck {
                at_barriers,
                in_loops: Vec::new(),
            }
        };
        self.report(&state, end, Vec::new())
    }

    /// A state in which reads have no source, and no thread writes any more. If all of these reads are in loops that read the last value
    /// forever, the execution cannot end; otherwise it does not exist.
    fn finish_pending(&mut self, state: State<P>) -> ControlFlow<()> {
        let is_ended = |status: &Status| matches!(status, Status::Exited | Status::Waiting);
        let mut states = vec![state];
        let mut is_reported = false;
        while let Some(mut state) = states.pop() {
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
            if state.writes.len() > known {
                continue;
            }
            // A thread that spins needs no further source.
            let next = state.pending.iter().position(|pending| {
                state
                    .execution
                    .event(pending.read as usize)
                    .and_then(|event| state.threads.get(event.thread as usize))
                    .is_some_and(|thread| !matches!(thread.status, Status::Spinning { .. }))
            });
            if let Some(index) = next {
                let mut pending = match state.pending.get(index) {
                    Some(pending) => pending.clone(),
                    None => continue,
                };
                pending.passed = crate::relation::EventSet::new();
                for write in candidates(&state, &pending) {
                    let mut child = state.clone();
                    child.choose(&self.context, index, write);
                    states.push(child);
                }
                continue;
            }
            let is_spinning = |status: &Status| matches!(status, Status::Spinning { .. });
            let spins = state
                .threads
                .iter()
                .all(|thread| is_ended(&thread.status) || is_spinning(&thread.status))
                && state
                    .threads
                    .iter()
                    .any(|thread| is_spinning(&thread.status));
            let last_writes = self.spin_sources(&state);
            let demands = Demands {
                last_writes: &last_writes,
            };
            if spins && orders(&state.execution, self.options.version, demands).is_some() {
                is_reported = true;
                self.report_spinning(&state, last_writes)?;
            }
        }
        if !is_reported {
            self.statistics.dead_ends += 1;
        }
        ControlFlow::Continue(())
    }

    /// What the last iterations of spinning threads read.
    fn spin_sources(&self, state: &State<P>) -> Vec<LastWrite> {
        let mut result = Vec::new();
        for read in self.repeated_events(state) {
            for source in state.execution.sources(read as usize) {
                result.push(LastWrite {
                    write: source.write,
                    address: source.address,
                    bytes: source.bytes,
                });
            }
        }
        result.sort_unstable();
        result.dedup();
        result
    }

    /// Reports the iteration of a thread that is left out of executions, for what happens in it.
    pub(super) fn report_repetition(&mut self, state: &State<P>) -> ControlFlow<()> {
        let repeated = self.repeated_events(state);
        let Some(orders) = orders(&state.execution, self.options.version, Demands::default())
        else {
            return ControlFlow::Continue(());
        };
        let in_loops = state.threads.iter().enumerate();
        let ending = Ending {
            end: End::Stuck {
                at_barriers: Vec::new(),
                in_loops: in_loops
                    .filter(|(_, thread)| matches!(thread.status, Status::Spinning { .. }))
                    .map(|(number, _)| number)
                    .collect(),
            },
            execution: &state.execution,
            orders: &orders,
            state,
            context: &self.context,
            version: self.options.version,
            last_writes: Vec::new(),
            repeated: Some(repeated),
        };
        if self.observer.repetition(&ending).is_break() {
            self.statistics.limit = Some(Limit::Observer);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// The events of the last iterations of spinning threads.
    fn repeated_events(&self, state: &State<P>) -> Vec<u32> {
        let spinning = state
            .threads
            .iter()
            .filter_map(|thread| match thread.status {
                Status::Spinning { operation } => thread.operations.get(operation..),
                _ => None,
            });
        spinning
            .flatten()
            .filter_map(|operation| operation.event)
            .collect()
    }

    fn report_spinning(
        &mut self,
        state: &State<P>,
        last_writes: Vec<LastWrite>,
    ) -> ControlFlow<()> {
        let with = |wanted: &dyn Fn(&Status) -> bool| -> Vec<usize> {
            state
                .threads
                .iter()
                .enumerate()
                .filter(|(_, thread)| wanted(&thread.status))
                .map(|(number, _)| number)
                .collect()
        };
        let end = End::Stuck {
            at_barriers: with(&|status| *status == Status::Waiting),
            in_loops: with(&|status| matches!(status, Status::Spinning { .. })),
        };
        self.report(state, end, last_writes)
    }

    fn report(
        &mut self,
        state: &State<P>,
        end: End,
        last_writes: Vec<LastWrite>,
    ) -> ControlFlow<()> {
        let demands = Demands {
            last_writes: &last_writes,
        };
        let Some(orders) = orders(&state.execution, self.options.version, demands) else {
            return ControlFlow::Continue(());
        };
        if end == End::Complete {
            self.statistics.executions += 1;
        } else {
            self.statistics.failures += 1;
        }
        let ending = Ending {
            end,
            execution: &state.execution,
            orders: &orders,
            state,
            context: &self.context,
            version: self.options.version,
            last_writes,
            repeated: None,
        };
        if self.observer.execution(&ending).is_break() {
            self.statistics.limit = Some(Limit::Observer);
            return ControlFlow::Break(());
        }
        if self.statistics.executions >= self.options.max_executions {
            self.statistics.limit = Some(Limit::Executions);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}
