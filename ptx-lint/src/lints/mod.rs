//! The lints: each has a row in the table below, and a file; `protocols.rs` contains the lints about the protocols of asynchronous operations.

mod bank_conflict;
mod barrier_divergence;
mod barrier_protocol;
mod cluster_memory;
mod dead_code;
mod dependent_launch;
mod deprecated;
mod divergent_branch;
mod fence_strength;
mod generic_space;
mod local_memory;
mod mbarrier_init;
mod misaligned_vector;
mod missed_vector;
mod out_of_bounds;
mod performance;
mod protocols;
mod proxy_fence;
mod read_only_load;
mod register_budget;
mod shared_race;
mod uncoalesced;
mod uninitialized_register;
mod warp_mask;

use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use ptx_ir::Code;

use crate::Finding;
use crate::context::FunctionContext;

/// Information that is only computed if an enabled lint needs it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Need {
    /// The likely divergence of values and branches.
    Divergence,
    /// The functions that reference each shared variable, and the functions that are never called.
    Uses,
    /// Whether the module was optimized.
    Optimization,
}

/// The linting of kernels with small functions inlined, if the findings of a lint depend on the callers of a function.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Inlining {
    /// Functions and kernels are linted without inlining.
    Never,
    /// Kernels are linted a second time with inlined functions. Functions are linted separately as well: moves of registers may be delayed until
    /// after a wait, but passing arguments may not.
    Additional,
    /// Kernels with inlined functions replace the kernels, and the functions if all their callers are covered.
    Replaces,
    /// Kernels with inlined functions replace the kernels only. A finding whose cause is in a caller is reported at the call.
    AlsoAtCalls,
}

/// The properties of a lint.
struct Properties {
    name: &'static str,
    code: Code,
    check: fn(&FunctionContext<'_>, &mut Vec<Finding>),
    inlining: Inlining,
    needs: &'static [Need],
}

macro_rules! lints {
    ($($variant:ident {
        name: $name:literal,
        code: $code:ident,
        check: $check:path,
        inlining: $inlining:ident,
        needs: [$($need:ident),*],
    })*) => {
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

            const fn properties(self) -> &'static Properties {
                match self {
                    $(Self::$variant => &Properties {
                        name: $name,
                        code: Code::$code,
                        check: $check,
                        inlining: Inlining::$inlining,
                        needs: &[$(Need::$need),*],
                    },)*
                }
            }
        }
    };
}

