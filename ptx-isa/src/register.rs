//! Facts about special registers.

use crate::version::PtxVersion;
use crate::{Directive, ScalarType, SpecialReg, Target, Uniformity};

facts! {
    /// Facts about a special register.
    RegisterFacts of SpecialReg in register {
        /// One sentence that says what it is.
        summary: &'static str,
        /// Its type, or that of one component.
        scalar_type: ScalarType,
        /// The number of components: 4 for a vector, otherwise 1.
        components: u8,
        /// The threads in which the register has the same value; for [volatile](SpecialReg::is_volatile) registers, if they read it
        /// together.
        uniformity: Uniformity,
        /// The register that contains the number of its values: its value is between 0 and that number minus one, a vector in
        /// each component.
        #[doc(hidden)]
        index_of: Option<SpecialReg>,
        /// The directive that a kernel must have to read it, with a number other than zero. Other functions may read it.
        #[doc(hidden)]
        needs: Option<Directive>,
        /// The first version that supports it with its present type.
        since: PtxVersion,
        /// The first target that supports it; `None` for all targets.
        target: Option<Target>,
    }
    named {
        /// Whether two reads in one thread may return different values.
        is_volatile = volatile: bool,
        /// Whether `mov` may read it with fewer bits: it had 16 bits before PTX 2.0, or 32.
        #[doc(hidden)]
        is_short = short: bool,
    }
}

impl SpecialReg {
    /// Whether the register has the components `.x`, `.y`, `.z` and `.w`.
    #[inline]
    #[must_use]
    pub const fn is_vector(self) -> bool {
        self.facts().components > 1
    }
}
