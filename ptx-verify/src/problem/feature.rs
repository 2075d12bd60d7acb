//! Features other than instructions that only some versions and targets have.

use core::fmt;

use ptx_ir::Code;
use ptx_ir::raw::query::Environment;
use ptx_isa::internals::TargetSet;
use ptx_isa::{Directive, PtxVersion, ScalarType, Target, TargetOption};

use super::{Text, Wording};

/// Defines the features, each with its code, the first version and target that have it, and what it is called.
macro_rules! features {
    ($($(#[$about:meta])* $feature:ident $(($field:ident: $ty:ty))?: $code:ident, $since:expr, $text:literal;)*) => {
        /// A feature of the language outside of instructions that not every version and target has.
        #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
        pub(crate) enum Feature {
            $($(#[$about])* $feature $(($ty))?,)*
        }

        impl Feature {
            fn code(self) -> Code {
                match self {
                    $(Self::$feature { .. } => Code::$code,)*
                }
            }

            /// The first version, and the first target unless all have it.
            #[allow(unused_variables, reason = "few depend on the field")]
            pub(crate) fn since(self) -> (PtxVersion, Option<Target>) {
                match self {
                    $(Self::$feature $(($field))? => $since,)*
                }
            }
        }

        impl fmt::Display for Feature {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$feature $(($field))? => write!(f, $text),)*
                }
            }
        }
    };
}

features! {
    /// A variable of a type.
    Variable(ty: ScalarType): VariableType, (ty.since(), ty.target()), "a variable of type `{ty}`";
    /// A parameter of a type.
    Parameter(ty: ScalarType): VariableType, (ty.since(), ty.target()), "a parameter of type `{ty}`";
    KernelParameter: Parameter, ptx(1, 4), "a parameter list of a kernel";
    FunctionParameter: Parameter, ptx_on(2, 0, Target::Sm20), "a `.param` parameter of a function";
    UnsizedParameter: Parameter, ptx_on(6, 0, Target::Sm30), "an array parameter without a size";
    /// `.ptr` to a texture, sampler or surface.
    OpaquePointer(ty: ScalarType): Parameter, ptx(4, 3), "a `.ptr` parameter of type `{ty}`";
    /// A parameter list of a kernel of more than 4352 bytes.
    ParameterBytes(bytes: i64): ParameterSpace, ptx_on(8, 1, Target::Sm70),
        "a parameter list of {bytes} bytes (more than 4352)";
    Directive(directive: Directive): DirectiveFloor, (directive.since(), directive.target()), "`{directive}`";
    Unified: Attribute, ptx_on(8, 0, Target::Sm90), "`.unified`";
    InitialAddress: InitialValue, ptx(2, 1), "an address as an initial value";
    GenericAddress: InitialValue, ptx(3, 1), "`generic` in an initial value";
    AddressByte: InitialValue, ptx(7, 1), "one byte of an address as an initial value";
    Pragma(pragma: Pragma): DirectiveFloor, pragma.since(), "the pragma `{pragma}`";
    SectionLabel: DirectiveFloor, ptx(7, 0), "a label in a section";
    NegativeNumber: DirectiveFloor, ptx(7, 5), "a negative number in a section";
    LabelDifference: DirectiveFloor, ptx(7, 5), "the difference of two labels";
    /// `inlined_at` in a `.loc`.
    InlinedAt: DirectiveFloor, ptx(7, 0), "`inlined_at`";
    TargetOption(option: TargetOption): TargetOption, (option.since(), option.target()), "`{option}`";
}

const fn ptx(major: u8, minor: u8) -> (PtxVersion, Option<Target>) {
    (PtxVersion::new(major, minor), None)
}

const fn ptx_on(major: u8, minor: u8, target: Target) -> (PtxVersion, Option<Target>) {
    (PtxVersion::new(major, minor), Some(target))
}

/// A pragma that the PTX ISA manual describes.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Pragma {
    Nounroll,
    UsedBytesMask,
    EnableSmemSpilling,
    Frequency,
    MmaThroughput,
}

