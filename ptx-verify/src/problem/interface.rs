//! Problems of function headers: parameters, results and directives.

use alloc::format;
use ptx_ir::{Code, NameId};
use ptx_isa::{Directive, PtxVersion, ScalarType, StateSpace};

use super::{Text, Wording};

/// The bytes that the parameters of a kernel may take.
pub(crate) const MOST_PARAMETER_BYTES: i64 = 32764;

/// What a directive belongs to.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    Kernel,
    Function,
    /// A `.callprototype`, whose parameter names mean nothing.
    Prototype,
}

#[derive(Copy, Clone, Debug)]
pub(crate) enum InterfaceProblem {
    CommonFunction,
    ManagedFunction,
    UnnamedParameter,
    KernelParameterSpace(StateSpace),
    ParameterSpace(StateSpace),
    Dimensions(u32),
    TooManyElements(i64),
    InstructionType(ScalarType),
    /// An array or an opaque type in `.reg`.
    RegisterParameter,
    PredicateInParam,
    /// A texture, sampler or surface as a parameter of a function.
    OpaqueParameter(ScalarType),
    UnifiedSampler,
    ParamType(ScalarType),
    ParamVector(u8),
    PtrInFunction,
    /// An alignment after the type, which only kernel parameters have.
    AlignAfterType,
    PtrSpace(StateSpace),
    UnsizedResult,
    /// Several results that are not all in `.reg`.
    SeveralResults,
    UnsizedKernelParameter,
    /// An array without a size before the last parameter.
    UnsizedBeforeLast,
    ParameterBytes(NameId, i64),
    DirectiveRemoved(Directive, PtxVersion),
    /// A directive of definitions at a declaration.
    DirectiveOfDefinition(Directive, Owner),
    DirectiveTwice(Directive),
    DirectiveConflict(Directive, Directive),
    ClusterWithout(Directive),
    /// `.minnctapersm` alone.
    NoThreadCount,
    NoreturnWithResults,
    NoreturnAfter(Directive),
    DirectiveBits(Directive, i64),
    DirectiveGreatest(Directive, u8, i64),
    DirectiveText(Directive, NameId),
    DirectivePositive(Directive, i64),
}

impl InterfaceProblem {
    pub(super) fn text(self, wording: Wording<'_>) -> Text {
        match self {
            Self::DirectiveRemoved(..)
            | Self::DirectiveOfDefinition(..)
            | Self::DirectiveTwice(_)
            | Self::DirectiveConflict(..)
            | Self::ClusterWithout(_)
            | Self::NoThreadCount
            | Self::NoreturnWithResults
            | Self::NoreturnAfter(_)
            | Self::DirectiveBits(..)
            | Self::DirectiveGreatest(..)
            | Self::DirectivePositive(..) => self.directive(),
            Self::DirectiveText(directive, text) => Text::error(
                Code::DirectiveValue,
                format!(
                    "expected a known name after `{directive}`, found {}",
                    wording.module.name(text)
                ),
            )
            .help(format!("use one of: {}", directive.texts().join(", "))),
            Self::RegisterParameter
            | Self::PredicateInParam
            | Self::OpaqueParameter(_)
            | Self::UnifiedSampler
            | Self::ParamType(_)
            | Self::ParamVector(_)
            | Self::InstructionType(_)
            | Self::PtrInFunction
            | Self::AlignAfterType
            | Self::PtrSpace(_) => self.parameter_type(),
            _ => self.parameter(wording),
        }
    }

    fn parameter(self, wording: Wording<'_>) -> Text {
        let error = |message| Text::error(Code::Parameter, message);
        match self {
            Self::CommonFunction => Text::error(
                Code::Linkage,
                "`.common` is for variables, found it on a function",
            )
            .help("remove `.common`"),
            Self::ManagedFunction => Text::error(
                Code::Attribute,
                "`.managed` is for variables, found it on a function",
            )
            .help("remove the attribute"),
            Self::UnnamedParameter => {
                error("expected a name for the parameter of a function, found `_`".into())
                    .help("`_` is allowed in prototypes and kernels")
            }
            Self::KernelParameterSpace(space) => error(format!(
                "a parameter of a kernel must be in `.param`, found `{space}`"
            ))
            .help("use `.param`"),
            Self::ParameterSpace(space) => error(format!(
                "a parameter must be in `.param` or `.reg`, found `{space}`"
            ))
            .help("use `.param` or `.reg`"),
            Self::Dimensions(count) => error(format!(
                "expected at most one dimension for a parameter, found {count}"
            ))
            .help("declare one dimension with all elements"),
            Self::TooManyElements(size) => error(format!(
                "expected at most 2^32 - 1 elements for a parameter, found {size}"
            ))
            .help("pass a pointer to the data"),
            Self::UnsizedResult => error("expected a size for the array, found a result without one".into())
                .help("write the number of elements"),
            Self::SeveralResults => {
                error("several results must all be in `.reg`, found one in `.param`".into())
                    .help("return one array in `.param`, or registers")
            }
            Self::UnsizedKernelParameter => {
                error("expected a size for the array, found a kernel parameter without one".into())
                    .help("write the number of elements")
            }
            Self::UnsizedBeforeLast => error(
                "expected a size for the array: only the last parameter may be an array without one"
                    .into(),
            )
            .help("write the number of elements"),
            Self::ParameterBytes(name, bytes) => Text::error(
                Code::ParameterSpace,
                format!(
                    "expected at most {MOST_PARAMETER_BYTES} bytes of parameters, found {bytes} in `{}`",
                    wording.module.name(name)
                ),
            )
            .help("pass a pointer to the data"),
            _ => error("invalid parameter".into()),
        }
    }

