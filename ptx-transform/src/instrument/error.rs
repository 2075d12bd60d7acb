//! Why a module cannot be instrumented.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use ptx_edit::EditError;
use ptx_ir::Diagnostic;

/// Why a module was not instrumented.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// An edit was refused.
    Edit(EditError),
    /// The module already uses a name that the inserted code declares.
    Taken(String),
    /// The module has no header after which code could be inserted.
    NoHeader,
    /// The module or the inserted code has errors.
    Code(Vec<Diagnostic>),
    /// The probe asked for something that does not exist.
    Missing(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Edit(e) => write!(f, "{e}"),
            Self::Taken(name) => write!(f, "the name `{name}` is already in use"),
            Self::NoHeader => f.write_str("the module has no header"),
            Self::Code(found) => match found.first() {
                Some(d) => write!(f, "the code has errors: {}", d.message),
                None => f.write_str("the code has errors"),
            },
            Self::Missing(what) => write!(f, "there is no {what}"),
        }
    }
}

impl core::error::Error for Error {}

impl From<EditError> for Error {
    fn from(e: EditError) -> Self {
        Self::Edit(e)
    }
}
