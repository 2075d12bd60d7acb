//! The list of clean-ups.

use core::fmt;
use core::str::FromStr;

use super::definition::Definition;
use super::{
    const_fold, copy_prop, dce, infer_spaces, synchronization, uniform_branches, unreachable,
    vectorize,
};

/// One line for each clean-up, in the order in which one helps the next: variant and definition.
macro_rules! passes {
    ($($(#[$doc:meta])* $variant:ident = $definition:path;)*) => {
        /// A kind of clean-up.
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        pub enum Pass {
            $($(#[$doc])* $variant,)*
        }

        impl Pass {
            /// All of them, in the order in which one helps the next.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub(super) const fn definition(self) -> &'static Definition {
                match self {
                    $(Self::$variant => &$definition,)*
                }
            }
        }
    };
}

passes! {
    /// Address-space inference: accesses through generic addresses name their state space.
    Spaces = infer_spaces::DEFINITION;
    /// Copy propagation: instructions read the source of a copy.
    Copies = copy_prop::DEFINITION;
    /// Constant folding: what always computes the same value becomes that value.
    Fold = const_fold::DEFINITION;
    /// Elimination of redundant synchronization: fences and barriers beside others that do at least the same are removed.
    Synchronization = synchronization::DEFINITION;
    /// Vectorization: adjacent accesses of proven alignment become one. It is only made where it is asked for.
    Vectorize = vectorize::DEFINITION;
    /// Marking of uniform branches: branches that all threads of a CTA take alike say so. It is only made where it is asked for.
    Uniform = uniform_branches::DEFINITION;
    /// Unreachable-code elimination: instructions that control never reaches are removed, and unreferenced labels.
    Unreachable = unreachable::DEFINITION;
    /// Dead-code elimination: instructions whose results are never read are removed.
    Dead = dce::DEFINITION;
}

impl Pass {
    /// Whether it is made if no clean-ups are chosen.
    #[must_use]
    pub const fn is_default(self) -> bool {
        !matches!(self, Self::Vectorize | Self::Uniform)
    }

    /// A short name, such as `dead`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.definition().name
    }

    /// The standard term, such as `dead-code elimination`.
    #[must_use]
    pub const fn term(self) -> &'static str {
        self.definition().term
    }

    /// A description of the clean-up, in one sentence without a full stop.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        self.definition().summary
    }
}

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Pass {
    type Err = UnknownPass;

    fn from_str(name: &str) -> Result<Self, UnknownPass> {
        Self::ALL
            .iter()
            .copied()
            .find(|pass| pass.name() == name)
            .ok_or(UnknownPass)
    }
}

/// A text is not the [name](Pass::name) of a clean-up.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct UnknownPass;

impl fmt::Display for UnknownPass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown clean-up")
    }
}

impl core::error::Error for UnknownPass {}
