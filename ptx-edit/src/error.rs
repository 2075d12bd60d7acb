//! The errors of edits.

use alloc::string::String;
use core::fmt;

use ptx_ir::{Module, NameId, Span, StmtId, SymbolId};

use crate::UsedBy;

/// The reason why an edit was refused. A refused edit changes nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EditError {
    /// The function is only declared, or the module has no such function.
    NoBody,
    /// There is no such statement, or it was removed.
    NoStatement,
    /// The statement has no such part: an operand, a modifier, a name, an element.
    NoPart(String),
    /// A statement or an operand of another kind is expected.
    Kind {
        /// The expected kind.
        wanted: &'static str,
    },
    /// The new statement, the register, the label or the variable belongs to another body.
    UnknownId,
    /// The statement cannot be moved or removed alone: a brace, a table after its label, a label before its table.
    Immovable,
    /// The text is not a name, a mnemonic or a number.
    Spelling {
        /// The expected kind.
        wanted: &'static str,
        /// The text.
        text: String,
    },
    /// The name is already used where it would be visible.
    Taken(String),
    /// A name such as `%r11` would denote a member of a range and another entity as well.
    Overlap {
        /// The new name.
        name: String,
        /// The existing name.
        other: String,
    },
    /// The name is not visible: it is not declared before the statement in a scope around it, or another declaration hides it.
    Hidden(String),
    /// No entity that is visible at the place of a text has this name.
    Undeclared(String),
    /// The text cannot be parsed as statements of a function.
    Syntax {
        /// The message of the error.
        message: String,
        /// The place of the error, from the start of the text.
        span: Span,
    },
    /// The name is still used.
    Used {
        /// The name.
        name: String,
        /// The use that prevents the edit.
        by: UsedBy,
    },
    /// Two edits of a batch change the same part of a statement.
    Conflict {
        /// The statement.
        statement: StmtId,
        /// The index of the first edit in the batch.
        first: usize,
        /// The index of the second edit.
        second: usize,
    },
    /// The module has no such directive, item or name.
    Missing(&'static str),
}

impl EditError {
    /// An error for a text that is not a valid `wanted`.
    pub(crate) fn spelling(wanted: &'static str, text: impl Into<String>) -> Self {
        let text = text.into();
        Self::Spelling { wanted, text }
    }

    /// An error that names the expected kind of statement or operand.
    pub(crate) fn kind<T>(wanted: &'static str) -> Result<T, Self> {
        Err(Self::Kind { wanted })
    }

    /// An error for a symbol that is still used.
    pub(crate) fn used(module: &Module, symbol: SymbolId, by: UsedBy) -> Self {
        let name = symbol_name(module, symbol);
        Self::Used { name, by }
    }

    /// An error for a name that is used where names are not resolved.
    pub(crate) fn unresolved(module: &Module, name: NameId) -> Self {
        Self::Used {
            name: String::from(module.name(name)),
            by: UsedBy::Unresolved,
        }
    }
}

/// The name of a symbol.
pub(crate) fn symbol_name(module: &Module, symbol: SymbolId) -> String {
    let symbol = module.symbols().get(symbol);
    String::from(symbol.map_or("", |s| module.name(s.name)))
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBody => f.write_str("the function has no body"),
            Self::NoStatement => f.write_str("no such statement"),
            Self::NoPart(part) => write!(f, "the statement has no {part}"),
            Self::Kind { wanted } => write!(f, "expected a {wanted}"),
            Self::UnknownId => f.write_str("this belongs to another function"),
            Self::Immovable => f.write_str("the statement cannot be moved or removed alone"),
            Self::Spelling { wanted, text } => write!(f, "`{text}` is not a valid {wanted}"),
            Self::Taken(name) => write!(f, "the name `{name}` is already used"),
            Self::Overlap { name, other } => write!(
                f,
                "`{name}` conflicts with `{other}`: a member of a range would have the same name"
            ),
            Self::Hidden(name) => write!(f, "`{name}` is not visible here"),
            Self::Undeclared(name) => write!(f, "undeclared name `{name}`"),
            Self::Syntax { message, .. } => f.write_str(message),
            Self::Used { name, by } => by.write(f, name),
            Self::Conflict {
                statement,
                first,
                second,
            } => write!(f, "edits {first} and {second} both change {statement:?}"),
            Self::Missing(entity) => write!(f, "the module has no {entity}"),
        }
    }
}

impl core::error::Error for EditError {}
