//! Mutants: copies of a text with one changed token.

use std::fmt;

use fastrand::Rng;
use ptx_ir::Span;
use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_isa::ScalarType;

/// A change of one token.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    /// The token is removed.
    Drop,
    /// The token is duplicated.
    Double,
    /// The token and the next one are swapped.
    Swap,
    /// A name becomes another one of the text, or a new one.
    Rename,
    /// A type becomes another.
    Retype,
    /// A number becomes another.
    Number,
}

impl Kind {
    pub(crate) const ALL: [Self; 6] = [
        Self::Drop,
        Self::Double,
        Self::Swap,
        Self::Rename,
        Self::Retype,
        Self::Number,
    ];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Drop => "dropped",
            Self::Double => "doubled",
            Self::Swap => "swapped",
            Self::Rename => "renamed",
            Self::Retype => "retyped",
            Self::Number => "number",
        })
    }
}

/// Numbers at the limits of operands of PTX.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "3",
    "5",
    "7",
    "8",
    "16",
    "17",
    "31",
    "32",
    "33",
    "255",
    "256",
    "65536",
    "4294967296",
    "0x10",
    "1.5",
    "0f3F800000",
];

/// A text with the tokens after its header.
pub(crate) struct Base {
    pub(crate) name: String,
    text: Vec<u8>,
    tokens: Vec<Token>,
}

/// A changed text.
pub(crate) struct Mutant {
    pub(crate) kind: Kind,
    pub(crate) text: Vec<u8>,
    /// A description of the change: `old -> new`.
    pub(crate) change: String,
    /// The line of the change, from 1.
    pub(crate) line: usize,
}

impl Base {
    /// A text that has at least one token after its header.
    pub(crate) fn new(name: String, text: Vec<u8>) -> Option<Self> {
        let mut tokens: Vec<Token> = Lexer::new(&text).filter(|t| !t.kind.is_trivia()).collect();
        let last = tokens.iter().rposition(|token| {
            let word = token.span.of(&text);
            token.kind == TokenKind::DotWord
                && matches!(word, b".version" | b".target" | b".address_size")
        })?;
        // The header ends with the line of its last directive.
        let start = tokens[last].span.start as usize;
        let end = start + text[start..].iter().position(|b| *b == b'\n')?;
        tokens.retain(|t| t.span.start as usize > end);
        (!tokens.is_empty()).then_some(Self { name, text, tokens })
    }

    fn of(&self, span: Span) -> &[u8] {
        span.of(&self.text)
    }

    /// A random token that passes a test.
    fn choose(&self, rng: &mut Rng, test: impl Fn(&Token) -> bool) -> Option<Token> {
        let candidates: Vec<&Token> = self.tokens.iter().filter(|t| test(t)).collect();
        rng.choice(candidates).copied()
    }

    /// Changes one token; `None` if there is no token for this kind of change, or nothing changes.
    pub(crate) fn mutate(&self, kind: Kind, rng: &mut Rng) -> Option<Mutant> {
        let (span, new) = match kind {
            Kind::Drop => (self.choose(rng, |_| true)?.span, Vec::new()),
            Kind::Double => {
                let token = self.choose(rng, |_| true)?;
                let word = self.of(token.span);
                let separator: &[u8] = if word.starts_with(b".") { b"" } else { b" " };
                (token.span, [word, separator, word].concat())
            }
            Kind::Swap => {
                let index = rng.usize(..self.tokens.len().checked_sub(1)?);
                let (first, second) = (self.tokens[index].span, self.tokens[index + 1].span);
                let between = Span::new(first.end, second.start);
                let new = [self.of(second), self.of(between), self.of(first)].concat();
                (first.join(second), new)
            }
            Kind::Rename => {
                let is_name = |t: &Token| t.kind == TokenKind::Ident;
                let token = self.choose(rng, is_name)?;
                let new = if rng.u8(..10) < 7 {
                    self.of(self.choose(rng, is_name)?.span).to_vec()
                } else {
                    [
                        self.of(token.span),
                        *rng.choice([b"x".as_slice(), b"1", b"_q"].iter())?,
                    ]
                    .concat()
                };
                (token.span, new)
            }
            Kind::Retype => {
                let types = ScalarType::ALL.iter().filter(|t| t.is_register_type());
                let new = rng.choice(types.collect::<Vec<_>>())?;
                let token = self.choose(rng, |t| {
                    ScalarType::from_text(self.of(t.span)).is_some_and(ScalarType::is_register_type)
                })?;
                (token.span, new.text().into())
            }
            Kind::Number => {
                let token = self.choose(rng, |t| {
                    matches!(
                        t.kind,
                        TokenKind::Integer | TokenKind::Decimal | TokenKind::Single
                    )
                })?;
                (token.span, (*rng.choice(NUMBERS.iter())?).into())
            }
        };
        let old = self.of(span);
        if old == new {
            return None;
        }
        let change = format!("`{}` -> `{}`", on_one_line(old), on_one_line(&new));
        let head = &self.text[..span.start as usize];
        let tail = &self.text[span.end as usize..];
        Some(Mutant {
            kind,
            line: head.iter().filter(|b| **b == b'\n').count() + 1,
            text: [head, &new, tail].concat(),
            change,
        })
    }
}

/// The text with single spaces between its words.
fn on_one_line(text: &[u8]) -> String {
    String::from_utf8_lossy(text)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}
