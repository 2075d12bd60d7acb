//! Facts and analyses that do not belong to the module that they are used with.

use core::fmt;

use super::FunctionFacts;
use crate::{EntityId, FuncId};

/// Facts or analyses are of another revision of the module, or of another function.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum StaleFacts {
    /// The module was edited since.
    Revision {
        /// The [revision](crate::Module::revision) that they are of.
        facts: u32,
        /// That of the module.
        module: u32,
    },
    /// They are of another function.
    Function {
        /// The function that they are of.
        facts: FuncId,
        /// The function that they are used with.
        function: FuncId,
    },
}

impl fmt::Display for StaleFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Revision { facts, module } => write!(
                f,
                "the facts are of revision {facts} of the module, which has revision {module}: compute them again after an edit"
            ),
            Self::Function { facts, function } => write!(
                f,
                "the facts are of function {}, used with function {}",
                facts.index(),
                function.index()
            ),
        }
    }
}

impl core::error::Error for StaleFacts {}

/// The function that an analysis is of, and the revision of its module.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Stamp {
    function: FuncId,
    revision: u32,
}

impl Stamp {
    /// The stamp of what is computed from these facts.
    #[must_use]
    pub fn of(facts: FunctionFacts<'_>) -> Self {
        Self {
            function: facts.id(),
            revision: facts.module().revision(),
        }
    }

    /// Checks that what has this stamp was computed from the same function of the same revision of the module.
    ///
    /// # Errors
    ///
    /// It was not.
    pub fn check(self, facts: FunctionFacts<'_>) -> Result<(), StaleFacts> {
        let now = Self::of(facts);
        check_revision(self.revision, now.revision)?;
        match self.function == now.function {
            true => Ok(()),
            false => Err(StaleFacts::Function {
                facts: self.function,
                function: now.function,
            }),
        }
    }
}

/// Compares the revision of facts with that of the module.
pub(super) fn check_revision(facts: u32, module: u32) -> Result<(), StaleFacts> {
    match facts == module {
        true => Ok(()),
        false => Err(StaleFacts::Revision { facts, module }),
    }
}
