//! Records of errors: each with the context that a repair needs. When the module is complete, [`repair`](crate::repair) makes
//! diagnostics of these records.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::{Applicability, Code, Diagnostic, FuncId, NameId, SigId, Span};

use crate::name_use::Expected;

/// An error with its context.
pub(crate) struct Record {
    pub(crate) error: Diagnostic,
    pub(crate) cause: Cause,
    /// The construct that could not be parsed, if this is a syntax error.
    pub(crate) place: Option<Place>,
}

/// The cause of an error, which selects the repair.
pub(crate) enum Cause {
    /// The error is complete.
    Stated,
    /// A string or a line marker contains a character outside ASCII.
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
    MissingSpace { name_start: usize, in_body: bool },
    /// A parameter has no type.
    MissingParameterType,
    /// The modifier at the offset `word` of a mnemonic is not known. The mnemonic is at `start` of the source.
    UnknownModifier { sig: SigId, start: usize, word: u32 },
    /// The opcode of a mnemonic is not known.
    UnknownOpcode { sig: SigId },
    /// Names have no declaration.
    Undeclared(Box<Undeclared>),
}

/// A construct that could not be parsed.
#[derive(Copy, Clone)]
pub(crate) enum Place {
    Statement(StatementContext),
    /// The header of the function at `start`.
    Header {
        start: usize,
    },
}

/// A statement or item that could not be parsed.
#[derive(Copy, Clone)]
pub(crate) struct StatementContext {
    /// The offset in the source.
    pub(crate) start: usize,
    /// The offset of the `;` of the previous statement, if both are on one line of a body.
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
    /// The uses in the order of the text. The error is reported at the first one.
    pub(crate) uses: Vec<UnresolvedUse>,
    /// Whether the names are members of a range, which have a common prefix. Otherwise all uses are of one name.
    pub(crate) is_range: bool,
    /// The function with the uses; none outside of bodies.
    pub(crate) function: Option<FuncId>,
    /// The number of symbols that the module declares before the uses.
    pub(crate) symbol_count: usize,
}

/// A use of a name without a declaration.
#[derive(Copy, Clone)]
pub(crate) struct UnresolvedUse {
    pub(crate) name: NameId,
    /// The offset in the source.
    pub(crate) offset: u32,
}

/// The reason why names are undeclared.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum UndeclaredCause {
    /// Their declaration follows the use.
    Late,
    /// They are labels of another scope.
    OtherScope,
    /// Their numbers are too large for the declared range.
    BeyondRange,
    /// There is no declaration.
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

/// The error of an `operand` after the `;` of its statement.
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
