//! Folding: bodies, blocks, sections, long comments and initial values.

use lsp_types::{FoldingRange, FoldingRangeKind};
use ptx_ir::Span;
use ptx_ir::lex::{Lexer, TokenKind};

use crate::document::Document;

/// Everything of more than one line between braces, and comments.
pub(crate) fn folding(document: &Document) -> Vec<FoldingRange> {
    let mut open = Vec::new();
    let mut found = Vec::new();
    // Line comments without a line between them fold together.
    let mut comments: Option<(u32, u32)> = None;
    let mut fold = |(first, last): (u32, u32), kind: Option<FoldingRangeKind>| {
        if first < last {
            found.push(FoldingRange {
                start_line: first,
                end_line: last,
                kind,
                ..FoldingRange::default()
            });
        }
    };
    let line = |offset: u32| document.lines().line_of(offset);
    let lines = |span: Span| (line(span.start), line(span.end.saturating_sub(1)));
    for token in Lexer::new(document.source()) {
        match token.kind {
            TokenKind::BlockComment => fold(lines(token.span), Some(FoldingRangeKind::Comment)),
            TokenKind::LineComment => {
                let at = line(token.span.start);
                comments = match comments {
                    Some((first, last)) if last + 1 == at => Some((first, at)),
                    other => {
                        other
                            .into_iter()
                            .for_each(|c| fold(c, Some(FoldingRangeKind::Comment)));
                        Some((at, at))
                    }
                };
            }
            TokenKind::Punct => match token.span.of(document.source()) {
                b"{" => open.push(token.span.start),
                b"}" => {
                    if let Some(start) = open.pop() {
                        let (first, last) = (line(start), line(token.span.start));
                        // The line of the `}` stays visible.
                        fold((first, last.saturating_sub(1)), None);
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }
    comments
        .into_iter()
        .for_each(|c| fold(c, Some(FoldingRangeKind::Comment)));
    found.sort_by_key(|f| (f.start_line, f.end_line));
    found
}
