//! The reasons why a module cannot be instrumented.

use core::fmt;

use ptx_edit::EditError;

use crate::InsertItemsError;

/// The reason why a module was not instrumented.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// An edit was refused.
    Edit(EditError),
    /// Functions or variables for the probes cannot be inserted.
    Items(InsertItemsError),
    /// The probe asked for something that does not exist.
    Missing(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Edit(error) => write!(f, "{error}"),
            Self::Items(error) => write!(f, "{error}"),
            Self::Missing(name) => write!(f, "there is no {name}"),
        }
    }
}

impl core::error::Error for Error {}

impl From<EditError> for Error {
    fn from(error: EditError) -> Self {
        Self::Edit(error)
    }
}

impl From<InsertItemsError> for Error {
    fn from(error: InsertItemsError) -> Self {
        Self::Items(error)
    }
}
