//! From a location to a span: the statement is tokenized once for all locations in it.

use alloc::vec::Vec;
use ptx_ir::constant::read_expression;
use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::{Module, NameId, Span};

use crate::location::{Location, Part, Word};

/// Resolves locations; the tokens of the last statement are kept.
pub(crate) struct Locator<'m> {
    module: &'m Module,
    /// The text that spans are in.
    source: &'m [u8],
    statement: Span,
    tokens: Vec<Token>,
    /// The tokens by text and then by position.
    by_text: Vec<u32>,
    instruction: Option<InstSpans>,
}

/// The parts of an instruction.
struct InstSpans {
    mnemonic: Span,
    guard: Option<Span>,
    modifiers: Vec<Span>,
    operands: Vec<Span>,
    /// The number of the first token of the operands.
    first_operand_token: usize,
}

impl<'m> Locator<'m> {
    pub(crate) fn new(module: &'m Module) -> Self {
        Self::of_text(module, module.source())
    }

    /// Resolves locations in another text than the source.
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

    /// The span of a location, from the start of the source.
    pub(crate) fn span(&mut self, location: Location) -> Span {
        if location.part == Part::Whole {
            return location.statement;
        }
        if location.statement != self.statement {
            self.read(location.statement);
        }
        self.part(location.part)
    }

