//! Why an edit is refused.

use alloc::string::String;
use core::fmt;

use ptx_ir::{Span, StmtId};

/// Why an edit was refused. Nothing has changed then.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EditError {
    /// The function is only declared, or there is none with this id.
    NoBody,
    /// There is no such statement, or it was removed.
    NoStatement,
    /// The statement has no such part: an operand, a modifier, a name, an element.
    NoPart(String),
    /// The statement or the operand is of another kind.
    Kind {
        /// What the edit wants.
        wanted: &'static str,
    },
    /// The draft, the register, the label or the variable belongs to another body.
    UnknownId,
    /// The statement cannot be moved or taken away alone: a brace, a table behind its label, the label before it.
    Immovable,
    /// The text is no name, mnemonic or number.
    Spelling {
        /// What it should be.
        wanted: &'static str,
        /// The text.
        text: String,
    },
    /// The name is taken where it would be seen.
    Taken(String),
    /// A text such as `%r11` would mean a member of one range and something else as well: the names are those of two ranges, or of
    /// a range and of one thing, and differ only by digits at the end.
    Overlap {
        /// The new name.
        name: String,
        /// The one that is there.
        other: String,
    },
    /// The declaration of the name does not stand before the statement in a scope around it, or another one hides it.
    Hidden(String),
    /// Nothing that is visible at the place of a text has this name.
    Undeclared(String),
    /// The text cannot be parsed as statements of a function.
    Syntax {
        /// What is wrong.
        message: String,
        /// Where, from the start of the text.
        span: Span,
    },
    /// Other statements mention the name.
    Used(String),
    /// Two edits of a batch change the same part of a statement.
    Conflict {
        /// The statement.
        statement: StmtId,
        /// The first of the two, by its place in the batch.
        first: usize,
        /// The second one.
        second: usize,
    },
    /// The module has no such directive, item or name.
    Missing(&'static str),
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBody => f.write_str("the function has no body"),
            Self::NoStatement => f.write_str("there is no such statement"),
            Self::NoPart(what) => write!(f, "the statement has no {what}"),
            Self::Kind { wanted } => write!(f, "this is no {wanted}"),
            Self::UnknownId => f.write_str("this belongs to another function"),
            Self::Immovable => f.write_str("the statement cannot be moved or removed alone"),
            Self::Spelling { wanted, text } => write!(f, "`{text}` is no {wanted}"),
            Self::Taken(name) => write!(f, "the name `{name}` is taken"),
            Self::Overlap { name, other } => write!(
                f,
                "`{name}` cannot be used beside `{other}`: they differ only in digits at the end, so that members of a range would have the same name"
            ),
            Self::Hidden(name) => write!(f, "`{name}` cannot be seen here"),
            Self::Undeclared(name) => write!(f, "undeclared name `{name}`"),
            Self::Syntax { message, .. } => f.write_str(message),
            Self::Used(name) => write!(f, "other statements mention `{name}`"),
            Self::Conflict {
                statement,
                first,
                second,
            } => write!(f, "edits {first} and {second} both change {statement:?}"),
            Self::Missing(what) => write!(f, "the module has no {what}"),
        }
    }
}

impl core::error::Error for EditError {}
