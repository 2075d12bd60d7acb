//! From findings to diagnostics.

use alloc::vec::Vec;
use ptx_ir::query::Environment;
use ptx_ir::{Diagnostic, Module, Severity};

use crate::finding::Finding;
use crate::locate::Locator;
use crate::problem::Wording;

/// Renders findings of one module.
pub(crate) struct Renderer<'m> {
    wording: Wording<'m>,
    locator: Locator<'m>,
}

impl<'m> Renderer<'m> {
    pub(crate) fn new(module: &'m Module, environment: Environment) -> Self {
        Self {
            wording: Wording {
                module,
                environment,
            },
            locator: Locator::new(module),
        }
    }

    pub(crate) fn diagnostics(&mut self, findings: &[Finding]) -> Vec<Diagnostic> {
        findings.iter().map(|f| self.diagnostic(f)).collect()
    }

    fn diagnostic(&mut self, finding: &Finding) -> Diagnostic {
        let span = self.locator.span(finding.at);
        let text = finding.problem.text(self.wording, self.locator.text(span));
        let mut diagnostic = match text.severity {
            Severity::Error => Diagnostic::error(text.code, span, text.message),
            Severity::Warning => Diagnostic::warning(text.code, span, text.message),
        };
        if let Some(help) = text.help {
            diagnostic = diagnostic.with_help(help);
        }
        for label in &finding.labels {
            let span = self.locator.span(label.at);
            diagnostic = diagnostic.with_label(span, label.text);
        }
        diagnostic
    }
}
