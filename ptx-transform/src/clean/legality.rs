//! Checks whether an instruction would be legal with another mnemonic or other operands.

use ptx_edit::Editor;
use ptx_ir::raw::query::{Environment, Mnemonic, Queries};
use ptx_ir::{Module, Operand};
use ptx_isa::internals::{Expected, FormMatch};

/// Checks rewritten instructions of one body after another.
pub(super) struct LegalityChecker {
    queries: Queries<()>,
    environment: Environment,
}

impl LegalityChecker {
    pub(super) fn new(module: &Module) -> Self {
        Self {
            queries: Queries::new(module),
            environment: Environment::of(module),
        }
    }

    /// Enters a body.
    pub(super) fn enter(&mut self, editor: &Editor<'_>) {
        let (module, function) = (editor.module(), editor.function());
        self.queries.enter(module, function, editor.body());
    }

    /// The declared type of a register.
    pub(super) fn register(&self, id: ptx_ir::RegId) -> Option<ptx_isa::ScalarType> {
        self.queries.names().register(id)
    }

    /// Calls `answer` with the form of an instruction, if it is legal without any diagnostic.
    pub(super) fn ask<R>(
        &mut self,
        editor: &Editor<'_>,
        mnemonic: &Mnemonic,
        operands: &[Operand],
        answer: impl FnOnce(&FormMatch<'_>) -> R,
    ) -> Option<R> {
        let environment = self.environment;
        self.queries
            .ask(editor.body(), mnemonic, operands, |query| {
                environment.select_clean(query).as_ref().map(answer)
            })
            .flatten()
    }

    /// The instruction is legal without any diagnostic.
    pub(super) fn allows(
        &mut self,
        editor: &Editor<'_>,
        mnemonic: &Mnemonic,
        operands: &[Operand],
    ) -> bool {
        self.ask(editor, mnemonic, operands, |_| ()).is_some()
    }
}

/// The type in the form of the operand that is written at `index`.
pub(super) fn expected(selection: &FormMatch<'_>, index: usize) -> Option<Expected> {
    let operands = 0..selection.form().operands().len();
    let mut at_index = operands.filter(|&k| selection.operands().written(k) == Some(index));
    selection.expected(at_index.next()?)
}
