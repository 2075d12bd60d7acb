//! The table of requirements.

use ptx_report::labels::Label as _;
use ptx_report::requirements::{Cause, Pair, Report};

use crate::column::Value::{Int, Word};
use crate::column::{Column, Table, column, optional};

/// The table with a row for each lowest target of a module, of its functions, and of the features that are not available everywhere.
pub(crate) struct Requirements;

/// A lowest target of a subject.
pub(crate) struct RequirementRow<'a> {
    file: &'a str,
    subject: Subject<'a>,
    pair: &'a Pair,
}

/// The part of a module that has a requirement.
#[derive(Copy, Clone)]
enum Subject<'a> {
    Module,
    /// A function with this name.
    Function(&'a str),
    /// A feature that is not available everywhere.
    Feature(&'a Cause),
}

impl<'a> Subject<'a> {
    const fn name(self) -> &'static str {
        match self {
            Self::Module => "module",
            Self::Function(_) => "function",
            Self::Feature(_) => "reason",
        }
    }

    const fn function(self) -> Option<&'a str> {
        match self {
            Self::Function(name) => Some(name),
            Self::Module | Self::Feature(_) => None,
        }
    }

    const fn cause(self) -> Option<&'a Cause> {
        match self {
            Self::Feature(cause) => Some(cause),
            Self::Module | Self::Function(_) => None,
        }
    }
}

/// The rows of a module.
pub(crate) fn rows<'a>(report: &'a Report<'a>) -> Vec<RequirementRow<'a>> {
    let mut rows = Vec::new();
    add_rows(report, Subject::Module, &report.minimal, &mut rows);
    for function in &report.functions {
        let subject = Subject::Function(function.name);
        add_rows(report, subject, &function.minimal, &mut rows);
    }
    for cause in &report.reasons {
        let subject = Subject::Feature(cause);
        add_rows(report, subject, &cause.minimal, &mut rows);
    }
    rows
}

fn add_rows<'a>(
    report: &'a Report<'a>,
    subject: Subject<'a>,
    pairs: &'a [Pair],
    rows: &mut Vec<RequirementRow<'a>>,
) {
    rows.extend(pairs.iter().map(|pair| RequirementRow {
        file: report.file,
        subject,
        pair,
    }));
}

impl Table for Requirements {
    type Row<'a> = RequirementRow<'a>;

    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        column("file", Word(|r| Some(r.file)), "The path of the file."),
        column("of", Word(|r| Some(r.subject.name())), "`module`, `function`, or `reason`: a feature that is not available everywhere."),
        optional("function", Word(|r| r.subject.function()), "The name of the function."),
        optional("what", Word(|r| r.subject.cause().map(|c| c.what.as_str())), "The feature, such as an instruction."),
        optional("line", Int(|r| r.subject.cause().map(|c| c.line)), "The line of the first occurrence of the feature."),
        optional("column", Int(|r| r.subject.cause().map(|c| c.column)), "The column."),
        optional("count", Int(|r| r.subject.cause().map(|c| c.count as u32)), "How often it occurs."),
        column("target", Word(|r| Some(r.pair.target.label())), "The lowest target of an architecture family."),
        column("ptx", Word(|r| Some(&r.pair.ptx)), "The lowest PTX version on it."),
        optional("toolkit", Word(|r| r.pair.toolkit), "The first CUDA toolkit with this version."),
        optional("driver", Word(|r| r.pair.driver), "The driver that its release notes list for it on Linux."),
    ];
}
