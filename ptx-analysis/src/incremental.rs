//! Evaluations of functions that are kept while a module changes.
//!
//! [`IncrementalUniformity`](crate::uniformity::IncrementalUniformity) and [`IncrementalSummaries`](crate::provenance::IncrementalSummaries) repeat the
//! fixpoint of the whole module after each change, but evaluate a function only if its body or what its callers and callees give to it was not
//! the same before. So the result is that of a new analysis, and a change costs the functions to which it makes a difference.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use ptx_ir::{EntityId as _, FuncId};

/// How much may be evaluated before a caller does something else, and what was evaluated.
///
/// ```
/// use ptx_analysis::incremental::Budget;
/// use ptx_ir::{EntityId as _, FuncId};
///
/// let mut budget = Budget::new(100);
/// budget.evaluate(FuncId::new(3), 80);
/// assert!(!budget.is_spent());
/// budget.spend(80);
/// assert!(budget.is_spent());
/// assert_eq!(budget.evaluated().collect::<Vec<_>>(), [FuncId::new(3)]);
/// ```
#[derive(Clone, Debug)]
pub struct Budget {
    left: u64,
    evaluated: BTreeSet<FuncId>,
}

impl Budget {
    /// Functions with this number of statements, and the rest of the last one.
    #[must_use]
    pub fn new(statements: u64) -> Self {
        Self {
            left: statements,
            evaluated: BTreeSet::new(),
        }
    }

    /// As much as there is.
    #[must_use]
    pub fn unlimited() -> Self {
        Self::new(u64::MAX)
    }

    /// Whether nothing else may be evaluated.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.left == 0
    }

    /// A function with this number of statements is evaluated.
    pub fn evaluate(&mut self, function: FuncId, statements: usize) {
        self.spend(statements);
        self.evaluated.insert(function);
    }

    /// Something else is done that takes as long as evaluating this number of statements.
    pub fn spend(&mut self, statements: usize) {
        if self.left != u64::MAX {
            self.left = self.left.saturating_sub(statements as u64);
        }
    }

    /// The functions that were evaluated, each once.
    pub fn evaluated(&self) -> impl Iterator<Item = FuncId> + '_ {
        self.evaluated.iter().copied()
    }
}

/// The budget was spent before everything was evaluated.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Spent;

/// What functions were evaluated with, and what that gave.
#[derive(Clone, Debug)]
pub(crate) struct Runs<I, O> {
    of: Vec<Vec<Run<I, O>>>,
}

#[derive(Clone, Debug)]
struct Run<I, O> {
    input: I,
    output: O,
    /// Whether the fixpoint that is computed came here.
    is_used: bool,
}

impl<I, O> Default for Runs<I, O> {
    fn default() -> Self {
        Self { of: Vec::new() }
    }
}

impl<I: PartialEq, O> Runs<I, O> {
    /// What a function gives for an input, if it was evaluated for that.
    pub(crate) fn find(&mut self, id: FuncId, input: &I) -> Option<&O> {
        let run = self.run(id, input)?;
        run.is_used = true;
        Some(&run.output)
    }

    /// The same after the fixpoint.
    pub(crate) fn output(&mut self, id: FuncId, input: &I) -> Option<&mut O> {
        self.run(id, input).map(|run| &mut run.output)
    }

    fn run(&mut self, id: FuncId, input: &I) -> Option<&mut Run<I, O>> {
        let mut runs = self.of.get_mut(id.index())?.iter_mut();
        runs.find(|run| run.input == *input)
    }

    pub(crate) fn add(&mut self, id: FuncId, input: I, output: O) {
        if self.of.len() <= id.index() {
            self.of.resize_with(id.index() + 1, Vec::new);
        }
        if let Some(runs) = self.of.get_mut(id.index()) {
            runs.push(Run {
                input,
                output,
                is_used: true,
            });
        }
    }

    /// The body of a function changed.
    pub(crate) fn forget(&mut self, id: FuncId) {
        if let Some(runs) = self.of.get_mut(id.index()) {
            runs.clear();
        }
    }

    /// All that was given.
    pub(crate) fn outputs(&mut self) -> impl Iterator<Item = &mut O> {
        self.of.iter_mut().flatten().map(|run| &mut run.output)
    }

    /// Ends a fixpoint: forgets what it did not come to.
    pub(crate) fn finish(&mut self) {
        for runs in &mut self.of {
            runs.retain_mut(|run| core::mem::take(&mut run.is_used));
        }
    }

    /// Gives functions other numbers, and forgets what `run` cannot express with these.
    pub(crate) fn renumber(
        &mut self,
        function: impl Fn(FuncId) -> Option<FuncId>,
        mut run: impl FnMut(&mut I, &mut O) -> Option<()>,
    ) {
        for (id, runs) in (0..).zip(core::mem::take(&mut self.of)) {
            let Some(id) = function(FuncId::new(id)) else {
                continue;
            };
            for mut of in runs {
                if run(&mut of.input, &mut of.output).is_some() {
                    self.add(id, of.input, of.output);
                }
            }
        }
    }
}

/// Moves what is known of each function to its new number.
pub(crate) fn renumbered<T: Clone + Default>(
    old: &mut Vec<T>,
    function: impl Fn(FuncId) -> Option<FuncId>,
) {
    let mut new = Vec::new();
    for (id, of) in (0..).zip(core::mem::take(old)) {
        if let Some(id) = function(FuncId::new(id)) {
            if new.len() <= id.index() {
                new.resize(id.index() + 1, T::default());
            }
            if let Some(entry) = new.get_mut(id.index()) {
                *entry = of;
            }
        }
    }
    *old = new;
}
