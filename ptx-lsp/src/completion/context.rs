//! What kind of word is being written, from the tokens of its statement before it.

use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::{Body, Linkage, Span};
use ptx_isa::{Directive, DirectivePosition, Modifier, Opcode};

use crate::document::Document;
use crate::place;

/// What may be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    Nothing,
    ModuleDirective,
    /// After `.version`.
    Version,
    /// After `.target`.
    Target,
    /// Between the parameters of a function and its body.
    HeaderDirective(DirectivePosition),
    Statement,
    /// After a guard.
    Opcode,
    /// After `@`.
    Guard,
    /// After an opcode and some modifiers.
    Modifier {
        opcode: Opcode,
        before: Vec<Modifier>,
    },
    /// In a declaration.
    DeclaredType,
    Operand {
        opcode: Opcode,
        modifiers: Vec<Modifier>,
        /// How many commas are before it.
        position: usize,
        within: Within,
    },
}

/// What is around an operand.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Within {
    Nothing,
    /// `[ ]`
    Address,
    /// `( )`
    Arguments,
}

pub(super) struct Context<'d> {
    /// The word that is being written, up to the place.
    pub(super) word: Span,
    pub(super) body: Option<&'d Body>,
    pub(super) wanted: Wanted,
}

/// The longest text before a place that is read: longer statements are initial values.
const LONGEST: u32 = 1 << 16;

impl<'d> Context<'d> {
    pub(super) fn at(document: &'d Document, offset: u32) -> Self {
        let module = document.module();
        let source = document.source();
        let body = place::body_at(module, offset).map(|(_, body)| body);
        let start = match body {
            // An unfinished statement may be joined to the ones around it: begin one earlier.
            Some(body) => place::statement_before(body, offset)
                .and_then(|(stmt, _)| body.before(stmt).or(Some(stmt)))
                .map_or(body.base() + 1, |stmt| body.source_span(stmt).start),
            None => place::stretch_at(module, offset).start,
        };
        let start = start.max(offset.saturating_sub(LONGEST));
        let text = Span::new(start, offset).of(source);
        let tokens = Lexer::fragment(text).map(|mut t| {
            t.span = t.span.shifted(start);
            t
        });
        let mut tokens: Vec<Token> = tokens.collect();
        let inside = tokens.last().is_some_and(|t| {
            let comment = matches!(t.kind, TokenKind::LineComment | TokenKind::BlockComment);
            comment
                || matches!(
                    t.kind,
                    TokenKind::String | TokenKind::BadString | TokenKind::LineMarker
                )
        });
        let ended_line = text.ends_with(b"\n");
        tokens.retain(|t| !t.kind.is_trivia());
        let begin = statement_start(&tokens, source, body.is_some());
        let mut tokens = tokens.split_off(begin);
        let word = tokens.pop_if(|t| t.span.end == offset && is_word(*t, source));
        let wanted = match inside && !ended_line {
            true => Wanted::Nothing,
            false => wanted(&tokens, word, source, body.is_some()),
        };
        Self {
            word: word.map_or(Span::new(offset, offset), |t| t.span),
            body,
            wanted,
        }
    }
}

/// Whether a token is a word, or the dot that begins one.
fn is_word(token: Token, source: &[u8]) -> bool {
    // A number is one of `.version`.
    let number = matches!(
        token.kind,
        TokenKind::Integer | TokenKind::Decimal | TokenKind::BadNumber
    );
    matches!(token.kind, TokenKind::Ident | TokenKind::DotWord)
        || number
        || matches!(token.span.of(source), b"." | b"%")
}

/// The index of the first token of the statement at the end.
fn statement_start(tokens: &[Token], source: &[u8], in_body: bool) -> usize {
    let text = |t: &Token| t.span.of(source);
    let mut start = 0;
    for (i, token) in tokens.iter().enumerate() {
        let ends = match text(token) {
            b";" | b"}" => !is_in_braces(tokens.get(start..=i).unwrap_or_default(), source),
            // A block, not a vector.
            b"{" => i == start || !in_body,
            b":" => i == start + 1,
            _ => false,
        };
        if ends {
            start = i + 1;
        }
    }
    start
}

