//! From findings to diagnostics.

use alloc::format;
use alloc::vec::Vec;
use ptx_ir::query::Environment;
use ptx_ir::{Diagnostic, Module, Severity, Span};

use crate::finding::{Finding, Redeclaration};
use crate::locate::Locator;
use crate::location::Location;
use crate::problem::{Side, Wording};

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
        let problem = finding.problem.clone();
        let text = problem.text(self.wording, self.locator.text(span));
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
        let repeats = finding.repeats.iter().map(|at| self.locator.span(*at));
        diagnostic.repeats = repeats.collect();
        if let Some(Redeclaration { at, ty }) = finding.redeclaration {
            let declared = self.locator.span(at);
            diagnostic.help = Some(format!(
                "most uses of the declaration need another type: declare it as `{ty}`"
            ));
            return diagnostic.with_fix(declared, ty.text());
        }
        for fix in text.fix {
            let whole = self
                .locator
                .span(Location::part(finding.at.statement, fix.part));
            let span = match fix.side {
                Side::Before => Span::new(whole.start, whole.start),
                Side::Whole => whole,
                Side::After => Span::new(whole.end, whole.end),
            };
            diagnostic = diagnostic.with_fix(span, fix.text);
        }
        diagnostic
    }
}
