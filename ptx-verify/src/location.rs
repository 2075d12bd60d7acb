//! The location of a finding: a statement and a part of it. Parts are resolved to spans only when a finding is
//! rendered, so that rules never read a statement's text.

use ptx_ir::{FuncId, Module, NameId, Span};

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
    /// The complete statement.
    Whole,
    /// A token by its text, and by its index among the tokens with this text. If there is none, the first token of the statement.
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
    /// The definition of a label: a token with its name before a `:`, by its index among these tokens.
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
    /// Modifiers, by the indices of the first and the last one.
    Modifiers(u32, u32),
    /// An operand by index; the mnemonic if there is none.
    Operand(u32),
    /// Operands, by the indices of the first and the last one.
    Operands(u32, u32),
    /// The last operand.
    LastOperand,
    /// The text from the end of an operand to the end of the last operand.
    AfterOperand(u32),
    /// The text from the end of an element of an operand to the end of its last element: the indices of the operand and the element.
    AfterElement(u32, u32),
    /// An element of an operand in brackets, in braces, or beside `|`: the indices of the operand and the element.
    Element(u32, u32),
    /// Elements of an operand: the indices of the operand, and of the first and the last element.
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
    /// Returns the location of a span.
    pub(crate) const fn exact(span: Span) -> Self {
        Self {
            statement: span,
            part: Part::Whole,
        }
    }

    pub(crate) const fn part(statement: Span, part: Part) -> Self {
        Self { statement, part }
    }

    /// Returns the location of the first token with the text of a keyword.
    pub(crate) const fn keyword(statement: Span, text: &'static str) -> Self {
        Self::part(statement, Part::Token(Word::Keyword(text), 0))
    }

    /// Returns the location of the first token with the text of a name.
    pub(crate) const fn name(statement: Span, name: NameId) -> Self {
        Self::part(statement, Part::Token(Word::Name(name), 0))
    }
}

/// The spans of a function to which findings about its header refer.
pub(crate) struct FunctionSpans {
    pub(crate) header: Span,
    /// The `{` of the body, or the last character of a declaration.
    pub(crate) open: Span,
    /// The `}` of the body, or the last character of a declaration.
    pub(crate) close: Span,
    /// The function has a body.
    pub(crate) is_defined: bool,
}

impl FunctionSpans {
    /// `item` is the span of the function with its body.
    pub(crate) fn new(module: &Module, id: FuncId, item: Span) -> Self {
        let last_character = |end: u32| Span::new(end.saturating_sub(1), end);
        match module.body(id) {
            Some(body) => Self {
                header: Span::new(item.start, body.base().max(item.start)),
                open: Span::new(body.base(), body.base() + 1),
                close: last_character(body.base() + body.end()),
                is_defined: true,
            },
            None => Self {
                header: item,
                open: last_character(item.end),
                close: last_character(item.end),
                is_defined: false,
            },
        }
    }
}
