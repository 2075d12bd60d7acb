//! From findings to diagnostics.

use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::query::Environment;
use ptx_ir::{Diagnostic, Module, Severity, Span};

use crate::finding::Finding;
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
        let span = self.locator.span(finding.location);
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
            let span = self.locator.span(label.location);
            diagnostic = diagnostic.with_label(span, label.text);
        }
        let repeats = finding.repeats.iter().map(|(location, problem)| {
            let span = self.locator.span(*location);
            let found = self.locator.text(span);
            (
                span,
                Some(problem.clone().text(self.wording, found).message),
            )
        });
        let repeats: Vec<(Span, Option<String>)> = repeats.collect();
        diagnostic.set_repeats(repeats);
        let of_problem = text.fix.into_iter().map(|fix| {
            let location = Location::part(finding.location.statement, fix.part);
            (location, fix.side, fix.text)
        });
        let mut edits: Vec<(Location, Side, String)> = of_problem.collect();
        let mut applicability = text.applicability;
        if let Some(repair) = &finding.repair
            && (edits.is_empty() || repair.replaces)
        {
            edits.clone_from(&repair.edits);
            applicability = repair.applicability;
            let note = repair.note.clone();
            diagnostic.help = Some(match diagnostic.help.filter(|_| !repair.replaces) {
                Some(help) => format!("{help}; {note}"),
                None => note,
            });
        }
        for (location, side, mut text) in edits {
            let whole = self.locator.span(location);
            if let Side::CopyOf(part) = side {
                let copied = self.locator.span(Location::part(location.statement, part));
                text = self.locator.text(copied).into();
            }
            let span = match side {
                Side::Before => Span::new(whole.start, whole.start),
                Side::Whole | Side::CopyOf(_) => whole,
                Side::After => Span::new(whole.end, whole.end),
                Side::Inside(old) => {
                    let found = self.locator.text(whole).find(&old);
                    let start = whole.start + found.unwrap_or(0) as u32;
                    match found {
                        Some(_) => Span::new(start, start + old.len() as u32),
                        None => whole,
                    }
                }
            };
            diagnostic = diagnostic.with_fix(span, text);
        }
        diagnostic.with_applicability(applicability)
    }
}
