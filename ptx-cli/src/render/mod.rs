//! Diagnostics as text: one line, one JSON object, or with the lines of the source.

mod github;
pub(crate) mod json;
pub(crate) mod sarif;

use ptx_ir::render::NamedSource;
use ptx_ir::{Diagnostic, LineIndex, Severity, Span};

use ptx_report::{clean, demangle};

pub(crate) use ptx_ir::render::Renderer;

/// A source with its lines.
pub(crate) struct Report<'s> {
    pub(crate) name: &'s str,
    pub(crate) source: &'s [u8],
    pub(crate) lines: &'s LineIndex,
}

impl<'s> Report<'s> {
    /// The source as [`Renderer`] shows it.
    pub(crate) fn named_source(&self) -> NamedSource<'s> {
        NamedSource::with_lines(self.name, self.source, self.lines)
    }

    /// `FILE:LINE:COL: error[PTX0104]: message`, a line for each place with the error.
    pub(crate) fn short(&self, diagnostic: &Diagnostic) -> String {
        let line = |(span, message): (Span, &str)| {
            let message = demangle::in_message(message);
            let message = clean(&message);
            let at = self.lines.position(span.start);
            format!(
                "{}:{}:{}: {}[{}]: {message}",
                self.name,
                at.line,
                at.column,
                diagnostic.severity.name(),
                diagnostic.code,
            )
        };
        let first = std::iter::once((diagnostic.span, &*diagnostic.message));
        let places = first.chain(diagnostic.repeats_with_messages());
        places.map(line).collect::<Vec<_>>().join("\n")
    }
}

/// A diagnostic with the demangled names after mangled ones.
pub(crate) fn demangled(diagnostic: &Diagnostic) -> Diagnostic {
    let text = |text: &str| demangle::in_message(text).into_owned();
    let mut new = diagnostic.clone();
    new.message = text(&new.message);
    new.help = new.help.as_deref().map(text);
    for label in &mut new.labels {
        label.message = text(&label.message);
    }
    for message in &mut new.repeat_messages {
        *message = text(message);
    }
    new
}

/// The number of errors and of warnings.
pub(crate) fn tally(diagnostics: &[Diagnostic]) -> (usize, usize) {
    let errors = diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Error)
        .count();
    (errors, diagnostics.len() - errors)
}