impl Pragma {
    const ALL: [Self; 5] = [
        Self::Nounroll,
        Self::UsedBytesMask,
        Self::EnableSmemSpilling,
        Self::Frequency,
        Self::MmaThroughput,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Nounroll => "nounroll",
            Self::UsedBytesMask => "used_bytes_mask",
            Self::EnableSmemSpilling => "enable_smem_spilling",
            Self::Frequency => "frequency",
            Self::MmaThroughput => "mma_throughput",
        }
    }

    /// Returns the pragma in a text and its value. ptxas takes anything after `frequency` for its value.
    pub(crate) fn parse(text: &str) -> Option<(Self, &str)> {
        if let Some(value) = text.strip_prefix(Self::Frequency.name()) {
            return Some((Self::Frequency, value.trim_start_matches(' ')));
        }
        let (name, value) = text.split_once(' ').unwrap_or((text, ""));
        let pragma = Self::ALL.into_iter().find(|pragma| pragma.name() == name)?;
        Some((pragma, value))
    }

    /// The pragma is allowed in function bodies only.
    pub(crate) fn is_for_bodies(self) -> bool {
        self != Self::Nounroll
    }

    const fn since(self) -> (PtxVersion, Option<Target>) {
        match self {
            Self::Nounroll => ptx(2, 0),
            Self::UsedBytesMask => ptx_on(8, 3, Target::Sm50),
            Self::EnableSmemSpilling => ptx_on(8, 7, Target::Sm75),
            Self::Frequency => ptx(9, 0),
            Self::MmaThroughput => ptx(9, 3),
        }
    }
}

impl fmt::Display for Pragma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Feature {
    /// The first target that does not have the feature any more: `map_f64_to_f32` is for targets without double precision.
    const fn removed_on(self) -> Option<Target> {
        match self {
            Self::TargetOption(TargetOption::MapF64ToF32) => Some(Target::Sm13),
            _ => None,
        }
    }

    /// All versions and targets have the feature.
    pub(crate) fn is_everywhere(self) -> bool {
        let (version, target) = self.since();
        version <= PtxVersion::new(1, 0) && target.is_none() && self.removed_on().is_none()
    }

    /// The version and target of an environment have the feature.
    pub(crate) fn is_in(self, environment: Environment) -> bool {
        let (version, target) = self.since();
        environment.has(version, target) && !self.is_removed_in(environment)
    }

    fn is_removed_in(self, environment: Environment) -> bool {
        match (self.removed_on(), environment.target()) {
            (Some(removed_on), Some(target)) => target.implies(removed_on),
            _ => false,
        }
    }

    /// Returns the targets that have the feature in a version.
    pub(crate) fn targets(self, version: PtxVersion) -> TargetSet {
        let (since, target) = self.since();
        if version < since {
            return TargetSet::NONE;
        }
        let removed = self.removed_on().map_or(TargetSet::NONE, TargetSet::from);
        target
            .map_or(TargetSet::ALL, TargetSet::from)
            .and(removed.not())
    }

    pub(super) fn text(self, wording: Wording<'_>, _: &str) -> Text {
        let checked_for = wording.checked_for();
        if let Some(target) = self.removed_on()
            && self.is_removed_in(wording.environment)
        {
            let message =
                format!("{self} is not supported on `{target}` and newer; this is {checked_for}");
            return Text::error(self.code(), message).help(format!("remove {self}"));
        }
        let (version, target) = self.since();
        let (required, help) = match target {
            Some(target) => (
                format!("PTX {version} and `{target}`"),
                format!("write `.version {version}` or newer and `.target {target}` or newer"),
            ),
            None => (
                format!("PTX {version}"),
                format!("write `.version {version}` or newer"),
            ),
        };
        Text::error(
            self.code(),
            format!("{self} requires {required}; this is {checked_for}"),
        )
        .help(help)
    }
}
