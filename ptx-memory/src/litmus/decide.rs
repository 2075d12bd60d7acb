//! Verdicts on litmus tests.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::program::LitmusProgram;
use super::{Litmus, Quantifier, Term};
use crate::execution::Execution;
use crate::explore::{End, Ending, ExploreOptions, Statistics, explore};
use crate::orders::Orders;

/// An execution that decides a litmus test.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Witness {
    /// The events.
    pub execution: Execution,
    /// The orders.
    pub orders: Orders,
    /// The final values of the registers and variables of the condition.
    pub values: Vec<(String, i64)>,
}

/// The verdict on a litmus test.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Verdict {
    /// Whether the condition with its quantifier holds: `exists` if an execution satisfies the condition, and so on.
    pub holds: bool,
    /// Whether the verdict is certain: a witness exists, or all executions were explored.
    pub is_certain: bool,
    /// An execution that satisfies the condition of `exists` or `~exists`, or violates that of `forall`.
    pub witness: Option<Witness>,
    /// Whether an execution cannot end, with fair scheduling of the threads and writes that all threads see in the end.
    pub may_hang: bool,
    /// How much was explored.
    pub statistics: Statistics,
}

/// The number of combinations of final values that are considered in an execution.
pub(super) const MAX_FINAL_STATES: usize = 10_000;

impl Litmus {
    /// Explores the test until a witness is known.
    #[must_use]
    pub fn decide(&self, options: &ExploreOptions) -> Verdict {
        self.explore(options, true)
    }

    /// Explores all executions of the test, for instance to know whether one cannot end.
    #[must_use]
    pub fn decide_fully(&self, options: &ExploreOptions) -> Verdict {
        self.explore(options, false)
    }

    fn explore(&self, options: &ExploreOptions, ends_early: bool) -> Verdict {
        let program = LitmusProgram::new(self);
        let mut witness = None;
        let mut may_hang = false;
        let statistics = explore(&program, options, &mut |ending: &Ending<
            '_,
            LitmusProgram<'_>,
        >| {
            match &ending.end {
                End::Complete => {}
                End::Stuck { .. } => {
                    may_hang = true;
                    return ControlFlow::Continue(());
                }
                End::Fault { .. } => return ControlFlow::Continue(()),
            }
            if witness.is_none() {
                witness = self.witness(ending);
            }
            if witness.is_some() && ends_early {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        let has_witness = witness.is_some();
        Verdict {
            holds: has_witness == (self.quantifier == Quantifier::Exists),
            is_certain: has_witness || statistics.is_exhaustive(),
            witness,
            may_hang,
            statistics,
        }
    }

    /// The variables of the condition.
    pub(super) fn observed_variables(&self) -> Vec<usize> {
        let mut variables = Vec::new();
        self.formula.visit_terms(&mut |term| {
            if let Term::Variable(variable) = term
                && !variables.contains(&variable)
            {
                variables.push(variable);
            }
        });
        variables
    }

    fn witness(&self, ending: &Ending<'_, LitmusProgram<'_>>) -> Option<Witness> {
        let register = |thread: usize, register: usize| {
            ending
                .thread(thread)
                .and_then(|state| state.register(register))
                .unwrap_or(0)
        };
        let is_ignored = self
            .assumptions
            .iter()
            .any(|&(thread, number, value)| register(thread, number) != value);
        if is_ignored {
            return None;
        }
        let variables = self.observed_variables();
        let ranges: Vec<(u64, u32)> = variables
            .iter()
            .filter_map(|&variable| {
                let location = self.variables.get(variable)?.location;
                Some((location.address, location.bytes))
            })
            .collect();
        let wanted = self.quantifier != Quantifier::ForAll;
        for contents in ending.final_contents(&ranges, MAX_FINAL_STATES) {
            let memory: BTreeMap<usize, i64> = variables
                .iter()
                .zip(&contents)
                .map(|(variable, bits)| (*variable, bits.unwrap_or(0) as i64))
                .collect();
            let value = |term: Term| match term {
                Term::Constant(value) => value,
                Term::Register(thread, number) => register(thread, number),
                Term::Variable(variable) => memory.get(&variable).copied().unwrap_or(0),
            };
            if self.formula.holds(&value) == wanted {
                return Some(Witness {
                    execution: ending.execution.clone(),
                    orders: ending.orders.clone(),
                    values: self.named_values(&value),
                });
            }
        }
        None
    }

    fn named_values(&self, value: &dyn Fn(Term) -> i64) -> Vec<(String, i64)> {
        let mut values = Vec::new();
        self.formula.visit_terms(&mut |term| {
            let name = match term {
                Term::Constant(_) => return,
                Term::Register(thread, register) => self.threads.get(thread).and_then(|thread| {
                    let (name, _) = thread.registers.get(register)?;
                    Some(format!("{}:{name}", thread.name))
                }),
                Term::Variable(variable) => self
                    .variables
                    .get(variable)
                    .map(|variable| variable.name.clone()),
            };
            if let Some(name) = name
                && !values.iter().any(|(other, _)| *other == name)
            {
                values.push((name, value(term)));
            }
        });
        values
    }
}
