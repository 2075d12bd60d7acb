//! Edited bodies and modules in the canonical style: the gap between two statements is the text that belongs to them.

use alloc::vec::Vec;

use ptx_ir::RemovedComments;
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::raw::trivia_map::{Extent, TriviaMap};
use ptx_ir::raw::{Change, Edits};
use ptx_ir::{Body, EntityId, Item, ItemId, Module, Span, Statement, StmtId};

use crate::canonical::{Printer, level, without_mark};
use crate::sink::Sink;
use crate::trivia::Preceding;

/// The text between two statements or items.
struct Gap<'m> {
    module: &'m Module,
    text: Vec<u8>,
    /// The element before the gap.
    preceding: Preceding,
    /// The offset in the source of the end of the last statement with its trivia.
    source_end: u32,
}

impl<'m> Gap<'m> {
    /// The text before the first statement.
    fn new(module: &'m Module, head: Span) -> Self {
        let mut gap = Self {
            module,
            text: Vec::new(),
            preceding: Preceding::Start,
            source_end: head.end,
        };
        gap.add(head);
        gap
    }

    /// Continues with a statement or item and its trivia, if it was parsed. Returns whether it is printed.
    fn next(&mut self, extent: Option<&Extent>, is_present: bool, change: Option<&Change>) -> bool {
        if let Some(extent) = extent {
            if self.source_end != extent.leading.start {
                self.separate();
            }
            self.source_end = extent.trailing.end;
            match change {
                Some(&Change::Removed(comments)) if !is_present => {
                    self.add_remaining_comments(extent, comments);
                }
                _ if is_present => self.add(extent.leading),
                _ => {}
            }
        }
        is_present
    }

    /// Adds text of the source.
    fn add(&mut self, span: Span) {
        self.text.extend_from_slice(span.of(self.module.source()));
    }

    /// Adds the comments of a removed statement that are kept.
    fn add_remaining_comments(&mut self, extent: &Extent, comments: RemovedComments) {
        if comments == RemovedComments::All {
            return self.add(Span::new(extent.leading.start, extent.attached));
        }
        self.add(extent.leading);
        if extent.has_comments && comments == RemovedComments::None {
            let source = extent.statement.of(self.module.source());
            for token in Lexer::fragment(source).filter(|t| t.kind.is_trivia()) {
                if token.kind != TokenKind::Whitespace {
                    self.text.extend_from_slice(token.span.of(source));
                    self.text.push(b'\n');
                }
            }
        }
        let trailing = extent.trailing.of(self.module.source());
        if !trailing.trim_ascii().is_empty() {
            self.text.extend_from_slice(trailing);
        }
    }

    fn end(&mut self, extent: Option<&Extent>) {
        self.text.clear();
        self.preceding = Preceding::Statement;
        match extent {
            Some(extent) => self.add(extent.trailing),
            None => self.text.push(b'\n'),
        }
    }

    /// Ends a comment that extends to the end of its line with a newline, which the source had elsewhere.
    fn separate(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with(b"\n") {
            self.text.push(b'\n');
        }
    }
}

impl<'m, S: Sink> Printer<'m, '_, S> {
    pub(crate) fn edited_body(&mut self, body: &'m Body, edits: &'m Edits<StmtId>) {
        let trivia = TriviaMap::of_body(self.module, body);
        self.out.text(b"{\n");
        let mut depth = 0;
        let head = trivia.head().end;
        let mut gap = Gap::new(
            self.module,
            Span::new(body.base() + 1, head.max(body.base() + 1)),
        );
        gap.source_end = head;
        let mut next = edits.first();
        while let Some(id) = next {
            next = edits.next(id);
            let extent = edits.was_read(id).then(|| trivia.extent(id.index()));
            let statement = body.statement(id).unwrap_or(Statement::Removed);
            let is_present = statement != Statement::Removed;
            if !gap.next(extent.as_ref(), is_present, edits.change(id)) {
                continue;
            }
            let level = level(statement, &mut depth);
            self.gap(&gap.text, gap.preceding, depth + 1);
            let inner = extent.as_ref().filter(|e| e.has_comments);
            if let Some(extent) = inner.filter(|_| !matches!(statement, Statement::Opaque(_))) {
                self.inner_comments(extent.statement.of(self.module.source()), depth + 1);
            }
            self.indent(level);
            self.statement_of(body, id, statement);
            depth += usize::from(matches!(statement, Statement::Open(_)));
            gap.end(extent.as_ref());
        }
        gap.separate();
        gap.add(trivia.tail());
        self.end_gap(&gap.text, gap.preceding, 1);
        if body.is_closed() {
            self.out.byte(b'}');
        }
    }

    pub(crate) fn edited_module(&mut self, edits: &'m Edits<ItemId>) {
        let module = self.module;
        let trivia = TriviaMap::of_module(module);
        let mut gap = Gap::new(module, trivia.head());
        let mut next = edits.first();
        while let Some(id) = next {
            next = edits.next(id);
            let extent = edits.was_read(id).then(|| trivia.extent(id.index()));
            let item = module.item(id).unwrap_or(Item::Removed);
            if !gap.next(extent.as_ref(), item != Item::Removed, edits.change(id)) {
                continue;
            }
            self.gap(without_mark(&gap.text), gap.preceding, 0);
            let span = extent.map_or(Span::default(), |e| e.statement);
            if extent.is_some_and(|e| e.has_comments) {
                let end = match item {
                    Item::Function(f) => module.body(f).map_or(span.end, |b| b.base()),
                    _ => span.end,
                };
                self.inner_comments(Span::new(span.start, end).of(module.source()), 0);
            }
            self.change = edits.change(id);
            self.item(item, span);
            gap.end(extent.as_ref());
        }
        gap.separate();
        gap.add(trivia.tail());
        self.end_gap(without_mark(&gap.text), gap.preceding, 0);
    }
}
