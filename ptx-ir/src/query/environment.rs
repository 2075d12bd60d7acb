//! The version and the target for which instructions are judged.

use alloc::boxed::Box;

use ptx_isa::internals::{Deprecation, FormMatch, InstQuery, NoForm};
use ptx_isa::{PtxVersion, Target};

use crate::Module;

/// The PTX version and the target for which instructions are judged.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Environment {
    version: PtxVersion,
    target: Option<Target>,
}

impl Environment {
    /// Any version and any target: an instruction is legal if there is a pair for which it is.
    pub const ANYWHERE: Self = Self {
        version: PtxVersion::CURRENT,
        target: None,
    };

    /// A version and a target. Versions newer than [`PtxVersion::CURRENT`] count as that one; without a target, an
    /// instruction is judged as [`ANYWHERE`](Self::ANYWHERE).
    #[must_use]
    pub fn new(version: PtxVersion, target: Option<Target>) -> Self {
        Self {
            version: version.min(PtxVersion::CURRENT),
            target,
        }
    }

    /// The version and the target in the header of a module.
    #[must_use]
    pub fn of(module: &Module) -> Self {
        let version = module.header.version.unwrap_or(PtxVersion::CURRENT);
        Self::new(version, module.header.target)
    }

    /// The version, at most [`PtxVersion::CURRENT`].
    #[must_use]
    pub const fn version(self) -> PtxVersion {
        self.version
    }

    /// The target; `None` if the header names no known one.
    #[must_use]
    pub const fn target(self) -> Option<Target> {
        self.target
    }

    /// Whether a feature is available that requires a version and perhaps a target. Without a known target, every target has it.
    #[must_use]
    pub fn has(self, version: PtxVersion, target: Option<Target>) -> bool {
        if version > self.version {
            return false;
        }
        match (self.target, target) {
            (Some(available), Some(required)) => available.implies(required),
            _ => true,
        }
    }

    /// The form that an instruction matches, with everything that it violates.
    ///
    /// # Errors
    ///
    /// No form takes the modifiers.
    pub fn select<'a>(self, query: &InstQuery<'a>) -> Result<FormMatch<'a>, Box<NoForm>> {
        match self.target {
            Some(target) => query.select(self.version, target),
            None => query.select_anywhere(),
        }
    }

    /// The deprecated parts of a legal instruction.
    pub fn deprecations<'s>(
        self,
        form: &'s FormMatch<'_>,
    ) -> impl Iterator<Item = Deprecation> + 's {
        self.target
            .into_iter()
            .flat_map(move |target| form.deprecations(self.version, target))
    }

    /// The form of a legal instruction about which the verifier has nothing to report: no violation, no deprecated and
    /// no redundant modifier.
    #[must_use]
    pub fn select_clean<'a>(self, query: &InstQuery<'a>) -> Option<FormMatch<'a>> {
        self.select(query).ok().filter(|form| self.is_clean(form))
    }

    /// Whether the verifier has nothing to report about an instruction of this form.
    #[must_use]
    pub fn is_clean(self, form: &FormMatch<'_>) -> bool {
        form.violations().is_empty()
            && form.redundant().next().is_none()
            && self.deprecations(form).next().is_none()
    }
}
