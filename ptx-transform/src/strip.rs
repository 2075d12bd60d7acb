//! Without comments and debug information.

use alloc::vec::Vec;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Item, Module, Span, Statement};
use ptx_isa::{Directive, TargetOption};

use crate::{Rewritten, Splices, trivia};

/// The source without comments and debug information: `.loc`, `.file`, debug sections and `debug` in `.target` go, as do line
/// markers. What has a meaning besides, such as `.pragma`, stays; lines that held nothing else are gone.
///
/// Linear in the source.
///
/// ```
/// let text = ".version 8.0\n.target sm_80, debug // yes\n.file 1 \"a.cu\"\n.entry k()\n{\n\t.loc 1 2 3\n\tret; /* end */\n}\n";
/// let module = ptx_parse::parse_str(text).module;
/// let new = ptx_transform::strip(&module);
/// assert_eq!(new.text, b".version 8.0\n.target sm_80\n.entry k()\n{\n\tret;\n}\n");
/// ```
pub fn strip(module: &Module) -> Rewritten {
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
            Item::Directive(d) => match module.directives().get(d).map(|d| d.directive) {
                Some(Directive::File) => pieces.push(span),
                Some(Directive::Target) => pieces.extend(debug_option(module.source(), span)),
                _ => {}
            },
            Item::Function(f) => {
                let Some(body) = module.body(f) else {
                    continue;
                };
                for (id, statement) in body.statements() {
                    if let Statement::Directive(d) = statement
                        && body.directives().get(d).map(|d| d.directive) == Some(Directive::Loc)
                    {
                        pieces.push(body.source_span(id));
                    }
                }
            }
            _ => {}
        }
    }
    let mut splices = Splices::new();
    trivia::without(module.source(), &pieces, &mut splices);
    splices.apply(module.source())
}

/// Where `debug` stands in a `.target`, with a comma.
fn debug_option(source: &[u8], span: Span) -> Option<Span> {
    let text = span.of(source);
    let mut tokens = Lexer::fragment(text)
        .filter(|t| !t.kind.is_trivia())
        .peekable();
    let mut comma = None;
    while let Some(token) = tokens.next() {
        let word = token.span.of(text);
        if token.kind == TokenKind::Ident && word == TargetOption::Debug.text().as_bytes() {
            let start = comma.unwrap_or(token.span.start);
            let behind = tokens.peek().filter(|_| comma.is_none());
            let end = behind.map_or(token.span.end, |t| t.span.end);
            return Some(Span::new(start, end).shifted(span.start));
        }
        comma = (word == b",").then_some(token.span.start);
    }
    None
}
