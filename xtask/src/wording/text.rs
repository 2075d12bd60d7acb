//! A file as a sequence of words, with identifiers split at underscores and capital letters.

use std::path::Path;

/// A word of a file.
pub(super) struct Word {
    /// In lower case.
    pub(super) text: String,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether only whitespace, underscores or comment signs separate it from the word before.
    pub(super) joined: bool,
    /// Whether it is Rust code: neither a comment nor a string.
    pub(super) code: bool,
}

/// A text with its words.
pub(super) struct Document {
    pub(super) text: String,
    pub(super) words: Vec<Word>,
    lines: Vec<usize>,
}

impl Document {
    pub(super) fn new(path: &Path, text: String) -> Self {
        let rust = path.extension().is_some_and(|e| e == "rs");
        let code = if rust { code_of(&text) } else { Vec::new() };
        let words = words(&text, &code);
        let lines = text.match_indices('\n').map(|(at, _)| at).collect();
        Self { text, words, lines }
    }

    /// The path itself as a document.
    pub(super) fn name(path: &str) -> Self {
        Self::new(Path::new(""), path.to_owned())
    }

    /// The line of an offset, from one.
    pub(super) fn line(&self, offset: usize) -> usize {
        self.lines.partition_point(|&at| at < offset) + 1
    }

    /// Whether `longer` is written somewhere around `start..end`, as a whole word.
    pub(super) fn covers(&self, longer: &str, start: usize, end: usize) -> bool {
        let floor = |mut at: usize| {
            while !self.text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let from = floor(start.saturating_sub(longer.len()));
        let to = floor((end + longer.len()).min(self.text.len()));
        let around = self
            .text
            .get(from..to)
            .unwrap_or_default()
            .to_ascii_lowercase();
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        around.match_indices(longer).any(|(at, _)| {
            let before = around.get(..at).and_then(|t| t.chars().next_back());
            let after = around
                .get(at + longer.len()..)
                .and_then(|t| t.chars().next());
            let inside = from + at <= start && end <= from + at + longer.len();
            inside && !is_word(before) && !is_word(after)
        })
    }
}

/// Splits a text into words.
fn words(text: &str, code: &[bool]) -> Vec<Word> {
    let mut out: Vec<Word> = Vec::new();
    let bytes = text.as_bytes();
    let (mut at, mut joined) = (0, false);
    while let Some(&byte) = bytes.get(at) {
        if !byte.is_ascii_alphabetic() {
            joined &= byte.is_ascii_whitespace() || b"_-/!#*".contains(&byte);
            at += 1;
            continue;
        }
        let end = word_end(bytes, at);
        let text = text.get(at..end).unwrap_or_default().to_ascii_lowercase();
        out.push(Word {
            text,
            start: at,
            end,
            joined,
            code: code.get(at) == Some(&true),
        });
        (at, joined) = (end, true);
    }
    out
}

/// Where the word that starts at `at` ends: before a capital letter that starts another one.
fn word_end(bytes: &[u8], at: usize) -> usize {
    let lower = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_lowercase);
    let mut end = at + 1;
    while bytes.get(end).is_some_and(u8::is_ascii_alphabetic) {
        let capital = !lower(end);
        if capital && (lower(end - 1) || lower(end + 1)) {
            break;
        }
        end += 1;
    }
    end
}

/// For each byte of a Rust source, whether it is neither in a comment nor in a string.
fn code_of(text: &str) -> Vec<bool> {
    let bytes = text.as_bytes();
    let mut code = vec![true; bytes.len()];
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes.get(at..).unwrap_or_default() {
            [b'/', b'/', ..] => find(text, at, "\n"),
            [b'/', b'*', ..] => find(text, at, "*/"),
            [b'r', b'"', ..] => find(text, at + 2, "\""),
            [b'r', b'#', b'"', ..] => find(text, at + 3, "\"#"),
            [b'"', ..] => string_end(bytes, at + 1),
            [b'\'', b'\\', ..] => at + 4,
            [b'\'', _, b'\'', ..] => at + 3,
            _ => {
                at += 1;
                continue;
            }
        };
        let end = end.min(bytes.len());
        code.get_mut(at..end)
            .into_iter()
            .flatten()
            .for_each(|c| *c = false);
        at = end.max(at + 1);
    }
    code
}

fn find(text: &str, from: usize, end: &str) -> usize {
    let at = text
        .as_bytes()
        .get(from..)
        .and_then(|t| t.windows(end.len()).position(|w| w == end.as_bytes()));
    at.map_or(text.len(), |at| from + at + end.len())
}

fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(&byte) = bytes.get(at) {
        at += match byte {
            b'"' => return at + 1,
            b'\\' => 2,
            _ => 1,
        };
    }
    at
}
