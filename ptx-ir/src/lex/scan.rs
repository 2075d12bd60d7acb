//! The scanning functions of the lexer and the parser: each returns the end of a token or of trivia at a position of a source.
//! None allocates, and none reads past the end.

/// Byte classes, as bits of [`CLASS`].
pub mod class {
    /// Allowed in an identifier.
    pub const IDENT: u8 = 1;
    /// Allowed at the start of an identifier.
    pub const START: u8 = 2;
    /// Decimal digit.
    pub const DIGIT: u8 = 4;
    /// Whitespace: space, tab, newline, carriage return, form feed, and the control-Z that once ended
    /// files; no vertical tab.
    pub const WHITESPACE: u8 = 8;
    /// Allowed in a word after a dot: letters, digits, `_` and `$`.
    pub const WORD: u8 = 16;
    /// Hexadecimal digit.
    pub const HEX: u8 = 32;
}

/// The classes of every byte.
pub static CLASS: [u8; 256] = {
    use class::{DIGIT, HEX, IDENT, START, WHITESPACE, WORD};
    let mut classes = [0u8; 256];
    let mut byte = 0usize;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'a'..=b'f' | b'A'..=b'F' => IDENT | START | WORD | HEX,
            b'a'..=b'z' | b'A'..=b'Z' => IDENT | START | WORD,
            b'0'..=b'9' => IDENT | WORD | DIGIT | HEX,
            b'_' => IDENT | START | WORD,
            b'$' => IDENT | START | WORD,
            b'%' => START,
            b' ' | b'\t' | b'\n' | b'\r' | 0x0c | 0x1a => WHITESPACE,
            _ => 0,
        };
        byte += 1;
    }
    classes
};

/// Whether `b` has one of the classes in `mask`.
#[inline(always)]
#[must_use]
pub fn is(b: u8, mask: u8) -> bool {
    CLASS[b as usize] & mask != 0
}

/// The byte at `pos`; 0 at the end, and for a NUL byte of the source.
#[inline(always)]
#[must_use]
pub fn peek(src: &[u8], pos: usize) -> u8 {
    match src.get(pos) {
        Some(&b) => b,
        None => 0,
    }
}

/// The end of the run of bytes of one of the classes in `mask` from `pos`.
#[inline(always)]
pub(super) fn run(src: &[u8], mut pos: usize, mask: u8) -> usize {
    while is(peek(src, pos), mask) {
        pos += 1;
    }
    pos
}

/// The end of the identifier whose first byte is at `pos`.
#[inline(always)]
#[must_use]
pub fn ident_end(src: &[u8], pos: usize) -> usize {
    run(src, pos + 1, class::IDENT)
}

/// Whether an identifier begins at `pos`: a letter, or one of `_ $ %` with more after it.
#[inline]
#[must_use]
pub fn starts_ident(src: &[u8], pos: usize) -> bool {
    let b = peek(src, pos);
    is(b, class::START) && (b.is_ascii_alphabetic() || is(peek(src, pos + 1), class::IDENT))
}

/// The end of a run of word characters (letters, digits, `_` and `$`) from `pos`.
#[inline(always)]
#[must_use]
pub fn word_end(src: &[u8], pos: usize) -> usize {
    run(src, pos, class::WORD)
}

/// The end of the dotted word whose `.` is at `pos`, its `::` parts included, of which the last one may be a ratio such as
/// `2:4`; `pos + 1` where no word follows the dot.
#[inline]
#[must_use]
pub fn dot_word_end(src: &[u8], pos: usize) -> usize {
    let mut end = word_end(src, pos + 1);
    while peek(src, end) == b':'
        && peek(src, end + 1) == b':'
        && is(peek(src, end + 2), class::WORD)
        && end > pos + 1
    {
        let part = end + 2;
        end = word_end(src, part);
        let is_digit = |pos: usize| peek(src, pos).is_ascii_digit();
        if peek(src, end) == b':' && is_digit(end + 1) && (part..end).all(is_digit) {
            return word_end(src, end + 1);
        }
    }
    end
}

/// The contents of the trivia between two tokens.
#[derive(Copy, Clone, Default, PartialEq, Eq, Debug, Hash)]
pub struct Trivia {
    /// Whether there is a newline, inside a comment or not.
    pub newline: bool,
    /// Whether there is a comment or a line marker.
    pub comment: bool,
    /// The offset of a block comment that does not end.
    pub unterminated: Option<u32>,
}

