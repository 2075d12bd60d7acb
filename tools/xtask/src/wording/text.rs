//! A file as a sequence of words, with identifiers split at underscores and capital letters.

use std::ops::Range;
use std::path::Path;

/// A word of a file.
pub(super) struct Word {
    /// The text in lower case.
    pub(super) text: String,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether only whitespace, underscores or comment signs separate the word from the previous one.
    pub(super) is_joined: bool,
    /// Whether the word is Rust code: neither in a comment nor in a string.
    pub(super) is_code: bool,
}

/// A text with its words.
pub(super) struct Document {
    pub(super) text: String,
    pub(super) words: Vec<Word>,
    /// The offsets of the newlines.
    newlines: Vec<usize>,
}

impl Document {
    pub(super) fn new(path: &Path, text: String) -> Self {
        let code = if path.extension().is_some_and(|e| e == "rs") {
            code_bytes(&text)
        } else {
            Vec::new()
        };
        let words = words(&text, &code);
        let newlines = text.match_indices('\n').map(|(offset, _)| offset).collect();
        Self {
            text,
            words,
            newlines,
        }
    }

    /// A document whose text is a path.
    pub(super) fn from_path(path: &str) -> Self {
        Self::new(Path::new(""), path.to_owned())
    }

    /// The line of an offset, from one.
    pub(super) fn line(&self, offset: usize) -> usize {
        self.newlines.partition_point(|&newline| newline < offset) + 1
    }

    /// Whether `range` is a part of an occurrence of `phrase`, which consists of whole words in lower case.
    pub(super) fn is_in_phrase(&self, phrase: &str, range: &Range<usize>) -> bool {
        let context_start = self.char_boundary(range.start.saturating_sub(phrase.len()));
        let context_end = self.char_boundary((range.end + phrase.len()).min(self.text.len()));
        let context = self
            .text
            .get(context_start..context_end)
            .unwrap_or_default()
            .to_ascii_lowercase();
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        context.match_indices(phrase).any(|(start, _)| {
            let end = start + phrase.len();
            let previous = context.get(..start).and_then(|t| t.chars().next_back());
            let next = context.get(end..).and_then(|t| t.chars().next());
            context_start + start <= range.start
                && range.end <= context_start + end
                && !is_word(previous)
                && !is_word(next)
        })
    }

    /// The last boundary between characters at or before an offset.
    fn char_boundary(&self, mut offset: usize) -> usize {
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        offset
    }
}

/// Splits a text into words.
fn words(text: &str, code: &[bool]) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let bytes = text.as_bytes();
    let (mut offset, mut is_joined) = (0, false);
    while let Some(&byte) = bytes.get(offset) {
        if !byte.is_ascii_alphabetic() {
            is_joined &= byte.is_ascii_whitespace() || b"_-/!#*".contains(&byte);
            offset += 1;
            continue;
        }
        let end = word_end(bytes, offset);
        let text = text
            .get(offset..end)
            .unwrap_or_default()
            .to_ascii_lowercase();
        words.push(Word {
            text,
            start: offset,
            end,
            is_joined,
            is_code: code.get(offset) == Some(&true),
        });
        (offset, is_joined) = (end, true);
    }
    words
}

/// The end of the word at an offset. A capital letter starts another word.
fn word_end(bytes: &[u8], start: usize) -> usize {
    let is_lower = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_lowercase);
    let mut end = start + 1;
    while bytes.get(end).is_some_and(u8::is_ascii_alphabetic) {
        if !is_lower(end) && (is_lower(end - 1) || is_lower(end + 1)) {
            break;
        }
        end += 1;
    }
    end
}

/// For each byte of a Rust source, whether it is neither in a comment nor in a string.
fn code_bytes(text: &str) -> Vec<bool> {
    let bytes = text.as_bytes();
    let mut code = vec![true; bytes.len()];
    let mut offset = 0;
    while offset < bytes.len() {
        let end = match bytes.get(offset..).unwrap_or_default() {
            [b'/', b'/', ..] => end_of(text, offset, "\n"),
            [b'/', b'*', ..] => end_of(text, offset, "*/"),
            [b'r', b'"', ..] => end_of(text, offset + 2, "\""),
            [b'r', b'#', b'"', ..] => end_of(text, offset + 3, "\"#"),
            [b'"', ..] => string_end(bytes, offset + 1),
            [b'\'', b'\\', ..] => offset + 4,
            [b'\'', _, b'\'', ..] => offset + 3,
            _ => {
                offset += 1;
                continue;
            }
        };
        let end = end.min(bytes.len());
        if let Some(token) = code.get_mut(offset..end) {
            token.fill(false);
        }
        offset = end.max(offset + 1);
    }
    code
}

/// The offset after the first `delimiter` from `start` on.
fn end_of(text: &str, start: usize, delimiter: &str) -> usize {
    text.as_bytes()
        .get(start..)
        .and_then(|t| {
            t.windows(delimiter.len())
                .position(|window| window == delimiter.as_bytes())
        })
        .map_or(text.len(), |position| start + position + delimiter.len())
}

/// The offset after the quote that ends a string.
fn string_end(bytes: &[u8], content: usize) -> usize {
    let mut offset = content;
    while let Some(&byte) = bytes.get(offset) {
        offset += match byte {
            b'"' => return offset + 1,
            b'\\' => 2,
            _ => 1,
        };
    }
    offset
}
