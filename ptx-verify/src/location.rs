//! The location of a finding: a statement and a part of it. Parts are resolved to spans only when a finding is
//! rendered, so that rules never read a statement's text.

use ptx_ir::{NameId, Span};

/// The text of a token.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Word {
    /// A keyword or an option.
    Keyword(&'static str),
    /// A name or string of the module.
    Name(NameId),
}

/// A part of a statement.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// All of it.
    Whole,
    /// The token with a text, of those the one with this number; the first token of the statement where there is none.
    Token(Word, u32),
    /// The first dotted word with a prefix.
    DotWord(&'static str),
    /// The token after a keyword.
    After(&'static str),
    /// The token after the last keyword before a name.
    Before(&'static str, NameId),
    /// The initial value of a name: the token after its `=`.
    Initializer(NameId),
    /// The first dimension of a name: the token after its `[`.
    Dimension(NameId),
    /// The definition of a label: of the tokens before a `:` with its name, the one with this number.
    Label(NameId, u32),
    /// The integer with a value, and its sign.
    Negative(i64),
    /// The integer with a value.
    Number(i64),
    /// The opcode of an instruction.
    Opcode,
    /// From the opcode to the last modifier.
    Mnemonic,
    /// The last character of the mnemonic.
    MnemonicEnd,
    /// The predicate of the guard with its sign.
    Guard,
    /// Modifiers, from the first to the last of these numbers.
    Modifiers(u32, u32),
    /// An operand by number; the mnemonic where there is none.
    Operand(u32),
    /// Operands, from the first to the last of these numbers.
    Operands(u32, u32),
    /// The last operand.
    LastOperand,
    /// From the end of an operand to the end of the last one.
    AfterOperand(u32),
    /// From the end of a part of an operand to the end of its last part.
    AfterElement(u32, u32),
    /// A part of an operand in brackets, braces, or around `|`.
    Element(u32, u32),
    /// Parts of an operand, from the first to the last of these numbers.
    Elements(u32, u32, u32),
    /// The token of the operands with a text.
    OperandToken(&'static str),
}

/// A part of a statement of the source.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Location {
    /// The statement, from the start of the source.
    pub(crate) statement: Span,
    pub(crate) part: Part,
}

impl Location {
    /// A span as it is.
    pub(crate) const fn exact(span: Span) -> Self {
        Self {
            statement: span,
            part: Part::Whole,
        }
    }

    pub(crate) const fn part(statement: Span, part: Part) -> Self {
        Self { statement, part }
    }

    /// The first token with the text of a keyword.
    pub(crate) const fn keyword(statement: Span, text: &'static str) -> Self {
        Self::part(statement, Part::Token(Word::Keyword(text), 0))
    }

    /// The first token with the text of a name.
    pub(crate) const fn name(statement: Span, name: NameId) -> Self {
        Self::part(statement, Part::Token(Word::Name(name), 0))
    }
}