lints! {
    BarrierDivergence {
        name: "barrier-divergence",
        code: BarrierDivergence,
        check: barrier_divergence::check,
        inlining: AlsoAtCalls,
        needs: [Divergence],
    }
    WarpMask {
        name: "warp-mask",
        code: WarpMask,
        check: warp_mask::check,
        inlining: Replaces,
        needs: [Divergence],
    }
    AsyncCopyWait {
        name: "async-copy-wait",
        code: AsyncCopyWait,
        check: protocols::check_async_copy_wait,
        inlining: Replaces,
        needs: [],
    }
    WgmmaProtocol {
        name: "wgmma-protocol",
        code: WgmmaProtocol,
        check: protocols::check_wgmma_protocol,
        inlining: Additional,
        needs: [],
    }
    Tcgen05Protocol {
        name: "tcgen05-protocol",
        code: Tcgen05Protocol,
        check: protocols::check_tcgen05_protocol,
        inlining: Additional,
        needs: [],
    }
    MbarrierInit {
        name: "mbarrier-init",
        code: MbarrierInit,
        check: mbarrier_init::check,
        inlining: Replaces,
        needs: [Divergence],
    }
    ProxyFence {
        name: "proxy-fence",
        code: ProxyFence,
        check: proxy_fence::check,
        inlining: Replaces,
        needs: [],
    }
    FenceStrength {
        name: "fence-strength",
        code: FenceStrength,
        check: fence_strength::check,
        inlining: Never,
        needs: [],
    }
    UninitializedRegister {
        name: "uninitialized-register",
        code: UninitializedRegister,
        check: uninitialized_register::check,
        inlining: Never,
        needs: [Uses, Optimization],
    }
    SharedRace {
        name: "shared-race",
        code: SharedRace,
        check: shared_race::check,
        inlining: Replaces,
        needs: [Divergence],
    }
    MisalignedVector {
        name: "misaligned-vector",
        code: MisalignedVector,
        check: misaligned_vector::check,
        inlining: Replaces,
        needs: [Divergence],
    }
    DeadCode {
        name: "dead-code",
        code: DeadCode,
        check: dead_code::check,
        inlining: Never,
        needs: [Uses, Optimization],
    }
    Uncoalesced {
        name: "uncoalesced",
        code: Uncoalesced,
        check: uncoalesced::check,
        inlining: Replaces,
        needs: [Divergence],
    }
    BankConflict {
        name: "bank-conflict",
        code: BankConflict,
        check: bank_conflict::check,
        inlining: Replaces,
        needs: [],
    }
    MissedVector {
        name: "missed-vector",
        code: MissedVector,
        check: missed_vector::check,
        inlining: Never,
        needs: [],
    }
    GenericSpace {
        name: "generic-space",
        code: GenericSpace,
        check: generic_space::check,
        inlining: Never,
        needs: [Optimization],
    }
    Deprecated {
        name: "deprecated",
        code: DeprecatedFeature,
        check: deprecated::check,
        inlining: Never,
        needs: [],
    }
    RegisterBudget {
        name: "register-budget",
        code: RegisterBudget,
        check: register_budget::check,
        inlining: Never,
        needs: [Divergence],
    }
    DependentLaunch {
        name: "dependent-launch",
        code: DependentLaunch,
        check: dependent_launch::check,
        inlining: Never,
        needs: [Divergence],
    }
    OutOfBounds {
        name: "out-of-bounds",
        code: OutOfBounds,
        check: out_of_bounds::check,
        inlining: Never,
        needs: [Divergence],
    }
    DivergentBranch {
        name: "divergent-branch",
        code: DivergentBranch,
        check: divergent_branch::check,
        inlining: Replaces,
        needs: [Divergence],
    }
    ReadOnlyLoad {
        name: "read-only-load",
        code: ReadOnlyLoad,
        check: read_only_load::check,
        inlining: Replaces,
        needs: [],
    }
    LocalMemory {
        name: "local-memory",
        code: LocalMemory,
        check: local_memory::check,
        inlining: Never,
        needs: [],
    }
    ClusterMemory {
        name: "cluster-memory",
        code: ClusterMemory,
        check: cluster_memory::check,
        inlining: Never,
        needs: [],
    }
    BarrierProtocol {
        name: "barrier-protocol",
        code: BarrierProtocol,
        check: barrier_protocol::check,
        inlining: Never,
        needs: [],
    }
}

impl Lint {
    /// The name of the lint, such as `dead-code`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.properties().name
    }

    /// The code of its diagnostics.
    #[must_use]
    pub const fn code(self) -> Code {
        self.properties().code
    }

    /// Returns `true` if the lint needs the information.
    pub(crate) fn needs(self, need: Need) -> bool {
        self.properties().needs.contains(&need)
    }

    pub(crate) fn inlining(self) -> Inlining {
        self.properties().inlining
    }

    /// Adds the findings of this lint in a function to `findings`.
    pub(crate) fn check(self, context: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
        let first = findings.len();
        (self.properties().check)(context, findings);
        findings
            .iter_mut()
            .skip(first)
            .for_each(Finding::add_places);
    }
}

impl FromStr for Lint {
    type Err = UnknownLint;

    fn from_str(name: &str) -> Result<Self, UnknownLint> {
        Self::ALL
            .iter()
            .copied()
            .find(|lint| lint.name() == name)
            .ok_or(UnknownLint)
    }
}

/// The error of parsing a text that is not the [name](Lint::name) of a lint.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct UnknownLint;

impl fmt::Display for UnknownLint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown lint")
    }
}

impl core::error::Error for UnknownLint {}
