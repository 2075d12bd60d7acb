//! Renders findings as diagnostics.

use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::raw::query::Environment;
use ptx_ir::{Diagnostic, Module, Severity, Span};

use crate::finding::Finding;
use crate::locate::Locator;
use crate::location::{Location, Part};
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
        let mut edited = self.edited_statement(finding.location, finding.edited_text.as_deref());
        let place = self.place(edited.as_mut(), finding.location);
        let text = finding.problem.clone().text(self.wording, place.text);
        let mut diagnostic = match text.severity {
            Severity::Error => Diagnostic::error(text.code, place.span, text.message),
            Severity::Warning => Diagnostic::warning(text.code, place.span, text.message),
        };
        if let Some(help) = text.help {
            diagnostic = diagnostic.with_help(help);
        }
        for label in &finding.labels {
            let place = self.place(edited.as_mut(), label.location);
            diagnostic = diagnostic.with_label(place.span, label.text);
        }
        let mut repeats: Vec<(Span, Option<String>)> = Vec::with_capacity(finding.repeats.len());
        for repeat in &finding.repeats {
            let mut edited = self.edited_statement(repeat.location, repeat.edited_text.as_deref());
            let place = self.place(edited.as_mut(), repeat.location);
            let text = repeat.problem.clone().text(self.wording, place.text);
            repeats.push((place.span, Some(text.message)));
        }
        diagnostic.set_repeats(repeats);
        let mut edits: Vec<(Location, Side, String)> = text
            .fix
            .into_iter()
            .map(|fix| {
                let location = Location::part(finding.location.statement, fix.part);
                (location, fix.side, fix.text)
            })
            .collect();
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
        // A fix edits the source, which is not the text of an edited module.
        if self.wording.module.is_edited() {
            return diagnostic;
        }
        for (location, side, text) in edits {
            let (span, text) = self.edit(location, side, text);
            diagnostic = diagnostic.with_fix(span, text);
        }
        diagnostic.with_applicability(applicability)
    }

    /// Returns the statement of a location, if an edit changed or inserted it. `text` is its text.
    fn edited_statement<'t>(
        &self,
        location: Location,
        text: Option<&'t [u8]>,
    ) -> Option<EditedStatement<'t>>
    where
        'm: 't,
    {
        text.map(|text| EditedStatement {
            source_span: location.statement,
            text_span: Span::new(0, text.len() as u32),
            locator: Locator::of_text(self.wording.module, text),
        })
    }

    /// Resolves a location, in the text of an edited statement if the location is in this statement.
    fn place<'t>(
        &mut self,
        edited: Option<&mut EditedStatement<'t>>,
        location: Location,
    ) -> Place<'t>
    where
        'm: 't,
    {
        if let Some(edited) = edited
            && location.statement == edited.source_span
        {
            return edited.place(location.part);
        }
        let span = self.locator.span(location);
        Place {
            span,
            text: self.locator.text(span),
        }
    }

    /// Returns the span that an edit of the source replaces, and the new text.
    fn edit(&mut self, location: Location, side: Side, text: String) -> (Span, String) {
        let span = self.locator.span(location);
        match side {
            Side::Before => (Span::new(span.start, span.start), text),
            Side::Whole => (span, text),
            Side::CopyOf(part) => {
                let source = Location::part(location.statement, part);
                let source = self.locator.span(source);
                (span, self.locator.text(source).into())
            }
            Side::After => (Span::new(span.end, span.end), text),
            Side::Inside(old) => {
                let Some(offset) = self.locator.text(span).find(&old) else {
                    return (span, text);
                };
                let start = span.start + offset as u32;
                (Span::new(start, start + old.len() as u32), text)
            }
        }
    }
}

/// A resolved location.
struct Place<'t> {
    /// The span in the source.
    span: Span,
    /// The text of the location; in an edited statement, the new text.
    text: &'t str,
}

/// A statement that an edit changed or inserted. Its parts have no spans in the source: places in it are the whole statement.
struct EditedStatement<'t> {
    /// The span of the statement in the source; empty for an inserted statement.
    source_span: Span,
    /// The span of the statement in its text.
    text_span: Span,
    locator: Locator<'t>,
}

impl<'t> EditedStatement<'t> {
    fn place(&mut self, part: Part) -> Place<'t> {
        let span = self.locator.span(Location::part(self.text_span, part));
        Place {
            span: self.source_span,
            text: self.locator.text(span),
        }
    }
}
