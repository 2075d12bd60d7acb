//! Problems of variable declarations.

use alloc::format;
use ptx_ir::{Code, Linkage, NameId};
use ptx_isa::{PtxVersion, ScalarType, StateSpace};

use super::{Text, Wording};

#[derive(Copy, Clone, Debug)]
pub(crate) enum VariableProblem {
    /// `.const[n]`, removed in PTX 2.2.
    ConstBank,
    EarlyBank,
    BankNumber(i64),
    /// A bank that does not hold external arrays without a size where it must, or the reverse.
    BankContents(i64),
    /// A declared special register.
    SpecialRegister,
    /// A linkage inside a function.
    LocalLinkage(Linkage),
    /// `.tex` of another type than an integer of 32 or 64 bits.
    TexType(ScalarType),
    /// `.tex` inside a function.
    TexInBody,
    /// `.tex`, removed in PTX 1.5.
    TexRemoved,
    /// A type that only instructions have.
    InstructionType(ScalarType),
    /// A predicate outside of `.reg`.
    PredicateSpace(StateSpace),
    /// A vector in `.param`.
    ParamVector(u8),
    /// A type that `.param` does not have.
    ParamType(ScalarType),
    /// A space that only functions have, at module level.
    BodySpace(StateSpace),
    CommonSpace(StateSpace),
    CommonType(ScalarType),
    VectorType(ScalarType),
    VectorLength(u8),
    VectorBits(u8, ScalarType),
    /// A texture, sampler or surface inside a function.
    OpaqueInBody(ScalarType),
    OpaqueSpace(ScalarType, StateSpace),
    /// A sampler without `texmode_independent`.
    UnifiedSampler,
    /// More than 128 bytes for a parameter.
    ParameterAlignment(i64),
    NotPowerOfTwo(i64),
    AttributeSpace(&'static str, StateSpace),
    /// A range with an initial value.
    RangeInitializer(NameId),
    /// A dimension after the first one without elements.
    EmptyDimension(NameId),
    RegisterArray(NameId),
    /// An array without a size that is neither external nor initialized.
    NoSize(NameId),
}

impl VariableProblem {
    pub(super) fn text(self, wording: Wording<'_>) -> Text {
        match self {
            Self::NotPowerOfTwo(_) | Self::ParameterAlignment(_) => self.alignment(),
            Self::RangeInitializer(_)
            | Self::EmptyDimension(_)
            | Self::RegisterArray(_)
            | Self::NoSize(_) => self.of_name(wording),
            Self::ConstBank
            | Self::EarlyBank
            | Self::BankNumber(_)
            | Self::BankContents(_)
            | Self::SpecialRegister
            | Self::TexType(_)
            | Self::TexInBody
            | Self::TexRemoved
            | Self::BodySpace(_)
            | Self::OpaqueInBody(_)
            | Self::OpaqueSpace(..)
            | Self::UnifiedSampler => self.place(),
            Self::LocalLinkage(_)
            | Self::CommonSpace(_)
            | Self::CommonType(_)
            | Self::AttributeSpace(..) => self.linkage(),
            _ => self.of_type(),
        }
    }

    fn place(self) -> Text {
        let error = |message| Text::error(Code::VariablePlace, message);
        match self {
            Self::ConstBank => {
                let removed = PtxVersion::new(2, 2);
                error(format!("banks of `.const` were removed in PTX {removed}"))
                    .help("declare an array in `.const` without a bank number")
            }
            Self::EarlyBank => error(format!(
                "banks of `.const` require PTX {}",
                PtxVersion::new(1, 5)
            ))
            .help("remove the number of the bank"),
            Self::BankNumber(bank) => error(format!(
                "expected a bank of `.const` from 0 to 10, found {bank}"
            ))
            .help("use one of banks 0 to 10"),
            Self::BankContents(0) => error(
                "an external array without a size must be in one of banks 1 to 10 of `.const`"
                    .into(),
            )
            .help("write the number of its bank: `.const[1]`"),
            Self::BankContents(bank) => error(format!(
                "bank {bank} of `.const` is for external arrays without a size"
            ))
            .help("declare it in bank 0, or as an `.extern` array with empty brackets"),
            Self::SpecialRegister => {
                error("special registers are predefined and cannot be declared".into())
                    .help("remove the declaration")
            }
            Self::TexType(ty) => error(format!(
                "expected `.u32` or `.u64` as the type of a `.tex` variable, found `{ty}`"
            ))
            .help("declare a `.global .texref`"),
            Self::TexInBody => error(
                "a `.tex` variable must be declared at module level, found it in a function".into(),
            )
            .help("declare a `.global .texref`"),
            Self::TexRemoved => error("`.tex` variables were removed in PTX 1.5".into())
                .help("declare a `.global .texref`"),
            Self::BodySpace(space) => error(format!(
                "a `{space}` variable must be declared in a function, found it at module level"
            ))
            .help("move the declaration into the function"),
            Self::OpaqueInBody(ty) => error(format!(
                "a `{ty}` variable must be declared at module level, found it in a function"
            ))
            .help(format!(
                "declare it as `.global {ty}` before the function, or as a parameter of the kernel"
            )),
            Self::OpaqueSpace(ty, space) => error(format!(
                "a `{ty}` variable must be in `.global`, found `{space}`"
            ))
            .help(format!("declare it as `.global {ty}`")),
            _ => error("a `.samplerref` requires `texmode_independent` in `.target`".into())
                .help("add `texmode_independent` to `.target`"),
        }
    }

