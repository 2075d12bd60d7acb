//! What every rule needs: the module, what it is checked for, and where findings go.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use ptx_ir::constant::ConstKind;
use ptx_ir::{Code, Diagnostic, Module, Operand, OperandPool, Span};
use ptx_isa::{PtxVersion, Target};

use crate::Environment;
use crate::stmt_tokens::Statement;

/// Something outside of instructions that not every version or target has.
#[derive(Clone, Debug)]
pub(crate) struct Requirement {
    /// Where it stands.
    pub(crate) span: Span,
    /// What it is.
    pub(crate) what: String,
    /// The first version that has it.
    pub(crate) version: PtxVersion,
    /// The first target that has it; `None` for all targets.
    pub(crate) target: Option<Target>,
    /// The first target that has it no more.
    pub(crate) until: Option<Target>,
}

/// A module under examination.
pub(crate) struct Context<'m> {
    pub(crate) module: &'m Module,
    pub(crate) environment: Environment,
    pub(crate) found: Vec<Diagnostic>,
    /// What the module needs, where somebody asks.
    pub(crate) needs: Option<Vec<Requirement>>,
    /// Whether statements are read again to find the places of their words.
    looking: bool,
}

impl<'m> Context<'m> {
    /// A module of which nothing is known to be wrong.
    pub(crate) fn new(module: &'m Module, environment: Environment) -> Self {
        Self {
            module,
            environment,
            found: Vec::new(),
            needs: None,
            looking: true,
        }
    }

    /// Applies a rule to a statement without reading the statement again; only where something is wrong with it the
    /// rule is applied once more, to point at the words.
    pub(crate) fn check_without_spans(&mut self, rule: impl Fn(&mut Self)) {
        let count = self.found.len();
        if self.needs.is_none() {
            self.looking = false;
            rule(self);
            self.looking = true;
            if self.found.len() == count {
                return;
            }
            self.found.truncate(count);
        }
        rule(self);
    }

    /// Adds an error.
    pub(crate) fn error(&mut self, code: Code, span: Span, message: String) -> &mut Diagnostic {
        self.found.push(Diagnostic::error(code, span, message));
        let last = self.found.len() - 1;
        &mut self.found[last]
    }

    /// The statement at a place, to point at its words.
    pub(crate) fn statement(&self, span: Span) -> Statement<'m> {
        Statement::new(self.module, span, self.looking)
    }

    pub(crate) fn version(&self) -> PtxVersion {
        self.environment.version
    }

    /// Notes that something needs a version and a target, and reports it where it is not there.
    pub(crate) fn need(
        &mut self,
        code: Code,
        at: impl Fn(&Self) -> Span,
        what: &dyn fmt::Display,
        version: PtxVersion,
        target: Option<Target>,
    ) {
        let there = self.version() >= version && target.is_none_or(|t| self.has(t));
        if there && self.needs.is_none() {
            return;
        }
        let span = at(self);
        if let Some(needs) = &mut self.needs {
            needs.push(Requirement {
                span,
                what: what.to_string(),
                version,
                target,
                until: None,
            });
        }
        if there {
            return;
        }
        let (have, place) = (self.version(), self.environment.target);
        let place = place.map_or("", Target::text);
        let message = format!("{what} is not there in PTX {have} on {place}");
        self.error(code, span, message).help = Some(match target {
            Some(target) => format!("it needs PTX {version} and {target}"),
            None => format!("it needs PTX {version}"),
        });
    }

    /// Notes that something is there only before a target; the answer says whether that holds here.
    pub(crate) fn until(&mut self, span: Span, what: &dyn fmt::Display, target: Target) -> bool {
        if let Some(needs) = &mut self.needs {
            needs.push(Requirement {
                span,
                what: what.to_string(),
                version: PtxVersion::new(1, 0),
                target: None,
                until: Some(target),
            });
        }
        self.environment.target.is_none_or(|t| !t.implies(target))
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
