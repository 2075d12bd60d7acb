//! Where the parts of an instruction stand: its statement is read again, token by token.

use alloc::vec::Vec;
use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::{Module, Span};

/// Where the parts of one instruction stand, from the start of the source.
pub(crate) struct Layout {
    /// From the opcode to the last modifier.
    pub(crate) mnemonic: Span,
    /// The predicate of the guard with its sign.
    pub(crate) guard: Option<Span>,
    /// The words after the opcode.
    pub(crate) modifiers: Vec<Span>,
    /// What stands between the commas.
    pub(crate) operands: Vec<Span>,
    tokens: Vec<Token>,
}

impl Layout {
    /// Reads the instruction at `statement`.
    pub(crate) fn new(module: &Module, statement: Span) -> Self {
        let source = module.source();
        let text = statement.of(source);
        let tokens: Vec<Token> = Lexer::fragment(text)
            .filter(|t| !t.kind.is_trivia())
            .map(|t| Token {
                kind: t.kind,
                span: t.span.shifted(statement.start),
            })
            .filter(|t| t.span.of(source) != b";")
            .collect();
        let mut rest = tokens.iter().copied().peekable();
        let mut guard = None;
        if rest.next_if(|t| t.span.of(source) == b"@").is_some() {
            let sign = rest.next_if(|t| t.span.of(source) == b"!");
            let name = rest.next_if(|t| t.kind == TokenKind::Ident);
            guard = name.map(|n| sign.map_or(n.span, |s| s.span.join(n.span)));
        }
        let mut mnemonic = rest.next().map_or(statement, |t| t.span);
        let mut modifiers = Vec::new();
        while let Some(word) = rest.next_if(|t| t.kind == TokenKind::DotWord) {
            mnemonic = mnemonic.join(word.span);
            modifiers.push(word.span);
        }
        let operands: Vec<Token> = rest.collect();
        Self {
            mnemonic,
            guard,
            modifiers,
            operands: split(source, &operands),
            tokens: operands,
        }
    }

    /// The first token of the operands with this text, else the mnemonic.
    pub(crate) fn word(&self, source: &[u8], text: &str) -> Span {
        let mut found = self.tokens.iter();
        let found = found.find(|t| t.span.of(source) == text.as_bytes());
        found.map_or(self.mnemonic, |t| t.span)
    }

    /// The parts of an operand in brackets, braces or on both sides of `|`; the operand itself where it has none.
    pub(crate) fn parts(&self, source: &[u8], operand: Span) -> Vec<Span> {
        let inside = |t: &&Token| operand.start <= t.span.start && t.span.end <= operand.end;
        let tokens: Vec<Token> = self.tokens.iter().filter(inside).copied().collect();
        if let Some(bar) = tokens.iter().position(|t| t.span.of(source) == b"|") {
            let halves = [tokens.get(..bar), tokens.get(bar + 1..)];
            return halves.into_iter().flatten().filter_map(whole).collect();
        }
        let opened = |t: &Token| matches!(t.span.of(source), b"[" | b"{" | b"(");
        match tokens.first().filter(|t| opened(t)) {
            Some(_) => {
                let closed = |t: &Token| matches!(t.span.of(source), b"]" | b"}" | b")");
                let end = tokens.iter().rposition(closed).unwrap_or(tokens.len());
                split(source, tokens.get(1..end).unwrap_or_default())
            }
            None => alloc::vec![operand],
        }
    }
}

fn whole(tokens: &[Token]) -> Option<Span> {
    Some(tokens.first()?.span.join(tokens.last()?.span))
}

/// The stretches between the commas that stand outside of all brackets.
fn split(source: &[u8], tokens: &[Token]) -> Vec<Span> {
    let mut depth = 0usize;
    let outer = tokens.split(|t| {
        match t.span.of(source) {
            b"[" | b"{" | b"(" => depth += 1,
            b"]" | b"}" | b")" => depth = depth.saturating_sub(1),
            b"," => return depth == 0,
            _ => {}
        }
        false
    });
    outer.filter_map(whole).collect()
}
