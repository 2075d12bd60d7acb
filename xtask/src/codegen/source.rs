//! The text of an `.isa` file as lines, and a cursor over one line that knows how to complain: every error names the
//! file, the line, the column and what was expected there.

use std::fmt;
use std::sync::Arc;

/// A place in an `.isa` file; lines and columns count from one.
#[derive(Clone, Debug)]
pub(crate) struct Pos {
    pub(crate) file: Arc<str>,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl fmt::Display for Pos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// What is wrong in an `.isa` file, and where.
#[derive(Debug)]
pub(crate) struct Error {
    pub(crate) pos: Pos,
    pub(crate) message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.pos, self.message)
    }
}

impl std::error::Error for Error {}

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// One line without its comment, blank lines left out.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) file: Arc<str>,
    pub(crate) number: usize,
    /// Blanks before the first word.
    pub(crate) indent: usize,
    /// The whole line, indentation included, so that columns can be counted.
    pub(crate) text: Arc<str>,
}

/// Splits a file into lines: `#` begins a comment unless it stands in a string.
pub(crate) fn lines(file: &str, text: &str) -> Vec<Line> {
    let file: Arc<str> = file.into();
    let mut out = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let mut quoted = false;
        let end = line.find(|c| {
            quoted ^= c == '"';
            c == '#' && !quoted
        });
        let line = line[..end.unwrap_or(line.len())].trim_end();
        if !line.is_empty() {
            let indent = line.len() - line.trim_start().len();
            out.push(Line {
                file: file.clone(),
                number: i + 1,
                indent,
                text: line.into(),
            });
        }
    }
    out
}

/// Characters that stand for themselves and end a word.
const PUNCTUATION: &[char] = &['{', '}', '[', ']', '(', ')', ',', ';', '"', '|', '='];

/// A position in a line.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    line: Line,
    at: usize,
}

impl Cursor {
    pub(crate) fn new(line: &Line) -> Self {
        Self {
            at: line.indent,
            line: line.clone(),
        }
    }

    pub(crate) fn rest(&self) -> &str {
        &self.line.text[self.at..]
    }

    /// The place of the next character that is no blank.
    pub(crate) fn pos(&self) -> Pos {
        let blanks = self.rest().len() - self.rest().trim_start().len();
        Pos {
            file: self.line.file.clone(),
            line: self.line.number,
            column: self.at + blanks + 1,
        }
    }

    pub(crate) fn skip_blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    pub(crate) fn at_end(&mut self) -> bool {
        self.skip_blanks();
        self.rest().is_empty()
    }

    pub(crate) fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(Error {
            pos: self.pos(),
            message: message.into(),
        })
    }

    /// "expected X, found Y" at the cursor.
    pub(crate) fn expected<T>(&mut self, what: &str) -> Result<T> {
        self.skip_blanks();
        let rest = self.rest();
        let found = rest
            .split_whitespace()
            .next()
            .unwrap_or("the end of the line")
            .to_string();
        self.error(format!("expected {what}, found {found}"))
    }

    /// Whether the text goes on with `text`, which is then taken.
    pub(crate) fn eat(&mut self, text: &str) -> bool {
        self.skip_blanks();
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Like [`eat`](Self::eat), for a whole word.
    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek_word() == word;
        if found {
            self.skip_blanks();
            self.at += word.len();
        }
        found
    }

    pub(crate) fn expect(&mut self, text: &str) -> Result<()> {
        if self.eat(text) {
            Ok(())
        } else {
            self.expected(&format!("`{text}`"))
        }
    }

    pub(crate) fn peek_char(&mut self) -> Option<char> {
        self.skip_blanks();
        self.rest().chars().next()
    }

    /// The word at the cursor, empty at the end of the line or before punctuation.
    pub(crate) fn peek_word(&mut self) -> String {
        self.skip_blanks();
        let rest = self.rest();
        let end = rest
            .find(|c: char| c.is_whitespace() || PUNCTUATION.contains(&c))
            .unwrap_or(rest.len());
        rest[..end].to_string()
    }

    /// The next word; `what` names it in the complaint when there is none.
    pub(crate) fn word(&mut self, what: &str) -> Result<String> {
        let word = self.peek_word();
        if word.is_empty() {
            return self.expected(what);
        }
        self.at += word.len();
        Ok(word)
    }

    /// The next run of characters up to a blank, punctuation and all: a word with a `{…}` pattern in it, which may
    /// itself hold blanks.
    pub(crate) fn pattern(&mut self, what: &str) -> Result<String> {
        self.skip_blanks();
        let mut depth = 0;
        let end = self
            .rest()
            .find(|c: char| {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    _ => {}
                }
                depth == 0 && c.is_whitespace()
            })
            .unwrap_or(self.rest().len());
        if end == 0 {
            return self.expected(what);
        }
        let word = self.rest()[..end].to_string();
        self.at += end;
        Ok(word)
    }

    pub(crate) fn string(&mut self, what: &str) -> Result<String> {
        if !self.eat("\"") {
            return self.expected(what);
        }
        let Some(end) = self.rest().find('"') else {
            return self.error("the string does not end on this line");
        };
        let text = self.rest()[..end].to_string();
        self.at += end + 1;
        Ok(text)
    }

    pub(crate) fn number<N: std::str::FromStr>(&mut self, what: &str) -> Result<N> {
        let mut ahead = self.clone();
        let word = ahead.word(what)?;
        match word.parse() {
            Ok(number) => {
                *self = ahead;
                Ok(number)
            }
            Err(_) => self.expected(what),
        }
    }

    /// `9.2`
    pub(crate) fn version(&mut self) -> Result<(u8, u8)> {
        let mut ahead = self.clone();
        let word = ahead.word("a version of the PTX ISA")?;
        let parts = word
            .split_once('.')
            .and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        match parts {
            Some(version) => {
                *self = ahead;
                Ok(version)
            }
            None => self.expected("a version of the PTX ISA"),
        }
    }

    pub(crate) fn end(&mut self) -> Result<()> {
        if self.at_end() {
            Ok(())
        } else {
            self.expected("the end of the line")
        }
    }
}

/// Writes out the ranges of a pattern: `%pm{0..3}`, `.m64n{8..256 step 8}k16`. `None` when a range cannot be read.
pub(crate) fn expand(pattern: &str) -> Option<Vec<String>> {
    let Some((head, rest)) = pattern.split_once('{') else {
        return Some(vec![pattern.to_string()]);
    };
    let (range, tail) = rest.split_once('}')?;
    let (range, step) = match range.split_once(" step ") {
        Some((range, step)) => (range, step.trim().parse().ok()?),
        None => (range, 1),
    };
    let (first, last) = range.split_once("..")?;
    let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    let mut out = Vec::new();
    for n in (first..=last).step_by(step) {
        for tail in expand(tail)? {
            out.push(format!("{head}{n}{tail}"));
        }
    }
    Some(out)
}
