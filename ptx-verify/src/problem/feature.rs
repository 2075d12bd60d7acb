//! What only some versions and targets have, apart from instructions.

use alloc::format;
use core::fmt;

use ptx_ir::Code;
use ptx_ir::query::Environment;
use ptx_isa::{Directive, PtxVersion, ScalarType, Target, TargetOption, TargetSet};

use super::{Text, Wording};

/// A feature of the language outside of instructions that not every version and target has.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Feature {
    /// A variable of a type.
    Variable(ScalarType),
    /// A parameter of a type.
    Parameter(ScalarType),
    /// A parameter of a kernel.
    KernelParameter,
    /// A parameter of a function in `.param`.
    FunctionParameter,
    /// A parameter that is an array without a size.
    UnsizedParameter,
    /// `.ptr` to a texture, sampler or surface.
    OpaquePointer(ScalarType),
    /// A parameter list of a kernel of more than 4352 bytes.
    ParameterBytes(i64),
    Directive(Directive),
    /// The attribute `.unified`.
    Unified,
    /// An address as an initial value.
    InitialAddress,
    /// `generic(x)` as an initial value.
    GenericAddress,
    /// One byte of an address as an initial value.
    AddressByte,
    Pragma(Pragma),
    /// A label in a debug section.
    SectionLabel,
    /// The difference of two labels in a debug section.
    LabelDifference,
    /// `inlined_at` in a `.loc`.
    InlinedAt,
    TargetOption(TargetOption),
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

    /// The pragma in a text and its value. ptxas takes anything after `frequency` for its value.
    pub(crate) fn of(text: &str) -> Option<(Self, &str)> {
        if let Some(value) = text.strip_prefix(Self::Frequency.name()) {
            return Some((Self::Frequency, value.trim_start_matches(' ')));
        }
        let (name, value) = text.split_once(' ').unwrap_or((text, ""));
        let known = Self::ALL.into_iter().find(|p| p.name() == name)?;
        Some((known, value))
    }

    /// Whether it is allowed in function bodies only.
    pub(crate) fn is_for_bodies(self) -> bool {
        self != Self::Nounroll
    }

    const fn since(self) -> (PtxVersion, Option<Target>) {
        match self {
            Self::Nounroll => (PtxVersion::new(2, 0), None),
            Self::UsedBytesMask => (PtxVersion::new(8, 3), Some(Target::Sm50)),
            Self::EnableSmemSpilling => (PtxVersion::new(8, 7), Some(Target::Sm75)),
            Self::Frequency => (PtxVersion::new(9, 0), None),
            Self::MmaThroughput => (PtxVersion::new(9, 3), None),
        }
    }
}

impl Feature {
    fn code(self) -> Code {
        match self {
            Self::Variable(_) | Self::Parameter(_) => Code::VariableType,
            Self::KernelParameter
            | Self::FunctionParameter
            | Self::UnsizedParameter
            | Self::OpaquePointer(_) => Code::Parameter,
            Self::ParameterBytes(_) => Code::ParameterSpace,
            Self::Directive(_)
            | Self::Pragma(_)
            | Self::SectionLabel
            | Self::LabelDifference
            | Self::InlinedAt => Code::DirectiveFloor,
            Self::Unified => Code::Attribute,
            Self::InitialAddress | Self::GenericAddress | Self::AddressByte => Code::InitialValue,
            Self::TargetOption(_) => Code::TargetOption,
        }
    }

    /// The first version, and the first target unless all have it.
    pub(crate) fn since(self) -> (PtxVersion, Option<Target>) {
        let new = PtxVersion::new;
        match self {
            Self::Variable(ty) | Self::Parameter(ty) => (ty.since(), ty.target()),
            Self::KernelParameter => (new(1, 4), None),
            Self::FunctionParameter => (new(2, 0), Some(Target::Sm20)),
            Self::UnsizedParameter => (new(6, 0), Some(Target::Sm30)),
            Self::OpaquePointer(_) => (new(4, 3), None),
            Self::ParameterBytes(_) => (new(8, 1), Some(Target::Sm70)),
            Self::Directive(directive) => (directive.since(), directive.target()),
            Self::Unified => (new(8, 0), Some(Target::Sm90)),
            Self::InitialAddress => (new(2, 1), None),
            Self::GenericAddress => (new(3, 1), None),
            Self::AddressByte => (new(7, 1), None),
            Self::Pragma(pragma) => pragma.since(),
            Self::SectionLabel | Self::InlinedAt => (new(7, 0), None),
            Self::LabelDifference => (new(7, 5), None),
            Self::TargetOption(option) => (option.since(), option.target()),
        }
    }

    /// The first target that does not have it any more: `map_f64_to_f32` is for targets without double precision.
    const fn removed_on(self) -> Option<Target> {
        match self {
            Self::TargetOption(TargetOption::MapF64ToF32) => Some(Target::Sm13),
            _ => None,
        }
    }

    /// Whether every version and target has it.
    pub(crate) fn is_everywhere(self) -> bool {
        let (version, target) = self.since();
        version <= PtxVersion::new(1, 0) && target.is_none() && self.removed_on().is_none()
    }

    /// Whether it is available.
    pub(crate) fn is_in(self, environment: Environment) -> bool {
        let (version, target) = self.since();
        environment.has(version, target) && !self.is_removed_in(environment)
    }

    fn is_removed_in(self, environment: Environment) -> bool {
        let implied = |t| environment.target().is_some_and(|own| own.implies(t));
        self.removed_on().is_some_and(implied)
    }

    /// The targets that have it in a version.
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

    pub(super) fn text(self, wording: Wording<'_>) -> Text {
        let have = wording.checked_for();
        if let Some(target) = self.removed_on()
            && self.is_removed_in(wording.environment)
        {
            let message =
                format!("{self} is not supported on `{target}` and newer; this is {have}");
            return Text::error(self.code(), message).help(format!("remove {self}"));
        }
        let (version, target) = self.since();
        let (wanted, help) = match target {
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
            format!("{self} requires {wanted}; this is {have}"),
        )
        .help(help)
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(ty) => write!(f, "a variable of type `{ty}`"),
            Self::Parameter(ty) => write!(f, "a parameter of type `{ty}`"),
            Self::KernelParameter => f.write_str("a parameter list of a kernel"),
            Self::FunctionParameter => f.write_str("a `.param` parameter of a function"),
            Self::UnsizedParameter => f.write_str("an array parameter without a size"),
            Self::OpaquePointer(ty) => write!(f, "a `.ptr` parameter of type `{ty}`"),
            Self::ParameterBytes(bytes) => {
                write!(f, "a parameter list of {bytes} bytes (more than 4352)")
            }
            Self::Directive(directive) => write!(f, "`{directive}`"),
            Self::Unified => f.write_str("`.unified`"),
            Self::InitialAddress => f.write_str("an address as an initial value"),
            Self::GenericAddress => f.write_str("`generic` in an initial value"),
            Self::AddressByte => f.write_str("one byte of an address as an initial value"),
            Self::Pragma(pragma) => write!(f, "the pragma `{}`", pragma.name()),
            Self::SectionLabel => f.write_str("a label in a section"),
            Self::LabelDifference => f.write_str("the difference of two labels"),
            Self::InlinedAt => f.write_str("`inlined_at`"),
            Self::TargetOption(option) => write!(f, "`{option}`"),
        }
    }
}
