//! Facts and analyses that do not belong to the module that they are used with.

use core::fmt;

use super::FunctionFacts;
use crate::revisions::Content;
use crate::{EntityId, FuncId, Module};

/// Facts or analyses are of another revision of the module, of another module, or of another function.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum StaleFacts {
    /// The module was edited since, or they are of another module with another number of edits.
    Revision {
        /// The [revision](crate::Module::revision) that they are of.
        facts: u32,
        /// The revision of the module.
        module: u32,
    },
    /// They are of another module, or of a copy that was edited in another way.
    Module,
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
            Self::Module => f.write_str(
                "the facts are of another module, or of a copy that was edited in another way",
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

/// The function that an analysis is of, and the contents of its module.
#[doc(hidden)]
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Stamp {
    function: FuncId,
    module: ModuleStamp,
}

/// The contents of a module that facts are of.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ModuleStamp {
    content: Content,
    revision: u32,
}

impl ModuleStamp {
    pub(super) fn of(module: &Module) -> Self {
        Self {
            content: module.content,
            revision: module.revision,
        }
    }

    /// Checks that a module has the same contents.
    pub(super) fn check(self, module: &Module) -> Result<(), StaleFacts> {
        let current = Self::of(module);
        if self.content == current.content {
            return Ok(());
        }
        Err(if self.revision == current.revision {
            StaleFacts::Module
        } else {
            StaleFacts::Revision {
                facts: self.revision,
                module: current.revision,
            }
        })
    }
}

impl Stamp {
    /// The stamp of a result that is computed from these facts.
    #[must_use]
    pub fn of(facts: FunctionFacts<'_>) -> Self {
        Self {
            function: facts.id(),
            module: ModuleStamp::of(facts.module()),
        }
    }

    /// Checks that the result with this stamp was computed from the same function of the same module, which was not edited since.
    ///
    /// # Errors
    ///
    /// The function, the module or its revision differs.
    pub fn check(self, facts: FunctionFacts<'_>) -> Result<(), StaleFacts> {
        self.module.check(facts.module())?;
        if self.function == facts.id() {
            return Ok(());
        }
        Err(StaleFacts::Function {
            facts: self.function,
            function: facts.id(),
        })
    }
}
