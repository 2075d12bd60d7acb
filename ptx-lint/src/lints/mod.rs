//! The lints: each has a file and a line in the list below.

mod performance;

use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use ptx_ir::Code;

use crate::Finding;
use crate::context::FunctionContext;

macro_rules! lints {
    ($($module:ident: $variant:ident = $code:ident, $name:literal, $divergence:literal;)*) => {
        $(mod $module;)*

        /// A lint.
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        pub enum Lint {
            $(
                #[doc = concat!("`", $name, "`")]
                $variant,
            )*
        }

        impl Lint {
            /// All lints, in the order of their codes.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name of the lint, such as `dead-code`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The code of its diagnostics.
            #[must_use]
            pub const fn code(self) -> Code {
                match self {
                    $(Self::$variant => Code::$code,)*
                }
            }

            /// Whether it needs the likely divergence of values.
            pub(crate) fn needs_divergence(self) -> bool {
                match self {
                    $(Self::$variant => $divergence,)*
                }
            }

            /// Runs the lint on a function.
            pub(crate) fn check(self, context: &FunctionContext<'_>, found: &mut Vec<Finding>) {
                let known = found.len();
                match self {
                    $(Self::$variant => $module::check(context, found),)*
                }
                found.iter_mut().skip(known).for_each(Finding::add_places);
            }
        }
    };
}

// The file, the lint, its code, its name, and whether it needs the likely divergence of values.
lints! {
    barrier_divergence: BarrierDivergence = BarrierDivergence, "barrier-divergence", true;
    warp_mask: WarpMask = WarpMask, "warp-mask", true;
    async_copy_wait: AsyncCopyWait = AsyncCopyWait, "async-copy-wait", false;
    wgmma_protocol: WgmmaProtocol = WgmmaProtocol, "wgmma-protocol", false;
    tcgen05_protocol: Tcgen05Protocol = Tcgen05Protocol, "tcgen05-protocol", false;
    mbarrier_init: MbarrierInit = MbarrierInit, "mbarrier-init", true;
    proxy_fence: ProxyFence = ProxyFence, "proxy-fence", false;
    fence_strength: FenceStrength = FenceStrength, "fence-strength", false;
    uninitialised_register: UninitialisedRegister = UninitialisedRegister, "uninitialised-register", false;
    shared_race: SharedRace = SharedRace, "shared-race", true;
    misaligned_vector: MisalignedVector = MisalignedVector, "misaligned-vector", true;
    dead_code: DeadCode = DeadCode, "dead-code", false;
    uncoalesced: Uncoalesced = Uncoalesced, "uncoalesced", true;
    bank_conflict: BankConflict = BankConflict, "bank-conflict", true;
    missed_vector: MissedVector = MissedVector, "missed-vector", false;
    generic_space: GenericSpace = GenericSpace, "generic-space", false;
    deprecated: Deprecated = DeprecatedFeature, "deprecated", false;
}

impl FromStr for Lint {
    type Err = UnknownLint;

    fn from_str(name: &str) -> Result<Self, UnknownLint> {
        let mut all = Self::ALL.iter().copied();
        all.find(|lint| lint.name() == name).ok_or(UnknownLint)
    }
}

/// A text is not the [name](Lint::name) of a lint.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct UnknownLint;

impl fmt::Display for UnknownLint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown lint")
    }
}

impl core::error::Error for UnknownLint {}
