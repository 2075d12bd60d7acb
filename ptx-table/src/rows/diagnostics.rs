//! The table of diagnostics.

use ptx_ir::{Code, Diagnostic, LineIndex, Module, Severity};
use ptx_report::source_frames::{Finder, Place};
use ptx_verify::Options;

use crate::column::Value::{Int, Long, Text, Word};
use crate::column::{Column, Rows, column, optional};
use crate::context::File;

/// A row for each diagnostic of a module, and for each file or part of a file that cannot be read.
pub(crate) struct Diagnostics;

/// A diagnostic, or why a file cannot be read.
pub(crate) struct Finding<'a> {
    file: &'a str,
    code: String,
    severity: &'static str,
    message: &'a str,
    /// Nothing for a file that cannot be read.
    place: Option<(&'a Diagnostic, &'a LineIndex, Place)>,
}

impl<'a> Finding<'a> {
    /// A file, or a part of it, that cannot be read.
    pub(crate) fn unreadable(file: &'a str, code: String, message: &'a str) -> Self {
        Self {
            file,
            code,
            severity: "error",
            message,
            place: None,
        }
    }

    fn position(&self, of: impl Fn(&Diagnostic, &LineIndex) -> u32) -> Option<u32> {
        let (diagnostic, lines, _) = self.place.as_ref()?;
        Some(of(diagnostic, lines))
    }

    fn place(&self) -> Option<&Place> {
        self.place.as_ref().map(|(_, _, place)| place)
    }
}

/// What `ptxkit check` finds in a module without options, in the order of the text.
pub(crate) fn check(module: &Module, of_parser: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut all = of_parser;
    all.extend(ptx_verify::verify(module, &Options::default()));
    if !all.iter().any(|d| d.severity == Severity::Error) {
        let later = ptx_verify::codegen_limits(module);
        let is_wanted = |d: &Diagnostic| d.code != Code::UnresolvedExtern;
        all.extend(later.into_iter().filter(is_wanted));
    }
    all.sort_by_key(|d| d.span.start);
    all
}

/// The rows of a module.
pub(crate) fn of<'a>(file: &'a File<'a>, diagnostics: &'a [Diagnostic]) -> Vec<Finding<'a>> {
    if diagnostics.is_empty() {
        return Vec::new();
    }
    let mut finder = Finder::new(file.module, &file.source_lines);
    let row = |d: &'a Diagnostic| Finding {
        file: file.name,
        code: d.code.to_string(),
        severity: d.severity.name(),
        message: &d.message,
        place: Some((d, &file.lines, finder.place(d.span.start))),
    };
    diagnostics.iter().map(row).collect()
}

impl Rows for Diagnostics {
    type Row<'a> = Finding<'a>;

    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        column("file", Word(|r| Some(r.file)), "The path of the file."),
        column("code", Word(|r| Some(&r.code)), "A code such as `PTX0104`, which `ptxkit explain` describes; `unreadable` for a file that cannot be opened or read."),
        column("severity", Word(|r| Some(r.severity)), "`error` or `warning`."),
        column("message", Text(|r, each| each(r.message)), "The message, with the expected and the actual input."),
        optional("start", Int(|r| r.position(|d, _| d.span.start)), "The start of its span, as a byte offset; null for an unreadable file."),
        optional("end", Int(|r| r.position(|d, _| d.span.end)), "The end, as a byte offset."),
        optional("line", Int(|r| r.position(|d, lines| lines.position(d.span.start).line)), "The line of its start."),
        optional("column", Int(|r| r.position(|d, lines| lines.position(d.span.start).column)), "The column of its start."),
        optional("end_line", Int(|r| r.position(|d, lines| lines.position(d.span.end).line)), "The line of its end."),
        optional("end_column", Int(|r| r.position(|d, lines| lines.position(d.span.end).column)), "The column of its end."),
        optional("help", Text(|r, each| if let Some(help) = r.place.as_ref().and_then(|(d, ..)| d.help.as_deref()) { each(help) }), "A suggested fix."),
        optional("function", Word(|r| r.place()?.function.as_deref()), "The function that contains its start."),
        optional("source_file", Word(|r| r.place()?.source.first()?.file.as_deref()), "The file of the original program that the statement comes from."),
        optional("source_line", Long(|r| Some(r.place()?.source.first()?.line.into())), "The line in it."),
    ];
}
