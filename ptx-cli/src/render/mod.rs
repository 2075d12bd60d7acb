//! Diagnostics as text: one line, one JSON object, or a picture of the source.

mod json;
pub(crate) mod labels;
mod snippet;

use std::borrow::Cow;
use std::fmt::Write as _;

use ptx_ir::{Diagnostic, LineIndex, Severity};

pub(crate) use json::{JsonSpan, SCHEMA};
pub(crate) use snippet::Painter;

/// A source with its lines, ready to show what is wrong with it.
pub(crate) struct Report<'s> {
    pub(crate) name: &'s str,
    pub(crate) source: &'s [u8],
    pub(crate) lines: &'s LineIndex,
}

impl Report<'_> {
    /// `FILE:LINE:COL: error[PTX0104]: message`
    pub(crate) fn short(&self, diagnostic: &Diagnostic) -> String {
        let at = self.lines.position(diagnostic.span.start);
        format!(
            "{}:{}:{}: {}[{}]: {}",
            self.name,
            at.line,
            at.column,
            diagnostic.severity.name(),
            diagnostic.code,
            clean(&diagnostic.message)
        )
    }
}

/// `text` fit for one line of a terminal: control characters are escaped.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if c.is_control() {
            let _ = write!(cleaned, "{}", c.escape_default());
        } else {
            cleaned.push(c);
        }
    }
    Cow::Owned(cleaned)
}

/// `1 error`, `2 errors`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// How many errors and how many warnings there are.
pub(crate) fn tally(diagnostics: &[Diagnostic]) -> (usize, usize) {
    let errors = diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Error)
        .count();
    (errors, diagnostics.len() - errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(clean("a `b` ä"), "a `b` ä");
        assert_eq!(clean("a\nb\u{1b}[0m"), "a\\nb\\u{1b}[0m");
    }

    #[test]
    fn one_and_many() {
        assert_eq!(counted(1, "error"), "1 error");
        assert_eq!(counted(0, "error"), "0 errors");
    }
}
