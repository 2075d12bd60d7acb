//! The whitespace and comments that belong to each statement or item.
//!
//! The text up to and including the first newline after a statement belongs to it (*trailing*); the rest of the gap up to
//! the next statement belongs to that one (*leading*). Without a newline the whole gap is trailing. The part of the leading
//! text that directly precedes a statement, after the last empty line, is *attached*: comments there are about the
//! statement, comments above an empty line are not.

use crate::body::StmtSpan;
use crate::edit_log::Edits;
use crate::lex::{Lexer, TokenKind};
use crate::{Body, EntityId, Module, Span};

/// The text of the parsed statements of a body, or of the items of a module.
#[derive(Copy, Clone, Debug)]
pub struct TriviaMap<'m> {
    source: &'m [u8],
    spans: &'m [StmtSpan],
    /// The offset that the spans count from.
    base: u32,
    /// The offset of the text before the first statement, after `{`.
    start: u32,
    /// The end of the text after the last statement, before `}`.
    end: u32,
    /// The number of parsed statements.
    parsed: usize,
}

/// A statement or an item with the text that belongs to it.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub struct Extent {
    /// The text before it.
    pub leading: Span,
    /// The offset of the *attached* part of the leading text.
    pub attached: u32,
    /// The span of its tokens.
    pub statement: Span,
    /// The text after it.
    pub trailing: Span,
    /// Whether there are comments between its tokens.
    pub has_comments: bool,
}

impl Extent {
    /// The statement with all text that belongs to it.
    #[must_use]
    pub fn whole(&self) -> Span {
        Span::new(self.leading.start, self.trailing.end)
    }

    /// The part that is removed with the statement: the attached text, the statement and the text after it.
    #[must_use]
    pub fn removal(&self) -> Span {
        Span::new(self.attached, self.trailing.end)
    }

    /// The statement with its comments, without whitespace around them.
    #[must_use]
    pub fn with_comments(&self, source: &[u8]) -> Span {
        let attached = Span::new(self.attached, self.statement.start).of(source);
        let trailing = self.trailing.of(source);
        let whitespace = attached.len() - attached.trim_ascii_start().len();
        Span::new(
            self.attached + whitespace as u32,
            self.statement.end + trailing.trim_ascii_end().len() as u32,
        )
    }
}

impl<'m> TriviaMap<'m> {
    /// The map of the items of a module.
    #[must_use]
    pub fn of_module(module: &'m Module) -> Self {
        let spans = module.item_spans();
        Self {
            source: module.source(),
            spans,
            base: 0,
            start: 0,
            end: module.source().len() as u32,
            parsed: parsed_count(spans, module.edits()),
        }
    }

    /// The map of the statements of a body.
    #[must_use]
    pub fn of_body(module: &'m Module, body: &'m Body) -> Self {
        let spans = body.stmt_spans();
        Self {
            source: module.source(),
            spans,
            base: body.base(),
            start: body.base() + 1,
            end: (body.base() + body.end()).saturating_sub(u32::from(body.is_closed())),
            parsed: parsed_count(spans, body.edits()),
        }
    }

    fn span(&self, index: usize) -> Span {
        self.spans
            .get(index)
            .map_or(Span::default(), |s| s.span().shifted(self.base))
    }

    /// The gap before a statement; after the last one, the gap before the end.
    fn gap(&self, index: usize) -> Span {
        let start = match index.checked_sub(1) {
            Some(previous) => self.span(previous).end,
            None => self.start,
        };
        let end = if index < self.parsed {
            self.span(index).start
        } else {
            self.end
        };
        Span::new(start, end.max(start))
    }

    /// The offset of the leading text in the gap before a statement, and the offset of its attached part.
    fn split(&self, index: usize) -> (u32, u32) {
        let gap = self.gap(index);
        let text = gap.of(self.source);
        // At the start of a file, all text is leading, except for a byte order mark.
        let has_mark = gap.start == 0 && text.starts_with(b"\xEF\xBB\xBF");
        let skipped = if has_mark { 3 } else { 0 };
        let mut leading = (gap.start == 0).then_some(skipped);
        let mut attached = skipped;
        let mut has_leading_comment = false;
        let trivia = text.get(skipped as usize..).unwrap_or_default();
        for token in Lexer::fragment(trivia) {
            let bytes = token.span.of(trivia);
            if token.kind != TokenKind::Whitespace {
                has_leading_comment |= leading.is_some();
                continue;
            }
            let Some(newline) = bytes.iter().position(|&b| b == b'\n') else {
                continue;
            };
            let line_end = skipped + token.span.start + newline as u32 + 1;
            if leading.is_none() {
                leading = Some(line_end);
                attached = line_end;
            } else if has_leading_comment && bytes.iter().filter(|&&b| b == b'\n').count() > 1 {
                attached = line_end;
                has_leading_comment = false;
            }
        }
        match leading {
            Some(leading) => (gap.start + leading, gap.start + attached),
            None => (gap.end, gap.end),
        }
    }

    /// The extent of a parsed statement.
    #[must_use]
    pub fn extent(&self, index: usize) -> Extent {
        let statement = self.span(index);
        let (leading, attached) = self.split(index);
        Extent {
            leading: Span::new(leading, statement.start),
            attached,
            statement,
            trailing: Span::new(statement.end, self.split(index + 1).0),
            has_comments: self.spans.get(index).is_some_and(|s| s.has_comments()),
        }
    }

    /// The text before the first statement that does not belong to it, from `{` on.
    #[must_use]
    pub fn head(&self) -> Span {
        Span::new(self.start.saturating_sub(1).max(self.base), self.split(0).0)
    }

    /// The text after the last statement that does not belong to it, up to `}`.
    #[must_use]
    pub fn tail(&self) -> Span {
        Span::new(self.split(self.parsed).0, self.end)
    }

    /// The whitespace before a statement if it is the first on its line.
    #[must_use]
    pub fn indent(&self, index: usize) -> Option<&'m [u8]> {
        let start = self.span(index).start as usize;
        let preceding = self.source.get(..start)?;
        let spaces = preceding
            .iter()
            .rev()
            .take_while(|b| matches!(b, b' ' | b'\t'))
            .count();
        let (lines, indent) = preceding.split_at(preceding.len() - spaces);
        lines.last().is_none_or(|&b| b == b'\n').then_some(indent)
    }
}

/// The number of statements that were parsed. Those that edits created are the last ones.
fn parsed_count<K: EntityId>(spans: &[StmtSpan], edits: Option<&Edits<K>>) -> usize {
    let Some(edits) = edits else {
        return spans.len();
    };
    let created = (0..spans.len())
        .rev()
        .take_while(|index| !edits.was_read(K::from_index(*index)));
    spans.len() - created.count()
}
