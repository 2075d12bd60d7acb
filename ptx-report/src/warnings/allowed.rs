//! Comments that suppress warnings: `// ptxkit: allow(unused-register)`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::{iter, mem};

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Body, Code, Diagnostic, Module, Severity, Span};

use super::kinds::{Kind, kind};

/// How such a comment begins, after `//` and spaces.
const MARK: &str = "ptxkit:";

/// The kinds of warnings that comments of a module suppress, and the ranges in which they do.
///
/// A comment before the first token applies to the whole file. One on a separate line applies to the statement, declaration or
/// function after it, and one at the end of a line to that line.
#[derive(Default, Debug)]
pub struct Allowed {
    /// For each code, the ranges in which it is suppressed, in order and without overlap.
    ranges: BTreeMap<Code, Vec<Range<u32>>>,
    /// Errors in other comments that begin with the mark, and where they are.
    pub mistakes: Vec<(Span, String)>,
}

impl Allowed {
    /// Reads the comments of a module.
    #[must_use]
    pub fn new(module: &Module) -> Self {
        let mut allowed = Self::default();
        let source = module.source();
        if !has_mark(source) {
            return allowed;
        }
        let statements = Statements::new(module);
        // The first token of the line, and the comments that wait for the token after them.
        let (mut line, mut waiting, mut header) = (None, Vec::new(), true);
        for token in Lexer::new(source) {
            match token.kind {
                TokenKind::Whitespace if token.span.of(source).contains(&b'\n') => line = None,
                TokenKind::LineComment => {
                    let kinds = allowed.kinds(token.span, source);
                    match line {
                        _ if header => allowed.add(0..u32::MAX, kinds),
                        Some(start) => allowed.add(start..token.span.start, kinds),
                        None => waiting.extend(kinds),
                    }
                }
                kind if kind.is_trivia() => {}
                _ => {
                    header = false;
                    line = line.or(Some(token.span.start));
                    if !waiting.is_empty() {
                        allowed.add(statements.range(token.span), waiting.drain(..));
                    }
                }
            }
        }
        allowed
            .ranges
            .values_mut()
            .for_each(|r| *r = merged(mem::take(r)));
        allowed
    }

    fn add(&mut self, range: Range<u32>, kinds: impl IntoIterator<Item = Kind>) {
        for kind in kinds {
            for code in Code::ALL.iter().filter(|c| kind.holds(**c)) {
                self.ranges.entry(*code).or_default().push(range.clone());
            }
        }
    }

    /// The kinds that a comment names; none if it is another comment or has a mistake.
    fn kinds(&mut self, comment: Span, source: &[u8]) -> Vec<Kind> {
        let text = String::from_utf8_lossy(comment.of(source));
        let Some(text) = text.trim_start_matches('/').trim().strip_prefix(MARK) else {
            return Vec::new();
        };
        let list = text
            .trim()
            .strip_prefix("allow(")
            .and_then(|t| t.split_once(')'));
        let kinds = match list {
            Some((list, _)) => list.split(',').map(|k| kind(k.trim())).collect(),
            None => Err(format!(
                "expected `{MARK} allow(KIND)`, found `{MARK}{text}`"
            )),
        };
        kinds.unwrap_or_else(|mistake| {
            self.mistakes.push((comment, mistake));
            Vec::new()
        })
    }

    /// Whether no comment suppresses a diagnostic. Of a warning with several spans, only those outside of the suppressed ranges are kept.
    #[must_use]
    pub fn keeps(&self, d: &mut Diagnostic) -> bool {
        let ranges = self.ranges.get(&d.code);
        let Some(ranges) = ranges.filter(|_| d.severity == Severity::Warning) else {
            return true;
        };
        let reported = |place: &Span| {
            let after = ranges.partition_point(|r| r.start <= place.start);
            let last = after.checked_sub(1).and_then(|i| ranges.get(i));
            !last.is_some_and(|r| r.contains(&place.start))
        };
        let places = iter::once((d.span, None)).chain(d.take_repeats());
        let mut places = places.filter(|(span, _)| reported(span));
        let Some((first, message)) = places.next() else {
            return false;
        };
        d.span = first;
        d.message = message.unwrap_or_else(|| core::mem::take(&mut d.message));
        d.set_repeats(places);
        true
    }
}

/// Whether a text has comments with the mark.
fn has_mark(source: &[u8]) -> bool {
    memchr::memmem::find(source, MARK.as_bytes()).is_some()
}

/// Ranges in order, those that overlap as one.
fn merged(mut ranges: Vec<Range<u32>>) -> Vec<Range<u32>> {
    ranges.sort_by_key(|r| r.start);
    let mut merged: Vec<Range<u32>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Finds what begins at an offset.
struct Statements<'m> {
    items: Vec<Span>,
    bodies: Vec<&'m Body>,
}

impl<'m> Statements<'m> {
    fn new(module: &'m Module) -> Self {
        Self {
            items: module.items().map(|(id, _)| module.span(id)).collect(),
            bodies: module.definitions().map(|(_, _, body)| body).collect(),
        }
    }

    /// The range of the statement, declaration or function that begins with a token; of the token if none does.
    fn range(&self, token: Span) -> Range<u32> {
        let start = token.start;
        let item = self.items.partition_point(|s| s.start < start);
        let item = self.items.get(item).copied();
        let body = self.bodies.partition_point(|b| b.base() <= start);
        let body = body.checked_sub(1).and_then(|i| self.bodies.get(i));
        let statement = body.and_then(|body| {
            let spans = body.stmt_spans();
            let at = spans.partition_point(|s| body.base() + s.span().start < start);
            let span = spans.get(at)?.span();
            Some(Span::new(body.base() + span.start, body.base() + span.end))
        });
        let found = item.into_iter().chain(statement).find(|s| s.start == start);
        let span = found.unwrap_or(token);
        span.start..span.end
    }
}
