//! What every rule needs: the module, what it is checked for, and where findings go.

use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::constant::ConstKind;
use ptx_ir::{Code, Diagnostic, Module, Operand, OperandPool, Span};
use ptx_isa::{PtxVersion, Target};

use crate::Environment;
use crate::statement::Statement;

/// A module under examination.
pub(crate) struct Context<'m> {
    pub(crate) module: &'m Module,
    pub(crate) environment: Environment,
    pub(crate) found: Vec<Diagnostic>,
}

impl<'m> Context<'m> {
    /// Adds an error.
    pub(crate) fn error(&mut self, code: Code, span: Span, message: String) -> &mut Diagnostic {
        self.found.push(Diagnostic::error(code, span, message));
        let last = self.found.len() - 1;
        &mut self.found[last]
    }

    /// The statement at a place, to point at its words.
    pub(crate) fn statement(&self, span: Span) -> Statement<'m> {
        Statement::new(self.module, span)
    }

    pub(crate) fn version(&self) -> PtxVersion {
        self.environment.version
    }

    /// Whether what asks for this target is there; true where no target is known.
    pub(crate) fn has(&self, target: Target) -> bool {
        self.environment.target.is_none_or(|t| t.implies(target))
    }
}

/// The value of an integer operand.
pub(crate) fn integer(pool: &OperandPool, operand: Operand) -> Option<i64> {
    match operand {
        Operand::Small(value) => Some(value.into()),
        Operand::Imm(id) => pool.immediate(id)?.value.as_int(),
        _ => None,
    }
}

/// The sort of a constant operand.
pub(crate) fn constant_kind(pool: &OperandPool, operand: Operand) -> Option<ConstKind> {
    match operand {
        Operand::Small(_) => Some(ConstKind::Signed),
        Operand::Imm(id) => Some(pool.immediate(id)?.value.kind()),
        _ => None,
    }
}
