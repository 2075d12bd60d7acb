//! Evaluations of functions that are kept while a module changes.
//!
//! [`IncrementalUniformity`](crate::internals::IncrementalUniformity) and [`IncrementalSummaries`](crate::internals::IncrementalSummaries) repeat the
//! fixed point of the whole module after each change, but evaluate a function only if its body or its inputs from callers and callees changed. So the
//! result is that of a new analysis, and the cost of a change is that of the functions whose body or inputs it changes.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use ptx_ir::{EntityId as _, FuncId};

/// A limit on the functions that are evaluated in one step, and the functions that were evaluated.
///
/// ```
/// use ptx_analysis::incremental::EvaluationLimit;
/// use ptx_ir::{EntityId as _, FuncId};
///
/// let mut limit = EvaluationLimit::new(100);
/// limit.evaluate(FuncId::new(3), 80);
/// assert!(!limit.is_reached());
/// limit.spend(80);
/// assert!(limit.is_reached());
/// assert_eq!(limit.evaluated().collect::<Vec<_>>(), [FuncId::new(3)]);
/// ```
#[derive(Clone, Debug)]
pub struct EvaluationLimit {
    /// The number of statements that may still be evaluated; `u64::MAX` means that there is no limit.
    remaining: u64,
    evaluated: BTreeSet<FuncId>,
}

impl EvaluationLimit {
    /// Creates a limit for functions with a number of statements together. The last function is evaluated completely.
    #[must_use]
    pub fn new(statements: u64) -> Self {
        Self {
            remaining: statements,
            evaluated: BTreeSet::new(),
        }
    }

    /// Creates a limit that is never reached.
    #[must_use]
    pub fn unlimited() -> Self {
        Self::new(u64::MAX)
    }

    /// Returns whether no other function may be evaluated.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        self.remaining == 0
    }

    /// Records the evaluation of a function with a number of statements.
    #[doc(hidden)]
    pub fn evaluate(&mut self, function: FuncId, statements: usize) {
        self.spend(statements);
        self.evaluated.insert(function);
    }

    /// Records other work that takes as long as the evaluation of a number of statements.
    #[doc(hidden)]
    pub fn spend(&mut self, statements: usize) {
        if self.remaining != u64::MAX {
            self.remaining = self.remaining.saturating_sub(statements as u64);
        }
    }

    /// The functions that were evaluated, each once.
    pub fn evaluated(&self) -> impl Iterator<Item = FuncId> + '_ {
        self.evaluated.iter().copied()
    }
}

/// The error that the limit was reached before the fixed point was reached.
#[derive(Copy, Clone, Debug)]
pub(crate) struct LimitReached;

/// The outputs of the evaluations of functions, by their inputs.
#[derive(Clone, Debug)]
pub(crate) struct MemoTable<I, O> {
    /// The entries of each function.
    functions: Vec<Vec<Entry<I, O>>>,
}

#[derive(Clone, Debug)]
struct Entry<I, O> {
    inputs: I,
    output: O,
    /// The entry was found or added since the last [`MemoTable::remove_unused`].
    is_used: bool,
}

impl<I, O> Default for MemoTable<I, O> {
    fn default() -> Self {
        Self {
            functions: Vec::new(),
        }
    }
}

impl<I: PartialEq, O> MemoTable<I, O> {
    /// The output of a function for these inputs, if it was evaluated. Marks the entry as used.
    pub(crate) fn find(&mut self, id: FuncId, inputs: &I) -> Option<&O> {
        let entry = self.entry(id, inputs)?;
        entry.is_used = true;
        Some(&entry.output)
    }

    /// The output of a function for these inputs, if it was evaluated.
    pub(crate) fn output(&mut self, id: FuncId, inputs: &I) -> Option<&mut O> {
        self.entry(id, inputs).map(|entry| &mut entry.output)
    }

    fn entry(&mut self, id: FuncId, inputs: &I) -> Option<&mut Entry<I, O>> {
        let mut entries = self.functions.get_mut(id.index())?.iter_mut();
        entries.find(|entry| entry.inputs == *inputs)
    }

    /// Adds an entry, which counts as used.
    pub(crate) fn add(&mut self, id: FuncId, inputs: I, output: O) {
        if self.functions.len() <= id.index() {
            self.functions.resize_with(id.index() + 1, Vec::new);
        }
        if let Some(entries) = self.functions.get_mut(id.index()) {
            entries.push(Entry {
                inputs,
                output,
                is_used: true,
            });
        }
    }

    /// Removes the entries of a function: its body changed.
    pub(crate) fn remove_function(&mut self, id: FuncId) {
        if let Some(entries) = self.functions.get_mut(id.index()) {
            entries.clear();
        }
    }

    /// All outputs.
    pub(crate) fn outputs(&mut self) -> impl Iterator<Item = &mut O> {
        let entries = self.functions.iter_mut().flatten();
        entries.map(|entry| &mut entry.output)
    }

    /// Removes the entries that were not used since the last call.
    pub(crate) fn remove_unused(&mut self) {
        for entries in &mut self.functions {
            entries.retain_mut(|entry| core::mem::take(&mut entry.is_used));
        }
    }

    /// Replaces the ids of functions. `renumber` replaces those in the inputs and the output of an entry; entries for which it returns `None` are removed.
    pub(crate) fn renumber(
        &mut self,
        new_id: impl Fn(FuncId) -> Option<FuncId>,
        mut renumber: impl FnMut(&mut I, &mut O) -> Option<()>,
    ) {
        for (old_id, entries) in (0..).zip(core::mem::take(&mut self.functions)) {
            let Some(id) = new_id(FuncId::new(old_id)) else {
                continue;
            };
            for mut entry in entries {
                if renumber(&mut entry.inputs, &mut entry.output).is_some() {
                    self.add(id, entry.inputs, entry.output);
                }
            }
        }
    }
}

/// Moves the elements of a table by function to the new ids of the functions. Elements of functions without a new id are removed.
pub(crate) fn renumber_table<T: Clone + Default>(
    table: &mut Vec<T>,
    new_id: impl Fn(FuncId) -> Option<FuncId>,
) {
    let mut renumbered = Vec::new();
    for (old_id, element) in (0..).zip(core::mem::take(table)) {
        let Some(id) = new_id(FuncId::new(old_id)) else {
            continue;
        };
        if renumbered.len() <= id.index() {
            renumbered.resize(id.index() + 1, T::default());
        }
        if let Some(slot) = renumbered.get_mut(id.index()) {
            *slot = element;
        }
    }
    *table = renumbered;
}
