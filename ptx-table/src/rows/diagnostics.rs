//! The table of diagnostics.

use std::borrow::Cow;

use ptx_ir::{Code, Diagnostic, LineColumn, LineIndex, Module, Severity, Span};
use ptx_report::source_frames::{Finder, Place};
use ptx_verify::Options;

use crate::column::Value::{Int, Long, Text, Word};
use crate::column::{Column, Table, column, optional};
use crate::context::File;
use crate::input::Unreadable;

/// The table with a row for each diagnostic of a module, and for each file or part of a file that cannot be read.
pub(crate) struct Diagnostics;

/// A diagnostic, or an error of a file that cannot be read.
pub(crate) struct DiagnosticRow<'a> {
    file: &'a str,
    code: Cow<'a, str>,
    severity: &'static str,
    message: &'a str,
    /// `None` for a file that cannot be read.
    location: Option<Location<'a>>,
}

/// The location of a diagnostic in a module.
struct Location<'a> {
    diagnostic: &'a Diagnostic,
    lines: &'a LineIndex,
    place: Place,
}

impl Location<'_> {
    const fn span(&self) -> Span {
        self.diagnostic.span
    }

    fn start(&self) -> LineColumn {
        self.lines.position(self.span().start)
    }

    fn end(&self) -> LineColumn {
        self.lines.position(self.span().end)
    }
}

impl<'a> DiagnosticRow<'a> {
    /// The row for a file, or a part of it, that cannot be read.
    pub(crate) fn unreadable(unreadable: &'a Unreadable) -> Self {
        Self {
            file: &unreadable.name,
            code: Cow::Borrowed(&unreadable.code),
            severity: Severity::Error.name(),
            message: &unreadable.message,
            location: None,
        }
    }

    const fn location(&self) -> Option<&Location<'a>> {
        self.location.as_ref()
    }

    fn help(&self) -> Option<&str> {
        self.location()?.diagnostic.help.as_deref()
    }
}

/// The diagnostics of `ptxkit check` without options, in the order of the text. `diagnostics` are those of the parser.
pub(crate) fn check(module: &Module, mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diagnostics.extend(ptx_verify::verify(module, &Options::default()));
    if !diagnostics.iter().any(|d| d.severity == Severity::Error) {
        diagnostics.extend(
            ptx_verify::codegen_limits(module)
                .into_iter()
                .filter(|d| d.code != Code::UnresolvedExtern),
        );
    }
    diagnostics.sort_by_key(|d| d.span.start);
    diagnostics
}

/// The rows of a module.
pub(crate) fn rows<'a>(
    file: &'a File<'a>,
    diagnostics: &'a [Diagnostic],
) -> Vec<DiagnosticRow<'a>> {
    if diagnostics.is_empty() {
        return Vec::new();
    }
    let mut finder = Finder::new(file.module, &file.source_lines);
    diagnostics
        .iter()
        .map(|diagnostic| DiagnosticRow {
            file: file.name,
            code: diagnostic.code.to_string().into(),
            severity: diagnostic.severity.name(),
            message: &diagnostic.message,
            location: Some(Location {
                diagnostic,
                lines: &file.lines,
                place: finder.place(diagnostic.span.start),
            }),
        })
        .collect()
}

impl Table for Diagnostics {
    type Row<'a> = DiagnosticRow<'a>;

    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        column("file", Word(|r| Some(r.file)), "The path of the file."),
        column("code", Word(|r| Some(&r.code)), "A code such as `PTX0104`, which `ptxkit explain` describes; `unreadable` for a file that cannot be opened or read."),
        column("severity", Word(|r| Some(r.severity)), "`error` or `warning`."),
        column("message", Text(|r, sink| sink(r.message)), "The message, with the expected and the actual input."),
        optional("start", Int(|r| Some(r.location()?.span().start)), "The start of its span, as a byte offset; null for an unreadable file."),
        optional("end", Int(|r| Some(r.location()?.span().end)), "The end, as a byte offset."),
        optional("line", Int(|r| Some(r.location()?.start().line)), "The line of its start."),
        optional("column", Int(|r| Some(r.location()?.start().column)), "The column of its start."),
        optional("end_line", Int(|r| Some(r.location()?.end().line)), "The line of its end."),
        optional("end_column", Int(|r| Some(r.location()?.end().column)), "The column of its end."),
        optional("help", Text(|r, sink| if let Some(help) = r.help() { sink(help) }), "A suggested fix."),
        optional("function", Word(|r| r.location()?.place.function.as_deref()), "The function that contains its start."),
        optional("source_file", Word(|r| r.location()?.place.source.first()?.file.as_deref()), "The file of the original program that the statement comes from."),
        optional("source_line", Long(|r| Some(r.location()?.place.source.first()?.line.into())), "The line in it."),
    ];
}
