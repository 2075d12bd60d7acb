//! All final states of a litmus test.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::decide::MAX_FINAL_STATES;
use super::program::LitmusProgram;
use super::{BYTES, Litmus};
use crate::explore::{End, Ending, ExploreOptions, Statistics, explore};

/// The final values of the registers of each thread, and of all variables.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[non_exhaustive]
pub struct FinalState {
    /// The registers of each thread, in the order of [`super::Thread::registers`].
    pub registers: Vec<Vec<i64>>,
    /// The variables, in the order of [`Litmus::variables`].
    pub variables: Vec<i64>,
}

/// All final states of a litmus test.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FinalStates {
    /// The states, with the number of executions that may end in each. An execution may end in several states if writes race.
    pub states: BTreeMap<FinalState, u64>,
    /// How much was explored.
    pub statistics: Statistics,
}

impl Litmus {
    /// Explores all executions and returns their final states. Values that the test demands of registers are ignored.
    #[must_use]
    pub fn final_states(&self, options: &ExploreOptions) -> FinalStates {
        let program = LitmusProgram::new(self);
        let ranges: Vec<(u64, u32)> = self
            .variables
            .iter()
            .map(|variable| (variable.location.address, BYTES))
            .collect();
        let mut states = BTreeMap::new();
        let statistics = explore(&program, options, &mut |ending: &Ending<
            '_,
            LitmusProgram<'_>,
        >| {
            if ending.end == End::Complete {
                let registers: Vec<Vec<i64>> = (0..self.threads.len())
                    .map(|thread| self.final_registers(ending, thread))
                    .collect();
                for contents in ending.final_contents(&ranges, MAX_FINAL_STATES) {
                    let state = FinalState {
                        registers: registers.clone(),
                        variables: contents
                            .iter()
                            .map(|bits| bits.unwrap_or(0) as i64)
                            .collect(),
                    };
                    *states.entry(state).or_default() += 1;
                }
            }
            ControlFlow::Continue(())
        });
        FinalStates { states, statistics }
    }

    fn final_registers(&self, ending: &Ending<'_, LitmusProgram<'_>>, thread: usize) -> Vec<i64> {
        let count = self
            .threads
            .get(thread)
            .map_or(0, |thread| thread.registers.len());
        (0..count)
            .map(|register| {
                ending
                    .thread(thread)
                    .and_then(|state| state.register(register))
                    .unwrap_or(0)
            })
            .collect()
    }
}