    /// The source text of a span.
    pub(crate) fn text(&self, span: Span) -> &'m str {
        core::str::from_utf8(self.bytes(span)).unwrap_or_default()
    }

    fn bytes(&self, span: Span) -> &'m [u8] {
        span.of(self.source)
    }

    fn read(&mut self, statement: Span) {
        self.statement = statement;
        self.instruction = None;
        self.tokens.clear();
        let tokens = Lexer::fragment(self.bytes(statement)).filter(|t| !t.kind.is_trivia());
        self.tokens.extend(tokens.map(|t| Token {
            kind: t.kind,
            span: t.span.shifted(statement.start),
        }));
        self.by_text.clear();
        self.by_text.extend(0..self.tokens.len() as u32);
        let (source, tokens) = (self.source, &self.tokens);
        self.by_text.sort_by_key(|&i| {
            let token = tokens.get(i as usize);
            token.map_or(&[][..], |t| t.span.of(source))
        });
    }

    fn part(&mut self, part: Part) -> Span {
        let found = match part {
            Part::Whole => Some(self.statement),
            Part::Token(word, nth) => self.nth(self.word(word), nth),
            Part::DotWord(prefix) => self.dot_word(prefix),
            Part::After(keyword) => self.after(keyword.as_bytes(), keyword.as_bytes()),
            Part::Before(keyword, name) => self.before(keyword.as_bytes(), name),
            Part::Initializer(name) => self.after(self.module.name_bytes(name), b"="),
            Part::Dimension(name) => self.after(self.module.name_bytes(name), b"["),
            Part::Label(name, nth) => self.label(self.module.name_bytes(name), nth),
            Part::Negative(value) => Some(self.negative(value).unwrap_or(self.statement)),
            Part::Number(value) => Some(self.number(value).unwrap_or(self.statement)),
            part => return self.instruction_part(part),
        };
        let first = self.tokens.first().map_or(self.statement, |t| t.span);
        found.unwrap_or(first)
    }

    fn word(&self, word: Word) -> &'m [u8] {
        match word {
            Word::Keyword(text) => text.as_bytes(),
            Word::Name(name) => self.module.name_bytes(name),
        }
    }

    /// The numbers of the tokens with a text, in order.
    fn with_text(&self, text: &[u8]) -> &[u32] {
        let of = |i: &u32| {
            let token = self.tokens.get(*i as usize);
            token.map_or(&[][..], |t| self.bytes(t.span))
        };
        let start = self.by_text.partition_point(|i| of(i) < text);
        let end = self.by_text.partition_point(|i| of(i) <= text);
        self.by_text.get(start..end).unwrap_or_default()
    }

    fn nth(&self, text: &[u8], nth: u32) -> Option<Span> {
        let index = *self.with_text(text).get(nth as usize)?;
        Some(self.tokens.get(index as usize)?.span)
    }

    fn label(&self, name: &[u8], nth: u32) -> Option<Span> {
        let named = self.with_text(name).iter().map(|i| *i as usize);
        let mut labels = named.filter(|i| {
            let next = self.tokens.get(i + 1);
            next.is_some_and(|t| self.bytes(t.span) == b":")
        });
        let index = labels.nth(nth as usize)?;
        self.tokens.get(index).map(|t| t.span)
    }

    fn dot_word(&self, prefix: &str) -> Option<Span> {
        let fits = |t: &&Token| {
            t.kind == TokenKind::DotWord && self.bytes(t.span).starts_with(prefix.as_bytes())
        };
        self.tokens.iter().find(fits).map(|t| t.span)
    }

    /// The token after the first `mark` at or after the first token with the text `name`.
    fn after(&self, name: &[u8], mark: &[u8]) -> Option<Span> {
        let name = *self.with_text(name).first()?;
        let marks = self.with_text(mark);
        let next = marks.get(marks.partition_point(|i| *i < name)).copied();
        let index = next.map_or(name, |mark| mark + 1) as usize;
        let token = self.tokens.get(index).or(self.tokens.last());
        token.map(|t| t.span)
    }

    /// The token after the last `keyword` before a name; the name where there is none.
    fn before(&self, keyword: &[u8], name: NameId) -> Option<Span> {
        let name = *self.with_text(self.module.name_bytes(name)).first()?;
        let keywords = self.with_text(keyword);
        let earlier = keywords.partition_point(|i| *i < name);
        let last = earlier.checked_sub(1).and_then(|i| keywords.get(i));
        let index = last.map_or(name, |keyword| keyword + 1) as usize;
        self.tokens.get(index).map(|t| t.span)
    }

    fn number(&self, value: i64) -> Option<Span> {
        let equal = |t: &&Token| {
            let constant = read_expression(self.bytes(t.span), 0, 1).value.ok();
            let read = constant.and_then(|v| v.as_int());
            read.map(i64::unsigned_abs) == Some(value.unsigned_abs())
        };
        let mut integers = self.tokens.iter().filter(|t| t.kind == TokenKind::Integer);
        integers.find(equal).map(|t| t.span)
    }

    fn negative(&self, value: i64) -> Option<Span> {
        let signed = |pair: &&[Token]| {
            let (sign, number) = match pair {
                [sign, number] => (sign, number),
                _ => return false,
            };
            let constant = read_expression(self.bytes(number.span), 0, 1).value.ok();
            let read = constant.and_then(|v| v.as_int());
            let is_number = number.kind == TokenKind::Integer && self.bytes(sign.span) == b"-";
            is_number && read.map(i64::unsigned_abs) == Some(value.unsigned_abs())
        };
        let pair = self.tokens.windows(2).find(signed)?;
        Some(pair.first()?.span.join(pair.last()?.span))
    }

    fn instruction_part(&mut self, part: Part) -> Span {
        let spans = match self.instruction.take() {
            Some(spans) => spans,
            None => self.inst_spans(),
        };
        let found = match part {
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
            Part::Operand(nth) => spans.operands.get(nth as usize).copied(),
            Part::LastOperand => spans.operands.last().copied(),
            Part::AfterOperand(nth) => rest(&spans.operands, nth),
            Part::AfterElement(nth, element) => {
                let operand = spans.operands.get(nth as usize).copied();
                operand.and_then(|o| rest(&self.elements(o)?, element))
            }
            Part::Element(nth, element) => {
                let operand = spans.operands.get(nth as usize).copied();
                operand.map(|o| self.element(o, element as usize).unwrap_or(o))
            }
            Part::Elements(nth, first, last) => {
                let operand = spans.operands.get(nth as usize).copied();
                operand.map(|o| {
                    let element = |i: u32| self.element(o, i as usize).unwrap_or(o);
                    element(first).join(element(last))
                })
            }
            Part::OperandToken(text) => {
                let all = self.with_text(text.as_bytes()).iter();
                let mut inside = all.filter(|i| **i as usize >= spans.first_operand_token);
                let token = inside.next().and_then(|i| self.tokens.get(*i as usize));
                token.map(|t| t.span)
            }
            _ => None,
        };
        let mnemonic = spans.mnemonic;
        self.instruction = Some(spans);
        found.unwrap_or(mnemonic)
    }

    fn inst_spans(&self) -> InstSpans {
        let is = |t: &Token, text: &[u8]| self.bytes(t.span) == text;
        let mut rest = self.tokens.iter().peekable();
        let mut guard = None;
        if rest.next_if(|t| is(t, b"@")).is_some() {
            let sign = rest.next_if(|t| is(t, b"!"));
            let name = rest.next_if(|t| t.kind == TokenKind::Ident);
            guard = name.map(|n| sign.map_or(n.span, |s| s.span.join(n.span)));
        }
        let mut mnemonic = rest.next().map_or(self.statement, |t| t.span);
        let mut modifiers = Vec::new();
        while let Some(word) = rest.next_if(|t| t.kind == TokenKind::DotWord) {
            mnemonic = mnemonic.join(word.span);
            modifiers.push(word.span);
        }
        let first = self.tokens.len() - rest.len();
        let operands = self.tokens.get(first..).unwrap_or_default();
        let end = operands.iter().position(|t| is(t, b";"));
        let operands = operands.get(..end.unwrap_or(operands.len()));
        InstSpans {
            mnemonic,
            guard,
            modifiers,
            operands: self.split(operands.unwrap_or_default()),
            first_operand_token: first,
        }
    }

    /// A part of an operand with several.
    fn element(&self, operand: Span, element: usize) -> Option<Span> {
        self.elements(operand)?.get(element).copied()
    }

    /// The parts of an operand in brackets, in braces, or on the sides of `|`.
    fn elements(&self, operand: Span) -> Option<Vec<Span>> {
        let start = self
            .tokens
            .partition_point(|t| t.span.start < operand.start);
        let end = self.tokens.partition_point(|t| t.span.start < operand.end);
        let tokens = self.tokens.get(start..end)?;
        if let Some(bar) = tokens.iter().position(|t| self.bytes(t.span) == b"|") {
            let halves = [tokens.get(..bar)?, tokens.get(bar + 1..)?];
            return halves.into_iter().map(whole).collect();
        }
        let opens = |t: &Token| matches!(self.bytes(t.span), b"[" | b"{" | b"(");
        let closes = |t: &Token| matches!(self.bytes(t.span), b"]" | b"}" | b")");
        tokens.first().filter(|t| opens(t))?;
        let end = tokens.iter().rposition(closes).unwrap_or(tokens.len());
        Some(self.split(tokens.get(1..end)?))
    }

    /// The spans between the commas outside of all brackets.
    fn split(&self, tokens: &[Token]) -> Vec<Span> {
        let mut depth = 0usize;
        let parts = tokens.split(|t| {
            match self.bytes(t.span) {
                b"[" | b"{" | b"(" => depth += 1,
                b"]" | b"}" | b")" => depth = depth.saturating_sub(1),
                b"," => return depth == 0,
                _ => {}
            }
            false
        });
        parts.filter_map(whole).collect()
    }
}

/// From the end of the span of a number to the end of the last one.
fn rest(spans: &[Span], nth: u32) -> Option<Span> {
    Some(Span::new(spans.get(nth as usize)?.end, spans.last()?.end))
}

/// From the span of one number to that of another.
fn join(spans: &[Span], first: u32, last: u32) -> Option<Span> {
    let both = [first, last].map(|i| spans.get(i as usize).copied());
    both.into_iter().flatten().reduce(Span::join)
}

fn whole(tokens: &[Token]) -> Option<Span> {
    Some(tokens.first()?.span.join(tokens.last()?.span))
}
