//! The syntactic context of a word that is being written, from the tokens of its statement before it.

use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::{Body, Linkage, Span};
use ptx_isa::internals::DirectivePosition;
use ptx_isa::{Directive, Modifier, Opcode};

use crate::document::Document;
use crate::place;

/// The words that may be written at an offset.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Expectation {
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
        preceding: Vec<Modifier>,
    },
    /// The type of a declaration.
    DeclaredType,
    Operand(OperandPosition),
}

/// A position in the operands of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct OperandPosition {
    pub(super) opcode: Opcode,
    pub(super) modifiers: Vec<Modifier>,
    /// The number of operands before this one.
    pub(super) index: usize,
    pub(super) enclosing: Enclosing,
}

/// The innermost brackets around an operand.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Enclosing {
    Nothing,
    /// `[ ]`
    Address,
    /// `( )`
    Arguments,
}

pub(super) struct Context<'d> {
    /// The span of the word that is being written, up to the offset.
    pub(super) word: Span,
    pub(super) body: Option<&'d Body>,
    pub(super) expectation: Expectation,
}

/// The maximum length of the text before the offset that is read, in bytes. Longer statements are initial values.
const MAX_TEXT: u32 = 1 << 16;

impl<'d> Context<'d> {
    pub(super) fn at(document: &'d Document, offset: u32) -> Self {
        let module = document.module();
        let body = place::body_at(module, offset).map(|(_, body)| body);
        let unit_start = match body {
            // The parser may have joined an unfinished statement to the previous one, so lexing begins one statement earlier.
            Some(body) => place::statement_before(body, offset)
                .and_then(|(stmt, _)| body.before(stmt).or(Some(stmt)))
                .map_or(body.base() + 1, |stmt| body.source_span(stmt).start),
            None => place::lexical_unit_at(module, offset).start,
        };
        let start = unit_start.max(offset.saturating_sub(MAX_TEXT));
        let text = Span::new(start, offset).of(document.source());
        let mut tokens: Vec<Token> = Lexer::fragment(text).collect();
        for token in &mut tokens {
            token.span = token.span.shifted(start);
        }
        let is_inside_text = tokens.last().is_some_and(is_comment_or_string);
        let is_after_line = text.ends_with(b"\n");
        tokens.retain(|token| !token.kind.is_trivia());
        let reader = StatementReader {
            source: document.source(),
            is_in_body: body.is_some(),
        };
        let statement_start = reader.last_statement(&tokens);
        let mut tokens = tokens.split_off(statement_start);
        let word = tokens.pop_if(|token| token.span.end == offset && reader.is_word(*token));
        Self {
            word: word.map_or(Span::new(offset, offset), |token| token.span),
            body,
            expectation: if is_inside_text && !is_after_line {
                Expectation::Nothing
            } else {
                reader.expectation(&tokens, word)
            },
        }
    }
}

const fn is_comment_or_string(token: &Token) -> bool {
    matches!(
        token.kind,
        TokenKind::LineComment
            | TokenKind::BlockComment
            | TokenKind::String
            | TokenKind::BadString
            | TokenKind::LineMarker
    )
}

/// Reads the tokens of a statement before the word that is being written.
struct StatementReader<'d> {
    source: &'d [u8],
    is_in_body: bool,
}

