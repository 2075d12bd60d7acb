//! Ranges of the source with lines and columns.

use ptx_ir::raw::LineCursor;
use ptx_ir::{LineIndex, Span};
use serde::Serialize;

/// A range of bytes with the lines and columns of its ends.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct JsonSpan {
    /// The offset of the first byte.
    pub start: u32,
    /// The offset after the last byte.
    pub end: u32,
    /// The line of `start`, counted from 1.
    pub line: u32,
    /// The column of `start` in bytes, counted from 1.
    pub column: u32,
    /// The line of `end`, counted from 1.
    pub end_line: u32,
    /// The column of `end` in bytes, counted from 1.
    pub end_column: u32,
}

impl JsonSpan {
    /// A range of a source, given its lines.
    #[must_use]
    pub fn new(span: Span, lines: &LineIndex) -> Self {
        Self::with(span, |offset| lines.position(offset))
    }

    /// A range of a source; fast if it is near the last one.
    pub fn at(span: Span, lines: &mut LineCursor<'_>) -> Self {
        Self::with(span, |offset| lines.position(offset))
    }

    fn with(span: Span, mut position: impl FnMut(u32) -> ptx_ir::LineColumn) -> Self {
        let (start, end) = (position(span.start), position(span.end));
        Self {
            start: span.start,
            end: span.end,
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
        }
    }
}
