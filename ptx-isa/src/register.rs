//! Facts about special registers.

use crate::version::PtxVersion;
use crate::{Directive, ScalarType, SpecialReg, Target, generated};

/// Facts about a special register.
pub(crate) struct RegisterFacts {
    pub(crate) scalar_type: ScalarType,
    pub(crate) lanes: u8,
    pub(crate) volatile: bool,
    pub(crate) short: bool,
    pub(crate) needs: Option<Directive>,
    pub(crate) summary: &'static str,
    pub(crate) since: PtxVersion,
    pub(crate) target: Option<Target>,
}

impl SpecialReg {
    const fn facts(self) -> &'static RegisterFacts {
        &generated::register::FACTS[self as usize]
    }

    /// One sentence that says what it is.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        self.facts().summary
    }

    /// Its type, or that of one component.
    #[inline]
    #[must_use]
    pub const fn scalar_type(self) -> ScalarType {
        self.facts().scalar_type
    }

    /// Whether it has the components `.x`, `.y`, `.z` and `.w`.
    #[inline]
    #[must_use]
    pub const fn is_vector(self) -> bool {
        self.facts().lanes > 1
    }

    /// The number of components: 4 for a vector, otherwise 1.
    #[inline]
    #[must_use]
    pub const fn lanes(self) -> u8 {
        self.facts().lanes
    }

    /// Whether two reads in one thread may return different values.
    #[inline]
    #[must_use]
    pub const fn is_volatile(self) -> bool {
        self.facts().volatile
    }

    /// Whether `mov` may read it with fewer bits: it had 16 bits before PTX 2.0, or 32.
    #[inline]
    #[must_use]
    pub const fn is_short(self) -> bool {
        self.facts().short
    }

    /// The directive that a kernel must have to read it, with a number other than zero. Other functions may read it.
    #[inline]
    #[must_use]
    pub const fn needs(self) -> Option<Directive> {
        self.facts().needs
    }

    /// The first version that supports it with its present type.
    #[inline]
    #[must_use]
    pub const fn since(self) -> PtxVersion {
        self.facts().since
    }

    /// The first target that supports it; `None` for all targets.
    #[inline]
    #[must_use]
    pub const fn target(self) -> Option<Target> {
        self.facts().target
    }
}
