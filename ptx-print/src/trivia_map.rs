//! What of the source belongs to which statement: itself, the text up to the first newline behind it, and the rest of the gap
//! before it.

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Body, EntityId, Module, Span, StmtSpan};

/// The statements that were read at one level: those of a body, or the items of a module.
#[derive(Copy, Clone)]
pub(crate) struct TriviaMap<'m> {
    source: &'m [u8],
    origins: &'m [StmtSpan],
    /// Where the source begins that the origins count from.
    base: u32,
    /// What lies before the first statement: `{`, or nothing.
    start: u32,
    /// What lies behind the last one: `}`, or nothing.
    end: u32,
    /// How many were read.
    read: usize,
}

/// A statement with the text that belongs to it.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Extent {
    pub(crate) leading: Span,
    pub(crate) statement: Span,
    pub(crate) trailing: Span,
    /// Whether comments stand inside it.
    pub(crate) comments: bool,
}

impl<'m> TriviaMap<'m> {
    pub(crate) fn of_module(module: &'m Module) -> Self {
        let origins = module.item_spans();
        let read = |n: usize| {
            let made = |i: &usize| module.edits().is_some_and(|e| !e.was_read(id(*i)));
            (0..n).rev().take_while(made).count()
        };
        Self {
            source: module.source(),
            origins,
            base: 0,
            start: 0,
            end: module.source().len() as u32,
            read: origins.len() - read(origins.len()),
        }
    }

    pub(crate) fn of_body(module: &'m Module, body: &'m Body) -> Self {
        let origins: &[StmtSpan] = body.stmt_spans();
        let made = |i: &usize| body.edits().is_some_and(|e| !e.was_read(id(*i)));
        let made = (0..origins.len()).rev().take_while(made).count();
        Self {
            source: module.source(),
            origins,
            base: body.base(),
            start: body.base() + 1,
            end: body.base() + body.end() - u32::from(body.is_closed()),
            read: origins.len() - made,
        }
    }

    fn span(&self, index: usize) -> Span {
        let origin = self.origins.get(index);
        origin.map_or(Span::default(), |o| o.span().shifted(self.base))
    }

    /// The gap before a statement; before the end for one too many.
    fn gap(&self, index: usize) -> Span {
        let start = match index.checked_sub(1) {
            Some(before) => self.span(before).end,
            None => self.start,
        };
        let end = if index < self.read {
            self.span(index).start
        } else {
            self.end
        };
        Span::new(start, end.max(start))
    }

    /// Where the text of the statement before ends in the gap before a statement: behind its first newline, or at its end.
    fn split(&self, index: usize) -> u32 {
        let gap = self.gap(index);
        if gap.start == 0 {
            // Nothing stands before it but a byte order mark.
            return if self.source.starts_with(b"\xEF\xBB\xBF") && gap.end >= 3 {
                3
            } else {
                0
            };
        }
        let text = gap.of(self.source);
        for token in Lexer::fragment(text) {
            if token.kind != TokenKind::Whitespace {
                continue;
            }
            let blank = token.span.of(text);
            if let Some(at) = blank.iter().position(|&b| b == b'\n') {
                return gap.start + token.span.start + at as u32 + 1;
            }
        }
        gap.end
    }

    /// The extent of a statement that was read.
    pub(crate) fn extent(&self, index: usize) -> Extent {
        let statement = self.span(index);
        Extent {
            leading: Span::new(self.split(index), statement.start),
            statement,
            trailing: Span::new(statement.end, self.split(index + 1)),
            comments: self.origins.get(index).is_some_and(|o| o.has_comments()),
        }
    }

    /// What belongs to the start of the level, from `{` on.
    pub(crate) fn head(&self) -> Span {
        Span::new(self.start.saturating_sub(1).max(self.base), self.split(0))
    }

    /// What belongs to its end, up to `}`.
    pub(crate) fn tail(&self) -> Span {
        Span::new(self.split(self.read), self.end)
    }

    /// The blanks before a statement if it is the first of its line.
    pub(crate) fn indent(&self, index: usize) -> Option<&'m [u8]> {
        let start = self.span(index).start as usize;
        let before = self.source.get(..start)?;
        let line = before
            .iter()
            .rposition(|&b| b == b'\n')
            .map_or(0, |i| i + 1);
        let blanks = before.get(line..)?;
        blanks
            .iter()
            .all(|&b| matches!(b, b' ' | b'\t'))
            .then_some(blanks)
    }
}

fn id<K: EntityId>(index: usize) -> K {
    K::from_index(index)
}
