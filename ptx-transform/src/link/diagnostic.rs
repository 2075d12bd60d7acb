//! Diagnostics about one of several modules.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use ptx_ir::{Diagnostic, Severity, Span};

use crate::printed::Printed;

/// A diagnostic about one of the modules.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LinkDiagnostic {
    /// The index of the module that the spans refer to.
    pub input: usize,
    /// The diagnostic.
    pub diagnostic: Diagnostic,
    /// Labels in other modules.
    pub elsewhere: Vec<Elsewhere>,
}

/// A label in another module.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Elsewhere {
    /// The index of the module.
    pub input: usize,
    /// The span in its source.
    pub span: Span,
    /// A description of the text at this span.
    pub message: String,
}

/// The conflicts because of which modules cannot be linked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkError {
    diagnostics: Vec<LinkDiagnostic>,
}

impl LinkError {
    pub(super) const fn new(diagnostics: Vec<LinkDiagnostic>) -> Self {
        Self { diagnostics }
    }

    /// All diagnostics; at least one is an error.
    #[must_use]
    pub fn diagnostics(&self) -> &[LinkDiagnostic] {
        &self.diagnostics
    }

    /// All diagnostics; at least one is an error.
    #[must_use]
    pub fn into_diagnostics(self) -> Vec<LinkDiagnostic> {
        self.diagnostics
    }
}

/// The messages of the errors, separated by semicolons.
impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors = self
            .diagnostics
            .iter()
            .map(|diagnostic| &diagnostic.diagnostic)
            .filter(|diagnostic| diagnostic.severity == Severity::Error);
        for (index, error) in errors.enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{}", error.message)?;
        }
        Ok(())
    }
}

impl core::error::Error for LinkError {}

/// A diagnostic about one module.
pub(super) fn about(input: usize, diagnostic: Diagnostic) -> LinkDiagnostic {
    LinkDiagnostic {
        input,
        diagnostic,
        elsewhere: Vec::new(),
    }
}

impl LinkDiagnostic {
    /// Replaces the spans in printed modules by those in the sources of the modules.
    pub(super) fn move_to_original(&mut self, printed: &[Printed<'_>]) {
        if let Some(printed) = printed.get(self.input) {
            printed.diagnostic_to_original(&mut self.diagnostic);
        }
        for label in &mut self.elsewhere {
            if let Some(printed) = printed.get(label.input) {
                label.span = printed.to_original(label.span);
            }
        }
    }

    /// Adds a label in another module.
    pub(super) fn with(mut self, input: usize, span: Span, message: impl Into<String>) -> Self {
        let message = message.into();
        self.elsewhere.push(Elsewhere {
            input,
            span,
            message,
        });
        self
    }
}
