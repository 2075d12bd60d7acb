//! What lints report on a document, kept up to date with its changes.

use ptx_analysis::incremental::Budget;
use ptx_ir::{Changed, FuncId, Module};
use ptx_lint::{Finding, LintOptions, LintSession};

/// The findings of each function, and what changed since they were found.
#[derive(Debug)]
pub(crate) struct Lints {
    session: LintSession,
    change: Change,
}

/// What the session does not know so far.
#[derive(Debug)]
enum Change {
    /// The bodies of these functions.
    Functions(Vec<FuncId>),
    /// The whole module.
    Module,
}

impl Lints {
    /// No function is linted so far.
    pub(crate) fn new() -> Self {
        Self {
            session: LintSession::new(LintOptions::default()),
            change: Change::Module,
        }
    }

    /// The body of a function was parsed again, or without one the whole module.
    pub(crate) fn change(&mut self, function: Option<FuncId>) {
        match (&mut self.change, function) {
            (Change::Functions(all), Some(function)) => all.push(function),
            (change, None) => *change = Change::Module,
            (Change::Module, Some(_)) => {}
        }
    }

    /// Finds out what depends on the changes.
    pub(crate) fn update(&mut self, module: &Module) {
        match core::mem::replace(&mut self.change, Change::Functions(Vec::new())) {
            Change::Functions(functions) if functions.is_empty() => {}
            Change::Functions(functions) => {
                let mut changed = Changed::default();
                changed.functions = functions;
                self.session.update(module, &changed);
            }
            Change::Module => self.session.parsed(module),
        }
    }

    /// Lints functions until the budget is spent. Gives whether all are linted; the module must be that of the last [`update`](Self::update).
    pub(crate) fn advance(&mut self, module: &Module, budget: &mut Budget) -> bool {
        self.session.advance(module, budget)
    }

    /// What was found in functions that are linted; nothing while changes are not known.
    pub(crate) fn findings(&self) -> impl Iterator<Item = &Finding> {
        let is_known = matches!(&self.change, Change::Functions(all) if all.is_empty());
        let session = is_known.then_some(&self.session);
        session.into_iter().flat_map(LintSession::findings)
    }
}
