//! Byte ranges, lines and columns.

use alloc::vec::Vec;
use core::ops::Range;

/// A half-open range of bytes `start..end`.
///
/// Spans of module items and diagnostics count from the start of the source; spans inside a body
/// count from the body's `{` (see [`Body::base`](crate::Body::base)).
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span `start..end`.
    #[inline]
    #[must_use]
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// The span between two positions of a source no longer than [`Limits`](crate::Limits) allow.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub const fn at(start: usize, end: usize) -> Self {
        Self {
            start: start as u32,
            end: end as u32,
        }
    }

    /// Length in bytes.
    #[inline]
    #[must_use]
    pub const fn len(self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }

    /// Whether no byte is covered.
    #[inline]
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// The range, to index a slice with.
    #[inline]
    #[must_use]
    pub const fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The bytes of `source` under this span; empty if the span is not inside of it.
    #[inline]
    #[must_use]
    pub fn of(self, source: &[u8]) -> &[u8] {
        source.get(self.range()).unwrap_or_default()
    }

    /// Returns the span counted from `base` bytes earlier.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub const fn shifted(self, base: u32) -> Self {
        Self {
            start: self.start + base,
            end: self.end + base,
        }
    }

    /// Whether both cover a byte, or an empty one lies inside the other.
    #[inline]
    #[must_use]
    pub const fn overlaps(self, other: Span) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// The smallest span that covers both.
    #[must_use]
    pub fn join(self, other: Span) -> Span {
        Span {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

/// A line and a column, both counted from 1; columns in bytes.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LineColumn {
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
}

/// The offsets of the lines of a source. Building it is linear, a query takes logarithmic time.
#[derive(Clone, Debug)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    /// Indexes the lines of `source`. Lines end at `\n`.
    #[must_use]
    pub fn new(source: &[u8]) -> Self {
        let mut starts = Vec::with_capacity(source.len() / 24 + 1);
        starts.push(0);
        starts.extend(memchr::memchr_iter(b'\n', source).map(|i| i as u32 + 1));
        Self { starts }
    }

    /// The line and column of byte `offset`.
    #[must_use]
    pub fn position(&self, offset: u32) -> LineColumn {
        let line = self.starts.partition_point(|&s| s <= offset);
        let start = self.starts.get(line.wrapping_sub(1)).copied().unwrap_or(0);
        LineColumn {
            line: line as u32,
            column: offset - start + 1,
        }
    }

    /// The bytes of line `line` (from 1), its newline included; empty past the end.
    #[must_use]
    pub fn line_span(&self, line: u32, source_len: u32) -> Span {
        let i = line.max(1) as usize - 1;
        let start = self.starts.get(i).copied().unwrap_or(source_len);
        let end = self.starts.get(i + 1).copied().unwrap_or(source_len);
        Span { start, end }
    }

    /// The number of lines; a final newline opens one more, empty line.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Always false: an empty source has one empty line.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }
}

/// Finds lines and columns; fast for offsets that ascend.
///
/// ```
/// use ptx_ir::LineIndex;
/// use ptx_ir::raw::LineCursor;
/// let source = b"ab\ncd\n";
/// let lines = LineIndex::new(source);
/// let mut cursor = LineCursor::new(&lines, source);
/// assert_eq!((cursor.position(1).line, cursor.position(4).column), (1, 2));
/// ```
#[derive(Clone, Debug)]
pub struct LineCursor<'l> {
    lines: &'l LineIndex,
    len: u32,
    /// The last line with its span.
    line: u32,
    span: Span,
}

impl<'l> LineCursor<'l> {
    /// Starts at the first line of a source, given its lines.
    #[must_use]
    pub fn new(lines: &'l LineIndex, source: &[u8]) -> Self {
        let mut cursor = Self {
            lines,
            len: source.len() as u32,
            line: 1,
            span: Span::default(),
        };
        cursor.enter(1);
        cursor
    }

    fn enter(&mut self, line: u32) {
        self.line = line;
        self.span = self.lines.line_span(line, self.len);
    }

    /// The line and column of a byte.
    #[inline]
    pub fn position(&mut self, offset: u32) -> LineColumn {
        for _ in 0..4 {
            if (self.span.start..self.span.end).contains(&offset) {
                return LineColumn {
                    line: self.line,
                    column: offset - self.span.start + 1,
                };
            }
            self.enter(self.line + 1);
        }
        let position = self.lines.position(offset);
        self.enter(position.line);
        position
    }
}
