//! Comments that suppress warnings: `// ptxkit: allow(unused-register)`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::{iter, mem};

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Body, Code, Diagnostic, Module, Severity, Span};

use super::kinds::{Kind, kind};

/// The prefix of such a comment after `//` and spaces.
const PREFIX: &str = "ptxkit:";

/// The kinds of warnings that comments of a module suppress, and the ranges in which they do.
///
/// A comment before the first token applies to the whole file. A comment on a separate line applies to the statement, declaration or
/// function that follows, and a comment at the end of a line to that line.
#[derive(Default, Debug)]
pub struct Allowed {
    /// For each code, the ranges in which it is suppressed, in order and without overlap.
    ranges: BTreeMap<Code, Vec<Range<u32>>>,
    /// Errors in other comments that begin with the prefix, with their spans.
    pub mistakes: Vec<(Span, String)>,
}

impl Allowed {
    /// Reads the comments of a module.
    #[must_use]
    pub fn new(module: &Module) -> Self {
        let mut allowed = Self::default();
        let source = module.source();
        if !has_prefix(source) {
            return allowed;
        }
        let statements = Statements::new(module);
        // The start of the first token of the line.
        let mut line_start = None;
        // The kinds of comments that apply to the next statement.
        let mut pending = Vec::new();
        let mut is_header = true;
        for token in Lexer::new(source) {
            match token.kind {
                TokenKind::Whitespace if token.span.of(source).contains(&b'\n') => {
                    line_start = None;
                }
                TokenKind::LineComment => {
                    let kinds = allowed.kinds(token.span, source);
                    if is_header {
                        allowed.add(0..u32::MAX, kinds);
                    } else if let Some(start) = line_start {
                        allowed.add(start..token.span.start, kinds);
                    } else {
                        pending.extend(kinds);
                    }
                }
                kind if kind.is_trivia() => {}
                _ => {
                    is_header = false;
                    line_start = line_start.or(Some(token.span.start));
                    if !pending.is_empty() {
                        allowed.add(statements.range(token.span), pending.drain(..));
                    }
                }
            }
        }
        for ranges in allowed.ranges.values_mut() {
            *ranges = merged(mem::take(ranges));
        }
        allowed
    }

    fn add(&mut self, range: Range<u32>, kinds: impl IntoIterator<Item = Kind>) {
        for kind in kinds {
            for code in Code::ALL.iter().filter(|c| kind.contains(**c)) {
                self.ranges.entry(*code).or_default().push(range.clone());
            }
        }
    }

    /// The kinds that a comment names; none if the comment has another purpose or a mistake.
    fn kinds(&mut self, comment: Span, source: &[u8]) -> Vec<Kind> {
        let text = String::from_utf8_lossy(comment.of(source));
        let Some(text) = text.trim_start_matches('/').trim().strip_prefix(PREFIX) else {
            return Vec::new();
        };
        let list = text
            .trim()
            .strip_prefix("allow(")
            .and_then(|t| t.split_once(')'));
        let kinds = match list {
            Some((list, _)) => list.split(',').map(|k| kind(k.trim())).collect(),
            None => Err(format!(
                "expected `{PREFIX} allow(KIND)`, found `{PREFIX}{text}`"
            )),
        };
        kinds.unwrap_or_else(|mistake| {
            self.mistakes.push((comment, mistake));
            Vec::new()
        })
    }

    /// Whether no comment suppresses a diagnostic. Of a warning with several spans, only those outside of the suppressed ranges are kept.
    #[must_use]
    pub fn keeps(&self, diagnostic: &mut Diagnostic) -> bool {
        let ranges = self.ranges.get(&diagnostic.code);
        let Some(ranges) = ranges.filter(|_| diagnostic.severity == Severity::Warning) else {
            return true;
        };
        let is_reported = |span: &Span| {
            let next = ranges.partition_point(|range| range.start <= span.start);
            let preceding = next.checked_sub(1).and_then(|index| ranges.get(index));
            !preceding.is_some_and(|range| range.contains(&span.start))
        };
        let mut occurrences = iter::once((diagnostic.span, None))
            .chain(diagnostic.take_repeats())
            .filter(|(span, _)| is_reported(span));
        let Some((first, message)) = occurrences.next() else {
            return false;
        };
        diagnostic.span = first;
        diagnostic.message = message.unwrap_or_else(|| core::mem::take(&mut diagnostic.message));
        diagnostic.set_repeats(occurrences);
        true
    }
}

/// Whether a text contains the prefix of such comments.
fn has_prefix(source: &[u8]) -> bool {
    memchr::memmem::find(source, PREFIX.as_bytes()).is_some()
}

/// Sorts ranges and combines those that overlap.
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

/// Finds the statement that begins at an offset.
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
        let next_item = self.items.partition_point(|span| span.start < start);
        let item = self.items.get(next_item).copied();
        let next_body = self.bodies.partition_point(|body| body.base() <= start);
        let body = next_body
            .checked_sub(1)
            .and_then(|index| self.bodies.get(index));
        let statement = body.and_then(|body| {
            let spans = body.stmt_spans();
            let index = spans.partition_point(|s| body.base() + s.span().start < start);
            let span = spans.get(index)?.span();
            Some(Span::new(body.base() + span.start, body.base() + span.end))
        });
        let span = item
            .into_iter()
            .chain(statement)
            .find(|span| span.start == start)
            .unwrap_or(token);
        span.start..span.end
    }
}
