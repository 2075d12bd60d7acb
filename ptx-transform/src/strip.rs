//! Taking away what makes no code: comments and debug information.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::convert::Infallible;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Item, Module, Span, Statement};
use ptx_isa::Directive;

use crate::names::{Entity, each_name, rewrite};
use crate::{Rewritten, Splices, lines};

/// What to take away.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Strip {
    /// Comments and line markers.
    pub comments: bool,
    /// `.loc`, `.file`, debug sections, the labels that only these mention, and `debug` in `.target`.
    pub debug: bool,
}

impl Default for Strip {
    /// Everything.
    fn default() -> Self {
        Self {
            comments: true,
            debug: true,
        }
    }
}

/// Takes away comments and debug information; every other byte stays, but for lines that become empty. The machine code is
/// the same, except where `debug` in `.target` asked for code that a debugger can follow. Linear in the source.
///
/// ```
/// use ptx_transform::{Strip, strip};
/// let text = b".version 8.0\n.target sm_80, debug\n// a kernel\n.entry k()\n{\n\t.loc 1 2 3\n\tret; // done\n}\n.file 1 \"a.cu\"\n";
/// let module = ptx_parse::parse(text).module;
/// assert_eq!(strip(&module, Strip::default()).text, b".version 8.0\n.target sm_80\n.entry k()\n{\n\tret;\n}\n");
/// ```
pub fn strip(module: &Module, what: Strip) -> Rewritten {
    let done = rewrite(module, |module| {
        let mut pieces = Vec::new();
        if what.debug {
            debug(module, &mut pieces);
        }
        if what.comments {
            comments(module.source(), &mut pieces);
        }
        let mut splices = Splices::new();
        lines::remove(module.source(), pieces, &mut splices);
        Ok::<_, Infallible>(splices)
    });
    match done {
        Ok(done) => done,
        Err(never) => match never {},
    }
}

fn comments(source: &[u8], pieces: &mut Vec<Span>) {
    for token in Lexer::new(source) {
        if matches!(
            token.kind,
            TokenKind::LineComment | TokenKind::BlockComment | TokenKind::LineMarker
        ) {
            let text = token.span.of(source);
            let blanks = text.len() - text.trim_ascii_end().len();
            pieces.push(Span::new(token.span.start, token.span.end - blanks as u32));
        }
    }
}

/// Whether a directive only speaks to debuggers: chapter 11.5 is theirs.
fn is_debug(directive: Directive) -> bool {
    directive.section().starts_with("11.5.")
}

fn debug(module: &Module, pieces: &mut Vec<Span>) {
    for (id, item) in module.items() {
        let span = module.span(id);
        match item {
            Item::Section(_) => pieces.push(span),
            Item::Directive(d) => match module.directives.get(d).map(|d| d.directive) {
                Some(Directive::Target) => pieces.extend(debug_option(module, span)),
                Some(d) if is_debug(d) => pieces.push(span),
                _ => {}
            },
            _ => {}
        }
    }
    let labels = debug_labels(module);
    for (function, _, body) in module.definitions() {
        for (id, statement) in body.statements() {
            let gone = match statement {
                Statement::Directive(d) => {
                    let directive = body.directives.get(d).map(|d| d.directive);
                    directive.is_some_and(is_debug)
                }
                Statement::Label(l) => labels.contains(&Entity::Label(function, l)),
                _ => false,
            };
            if gone {
                pieces.push(body.source_span(id));
            }
        }
    }
}

/// `debug` in `.target`, with the comma before it.
fn debug_option(module: &Module, target: Span) -> Option<Span> {
    let text = target.of(module.source());
    let mut comma = None;
    for token in Lexer::fragment(text).filter(|t| !t.kind.is_trivia()) {
        match token.span.of(text) {
            b"," => comma = Some(token.span.start),
            b"debug" => return Some(Span::new(comma?, token.span.end).shifted(target.start)),
            _ => {}
        }
    }
    None
}

/// The labels that debug information mentions and nothing else.
fn debug_labels(module: &Module) -> BTreeSet<Entity> {
    let mut spoken = BTreeSet::new();
    let mut used = BTreeSet::new();
    each_name(module, |name| match name.entity {
        Entity::Unknown(id) => {
            spoken.insert(id);
        }
        label @ Entity::Label(..) if !name.declares => {
            used.insert(label);
        }
        _ => {}
    });
    let mut all = BTreeSet::new();
    for (function, _, body) in module.definitions() {
        for (id, label) in body.labels.iter() {
            let entity = Entity::Label(function, id);
            if spoken.contains(&label.name) && !used.contains(&entity) {
                all.insert(entity);
            }
        }
    }
    all
}