/// Whether the last token, a `}`, closes a vector of the same statement.
fn is_in_braces(tokens: &[Token], source: &[u8]) -> bool {
    let of = |b: &[u8]| tokens.iter().filter(|t| t.span.of(source) == b).count();
    tokens.last().is_some_and(|t| t.span.of(source) == b"}") && of(b"{") >= of(b"}")
}

fn wanted(tokens: &[Token], word: Option<Token>, source: &[u8], in_body: bool) -> Wanted {
    let text = |t: &Token| t.span.of(source);
    let Some(first) = tokens.first() else {
        return match in_body {
            true => Wanted::Statement,
            false => Wanted::ModuleDirective,
        };
    };
    if let Some(directive) = Directive::from_text(text(first)) {
        return of_directive(directive, tokens, source, in_body);
    }
    if !in_body {
        return Wanted::Nothing;
    }
    let mut rest = tokens;
    if text(first) == b"@" {
        let negated = tokens.get(1).is_some_and(|t| text(t) == b"!");
        let guard = tokens.get(if negated { 3 } else { 2 }..);
        match guard {
            None => return Wanted::Guard,
            Some([]) => return Wanted::Opcode,
            Some(after) => rest = after,
        }
    }
    let Some((opcode, rest)) = rest.split_first() else {
        return Wanted::Opcode;
    };
    let Some(of_text) = Opcode::from_text(text(opcode)) else {
        return Wanted::Nothing;
    };
    let is_dot = |t: &&Token| t.kind == TokenKind::DotWord;
    let written = rest.iter().take_while(is_dot).count();
    let (modifiers, operands) = rest.split_at(written);
    let known: Vec<Modifier> = modifiers
        .iter()
        .filter_map(|t| Modifier::from_text(text(t)))
        .collect();
    let end = modifiers.last().unwrap_or(opcode).span.end;
    if operands.is_empty() && word.is_some_and(|w| w.span.start == end) {
        return Wanted::Modifier {
            opcode: of_text,
            before: known,
        };
    }
    let of = |b: &[u8]| operands.iter().filter(|t| text(t) == b).count();
    Wanted::Operand {
        opcode: of_text,
        modifiers: known,
        position: commas(operands, source),
        within: match () {
            () if of(b"[") > of(b"]") => Within::Address,
            () if of(b"(") > of(b")") => Within::Arguments,
            () => Within::Nothing,
        },
    }
}

/// The commas between operands: not those in brackets of any kind.
fn commas(tokens: &[Token], source: &[u8]) -> usize {
    let mut depth = 0usize;
    let mut count = 0;
    for token in tokens {
        match token.span.of(source) {
            b"[" | b"{" | b"(" => depth += 1,
            b"]" | b"}" | b")" => depth = depth.saturating_sub(1),
            b"," if depth == 0 => count += 1,
            _ => {}
        }
    }
    count
}

fn of_directive(directive: Directive, tokens: &[Token], source: &[u8], in_body: bool) -> Wanted {
    let has = |b: &[u8]| tokens.iter().any(|t| t.span.of(source) == b);
    let function = tokens
        .iter()
        .find_map(|t| match Directive::from_text(t.span.of(source)) {
            Some(Directive::Entry) => Some(DirectivePosition::Entry),
            Some(Directive::Func) => Some(DirectivePosition::Func),
            _ => None,
        });
    match directive {
        Directive::Version => Wanted::Version,
        Directive::Target => Wanted::Target,
        _ if !in_body && function.is_some() => {
            let open = tokens.iter().filter(|t| t.span.of(source) == b"(").count();
            let closed = tokens.iter().filter(|t| t.span.of(source) == b")").count();
            match (open > closed, function) {
                (true, _) => Wanted::DeclaredType,
                (false, Some(position)) if has(b")") => Wanted::HeaderDirective(position),
                _ => Wanted::Nothing,
            }
        }
        _ if Linkage::from_directive(directive).is_some() && tokens.len() == 1 => {
            Wanted::ModuleDirective
        }
        _ if directive.is_allowed_in(DirectivePosition::Declaration)
            || !in_body
            || is_space(directive) =>
        {
            match has(b"=") {
                true => Wanted::Nothing,
                false => Wanted::DeclaredType,
            }
        }
        _ => Wanted::Nothing,
    }
}

/// Whether a directive is a state space, which begins a declaration.
fn is_space(directive: Directive) -> bool {
    ptx_isa::StateSpace::from_text(directive.text().as_bytes()).is_some()
}