    fn parameter_type(self) -> Text {
        let error = |message| Text::error(Code::Parameter, message);
        match self {
            Self::InstructionType(ty) => Text::error(
                Code::VariableType,
                format!("`{ty}` is a type of instructions and cannot be the type of a parameter"),
            )
            .help("use a `.b` type of the same size"),
            Self::RegisterParameter => error(
                "expected a scalar type for a parameter in `.reg`, found an array or an opaque type"
                    .into(),
            )
            .help("pass it in `.param`"),
            Self::PredicateInParam => {
                error("a `.pred` parameter must be in `.reg`, found `.param`".into())
                    .help("use `.reg`, or pass an integer")
            }
            Self::OpaqueParameter(ty) => error(format!(
                "only kernels have parameters of type `{ty}`, found one of a function"
            ))
            .help("pass its address as `.u64`"),
            Self::UnifiedSampler => {
                error("a `.samplerref` requires `texmode_independent` in `.target`".into())
                    .help("add `texmode_independent` to `.target`")
            }
            Self::ParamType(ty) => error(format!(
                "expected a scalar of 8 to 64 bits or an array of `.b8` in `.param`, found `{ty}`"
            ))
            .help("declare an array of `.b8`"),
            Self::ParamVector(len) => error(format!(
                "expected a scalar or an array in `.param`, found a vector of {len} elements"
            ))
            .help("declare an array of `.b8`"),
            Self::AlignAfterType => error(
                "`.align` after the type is for parameters of kernels, found it on a function"
                    .into(),
            )
            .help("write `.align` before the type"),
            Self::PtrInFunction => {
                error("`.ptr` is for parameters of kernels, found it on a function".into())
                    .help("remove `.ptr`")
            }
            Self::PtrSpace(space) => error(format!(
                "expected `.const`, `.global`, `.local` or `.shared` after `.ptr`, found `{space}`"
            ))
            .help("remove the state space"),
            _ => error("invalid parameter".into()),
        }
    }

    fn directive(self) -> Text {
        let conflict = |message| Text::error(Code::DirectiveConflict, message);
        let value = |message| Text::error(Code::DirectiveValue, message);
        match self {
            Self::DirectiveRemoved(directive, until) => Text::error(
                Code::DirectiveFloor,
                format!("`{directive}` was removed in PTX {until}"),
            )
            .help("remove it, or write an older `.version`"),
            Self::DirectiveOfDefinition(directive, owner) => {
                let what = match owner {
                    Owner::Kernel => "kernel",
                    _ => "function",
                };
                conflict(format!(
                    "`{directive}` is only allowed on the definition of a {what}, found it on a declaration"
                ))
                .help("move it to the definition")
            }
            Self::DirectiveTwice(directive) => {
                conflict(format!("duplicate `{directive}`")).help("remove one of the two")
            }
            Self::DirectiveConflict(a, b) => {
                conflict(format!("`{a}` conflicts with `{b}`")).help("keep one of the two")
            }
            Self::ClusterWithout(directive) => conflict(format!(
                "`{directive}` requires `{}` and `{}`",
                Directive::Reqntid,
                Directive::Reqnctapercluster
            ))
            .help("add the missing directive"),
            Self::NoThreadCount => Text::warning(
                Code::DirectiveConflict,
                "`.minnctapersm` has no effect without `.maxntid` or `.reqntid`",
            )
            .help("add `.maxntid` or `.reqntid`"),
            Self::NoreturnAfter(directive) => {
                conflict(format!("expected `.noreturn` before `{directive}`"))
                    .help("write `.noreturn` directly after the parameters")
            }
            Self::NoreturnWithResults => {
                conflict("a `.noreturn` function cannot have results".into())
                    .help("remove `.noreturn` or the results")
            }
            Self::DirectiveBits(directive, found) => value(format!(
                "expected a value of `{directive}` that fits 32 bits, found {found}"
            ))
            .help("use a value from 0 to 4294967295"),
            Self::DirectiveGreatest(directive, most, found) => value(format!(
                "expected a value of `{directive}` of at most {most}, found {found}"
            ))
            .help(format!("use a value up to {most}")),
            Self::DirectivePositive(directive, found) => value(format!(
                "expected a value of `{directive}` above 0, found {found}"
            ))
            .help("use 1 or more"),
            _ => conflict("invalid directive".into()),
        }
    }
}
