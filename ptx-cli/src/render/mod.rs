//! Diagnostics in all output formats: text of one line, JSON, SARIF, workflow commands, and text with the lines of the source.

pub(crate) mod json;
pub(crate) mod sarif;

use ptx_ir::render::NamedSource;
use ptx_ir::{Diagnostic, LineIndex, Severity, Span};

use ptx_report::{clean, demangle};

pub(crate) use ptx_ir::render::Renderer;

/// The largest number of ranges of lines that a note lists.
const MAX_RANGES: usize = 8;

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

    /// `FILE:LINE:COL: error[PTX0104]: message`, a line for each occurrence of the error.
    pub(crate) fn short(&self, diagnostic: &Diagnostic) -> String {
        let line = |(span, message): (Span, &str)| {
            let message = demangle::display_message(message);
            let message = clean(&message);
            let position = self.lines.position(span.start);
            format!(
                "{}:{}:{}: {}[{}]: {message}",
                self.name,
                position.line,
                position.column,
                diagnostic.severity.name(),
                diagnostic.code,
            )
        };
        let first = (diagnostic.span, &*diagnostic.message);
        std::iter::once(first)
            .chain(diagnostic.repeats_with_messages())
            .map(line)
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// `and 7 more on lines 89-95`: the occurrences of an error that [`Renderer`] does not show, because they have the same message.
    pub(crate) fn more(&self, diagnostic: &Diagnostic) -> Option<String> {
        let mut lines: Vec<u32> = diagnostic
            .repeats_with_messages()
            .filter(|(_, message)| *message == diagnostic.message)
            .map(|(span, _)| self.lines.position(span.start).line)
            .collect();
        let count = lines.len();
        if count == 0 {
            return None;
        }
        lines.sort_unstable();
        lines.dedup();
        let ranges: Vec<String> = lines
            .chunk_by(|line, next| line + 1 == *next)
            .map(|range| match range {
                [line] => line.to_string(),
                [first, .., last] => format!("{first}-{last}"),
                [] => String::new(),
            })
            .collect();
        let word = if lines.len() == 1 { "line" } else { "lines" };
        let listed = ranges.get(..MAX_RANGES).unwrap_or(&ranges).join(", ");
        let ellipsis = if ranges.len() > MAX_RANGES {
            ", …"
        } else {
            ""
        };
        Some(format!("and {count} more on {word} {listed}{ellipsis}"))
    }

    /// A workflow command, which GitHub Actions shows as an annotation of the source lines:
    /// `::error file=a.ptx,line=6,endLine=6,col=5,endColumn=10,title=PTX0104::message`
    pub(crate) fn github(&self, diagnostic: &Diagnostic, note: Option<&str>) -> String {
        let start = self.lines.position(diagnostic.span.start);
        let end = self.lines.position(diagnostic.span.end);
        let mut text = diagnostic.message.clone();
        for line in diagnostic.help.as_deref().into_iter().chain(note) {
            text.push('\n');
            text.push_str(line);
        }
        format!(
            "::{} file={},line={},endLine={},col={},endColumn={},title={}::{}",
            diagnostic.severity.name(),
            command_property(self.name),
            start.line,
            end.line,
            start.column,
            end.column,
            diagnostic.code,
            command_data(&text),
        )
    }
}

/// The text of a workflow command. It has only one line.
fn command_data(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(clean).collect();
    lines.join("\n").replace('%', "%25").replace('\n', "%0A")
}

/// The value of a property of a workflow command.
fn command_property(text: &str) -> String {
    command_data(text).replace(':', "%3A").replace(',', "%2C")
}

/// A diagnostic whose messages have the demangled form after each mangled name.
pub(crate) fn demangled(diagnostic: &Diagnostic) -> Diagnostic {
    let demangle = |text: &str| demangle::display_message(text).into_owned();
    let mut demangled = diagnostic.clone();
    demangled.message = demangle(&demangled.message);
    demangled.help = demangled.help.as_deref().map(demangle);
    for label in &mut demangled.labels {
        label.message = demangle(&label.message);
    }
    for message in &mut demangled.repeat_messages {
        *message = demangle(message);
    }
    demangled
}

/// The number of errors and of warnings.
pub(crate) fn tally(diagnostics: &[Diagnostic]) -> (usize, usize) {
    let errors = diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Error)
        .count();
    (errors, diagnostics.len() - errors)
}