    fn linkage(self) -> Text {
        match self {
            Self::LocalLinkage(linkage) => {
                let text = linkage.directive().text();
                Text::error(
                    Code::Linkage,
                    format!("`{text}` is only allowed at module level, found it in a function"),
                )
                .help("move the declaration before the function")
            }
            Self::CommonSpace(space) => Text::error(
                Code::Linkage,
                format!("a `.common` variable must be in `.global`, found `{space}`"),
            )
            .help("use `.global`, or remove `.common`"),
            Self::CommonType(ty) => Text::error(
                Code::Linkage,
                format!("a `{ty}` variable cannot be `.common`"),
            )
            .help("remove `.common`"),
            Self::AttributeSpace(name, space) => Text::error(
                Code::Attribute,
                format!("a `{name}` variable must be in `.global`, found `{space}`"),
            )
            .help(format!("use `.global`, or remove `{name}`")),
            _ => self.of_type(),
        }
    }

    fn of_type(self) -> Text {
        let error = |message| Text::error(Code::VariableType, message);
        let vector = |message| Text::error(Code::VectorType, message);
        match self {
            Self::InstructionType(ty) => error(format!(
                "`{ty}` is a type of instructions and cannot be the type of a variable"
            ))
            .help("use a `.b` type of the same size"),
            Self::PredicateSpace(space) => {
                error(format!("a `.pred` variable must be in `.reg`, found `{space}`"))
                    .help("store the predicate as an integer, for example with `selp`")
            }
            Self::ParamVector(len) => error(format!(
                "expected a scalar or an array of `.b8` in `.param`, found a vector of {len} elements"
            ))
            .help("declare an array of `.b8` or a scalar"),
            Self::ParamType(ty) => error(format!(
                "expected a scalar of 8 to 64 bits or an array of `.b8` in `.param`, found `{ty}`"
            ))
            .help("declare an array of `.b8` or a scalar"),
            Self::VectorType(ty) => vector(format!("`{ty}` cannot be the element type of a vector"))
                .help("declare an array or single variables"),
            Self::VectorLength(len) => vector(format!(
                "expected a vector of 2 or 4 elements, found {len}"
            ))
            .help("use `.v2` or `.v4`"),
            Self::VectorBits(len, ty) => vector(format!(
                "a vector has at most 128 bits, found {len} elements of `{ty}` with {}",
                u32::from(len) * u32::from(ty.bits())
            ))
            .help("use a shorter vector"),
            _ => error("invalid declaration".into()),
        }
    }

    fn alignment(self) -> Text {
        match self {
            Self::ParameterAlignment(align) => Text::error(
                Code::Alignment,
                format!("a parameter is aligned to at most 128 bytes, found {align}"),
            )
            .help("use 128 or less"),
            Self::NotPowerOfTwo(align) => Text::error(
                Code::Alignment,
                format!("expected a power of two below 2^32 as the alignment, found {align}"),
            )
            .help("use 1, 2, 4, 8, 16, 32, 64 or 128"),
            _ => self.of_type(),
        }
    }

    fn of_name(self, wording: Wording<'_>) -> Text {
        let name = |id| wording.module.name(id);
        match self {
            Self::RangeInitializer(id) => Text::error(
                Code::InitialPlace,
                format!(
                    "`{}` is a range of variables, which cannot have an initial value",
                    name(id)
                ),
            )
            .help("declare an array"),
            Self::EmptyDimension(id) => Text::error(
                Code::IncompleteArray,
                format!(
                    "expected a size above 0 for each dimension of `{}` after the first",
                    name(id)
                ),
            )
            .help("write the number of elements"),
            Self::RegisterArray(id) => Text::error(
                Code::VariablePlace,
                format!(
                    "`{}` is declared as an array, which registers cannot be",
                    name(id)
                ),
            )
            .help(format!("declare a range of registers: `{}<4>`", name(id))),
            Self::NoSize(id) => Text::error(
                Code::IncompleteArray,
                format!(
                    "expected a size for the array `{}`: only an `.extern` array may omit it",
                    name(id)
                ),
            )
            .help("write the number of elements, or an initial value"),
            _ => self.of_type(),
        }
    }
}
