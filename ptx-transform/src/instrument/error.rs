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
    /// A name that the probe's code declares stands in the module already.
    Taken(String),
    /// The module has no header, so that nothing can stand behind it.
    NoHeader,
    /// The module cannot be read once code was added: its own mistakes, or those of the code.
    Code(Vec<Diagnostic>),
    /// The probe asked for something that the access has not.
    Missing(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Edit(e) => write!(f, "{e}"),
            Self::Taken(name) => write!(f, "the name `{name}` is taken"),
            Self::NoHeader => f.write_str("the module has no header"),
            Self::Code(found) => match found.first() {
                Some(d) => write!(f, "the code cannot be read: {}", d.message),
                None => f.write_str("the code cannot be read"),
            },
            Self::Missing(what) => write!(f, "the access has no {what}"),
        }
    }
}

impl core::error::Error for Error {}

impl From<EditError> for Error {
    fn from(e: EditError) -> Self {
        Self::Edit(e)
    }
}
