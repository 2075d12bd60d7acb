//! Conversion between offsets and the lines and columns of the protocol.

use lsp_types::{Position, PositionEncodingKind, Range};
use ptx_ir::Span;

/// The unit of columns: bytes of UTF-8, or code units of UTF-16.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Encoding {
    Utf8,
    #[default]
    Utf16,
}

impl Encoding {
    pub(crate) fn kind(self) -> PositionEncodingKind {
        match self {
            Self::Utf8 => PositionEncodingKind::UTF8,
            Self::Utf16 => PositionEncodingKind::UTF16,
        }
    }

    /// The length of a character in units.
    fn len(self, c: char) -> usize {
        match self {
            Self::Utf8 => c.len_utf8(),
            Self::Utf16 => c.len_utf16(),
        }
    }
}

/// The beginnings of the lines of a text, and the unit of its columns.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    encoding: Encoding,
    /// The offset of each line but the first.
    starts: Vec<u32>,
    /// Whether the text is ASCII, so that each character is one byte and one unit.
    is_ascii: bool,
}

impl Lines {
    pub(crate) fn new(encoding: Encoding, text: &[u8]) -> Self {
        let mut starts = Vec::new();
        add_starts(text, 0, text.len(), &mut starts);
        Self {
            encoding,
            starts,
            is_ascii: text.is_ascii(),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.starts.len() + 1
    }

    /// Updates the lines after a change, in time linear in the number of lines after it. `text` is the new text, in which `inserted` bytes replace the
    /// bytes `replaced` of the old text.
    pub(crate) fn replace(&mut self, replaced: Span, inserted: usize, text: &[u8]) {
        let (start, old_end) = (replaced.start as usize, replaced.end as usize);
        let new_end = start + inserted;
        self.is_ascii &= text.get(start..new_end).is_none_or(<[u8]>::is_ascii);
        // Whether a line begins at an offset depends on the byte before the offset and the byte at it.
        let first = self.starts.partition_point(|&s| (s as usize) < start);
        let last = self.starts.partition_point(|&s| s as usize <= old_end + 1);
        let mut new_starts = Vec::new();
        add_starts(
            text,
            start.saturating_sub(1),
            (new_end + 1).min(text.len()),
            &mut new_starts,
        );
        new_starts.retain(|&s| s as usize >= start);
        for s in self.starts.iter_mut().skip(last) {
            *s = (*s as usize - old_end + new_end) as u32;
        }
        self.starts.splice(first..last, new_starts);
    }

    /// The offset of the beginning of a line; `None` after the last line.
    fn start(&self, line: usize) -> Option<usize> {
        match line.checked_sub(1) {
            None => Some(0),
            Some(i) => self.starts.get(i).map(|s| *s as usize),
        }
    }

    /// The offset and the text of a line without its line break.
    fn line<'t>(&self, text: &'t [u8], line: usize) -> (usize, &'t [u8]) {
        let start = self.start(line).unwrap_or(text.len());
        let end = self.start(line + 1).unwrap_or(text.len());
        let mut content = text.get(start..end).unwrap_or_default();
        while let [shorter @ .., b'\n' | b'\r'] = content {
            content = shorter;
        }
        (start, content)
    }

    /// The offset of a position. A position after the end of its line denotes that end, and a position after the last line denotes the end of the text.
    pub(crate) fn offset(&self, text: &[u8], position: Position) -> u32 {
        let line = position.line as usize;
        if line >= self.count() {
            return text.len() as u32;
        }
        let (start, content) = self.line(text, line);
        let column = position.character as usize;
        if self.is_ascii {
            return (start + column.min(content.len())) as u32;
        }
        let content = String::from_utf8_lossy(content);
        let (mut units, mut bytes) = (0, 0);
        for c in content.chars() {
            units += self.encoding.len(c);
            if units > column {
                break;
            }
            bytes += c.len_utf8();
        }
        (start + bytes) as u32
    }

    /// The line of an offset, counted from 0.
    pub(crate) fn line_of(&self, offset: u32) -> u32 {
        self.starts.partition_point(|&s| s <= offset) as u32
    }

    /// The position of an offset.
    pub(crate) fn position(&self, text: &[u8], offset: u32) -> Position {
        let line = self.line_of(offset);
        let start = self.start(line as usize).unwrap_or(0);
        let column = Span::at(start, offset as usize);
        Position::new(line, self.len(text, column))
    }

    /// The length of a part of a line in units.
    pub(crate) fn len(&self, text: &[u8], span: Span) -> u32 {
        if self.is_ascii || self.encoding == Encoding::Utf8 {
            return span.len() as u32;
        }
        let text = String::from_utf8_lossy(span.of(text));
        text.chars().map(|c| self.encoding.len(c)).sum::<usize>() as u32
    }

    pub(crate) fn range(&self, text: &[u8], span: Span) -> Range {
        Range::new(
            self.position(text, span.start),
            self.position(text, span.end),
        )
    }

    /// The span of a range. The span of a range that ends before it begins is empty.
    pub(crate) fn span(&self, text: &[u8], range: Range) -> Span {
        let start = self.offset(text, range.start);
        Span::new(start, self.offset(text, range.end).max(start))
    }
}

/// Adds the offsets in `from + 1..=to` at which lines begin. A line ends with `\n`, `\r\n` or `\r`.
fn add_starts(text: &[u8], from: usize, to: usize, starts: &mut Vec<u32>) {
    let part = text.get(from..to).unwrap_or_default();
    for i in memchr::memchr2_iter(b'\n', b'\r', part) {
        let next = from + i + 1;
        if part[i] == b'\n' || text.get(next) != Some(&b'\n') {
            starts.push(next as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_units_of_the_encoding() {
        let text = "aé\u{1F600}b\r\nc\rd\n".as_bytes();
        let of = |encoding| Lines::new(encoding, text);
        let (utf8, utf16) = (of(Encoding::Utf8), of(Encoding::Utf16));
        let b = 7;
        assert_eq!(utf8.position(text, b), Position::new(0, 7));
        assert_eq!(utf16.position(text, b), Position::new(0, 4));
        assert_eq!(utf16.offset(text, Position::new(0, 4)), b);
        assert_eq!(
            utf16.offset(text, Position::new(0, 3)),
            3,
            "inside of a character"
        );
        assert_eq!(
            utf16.offset(text, Position::new(0, 99)),
            8,
            "before the end of the line"
        );
        assert_eq!(utf16.position(text, 12), Position::new(2, 0));
        assert_eq!(utf16.offset(text, Position::new(9, 9)), text.len() as u32);
        assert_eq!(utf16.count(), 4);
    }

    #[test]
    fn changed_lines_are_those_of_the_new_text() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut text: Vec<u8> = b"a\r\nb\nc\rd".to_vec();
        let mut lines = Lines::new(Encoding::Utf16, &text);
        for _ in 0..5000 {
            let start = random.usize(..=text.len());
            let end = random.usize(start..=text.len().min(start + 3));
            let new: Vec<u8> = (0..random.usize(..3))
                .map(|_| b"\r\nx"[random.usize(..3)])
                .collect();
            text.splice(start..end, new.iter().copied());
            lines.replace(Span::at(start, end), new.len(), &text);
            assert_eq!(
                lines.starts,
                Lines::new(Encoding::Utf16, &text).starts,
                "{text:?}"
            );
            text.truncate(40);
            lines = Lines::new(Encoding::Utf16, &text);
        }
    }
}
