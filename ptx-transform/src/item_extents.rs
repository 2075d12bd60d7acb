//! Which text of a source belongs to which item: the item, what is behind it on its line, and what stands above it.

use alloc::vec::Vec;

use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::{Item, ItemId, Module, Span};

/// An item with the text around it; the chunks of a module tile its source up to [`Chunks::tail`].
#[derive(Copy, Clone, Debug)]
pub(crate) struct Chunk {
    pub(crate) id: ItemId,
    pub(crate) item: Item,
    /// One past the chunk before.
    pub(crate) start: u32,
    /// Where the comment right above the item begins: what goes when the item goes. Comments further up, behind an empty
    /// line, are not about the item.
    pub(crate) own: u32,
    /// The item itself.
    pub(crate) span: Span,
    /// Behind the first newline after it.
    pub(crate) end: u32,
}

impl Chunk {
    /// All of it.
    pub(crate) fn whole(&self) -> Span {
        Span::new(self.start, self.end)
    }

    /// What goes when the item goes.
    pub(crate) fn removal(&self) -> Span {
        Span::new(self.own, self.end)
    }

    /// The item with its comments, above and behind it, but without the blanks around them.
    pub(crate) fn with_comments(&self, source: &[u8]) -> Span {
        let before = Span::new(self.own, self.span.start).of(source);
        let behind = Span::new(self.span.end, self.end).of(source);
        let blanks = before.len() - before.trim_ascii_start().len();
        Span::new(
            self.own + blanks as u32,
            self.span.end + behind.trim_ascii_end().len() as u32,
        )
    }
}

/// The chunks of a module in order.
pub(crate) struct Chunks {
    pub(crate) all: Vec<Chunk>,
    /// Where the text behind the last of them begins.
    pub(crate) tail: u32,
}

impl Chunks {
    pub(crate) fn of(module: &Module) -> Self {
        let source = module.source();
        let mut all: Vec<Chunk> = Vec::with_capacity(module.item_table().len());
        let mut at = 0;
        for (id, item) in module.items() {
            let span = module.span(id);
            let gap = Gap::read(source, Span::new(at, span.start));
            let start = match all.last_mut() {
                Some(before) => {
                    before.end = gap.trailing;
                    gap.trailing
                }
                None => 0,
            };
            all.push(Chunk {
                id,
                item,
                start,
                own: gap.own,
                span,
                end: span.end,
            });
            at = span.end;
        }
        let gap = Gap::read(source, Span::new(at, source.len() as u32));
        if let Some(last) = all.last_mut() {
            last.end = gap.trailing;
        }
        let tail = all.last().map_or(0, |c| c.end);
        Self { all, tail }
    }
}

/// What stands between two items.
struct Gap {
    /// One past what belongs to the item before.
    trailing: u32,
    /// Where what belongs to the item behind begins.
    own: u32,
}

impl Gap {
    fn read(source: &[u8], span: Span) -> Self {
        let text = span.of(source);
        let lexer = match span.start {
            0 => Lexer::new(text),
            _ => Lexer::fragment(text),
        };
        let newlines = |t: &Token| {
            let blank = t.kind == TokenKind::Whitespace;
            let bytes = t.span.of(text).iter();
            let count = bytes.filter(|&&b| b == b'\n').count();
            if blank { count } else { 0 }
        };
        // One past the first newline of a token.
        let line_end = |t: &Token| {
            let first = t.span.of(text).iter().position(|&b| b == b'\n');
            t.span.start + first.map_or(0, |i| i as u32 + 1)
        };
        // At the start of a file there is nothing before.
        let mut trailing = (span.start == 0).then_some(0);
        let mut own = 0;
        let mut comment = false;
        for token in lexer {
            let lines = newlines(&token);
            if trailing.is_none() {
                if lines > 0 {
                    own = line_end(&token);
                    trailing = Some(own);
                }
            } else if token.kind != TokenKind::Whitespace {
                comment = true;
            } else if comment && lines > 1 {
                (own, comment) = (line_end(&token), false);
            }
        }
        // On one line, it belongs to the item before.
        let trailing = trailing.unwrap_or(span.end - span.start);
        Self {
            trailing: span.start + trailing,
            own: span.start + own.max(trailing),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec::Vec;

    use super::*;

    fn pieces(text: &str) -> Vec<(String, String)> {
        let module = ptx_parse::parse_str(text).module;
        let chunks = Chunks::of(&module);
        let of = |span: Span| String::from_utf8_lossy(span.of(text.as_bytes())).into_owned();
        let free = |c: &Chunk| of(Span::new(c.start, c.own));
        chunks
            .all
            .iter()
            .map(|c| (free(c), of(c.removal())))
            .collect()
    }

    #[test]
    fn comments_go_with_what_they_stand_above_or_behind() {
        let text = "// head\n\n.version 8.0\n.target sm_80 // gpu\n\n// free\n\n\n// of a\n/* too */\n.global .u32 a; // a\n.global .u32 b; /* b\n*/ .global .u32 c;\n// end\n";
        let found = pieces(text);
        let expected = [
            ("// head\n", "\n.version 8.0\n"),
            ("", ".target sm_80 // gpu\n"),
            (
                "\n// free\n",
                "\n\n// of a\n/* too */\n.global .u32 a; // a\n",
            ),
            ("", ".global .u32 b; /* b\n*/ "),
            ("", ".global .u32 c;\n"),
        ];
        let found: Vec<(&str, &str)> = found.iter().map(|(a, b)| (&**a, &**b)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn chunks_tile_the_source() {
        let text = "\u{feff}.version 8.0 .target sm_80\r\n\r\n//x\r\n.func f() { ret; } .func g();";
        let module = ptx_parse::parse_str(text).module;
        let chunks = Chunks::of(&module);
        let mut at = 0;
        for c in &chunks.all {
            assert_eq!(c.start, at);
            assert!(c.start <= c.own && c.own <= c.span.start && c.span.end <= c.end);
            at = c.end;
        }
        assert_eq!(chunks.tail, at);
    }
}
