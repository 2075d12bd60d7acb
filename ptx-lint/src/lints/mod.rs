//! The lints: a file for each of them, and a line in the list below.

mod performance;

use alloc::vec::Vec;

use ptx_ir::Code;

use crate::Finding;
use crate::context::FunctionContext;

macro_rules! lints {
    ($($module:ident: $variant:ident = $code:ident, $name:literal, [$($needs:ident)?];)*) => {
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
            /// Every lint, in the order of the codes.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name, as in `dead-code`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The code of what it reports.
            #[must_use]
            pub const fn code(self) -> Code {
                match self {
                    $(Self::$variant => Code::$code,)*
                }
            }

            /// Whether it asks in which threads values are the same for certain.
            pub(crate) fn needs_uniformity(self) -> bool {
                self.needs() == "uniformity"
            }

            /// Whether it asks where values have a reason to differ.
            pub(crate) fn needs_divergence(self) -> bool {
                self.needs() == "divergence"
            }

            const fn needs(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($(stringify!($needs))?),)*
                }
            }

            /// Looks for mistakes in a function.
            pub(crate) fn check(self, context: &FunctionContext<'_>, found: &mut Vec<Finding>) {
                match self {
                    $(Self::$variant => $module::check(context, found),)*
                }
            }
        }
    };
}

// The file, the lint, its code, its name, and what it asks about: `[uniformity]` in which threads values are the same for certain, `[divergence]` where there is
// a reason to differ.
lints! {
    barrier_divergence: BarrierDivergence = BarrierDivergence, "barrier-divergence", [divergence];
    warp_mask: WarpMask = WarpMask, "warp-mask", [divergence];
    async_copy_wait: AsyncCopyWait = AsyncCopyWait, "async-copy-wait", [];
    wgmma_protocol: WgmmaProtocol = WgmmaProtocol, "wgmma-protocol", [];
    tcgen05_protocol: Tcgen05Protocol = Tcgen05Protocol, "tcgen05-protocol", [];
    mbarrier_init: MbarrierInit = MbarrierInit, "mbarrier-init", [divergence];
    proxy_fence: ProxyFence = ProxyFence, "proxy-fence", [];
    fence_strength: FenceStrength = FenceStrength, "fence-strength", [];
    uninitialised_register: UninitialisedRegister = UninitialisedRegister, "uninitialised-register", [];
    shared_race: SharedRace = SharedRace, "shared-race", [divergence];
    misaligned_vector: MisalignedVector = MisalignedVector, "misaligned-vector", [divergence];
    dead_code: DeadCode = DeadCode, "dead-code", [];
    uncoalesced: Uncoalesced = Uncoalesced, "uncoalesced", [divergence];
    bank_conflict: BankConflict = BankConflict, "bank-conflict", [divergence];
    missed_vector: MissedVector = MissedVector, "missed-vector", [];
    generic_space: GenericSpace = GenericSpace, "generic-space", [];
    deprecated: Deprecated = DeprecatedFeature, "deprecated", [];
}

impl Lint {
    /// The lint with a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|lint| lint.name() == name)
    }
}
