//! Statements and comments in the order of the finished function, and blocks of them.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Body, CommentPlace, Comments, EntityId, Module, Span, StmtId};

/// A stretch of a function.
#[derive(Debug)]
enum Entry {
    /// Statements with successive ids, from the first up to, not including, the second.
    Statements(u32, u32),
    /// A comment on a separate line.
    Comment(String),
    /// A comment on the line of the statement before it.
    TrailingComment(String),
}

/// Statements and comments in order.
#[derive(Default, Debug)]
pub(crate) struct Sequence(Vec<Entry>);

/// A place in a sequence to which only statements and comments were added since.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Mark {
    entries: usize,
    /// The end of the last stretch of statements.
    end: u32,
}

impl Sequence {
    #[inline]
    pub(crate) fn push(&mut self, stmt: StmtId) {
        let id = stmt.as_u32();
        match self.0.last_mut() {
            Some(Entry::Statements(_, end)) if *end == id => *end += 1,
            _ => self.0.push(Entry::Statements(id, id + 1)),
        }
    }

    /// Adds a comment with its delimiters on a separate line.
    pub(crate) fn comment(&mut self, text: &str) {
        self.0.push(Entry::Comment(text.to_string()));
    }

    /// Adds a comment on the line of the statement before it; on a separate line if there is none.
    pub(crate) fn trailing_comment(&mut self, text: &str) {
        self.0.push(match self.0.last() {
            None | Some(Entry::Comment(_)) => Entry::Comment(text.to_string()),
            Some(_) => Entry::TrailingComment(text.to_string()),
        });
    }

    /// Adds the statements of a parsed body that are in a part of the source and for which `add` returns an id, with the comments
    /// between and inside of them.
    pub(crate) fn add_parsed(
        &mut self,
        module: &Module,
        body: &Body,
        part: Span,
        mut add: impl FnMut(StmtId) -> Option<StmtId>,
    ) {
        let source = module.source();
        let mut last = part.start;
        for (id, _) in body.statements() {
            let span = body.source_span(id);
            if !(part.start..part.end).contains(&span.start) {
                continue;
            }
            let Some(new) = add(id) else {
                continue;
            };
            self.add_comments(Span::new(last, span.start).of(source));
            let origin = body.stmt_spans().get(id.index());
            if origin.is_some_and(|s| s.has_comments()) {
                comments_in(span.of(source)).for_each(|c| self.comment(c.text));
            }
            self.push(new);
            last = span.end;
        }
        self.add_comments(Span::new(last, part.end).of(source));
    }

    /// Adds the comments between two statements.
    fn add_comments(&mut self, gap: &[u8]) {
        for comment in comments_in(gap) {
            if comment.is_on_new_line {
                self.comment(comment.text);
            } else {
                self.trailing_comment(comment.text);
            }
        }
    }

    /// Removes the last statement.
    pub(crate) fn pop(&mut self) {
        if let Some(Entry::Statements(first, end)) = self.0.last_mut() {
            *end -= 1;
            if first == end {
                self.0.pop();
            }
        }
    }

    pub(crate) fn mark(&self) -> Mark {
        let end = match self.0.last() {
            Some(Entry::Statements(_, end)) => *end,
            _ => 0,
        };
        Mark {
            entries: self.0.len(),
            end,
        }
    }

    /// Removes everything after a mark.
    pub(crate) fn truncate(&mut self, mark: Mark) {
        drop(self.split_off(mark));
    }

    /// Cuts off everything after a mark.
    pub(crate) fn split_off(&mut self, mark: Mark) -> Self {
        let mut entries = Vec::new();
        if let Some(Entry::Statements(_, end)) =
            mark.entries.checked_sub(1).and_then(|i| self.0.get_mut(i))
            && mark.end < *end
        {
            entries.push(Entry::Statements(mark.end, *end));
            *end = mark.end;
        }
        entries.extend(self.0.drain(mark.entries.min(self.0.len())..));
        Self(entries)
    }

    /// Adds what follows in another sequence.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    /// The statements in order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = StmtId> + '_ {
        let ranges = self.0.iter().filter_map(|entry| match entry {
            Entry::Statements(first, end) => Some(*first..*end),
            _ => None,
        });
        ranges.flatten().map(StmtId::new)
    }

    /// The comments, with statements numbered in this order.
    pub(crate) fn comments(&self) -> Comments<StmtId> {
        let (mut comments, mut next) = (Comments::default(), 0);
        let count = self.ids().count() as u32;
        for entry in &self.0 {
            match entry {
                Entry::Statements(first, end) => next += end - first,
                Entry::Comment(text) => {
                    let following = (next < count).then_some(StmtId::new(next));
                    comments.push(following, CommentPlace::Above, text);
                }
                Entry::TrailingComment(text) => {
                    let preceding = StmtId::new(next.saturating_sub(1));
                    comments.push(Some(preceding), CommentPlace::EndOfLine, text);
                }
            }
        }
        comments
    }
}

/// A block and its statements. Those of the current block are in [`Body::sequence`](Body::sequence) instead.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) label: u32,
    pub(crate) sequence: Sequence,
}

/// The blocks of a function, in the order of the finished function.
#[derive(Default, Debug)]
pub(crate) struct Blocks {
    /// The statements before the first label; empty while the entry is the current block.
    pub(crate) entry: Sequence,
    /// The end of the entry when the first block was created.
    pub(crate) entry_start: Mark,
    /// Declarations made since then: they precede all uses.
    pub(crate) declarations: Sequence,
    pub(crate) blocks: Vec<Block>,
    /// The current block; `None` for the entry.
    pub(crate) current: Option<usize>,
}

impl Blocks {
    /// Whether the function is built in the order of its statements.
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }
}

/// The lines of a text as comments.
pub(crate) fn comment_lines(text: &str) -> impl Iterator<Item = String> + '_ {
    text.lines().map(|line| {
        let plain = line.chars().filter(|c| !c.is_control() || *c == '\t');
        let line = format!("// {}", plain.collect::<String>());
        String::from(line.trim_end())
    })
}

/// A comment of a source.
pub(crate) struct SourceComment<'s> {
    pub(crate) text: &'s str,
    /// Whether a line ends between the start of the part of the source and the comment.
    pub(crate) is_on_new_line: bool,
}

/// The comments in a part of a source.
pub(crate) fn comments_in(part: &[u8]) -> impl Iterator<Item = SourceComment<'_>> {
    let mut is_on_new_line = false;
    Lexer::fragment(part).filter_map(move |token| {
        let text = core::str::from_utf8(token.span.of(part)).unwrap_or_default();
        if token.kind == TokenKind::Whitespace {
            is_on_new_line |= text.contains('\n');
            return None;
        }
        token.kind.is_trivia().then_some(SourceComment {
            text: text.trim_end(),
            is_on_new_line,
        })
    })
}
