//! Resolves locations to spans. A statement is tokenized once for all locations in it.

use alloc::vec::Vec;
use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::raw::read_expression;
use ptx_ir::{Module, NameId, Span};

use crate::location::{Location, Part, Word};

/// Resolves locations. The tokens of the last statement are kept.
pub(crate) struct Locator<'m> {
    module: &'m Module,
    /// The text in which spans are resolved.
    source: &'m [u8],
    /// The last statement, and its tokens.
    statement: Span,
    tokens: Vec<Token>,
    /// The indices of tokens, sorted by text and then by position.
    by_text: Vec<u32>,
    /// `None` before a part of an instruction is resolved.
    instruction: Option<InstSpans>,
}

/// The parts of an instruction.
struct InstSpans {
    mnemonic: Span,
    guard: Option<Span>,
    modifiers: Vec<Span>,
    operands: Vec<Span>,
    /// The index of the first token of the operands.
    first_operand_token: usize,
}

impl<'m> Locator<'m> {
    pub(crate) fn new(module: &'m Module) -> Self {
        Self::of_text(module, module.source())
    }

    /// Creates a locator for another text than the source.
    pub(crate) fn of_text(module: &'m Module, source: &'m [u8]) -> Self {
        Self {
            module,
            source,
            statement: Span::default(),
            tokens: Vec::new(),
            by_text: Vec::new(),
            instruction: None,
        }
    }

    /// Returns the span of a location, from the start of the source.
    pub(crate) fn span(&mut self, location: Location) -> Span {
        if location.part == Part::Whole {
            return location.statement;
        }
        if location.statement != self.statement {
            self.tokenize(location.statement);
        }
        self.part_span(location.part)
    }

