//! Checks the statements of a function while it is built.

use alloc::vec::Vec;
use ptx_ir::raw::query::Environment;
use ptx_ir::{
    Binding, Body, Diagnostic, FuncId, LabelId, Module, Param, Severity, Statement, StmtId,
};

use crate::context::Context;
use crate::instruction::Instructions;
pub use crate::instruction::NewInst;
pub use crate::param_access::Direction;
use crate::rules::check_statement;

/// Checks single statements of a module that is being built. Declarations that were added since the last statement have to be
/// announced; each announcement is linear in the new declarations.
#[derive(Clone, Debug)]
pub struct StatementChecker {
    environment: Environment,
    instructions: Instructions,
}

impl StatementChecker {
    /// Creates a checker for the version and the target of the module. Linear in its declarations.
    #[must_use]
    pub fn new(module: &Module) -> Self {
        Self {
            environment: Environment::of(module),
            instructions: Instructions::new(module),
        }
    }

    /// Enters the body of a function: the next statements are checked as statements of it. Linear in its declarations.
    pub fn enter(&mut self, module: &Module, function: FuncId, body: &Body) {
        self.instructions.enter(module, function, body);
    }

    /// Announces mnemonics that were added to the module.
    pub fn extend_mnemonics(&mut self, module: &Module) {
        self.instructions.update_mnemonics(module);
    }

    /// Announces names that were added to the module.
    pub fn extend_symbols(&mut self, module: &Module) {
        self.instructions.names_mut().extend_symbols(module);
    }

    /// Announces registers and variables that were added to the entered body.
    #[inline]
    pub fn extend_body(&mut self, body: &Body) {
        self.instructions.names_mut().extend_body(body);
    }

    /// Announces a parameter or result that was added to the function; the direction is `None` for the parameters of a kernel.
    pub fn declare_parameter(&mut self, param: &Param, direction: Option<Direction>) {
        self.instructions.names_mut().declare_parameter(param);
        if let (Binding::Var(var), Some(direction)) = (param.binding, direction) {
            self.instructions.parameters.declare(var, direction);
        }
    }

    /// Announces a table that was placed at a label.
    pub fn declare_table(&mut self, body: &Body, label: LabelId) {
        self.instructions.names_mut().update_label(body, label);
        self.instructions.tables.remove(label);
    }

    /// Returns `true` if an instruction that will be added to the entered body is certainly legal, whatever the other statements are. Otherwise
    /// [`errors`](Self::errors) decides after it is added.
    #[inline]
    #[must_use]
    pub fn is_legal(&mut self, module: &Module, body: &Body, inst: NewInst<'_>) -> bool {
        let environment = self.environment;
        self.instructions.is_legal(module, environment, body, inst)
    }

    /// Returns the errors of a statement of the entered body, without warnings. Spans count from the start of the module's
    /// source, which has to contain the text of the statement. Labels and repeats outside of the statement are removed,
    /// since the source may not contain their text.
    #[must_use]
    pub fn errors(&mut self, module: &Module, body: &Body, stmt: StmtId) -> Vec<Diagnostic> {
        let mut context = Context::new(module, self.environment);
        match body.statement(stmt) {
            Some(Statement::Inst(id)) => {
                if let Some(inst) = body.inst(id) {
                    self.instructions.check(&mut context, body, stmt, id, inst);
                }
            }
            Some(statement) => {
                let span = body.source_span(stmt);
                check_statement(&mut context, body, statement, span);
            }
            None => {}
        }
        let mut errors = context.into_diagnostics();
        errors.retain(|d| d.severity == Severity::Error);
        let statement = body.source_span(stmt);
        for error in &mut errors {
            error.relocate(|span| {
                let is_inside = statement.start <= span.start && span.end <= statement.end;
                is_inside.then_some(span)
            });
        }
        errors
    }
}
