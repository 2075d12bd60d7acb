//! What lints report on a document, kept up to date with its changes.

use std::collections::{BTreeMap, BTreeSet};

use ptx_analysis::calls::CallGraph;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{FuncId, Module, TextChange};
use ptx_lint::{Finding, LintOptions, Linter};

/// Larger documents are not linted: each change would take more than an editor can wait.
const MOST_BYTES: usize = 1 << 20;

/// The findings of each function.
#[derive(Debug)]
pub(crate) struct Lints {
    found: BTreeMap<FuncId, Vec<Finding>>,
    /// Functions that changed since they were linted.
    stale: BTreeSet<FuncId>,
}

impl Lints {
    /// No function is linted so far.
    pub(crate) fn new(module: &Module) -> Self {
        Self {
            found: BTreeMap::new(),
            stale: module.definitions().map(|(id, ..)| id).collect(),
        }
    }

    /// Moves what was found to where it is after a change in a function, which has to be linted again.
    pub(crate) fn change(&mut self, change: TextChange, function: FuncId) {
        for finding in self.found.values_mut().flatten() {
            change.relocate(&mut finding.diagnostic);
        }
        self.stale.insert(function);
    }

    /// Lints functions that changed; if they call others or are called, all functions with calls.
    pub(crate) fn update(&mut self, module: &Module) {
        if self.stale.is_empty() || module.source().len() > MOST_BYTES {
            return;
        }
        let facts = ModuleFacts::new(module);
        let calls = CallGraph::new(&facts);
        let called = |id: FuncId| !calls.targets(id).is_empty() || !calls.callers(id).is_empty();
        let mut functions = std::mem::take(&mut self.stale);
        if functions.iter().any(|id| called(*id)) {
            let others = module.definitions().map(|(id, ..)| id);
            functions.extend(others.filter(|id| called(*id)));
        }
        let options = LintOptions::default();
        let linter = Linter::new(&facts, &options);
        for function in functions {
            self.found.insert(function, linter.function(function));
        }
    }

    /// All findings; none while functions changed that are not linted.
    pub(crate) fn findings(&self) -> impl Iterator<Item = &Finding> {
        let found = self.stale.is_empty().then_some(&self.found);
        found.into_iter().flat_map(|found| found.values().flatten())
    }
}
