//! Folding of bodies, blocks, sections, initial values and comments.

use lsp_types::{FoldingRange, FoldingRangeKind};
use ptx_ir::lex::{Lexer, TokenKind};

use crate::document::Document;

/// The ranges of comments and of text in braces that have more than one line, sorted by their lines.
pub(crate) fn folding_ranges(document: &Document) -> Vec<FoldingRange> {
    let mut ranges = Ranges::default();
    let mut open_braces = Vec::new();
    // Line comments on consecutive lines fold together: the first and the last line of those read so far.
    let mut line_comments: Option<(u32, u32)> = None;
    let line_of = |offset: u32| document.lines().line_of(offset);
    for token in Lexer::new(document.source()) {
        match token.kind {
            TokenKind::BlockComment => {
                let end = token.span.end.saturating_sub(1);
                ranges.add_comment(line_of(token.span.start), line_of(end));
            }
            TokenKind::LineComment => {
                let line = line_of(token.span.start);
                match &mut line_comments {
                    Some((_, last)) if *last + 1 == line => *last = line,
                    _ => {
                        if let Some((first, last)) = line_comments.replace((line, line)) {
                            ranges.add_comment(first, last);
                        }
                    }
                }
            }
            TokenKind::Punct => match token.span.of(document.source()) {
                b"{" => open_braces.push(token.span.start),
                b"}" => {
                    if let Some(open_brace) = open_braces.pop() {
                        // The line of the closing brace stays visible.
                        let last = line_of(token.span.start).saturating_sub(1);
                        ranges.add(line_of(open_brace), last, None);
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }
    if let Some((first, last)) = line_comments {
        ranges.add_comment(first, last);
    }
    ranges
        .0
        .sort_by_key(|range| (range.start_line, range.end_line));
    ranges.0
}

/// Ranges of more than one line.
#[derive(Default)]
struct Ranges(Vec<FoldingRange>);

impl Ranges {
    fn add_comment(&mut self, first: u32, last: u32) {
        self.add(first, last, Some(FoldingRangeKind::Comment));
    }

    fn add(&mut self, first: u32, last: u32, kind: Option<FoldingRangeKind>) {
        if first < last {
            self.0.push(FoldingRange {
                start_line: first,
                end_line: last,
                kind,
                ..FoldingRange::default()
            });
        }
    }
}
