//! The table of findings of lints.

use std::borrow::Cow;

use ptx_ir::facts::ModuleFacts;
use ptx_ir::{Diagnostic, LineColumn};
use ptx_lint::{Finding, LintOptions};
use ptx_report::clean;
use ptx_report::source_frames::{Finder, Place};

use crate::column::Value::{Int, Long, Text, Word};
use crate::column::{Column, Table, column, optional};
use crate::context::File;

/// The table with a row for each finding of a lint in a module.
pub(crate) struct Lints;

/// A finding of a lint.
pub(crate) struct FindingRow<'a> {
    file: &'a File<'a>,
    function: Cow<'a, str>,
    code: String,
    finding: Finding,
    place: Place,
}

impl FindingRow<'_> {
    fn diagnostic(&self) -> &Diagnostic {
        &self.finding.diagnostic
    }

    fn start(&self) -> LineColumn {
        self.file.lines.position(self.diagnostic().span.start)
    }

    fn end(&self) -> LineColumn {
        self.file.lines.position(self.diagnostic().span.end)
    }
}

/// The rows of a module.
pub(crate) fn rows<'a>(file: &'a File<'a>) -> Vec<FindingRow<'a>> {
    let module = file.module;
    let findings = ptx_lint::lint(&ModuleFacts::new(module), &LintOptions::default());
    if findings.is_empty() {
        return Vec::new();
    }
    let mut finder = Finder::new(module, &file.source_lines);
    findings
        .into_iter()
        .map(|finding| FindingRow {
            file,
            function: module
                .functions()
                .get(finding.function)
                .map_or(Cow::Borrowed(""), |f| clean(module.name(f.name))),
            code: finding.diagnostic.code.to_string(),
            place: finder.place(finding.diagnostic.span.start),
            finding,
        })
        .collect()
}

impl Table for Lints {
    type Row<'a> = FindingRow<'a>;

    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        column("file", Word(|r| Some(r.file.name)), "The path of the file."),
        column("function", Word(|r| Some(&r.function)), "The name of the function."),
        column("function_id", Int(|r| Some(r.finding.function.as_u32())), "The number of the function in the file."),
        column("lint", Word(|r| Some(r.finding.lint.name())), "The name of the lint, such as `shared-race`."),
        column("code", Word(|r| Some(&r.code)), "Its code, such as `PTX1512`, which `ptxkit explain` describes."),
        column("certainty", Word(|r| Some(r.finding.certainty.name())), "`definite` or `possible`."),
        column("message", Text(|r, sink| sink(&r.diagnostic().message)), "The message."),
        optional("help", Text(|r, sink| if let Some(help) = r.diagnostic().help.as_deref() { sink(help) }), "A suggested fix."),
        optional("degree", Int(|r| r.finding.degree), "For `bank-conflict`, the number of passes of the access, divided by the number without bank conflicts."),
        column("start", Int(|r| Some(r.diagnostic().span.start)), "The start of its span, as a byte offset."),
        column("end", Int(|r| Some(r.diagnostic().span.end)), "The end, as a byte offset."),
        column("line", Int(|r| Some(r.start().line)), "The line of its start."),
        column("column", Int(|r| Some(r.start().column)), "The column of its start."),
        column("end_line", Int(|r| Some(r.end().line)), "The line of its end."),
        column("end_column", Int(|r| Some(r.end().column)), "The column of its end."),
        optional("source_file", Word(|r| r.place.source.first()?.file.as_deref()), "The file of the original program that the statement comes from."),
        optional("source_line", Long(|r| Some(r.place.source.first()?.line.into())), "The line in it."),
    ];
}