    /// The source text of a span.
    pub(crate) fn text(&self, span: Span) -> &'m str {
        core::str::from_utf8(self.bytes(span)).unwrap_or_default()
    }

    fn bytes(&self, span: Span) -> &'m [u8] {
        span.of(self.source)
    }

    fn tokenize(&mut self, statement: Span) {
        self.statement = statement;
        self.instruction = None;
        self.tokens.clear();
        let tokens = Lexer::fragment(self.bytes(statement))
            .filter(|token| !token.kind.is_trivia())
            .map(|token| Token {
                kind: token.kind,
                span: token.span.shifted(statement.start),
            });
        self.tokens.extend(tokens);
        self.by_text.clear();
        self.by_text.extend(0..self.tokens.len() as u32);
        let (source, tokens) = (self.source, &self.tokens);
        self.by_text.sort_by_key(|&i| {
            let token = tokens.get(i as usize);
            token.map_or(&[][..], |t| t.span.of(source))
        });
    }

    fn part_span(&mut self, part: Part) -> Span {
        let span = match part {
            Part::Whole => Some(self.statement),
            Part::Token(word, index) => self.token_with_text(self.word_text(word), index),
            Part::DotWord(prefix) => self.dot_word(prefix),
            Part::After(keyword) => self.token_after(keyword.as_bytes(), keyword.as_bytes()),
            Part::Before(keyword, name) => self.token_after_last(keyword.as_bytes(), name),
            Part::Initializer(name) => self.token_after(self.module.name_bytes(name), b"="),
            Part::Dimension(name) => self.token_after(self.module.name_bytes(name), b"["),
            Part::Label(name, index) => self.label(self.module.name_bytes(name), index),
            Part::Negative(value) => Some(self.negative_number(value).unwrap_or(self.statement)),
            Part::Number(value) => Some(self.number(value).unwrap_or(self.statement)),
            part => return self.instruction_part(part),
        };
        let first_token = self
            .tokens
            .first()
            .map_or(self.statement, |token| token.span);
        span.unwrap_or(first_token)
    }

    fn word_text(&self, word: Word) -> &'m [u8] {
        match word {
            Word::Keyword(text) => text.as_bytes(),
            Word::Name(name) => self.module.name_bytes(name),
        }
    }

    /// Returns the indices of the tokens with a text, in ascending order.
    fn indices_of(&self, text: &[u8]) -> &[u32] {
        let token_text = |index: &u32| {
            let token = self.tokens.get(*index as usize);
            token.map_or(&[][..], |token| self.bytes(token.span))
        };
        let start = self
            .by_text
            .partition_point(|index| token_text(index) < text);
        let end = self
            .by_text
            .partition_point(|index| token_text(index) <= text);
        self.by_text.get(start..end).unwrap_or_default()
    }

    /// Returns a token by its text, and by its index among the tokens with this text.
    fn token_with_text(&self, text: &[u8], index: u32) -> Option<Span> {
        let token = *self.indices_of(text).get(index as usize)?;
        Some(self.tokens.get(token as usize)?.span)
    }

    /// Returns the definition of a label by its name, and by its index among the definitions with this name.
    fn label(&self, name: &[u8], index: u32) -> Option<Span> {
        self.indices_of(name)
            .iter()
            .filter_map(|token| {
                let token = *token as usize;
                let next = self.tokens.get(token + 1)?;
                (self.bytes(next.span) == b":").then_some(self.tokens.get(token)?.span)
            })
            .nth(index as usize)
    }

    fn dot_word(&self, prefix: &str) -> Option<Span> {
        let token = self.tokens.iter().find(|token| {
            token.kind == TokenKind::DotWord
                && self.bytes(token.span).starts_with(prefix.as_bytes())
        })?;
        Some(token.span)
    }

    /// Returns the token after the first `mark` at or after the first token with the text `name`.
    fn token_after(&self, name: &[u8], mark: &[u8]) -> Option<Span> {
        let name = *self.indices_of(name).first()?;
        let marks = self.indices_of(mark);
        let mark = marks.get(marks.partition_point(|mark| *mark < name));
        let index = mark.map_or(name, |mark| mark + 1) as usize;
        let token = self.tokens.get(index).or(self.tokens.last());
        token.map(|token| token.span)
    }

    /// Returns the token after the last `keyword` before a name; the name if there is no such keyword.
    fn token_after_last(&self, keyword: &[u8], name: NameId) -> Option<Span> {
        let name = *self.indices_of(self.module.name_bytes(name)).first()?;
        let keywords = self.indices_of(keyword);
        let index = keywords
            .partition_point(|keyword| *keyword < name)
            .checked_sub(1)
            .and_then(|last| keywords.get(last))
            .map_or(name, |keyword| keyword + 1) as usize;
        self.tokens.get(index).map(|token| token.span)
    }

    /// Returns the first integer with a value, without its sign.
    fn number(&self, value: i64) -> Option<Span> {
        let token = self
            .tokens
            .iter()
            .find(|token| self.has_magnitude(token, value))?;
        Some(token.span)
    }

    /// Returns the first integer with a value after a minus sign, and the sign.
    fn negative_number(&self, value: i64) -> Option<Span> {
        self.tokens.windows(2).find_map(|pair| match pair {
            [sign, number]
                if self.bytes(sign.span) == b"-" && self.has_magnitude(number, value) =>
            {
                Some(sign.span.join(number.span))
            }
            _ => None,
        })
    }

    /// Returns `true` if a token is an integer with the magnitude of a value.
    fn has_magnitude(&self, token: &Token, value: i64) -> bool {
        token.kind == TokenKind::Integer
            && read_expression(self.bytes(token.span), 0, 1)
                .value
                .ok()
                .and_then(|constant| constant.as_int())
                .is_some_and(|number| number.unsigned_abs() == value.unsigned_abs())
    }

    fn instruction_part(&mut self, part: Part) -> Span {
        let spans = match self.instruction.take() {
            Some(spans) => spans,
            None => self.inst_spans(),
        };
        let span = match part {
            Part::MnemonicEnd => {
                let Span { start, end } = spans.mnemonic;
                Some(Span::new(end.saturating_sub(1).max(start), end))
            }
            Part::Opcode => {
                let start = spans.mnemonic.start;
                let end = spans
                    .modifiers
                    .first()
                    .map_or(spans.mnemonic.end, |m| m.start);
                Some(Span::new(start, end))
            }
            Part::Guard => spans.guard,
            Part::Modifiers(first, last) => join(&spans.modifiers, first, last),
            Part::Operands(first, last) => join(&spans.operands, first, last),
            Part::Operand(index) => spans.operands.get(index as usize).copied(),
            Part::LastOperand => spans.operands.last().copied(),
            Part::AfterOperand(index) => span_after(&spans.operands, index),
            Part::AfterElement(index, element) => spans
                .operands
                .get(index as usize)
                .and_then(|operand| span_after(&self.elements(*operand)?, element)),
            Part::Element(index, element) => spans
                .operands
                .get(index as usize)
                .map(|operand| self.element_or_operand(*operand, element)),
            Part::Elements(index, first, last) => {
                spans.operands.get(index as usize).map(|operand| {
                    self.element_or_operand(*operand, first)
                        .join(self.element_or_operand(*operand, last))
                })
            }
            Part::OperandToken(text) => self
                .indices_of(text.as_bytes())
                .iter()
                .find(|token| **token as usize >= spans.first_operand_token)
                .and_then(|token| self.tokens.get(*token as usize))
                .map(|token| token.span),
            _ => None,
        };
        let mnemonic = spans.mnemonic;
        self.instruction = Some(spans);
        span.unwrap_or(mnemonic)
    }

    fn inst_spans(&self) -> InstSpans {
        let has_text = |token: &Token, text: &[u8]| self.bytes(token.span) == text;
        let mut tokens = self.tokens.iter().peekable();
        let mut guard = None;
        if tokens.next_if(|token| has_text(token, b"@")).is_some() {
            let sign = tokens.next_if(|token| has_text(token, b"!"));
            let name = tokens.next_if(|token| token.kind == TokenKind::Ident);
            guard = name.map(|name| sign.map_or(name.span, |sign| sign.span.join(name.span)));
        }
        let mut mnemonic = tokens.next().map_or(self.statement, |token| token.span);
        let mut modifiers = Vec::new();
        while let Some(word) = tokens.next_if(|token| token.kind == TokenKind::DotWord) {
            mnemonic = mnemonic.join(word.span);
            modifiers.push(word.span);
        }
        let first_operand_token = self.tokens.len() - tokens.len();
        let operands = self.tokens.get(first_operand_token..).unwrap_or_default();
        let end = operands.iter().position(|token| has_text(token, b";"));
        let operands = operands.get(..end.unwrap_or(operands.len()));
        InstSpans {
            mnemonic,
            guard,
            modifiers,
            operands: self.split(operands.unwrap_or_default()),
            first_operand_token,
        }
    }

    /// Returns an element of an operand; the operand if there is no such element.
    fn element_or_operand(&self, operand: Span, element: u32) -> Span {
        let elements = self.elements(operand);
        elements
            .and_then(|elements| elements.get(element as usize).copied())
            .unwrap_or(operand)
    }

    /// Returns the elements of an operand in brackets, in braces, or beside `|`.
    fn elements(&self, operand: Span) -> Option<Vec<Span>> {
        let start = self
            .tokens
            .partition_point(|t| t.span.start < operand.start);
        let end = self.tokens.partition_point(|t| t.span.start < operand.end);
        let tokens = self.tokens.get(start..end)?;
        if let Some(bar) = tokens.iter().position(|t| self.bytes(t.span) == b"|") {
            let halves = [tokens.get(..bar)?, tokens.get(bar + 1..)?];
            return halves.into_iter().map(span_of_tokens).collect();
        }
        if !matches!(self.bytes(tokens.first()?.span), b"[" | b"{" | b"(") {
            return None;
        }
        let end = tokens
            .iter()
            .rposition(|token| matches!(self.bytes(token.span), b"]" | b"}" | b")"))
            .unwrap_or(tokens.len());
        Some(self.split(tokens.get(1..end)?))
    }

    /// Returns the spans between the commas outside of all brackets.
    fn split(&self, tokens: &[Token]) -> Vec<Span> {
        let mut depth = 0usize;
        tokens
            .split(|token| {
                match self.bytes(token.span) {
                    b"[" | b"{" | b"(" => depth += 1,
                    b"]" | b"}" | b")" => depth = depth.saturating_sub(1),
                    b"," => return depth == 0,
                    _ => {}
                }
                false
            })
            .filter_map(span_of_tokens)
            .collect()
    }
}

/// Returns the span from the end of one of the spans to the end of the last one.
fn span_after(spans: &[Span], index: u32) -> Option<Span> {
    Some(Span::new(spans.get(index as usize)?.end, spans.last()?.end))
}

/// Returns the span from one of the spans to another one. If one of them does not exist, the result is the other one.
fn join(spans: &[Span], first: u32, last: u32) -> Option<Span> {
    [first, last]
        .into_iter()
        .filter_map(|index| spans.get(index as usize).copied())
        .reduce(Span::join)
}

fn span_of_tokens(tokens: &[Token]) -> Option<Span> {
    Some(tokens.first()?.span.join(tokens.last()?.span))
}
