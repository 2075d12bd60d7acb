//! Targets are partially ordered: `sm_90a` code runs on one architecture, `sm_100f` code on a family.

use crate::version::PtxVersion;
use crate::{Target, TargetOption};

/// The set of architectures that code for a target runs on.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Arch {
    /// `sm_100`: that architecture and all newer ones.
    Plain,
    /// `sm_100f`: that architecture and newer ones of its family.
    Family,
    /// `sm_100a`: that architecture only.
    Exact,
}

facts! {
    /// Facts about an option.
    OptionFacts of TargetOption in target_option {
        /// The first version that supports it.
        since: PtxVersion,
        /// The first target that supports it; `None` for all targets.
        target: Option<Target>,
    }
}

facts! {
    /// Facts about a target.
    TargetFacts of Target in target {
        /// The newer name of the same architecture.
        alias_of: Option<Target>,
        /// The first version without the name.
        until: Option<PtxVersion>,
        /// The number of the first architecture of its family; `None` before families were introduced.
        family: Option<u16>,
        /// The set of architectures that its code runs on.
        arch: Arch,
        /// The number in its name.
        number: u16,
    }
    named {
        /// The first version that supports it.
        min_version = since: PtxVersion,
        /// The greatest total size in bytes of the sized shared variables of a kernel and of the functions that it calls.
        #[doc(hidden)]
        most_shared_bytes = shared: u32,
    }
    private {
        implied: u128,
    }
}

impl Target {
    /// Whether `self` supports the features that require `other`.
    ///
    /// ```
    /// use ptx_isa::Target;
    /// let target: Target = "sm_100f".parse()?;
    /// assert!(target.implies(Target::Sm90) && !Target::Sm90.implies(target));
    /// assert_eq!((target.number(), target.family()), (100, Some(100)));
    /// # Ok::<(), ptx_isa::UnknownKeyword>(())
    /// ```
    #[inline]
    #[must_use]
    pub const fn implies(self, other: Self) -> bool {
        self.facts().implied >> (other as u8) & 1 != 0
    }

    /// Every target whose features this one supports.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub const fn implied(self) -> TargetSet {
        TargetSet(self.facts().implied)
    }

    /// The other names of the same architecture with the same suffix.
    #[doc(hidden)]
    pub fn aliases(self) -> impl Iterator<Item = Self> {
        let chip = self.alias_of().unwrap_or(self);
        Self::ALL
            .iter()
            .copied()
            .filter(move |&t| t != self && t.alias_of().unwrap_or(t) == chip)
    }
}

/// The target with the name of a virtual architecture: `compute_90a` is `sm_90a`.
pub(crate) fn virtual_architecture(name: &[u8]) -> Option<Target> {
    let suffix = name.strip_prefix(b"compute_")?;
    let mut text = *b"sm_\0\0\0\0\0\0\0\0\0";
    text.get_mut(3..3 + suffix.len())?.copy_from_slice(suffix);
    Target::from_text(text.get(..3 + suffix.len())?)
}

/// A set of targets.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Default)]
pub struct TargetSet(pub(crate) u128);

impl TargetSet {
    /// All targets.
    pub const ALL: Self = Self(u128::MAX >> (128 - Target::COUNT));
    /// No target.
    pub const NONE: Self = Self(0);

    /// The target and all that support its features.
    #[must_use]
    pub fn from(target: Target) -> Self {
        Target::ALL
            .iter()
            .filter(|t| t.implies(target))
            .fold(Self::NONE, |targets, t| Self(targets.0 | 1 << *t as u8))
    }

    /// Whether `target` is in the set.
    #[inline]
    #[must_use]
    pub const fn contains(self, target: Target) -> bool {
        self.0 >> (target as u8) & 1 != 0
    }

    /// The targets in both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The targets in one of the sets.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The targets outside of the set.
    #[allow(clippy::should_implement_trait, reason = "as `and` and `or`")]
    #[must_use]
    pub const fn not(self) -> Self {
        Self(Self::ALL.0 & !self.0)
    }

    /// The targets in the set.
    pub fn iter(self) -> impl Iterator<Item = Target> {
        Target::ALL
            .iter()
            .copied()
            .filter(move |&t| self.contains(t))
    }
}

impl core::fmt::Debug for TargetSet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
