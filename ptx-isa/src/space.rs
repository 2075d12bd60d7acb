//! Facts about state spaces.

use crate::version::PtxVersion;
use crate::{Modifier, StateSpace};

facts! {
    /// Facts about a state space.
    SpaceFacts of StateSpace in space {
        /// One sentence that says what it is.
        summary: &'static str,
        /// The modifier that names it on an instruction.
        modifier: Option<Modifier>,
        /// The space that contains it as a window: `.shared` for `.shared::cta`.
        #[doc(hidden)]
        within: Option<StateSpace>,
        /// The first version that supports it.
        since: PtxVersion,
    }
    named {
        /// Whether variables in the space have addresses.
        is_addressable = addressable: bool,
    }
}

impl StateSpace {
    /// Whether an address in one space can be the address of a variable declared in the other: the parts of parameter space are
    /// disjoint, windows of shared memory are not.
    ///
    /// ```
    /// use ptx_isa::StateSpace;
    /// let space: StateSpace = ".shared::cta".parse()?;
    /// assert!(space.overlaps(StateSpace::Shared) && !space.overlaps(StateSpace::Global));
    /// # Ok::<(), ptx_isa::UnknownKeyword>(())
    /// ```
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        let one_is_base = self == self.base() || other == other.base();
        self == other || self.base() == other.base() && (one_is_base || self.base() == Self::Shared)
    }

    /// Whether a generic address can refer to the space.
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
}