impl StatementReader<'_> {
    fn text(&self, token: &Token) -> &[u8] {
        token.span.of(self.source)
    }

    fn directive(&self, token: &Token) -> Option<Directive> {
        Directive::from_text(self.text(token))
    }

    fn count(&self, tokens: &[Token], text: &[u8]) -> usize {
        tokens.iter().filter(|t| self.text(t) == text).count()
    }

    /// Whether a token is a word, or the dot or `%` that begins one. Numbers are words because a version is completed, too.
    fn is_word(&self, token: Token) -> bool {
        matches!(
            token.kind,
            TokenKind::Ident
                | TokenKind::DotWord
                | TokenKind::Integer
                | TokenKind::Decimal
                | TokenKind::BadNumber
        ) || matches!(self.text(&token), b"." | b"%")
    }

    /// The index of the first token of the last statement.
    fn last_statement(&self, tokens: &[Token]) -> usize {
        let mut start = 0;
        for (i, token) in tokens.iter().enumerate() {
            let is_end = match self.text(token) {
                b";" => true,
                b"}" => !self.closes_vector(tokens.get(start..=i).unwrap_or_default()),
                // The beginning of a block. Other braces begin a vector.
                b"{" => i == start || !self.is_in_body,
                b":" => i == start + 1,
                _ => false,
            };
            if is_end {
                start = i + 1;
            }
        }
        start
    }

    /// Whether the last token, a `}`, closes a vector that the same statement opened.
    fn closes_vector(&self, tokens: &[Token]) -> bool {
        self.count(tokens, b"{") >= self.count(tokens, b"}")
    }

    /// The expectation after the tokens of a statement, followed by `word`.
    fn expectation(&self, tokens: &[Token], word: Option<Token>) -> Expectation {
        let Some(first) = tokens.first() else {
            return if self.is_in_body {
                Expectation::Statement
            } else {
                Expectation::ModuleDirective
            };
        };
        if let Some(directive) = self.directive(first) {
            return self.expectation_after_directive(directive, tokens);
        }
        if !self.is_in_body {
            return Expectation::Nothing;
        }
        if self.text(first) != b"@" {
            return self.expectation_in_instruction(tokens, word);
        }
        let is_negated = tokens.get(1).is_some_and(|t| self.text(t) == b"!");
        match tokens.get(if is_negated { 3 } else { 2 }..) {
            None => Expectation::Guard,
            Some(instruction) => self.expectation_in_instruction(instruction, word),
        }
    }

    /// The expectation after the tokens of an instruction without its guard, followed by `word`.
    fn expectation_in_instruction(&self, tokens: &[Token], word: Option<Token>) -> Expectation {
        let Some((opcode_token, tokens)) = tokens.split_first() else {
            return Expectation::Opcode;
        };
        let Some(opcode) = Opcode::from_text(self.text(opcode_token)) else {
            return Expectation::Nothing;
        };
        let modifier_count = tokens
            .iter()
            .take_while(|token| token.kind == TokenKind::DotWord)
            .count();
        let (modifier_tokens, operands) = tokens.split_at(modifier_count);
        let modifiers: Vec<Modifier> = modifier_tokens
            .iter()
            .filter_map(|token| Modifier::from_text(self.text(token)))
            .collect();
        let mnemonic_end = modifier_tokens.last().unwrap_or(opcode_token).span.end;
        if operands.is_empty() && word.is_some_and(|word| word.span.start == mnemonic_end) {
            return Expectation::Modifier {
                opcode,
                preceding: modifiers,
            };
        }
        let enclosing = if self.count(operands, b"[") > self.count(operands, b"]") {
            Enclosing::Address
        } else if self.count(operands, b"(") > self.count(operands, b")") {
            Enclosing::Arguments
        } else {
            Enclosing::Nothing
        };
        Expectation::Operand(OperandPosition {
            opcode,
            modifiers,
            index: self.separators(operands),
            enclosing,
        })
    }

    /// The number of commas outside of brackets of any kind.
    fn separators(&self, tokens: &[Token]) -> usize {
        let mut depth = 0usize;
        let mut count = 0;
        for token in tokens {
            match self.text(token) {
                b"[" | b"{" | b"(" => depth += 1,
                b"]" | b"}" | b")" => depth = depth.saturating_sub(1),
                b"," if depth == 0 => count += 1,
                _ => {}
            }
        }
        count
    }

    /// The expectation after tokens that begin with a directive.
    fn expectation_after_directive(&self, directive: Directive, tokens: &[Token]) -> Expectation {
        match directive {
            Directive::Version => return Expectation::Version,
            Directive::Target => return Expectation::Target,
            _ => {}
        }
        let function = tokens
            .iter()
            .find_map(|token| match self.directive(token)? {
                Directive::Entry => Some(DirectivePosition::Entry),
                Directive::Func => Some(DirectivePosition::Func),
                _ => None,
            });
        if !self.is_in_body
            && let Some(position) = function
        {
            let closed = self.count(tokens, b")");
            return if self.count(tokens, b"(") > closed {
                Expectation::DeclaredType
            } else if closed > 0 {
                Expectation::HeaderDirective(position)
            } else {
                Expectation::Nothing
            };
        }
        if Linkage::from_directive(directive).is_some() && tokens.len() == 1 {
            return Expectation::ModuleDirective;
        }
        let is_declaration = directive.is_allowed_in(DirectivePosition::Declaration)
            || !self.is_in_body
            || is_state_space(directive);
        if is_declaration && self.count(tokens, b"=") == 0 {
            Expectation::DeclaredType
        } else {
            Expectation::Nothing
        }
    }
}

/// Whether a directive is a state space, which begins a declaration.
fn is_state_space(directive: Directive) -> bool {
    ptx_isa::StateSpace::from_text(directive.text().as_bytes()).is_some()
}
