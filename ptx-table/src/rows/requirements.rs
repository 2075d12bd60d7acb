//! The table of requirements.

use ptx_report::requirements::{Cause, Pair, Report};

use crate::column::Value::{Int, Word};
use crate::column::{Column, Rows, column, optional};

/// A row for each lowest target: of a module, of its functions, and of the features that are not available everywhere.
pub(crate) struct Requirements;

/// A lowest target.
pub(crate) struct Requirement<'a> {
    file: &'a str,
    of: &'static str,
    function: Option<&'a str>,
    reason: Option<&'a Cause>,
    pair: &'a Pair,
}

/// The rows of a module.
pub(crate) fn of<'a>(report: &'a Report<'a>) -> Vec<Requirement<'a>> {
    let row = |of, function, reason, pair| Requirement {
        file: report.file,
        of,
        function,
        reason,
        pair,
    };
    let mut rows = Vec::new();
    rows.extend(report.minimal.iter().map(|p| row("module", None, None, p)));
    for function in &report.functions {
        let minimal = function.minimal.iter();
        rows.extend(minimal.map(|p| row("function", Some(function.name), None, p)));
    }
    for reason in &report.reasons {
        let minimal = reason.minimal.iter();
        rows.extend(minimal.map(|p| row("reason", None, Some(reason), p)));
    }
    rows
}

impl Rows for Requirements {
    type Row<'a> = Requirement<'a>;

    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        column("file", Word(|r| Some(r.file)), "The path of the file."),
        column("of", Word(|r| Some(r.of)), "`module`, `function`, or `reason`: a feature that is not available everywhere."),
        optional("function", Word(|r| r.function), "The name of the function."),
        optional("what", Word(|r| r.reason.map(|c| c.what.as_str())), "The feature, such as an instruction."),
        optional("line", Int(|r| r.reason.map(|c| c.line)), "The line of the first occurrence of the feature."),
        optional("column", Int(|r| r.reason.map(|c| c.column)), "The column."),
        optional("count", Int(|r| r.reason.map(|c| c.count as u32)), "How often it occurs."),
        column("target", Word(|r| Some(r.pair.target)), "The lowest target of an architecture family."),
        column("ptx", Word(|r| Some(&r.pair.ptx)), "The lowest PTX version on it."),
        optional("toolkit", Word(|r| r.pair.toolkit), "The first CUDA toolkit with this version."),
        optional("driver", Word(|r| r.pair.driver), "The driver that its release notes list for it on Linux."),
    ];
}
