//! The error of a source that is not valid PTX.

use alloc::vec::Vec;
use core::fmt;

use ptx_ir::{Diagnostic, LineColumn, LineIndex, Severity};

/// The number of errors that [`Debug`](fmt::Debug) lists.
const LISTED_ERRORS: usize = 20;

/// The diagnostics of a source with at least one error.
///
/// `Display` writes the first error in one line, `Debug` lists the errors with their help. Both begin with lines and columns, so
/// that a program whose `main` returns the error, and a test that calls `unwrap`, show where the source is wrong.
///
/// ```
/// let text = ".version 8.0\n.target sm_80\n.entry k()\n{\n    .reg .b32 x;\n    addd.s32 x, x, 1;\n    rett;\n}\n";
/// let error = ptx_parse::parse_str(text).into_result().err().ok_or("no error")?;
/// assert_eq!(
///     error.to_string(),
///     "line 6, column 5: error[PTX0104]: expected an instruction, found unknown opcode `addd` (and 1 more error)"
/// );
/// assert_eq!(
///     format!("{error:?}"),
///     "the source has 2 errors\n\
///     line 6, column 5: error[PTX0104]: expected an instruction, found unknown opcode `addd`; did you mean `add`?\n\
///     line 7, column 5: error[PTX0104]: expected an instruction, found unknown opcode `rett`; did you mean `ret`?"
/// );
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ParseError {
    diagnostics: Vec<Diagnostic>,
    /// The start of each diagnostic.
    positions: Vec<LineColumn>,
}

impl ParseError {
    pub(crate) fn new(diagnostics: Vec<Diagnostic>, source: &[u8]) -> Self {
        let lines = LineIndex::new(source);
        let positions = diagnostics
            .iter()
            .map(|diagnostic| lines.position(diagnostic.span.start))
            .collect();
        Self {
            diagnostics,
            positions,
        }
    }

    /// All diagnostics in the order of the source, warnings included.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// All diagnostics in the order of the source, warnings included.
    #[must_use]
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.diagnostics
    }

    /// The errors, each with its start.
    fn errors(&self) -> impl Iterator<Item = (LineColumn, &Diagnostic)> {
        let positions = self.positions.iter().copied();
        positions
            .zip(&self.diagnostics)
            .filter(|(_, diagnostic)| diagnostic.severity == Severity::Error)
    }
}

/// Writes the first error and the number of the others.
impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut errors = self.errors();
        if let Some((position, first)) = errors.next() {
            write_position(f, position)?;
            write!(f, "{first}")?;
        }
        match errors.count() {
            0 => Ok(()),
            1 => f.write_str(" (and 1 more error)"),
            n => write!(f, " (and {n} more errors)"),
        }
    }
}

/// Lists the errors with their help, a line for each.
impl fmt::Debug for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.errors().count();
        if count > 1 {
            writeln!(f, "the source has {count} errors")?;
        }
        for (index, (position, error)) in self.errors().take(LISTED_ERRORS).enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write_position(f, position)?;
            write!(f, "{error}")?;
            if let Some(help) = &error.help {
                write!(f, "; {help}")?;
            }
        }
        match count.saturating_sub(LISTED_ERRORS) {
            0 => Ok(()),
            more => write!(f, "\n… and {more} more"),
        }
    }
}

fn write_position(f: &mut fmt::Formatter<'_>, position: LineColumn) -> fmt::Result {
    write!(f, "line {}, column {}: ", position.line, position.column)
}

impl core::error::Error for ParseError {}
