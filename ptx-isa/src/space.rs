//! Facts about state spaces.

use crate::version::PtxVersion;
use crate::{Modifier, StateSpace, generated};

/// Facts about a state space.
pub(crate) struct SpaceFacts {
    pub(crate) addressable: bool,
    pub(crate) modifier: Option<Modifier>,
    pub(crate) within: Option<StateSpace>,
    pub(crate) summary: &'static str,
    pub(crate) since: PtxVersion,
}

impl StateSpace {
    const fn facts(self) -> &'static SpaceFacts {
        &generated::space::FACTS[self as usize]
    }

    /// One sentence that says what it is.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        self.facts().summary
    }

    /// Whether its variables have addresses.
    #[inline]
    #[must_use]
    pub const fn is_addressable(self) -> bool {
        self.facts().addressable
    }

    /// The modifier that names it on an instruction.
    #[inline]
    #[must_use]
    pub const fn modifier(self) -> Option<Modifier> {
        self.facts().modifier
    }

    /// The space it is a window of: `.shared` for `.shared::cta`.
    #[inline]
    #[must_use]
    pub const fn within(self) -> Option<Self> {
        self.facts().within
    }

    /// Whether an address in one can be that of a variable declared in the other: the parts of parameter space are disjoint,
    /// windows of shared memory are not.
    ///
    /// ```
    /// use ptx_isa::StateSpace;
    /// let space: StateSpace = ".shared::cta".parse()?;
    /// assert!(space.overlaps(StateSpace::Shared) && !space.overlaps(StateSpace::Global));
    /// # Ok::<(), ptx_isa::UnknownKeyword>(())
    /// ```
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        let whole = self == self.base() || other == other.base();
        self == other || self.base() == other.base() && (whole || self.base() == Self::Shared)
    }

    /// Whether a generic address can refer to it.
    #[inline]
    #[must_use]
    pub const fn is_generic(self) -> bool {
        matches!(self.base(), Self::Global | Self::Shared | Self::Local)
    }

    /// The space without its sub-qualifier.
    #[inline]
    #[must_use]
    pub const fn base(self) -> Self {
        match self.within() {
            Some(base) => base,
            None => self,
        }
    }

    /// The first version that supports it.
    #[inline]
    #[must_use]
    pub const fn since(self) -> PtxVersion {
        self.facts().since
    }
}
