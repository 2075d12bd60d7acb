//! What the parser could not read: each error, with what a repair has to know of the place where it arose. The diagnostics that
//! users see are made of these records by [`repair`](crate::repair) when the module is complete.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::{Applicability, Code, Diagnostic, FuncId, NameId, SigId, Span};

use crate::name_use::Expected;

/// An error: its place, what was expected there and what was found, and the context.
pub(crate) struct Record {
    pub(crate) error: Diagnostic,
    pub(crate) cause: Cause,
    /// What could not be read, if the error is about its syntax.
    pub(crate) place: Option<Place>,
}

/// What was read where the error arose, as far as the error itself does not say it.
pub(crate) enum Cause {
    /// The error says all.
    Stated,
    /// A string or a line marker contains a character outside ASCII, which is not a mark of PTX.
    CharacterInText,
    /// A word with a dot is not a directive.
    UnknownDirective,
    /// A word with a dot is not a type of a declaration.
    UnknownType,
    /// A word is not an attribute.
    UnknownAttribute,
    /// A word is not a target.
    UnknownTarget,
    /// A declaration has a word without a dot in the place of its type.
    UndottedType,
    /// A type has no state space before it, but a name after it.
    MissingSpace { name: usize, in_body: bool },
    /// A parameter has no type.
    MissingParameterType,
    /// A modifier is not known: the one at `word` of a mnemonic, whose opcode is at `start`.
    UnknownModifier { sig: SigId, start: usize, word: u32 },
    /// The opcode of a mnemonic is not known.
    UnknownOpcode { sig: SigId },
    /// Names have no declaration.
    Undeclared(Box<Undeclared>),
}

/// What could not be read.
#[derive(Copy, Clone)]
pub(crate) enum Place {
    Statement(StatementContext),
    /// The header of the function at `start`.
    Header {
        start: usize,
    },
}

/// A statement or item that could not be read.
#[derive(Copy, Clone)]
pub(crate) struct StatementContext {
    pub(crate) start: usize,
    /// The `;` of the statement before it on its line, in a body.
    pub(crate) semicolon: Option<usize>,
    /// Whether the last token before the error is a declared name.
    pub(crate) follows_declared: bool,
    /// Whether the token at the error is a declared name.
    pub(crate) is_declared: bool,
}

/// Uses of names that lack the same declaration.
pub(crate) struct Undeclared {
    pub(crate) cause: UndeclaredCause,
    pub(crate) expected: Expected,
    /// In the order of the text; the error is reported at the first one.
    pub(crate) uses: Vec<UnresolvedUse>,
    /// They are members of a range: their common part is their prefix, else the name.
    pub(crate) is_range: bool,
    /// The function with the uses; none outside of bodies.
    pub(crate) function: Option<FuncId>,
    /// The number of symbols that the module had declared before.
    pub(crate) symbols: usize,
}

/// A use of a name without a declaration.
#[derive(Copy, Clone)]
pub(crate) struct UnresolvedUse {
    pub(crate) name: NameId,
    /// The offset in the source.
    pub(crate) offset: u32,
}

/// Why names have no declaration.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum UndeclaredCause {
    /// It follows their use.
    Late,
    /// They are labels of another scope.
    OtherScope,
    /// Their numbers are too large for a range.
    BeyondRange,
    /// There is none.
    Missing,
}

impl From<Diagnostic> for Record {
    fn from(error: Diagnostic) -> Self {
        Self {
            error,
            cause: Cause::Stated,
            place: None,
        }
    }
}

impl Record {
    pub(crate) fn new(error: Diagnostic, cause: Cause) -> Self {
        Self {
            cause,
            ..Self::from(error)
        }
    }

    /// The error with a cause, boxed as the parser returns it.
    pub(crate) fn with_cause(self, cause: Cause) -> Box<Self> {
        Box::new(Self { cause, ..self })
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.error = self.error.with_help(help);
        self
    }

    pub(crate) fn with_fix(mut self, span: Span, text: impl Into<String>) -> Self {
        self.error = self.error.with_fix(span, text);
        self
    }

    pub(crate) fn with_label(mut self, span: Span, message: impl Into<String>) -> Self {
        self.error = self.error.with_label(span, message);
        self
    }

    pub(crate) fn with_applicability(mut self, applicability: Applicability) -> Self {
        self.error = self.error.with_applicability(applicability);
        self
    }

    pub(crate) fn machine_applicable(mut self) -> Self {
        self.error = self.error.machine_applicable();
        self
    }
}

/// The error of the rest of a statement that ends too early.
pub(crate) fn split_statement(semicolon: usize, operand: &str) -> Diagnostic {
    let span = Span::at(semicolon, semicolon + 1);
    let message = format!("expected `,` before the operand `{operand}`, found `;`");
    Diagnostic::error(Code::UnexpectedToken, span, message)
        .with_help("separate operands with `,`")
        .with_fix(span, ",")
}

/// The error of a name that is declared after its use.
#[cold]
pub(crate) fn late_declaration(name: &str, span: Span) -> Diagnostic {
    Diagnostic::error(
        Code::LateDeclaration,
        span,
        format!("expected the declaration of `{name}` before this use, found it after"),
    )
    .with_help("declare it first: only labels can be used before they are defined")
}