/// The end of the white space and comments from `pos`.
#[inline]
pub fn skip_trivia(src: &[u8], mut pos: usize, trivia: &mut Trivia) -> usize {
    loop {
        match peek(src, pos) {
            b' ' | b'\t' | b'\r' | 0x0c | 0x1a => pos += 1,
            b'\n' => {
                trivia.newline = true;
                pos += 1;
            }
            b'/' | b'#' => match comment_end(src, pos, trivia) {
                Some(end) => pos = end,
                None => return pos,
            },
            _ => return pos,
        }
    }
}

/// The end of the comment or line marker that begins at `pos`, if one does.
#[cold]
fn comment_end(src: &[u8], pos: usize, trivia: &mut Trivia) -> Option<usize> {
    match src.get(pos..)? {
        [b'/', b'/', ..] => {
            trivia.comment = true;
            Some(line_end(src, pos))
        }
        [b'/', b'*', ..] => {
            trivia.comment = true;
            let end = block_comment_end(src, pos).unwrap_or_else(|| {
                trivia.unterminated = Some(pos as u32);
                src.len()
            });
            trivia.newline |= memchr::memchr(b'\n', &src[pos..end]).is_some();
            Some(end)
        }
        [b'#', ..] if is_line_marker(src, pos) => {
            trivia.comment = true;
            Some(line_end(src, pos))
        }
        _ => None,
    }
}

/// One past the `*/` of the block comment at `pos`; `None` if it does not end.
#[must_use]
pub fn block_comment_end(src: &[u8], pos: usize) -> Option<usize> {
    let body = src.get(pos + 2..)?;
    memchr::memmem::find(body, b"*/").map(|i| pos + 2 + i + 2)
}

/// The newline that ends the line of `pos`, or the end of the source.
#[inline]
#[must_use]
pub fn line_end(src: &[u8], pos: usize) -> usize {
    let text = src.get(pos..).unwrap_or_default();
    memchr::memchr(b'\n', text).map_or(src.len(), |i| pos + i)
}

/// Whether `pos` is the first byte of its line that is not whitespace.
#[must_use]
pub fn at_line_start(src: &[u8], pos: usize) -> bool {
    src.get(..pos)
        .unwrap_or_default()
        .iter()
        .rev()
        .find(|&&b| b == b'\n' || !is(b, class::WHITESPACE))
        .is_none_or(|&b| b == b'\n')
}

/// Whether the `#` at `pos` begins a line marker of the preprocessor, up to the end of its line:
/// `# 1 "file"` or `#line 1 "file"`, possibly with more numbers. Other tokens may precede it.
#[must_use]
pub fn is_line_marker(src: &[u8], pos: usize) -> bool {
    let line = src.get(pos + 1..line_end(src, pos)).unwrap_or_default();
    let directive = line.trim_ascii();
    let text = directive
        .strip_prefix(b"line")
        .unwrap_or(directive)
        .trim_ascii_start();
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let Some(file_name) = text[digits..].trim_ascii_start().strip_prefix(b"\"") else {
        return false;
    };
    let Some(close) = file_name.iter().position(|&b| b == b'"') else {
        return false;
    };
    digits > 0
        && file_name[close + 1..]
            .iter()
            .all(|&b| b.is_ascii_digit() || is(b, class::WHITESPACE))
}

/// The end of the source text after the `.source_begin` that ends at `pos`: after the next line that is `.source_end`. `None` without such a
/// line, and if there is more on the line of `.source_begin`. Manual 11.5.6.
#[must_use]
pub fn source_text_end(src: &[u8], pos: usize) -> Option<usize> {
    let mut end = pos;
    for (index, line) in src.get(pos..)?.split_inclusive(|b| *b == b'\n').enumerate() {
        end += line.len();
        match line.trim_ascii() {
            b".source_end" if index > 0 => return Some(end),
            [_, ..] if index == 0 => return None,
            _ => {}
        }
    }
    None
}

/// The end of the string whose `"` is at `pos`, and whether it is closed. Strings have no escape sequences and may contain newlines; one that is never
/// closed ends with its line.
#[must_use]
pub fn string_end(src: &[u8], pos: usize) -> (usize, bool) {
    let text = src.get(pos + 1..).unwrap_or_default();
    match memchr::memchr(b'"', text) {
        Some(i) => (pos + 1 + i + 1, true),
        None => (line_end(src, pos), false),
    }
}
