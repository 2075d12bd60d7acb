//! Removes comments and debug information.

use alloc::vec::Vec;

use ptx_edit::Rewriting;
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::raw::TextPatches;
use ptx_ir::{Item, Module, Rewritten, Span};
use ptx_isa::Directive;

use crate::debug;
use crate::printed::rewrite;

/// Removes comments, line markers and debug information: `.loc`, `.file`, debug sections, sources that the module contains, and the
/// option `debug` of `.target`. Lines that become empty are removed, too. Everything with another meaning stays, such as `.pragma`.
///
/// The time is linear in the size of the source.
///
/// ```
/// let text = ".version 8.0\n.target sm_80, debug // yes\n.file 1 \"a.cu\"\n.entry k()\n{\n\t.loc 1 2 3\n\tret; /* end */\n}\n";
/// let module = ptx_parse::parse_str(text).module;
/// let new = ptx_transform::strip(&module);
/// assert_eq!(new.text(), b".version 8.0\n.target sm_80\n.entry k()\n{\n\tret;\n}\n");
/// ```
#[must_use]
pub fn strip(module: &Module) -> Rewriting {
    rewrite(module, strip_text)
}

/// [`strip`] of a module whose source is its text.
fn strip_text(module: &Module) -> Rewritten {
    let source = module.source();
    let mut pieces: Vec<Span> = Vec::new();
    for (id, item) in module.items() {
        let span = module.span(id);
        match item {
            Item::Section(s) => {
                let section = module.sections().get(s);
                if section.is_some_and(|s| module.name_bytes(s.name).starts_with(b".debug_")) {
                    pieces.push(span);
                }
            }
            Item::Directive(_) => match module.directive(item) {
                Some(directive) if directive.is_debug() => pieces.push(span),
                Some(Directive::Target) => pieces.extend(debug::target_option(source, span)),
                _ => {}
            },
            Item::Function(f) => {
                let Some(body) = module.body(f) else {
                    continue;
                };
                for (id, statement) in body.statements() {
                    if body.directive(statement).is_some_and(Directive::is_debug) {
                        pieces.push(body.source_span(id));
                    }
                }
            }
            _ => {}
        }
    }
    let mut patches = TextPatches::new();
    remove_with_comments(source, &pieces, &mut patches);
    patches.apply(source)
}

/// Removes comments, line markers and these spans of a source, which are statements in order. Lines that have no other text
/// are removed as well; other lines keep their indentation.
fn remove_with_comments(source: &[u8], pieces: &[Span], patches: &mut TextPatches) {
    let mut pieces = pieces.iter().copied();
    const NONE: Span = Span::new(u32::MAX, u32::MAX);
    let mut piece = pieces.next().unwrap_or(NONE);
    let mut line = Line::default();
    // Whitespace that is neither kept nor removed yet.
    let mut space = Span::default();
    for token in Lexer::new(source) {
        while piece.end <= token.span.start {
            piece = pieces.next().unwrap_or(NONE);
        }
        let is_removed = piece.start <= token.span.start;
        match token.kind {
            TokenKind::ByteOrderMark => space = Span::new(token.span.end, token.span.end),
            TokenKind::Whitespace if !is_removed => {
                let text = token.span.of(source);
                for newline in (token.span.start..).zip(text).filter(|(_, b)| **b == b'\n') {
                    let (newline, end) = (newline.0, newline.0 + 1);
                    if line.cut {
                        // The line ends after its last token; a line without tokens is removed.
                        let carriage = newline > token.span.start.max(space.start)
                            && source.get(newline as usize - 1) == Some(&b'\r');
                        let last = newline - u32::from(carriage);
                        patches.remove(Span::new(space.start, if line.token { last } else { end }));
                    }
                    line = Line::default();
                    space = Span::new(end, end);
                }
                space.end = token.span.end;
            }
            kind if is_removed || kind.is_trivia() => {
                line.cut = true;
                line.between = true;
                space.end = token.span.end;
            }
            _ => {
                if line.between {
                    // Before the first token of a line its indentation stays, between two tokens a space.
                    let indent = if line.token {
                        0
                    } else {
                        indentation(source, space)
                    };
                    let cut = Span::new(space.start + indent, space.end);
                    let needs_space = line.token
                        || cut.start > 0 && space.start > 0 && !starts_line(source, space.start);
                    patches.replace(cut, if needs_space { " " } else { "" });
                }
                line.token = true;
                line.between = false;
                space = Span::new(token.span.end, token.span.end);
            }
        }
    }
    if line.cut && space.start < space.end {
        patches.remove(Span::new(space.start, source.len() as u32));
    }
}

/// The state of the line of the current token.
#[derive(Default)]
struct Line {
    /// Text was removed from the line.
    cut: bool,
    /// The line has a token that stays.
    token: bool,
    /// Text was removed since the last token.
    between: bool,
}

/// Whether a line of the source begins at `offset`.
fn starts_line(source: &[u8], offset: u32) -> bool {
    (offset as usize)
        .checked_sub(1)
        .and_then(|index| source.get(index))
        .is_none_or(|byte| *byte == b'\n')
}

/// The length of the indentation of a line.
fn indentation(source: &[u8], space: Span) -> u32 {
    let bytes = space.of(source).iter();
    bytes.take_while(|b| matches!(b, b' ' | b'\t')).count() as u32
}
