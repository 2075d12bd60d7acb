//! Lines and columns of a text as the protocol counts them.

use lsp_types::{Position, PositionEncodingKind, Range};
use ptx_ir::Span;

/// What a column counts.
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

    /// The length of a character.
    fn len(self, c: char) -> usize {
        match self {
            Self::Utf8 => c.len_utf8(),
            Self::Utf16 => c.len_utf16(),
        }
    }
}

/// Where the lines of a text begin, and what its columns count.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    encoding: Encoding,
    /// The offset of each line but the first.
    starts: Vec<u32>,
    /// Whether each character is one byte.
    ascii: bool,
}

impl Lines {
    pub(crate) fn new(encoding: Encoding, text: &[u8]) -> Self {
        let mut starts = Vec::new();
        add_starts(text, 0, text.len(), &mut starts);
        Self {
            encoding,
            starts,
            ascii: text.is_ascii(),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.starts.len() + 1
    }

    /// `replaced` became `inserted` bytes of `text`, which is the new one.
    pub(crate) fn replace(&mut self, replaced: Span, inserted: usize, text: &[u8]) {
        let (start, old_end) = (replaced.start as usize, replaced.end as usize);
        let end = start + inserted;
        self.ascii &= text.get(start..end).is_none_or(<[u8]>::is_ascii);
        // Whether a line begins at an offset depends on the bytes before and after it.
        let first = self.starts.partition_point(|&s| (s as usize) < start);
        let last = self.starts.partition_point(|&s| s as usize <= old_end + 1);
        let mut new = Vec::new();
        add_starts(
            text,
            start.saturating_sub(1),
            (end + 1).min(text.len()),
            &mut new,
        );
        new.retain(|&s| s as usize >= start);
        for s in self.starts.iter_mut().skip(last) {
            *s = (*s as usize - old_end + end) as u32;
        }
        self.starts.splice(first..last, new);
    }

    fn start(&self, line: usize) -> Option<usize> {
        match line.checked_sub(1) {
            None => Some(0),
            Some(i) => self.starts.get(i).map(|s| *s as usize),
        }
    }

    /// A line without its end.
    fn line<'t>(&self, text: &'t [u8], line: usize) -> (usize, &'t [u8]) {
        let start = self.start(line).unwrap_or(text.len());
        let end = self.start(line + 1).unwrap_or(text.len());
        let mut content = text.get(start..end).unwrap_or_default();
        while let [rest @ .., b'\n' | b'\r'] = content {
            content = rest;
        }
        (start, content)
    }

    /// The offset of a position. One beyond the end of its line means that end, one beyond the last line the end of the text.
    pub(crate) fn offset(&self, text: &[u8], at: Position) -> u32 {
        let line = at.line as usize;
        if line >= self.count() {
            return text.len() as u32;
        }
        let (start, content) = self.line(text, line);
        let column = at.character as usize;
        if self.ascii {
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

    /// The line of an offset.
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

    /// The length of a part of a line.
    pub(crate) fn len(&self, text: &[u8], span: Span) -> u32 {
        if self.ascii || self.encoding == Encoding::Utf8 {
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

    /// The span of a range; an empty one where it ends before it begins.
    pub(crate) fn span(&self, text: &[u8], range: Range) -> Span {
        let start = self.offset(text, range.start);
        Span::new(start, self.offset(text, range.end).max(start))
    }
}

/// Adds the beginnings of lines in `from + 1..=to`. A line ends with `\n`, `\r\n` or `\r`.
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
