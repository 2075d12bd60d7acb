//! Problems of function headers: parameters, results and directives.

use ptx_ir::NameId;
use ptx_isa::{Directive, PtxVersion, ScalarType, StateSpace};

use super::problems;

/// The bytes that the parameters of a kernel may take.
pub(crate) const MOST_PARAMETER_BYTES: i64 = 32764;

/// The kind of item to which a directive belongs.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    Kernel,
    Function,
    /// A `.callprototype`, whose parameter names mean nothing.
    Prototype,
}

problems! { InterfaceProblem {
    CommonFunction: error Linkage
        "`.common` is for variables, found it on a function",
        "remove `.common`";
    ManagedFunction: error Attribute
        "`.managed` is for variables, found it on a function",
        "remove the attribute";
    UnnamedParameter: error Parameter
        "expected a name for the parameter of a function, found `_`",
        "`_` is allowed in prototypes and kernels";
    KernelParameterSpace(space: StateSpace): error Parameter
        "a parameter of a kernel must be in `.param`, found `{space}`",
        "use `.param`";
    ParameterSpace(space: StateSpace): error Parameter
        "a parameter must be in `.param` or `.reg`, found `{space}`",
        "use `.param` or `.reg`";
    Dimensions(count: u32): error Parameter
        "expected at most one dimension for a parameter, found {count}",
        "declare one dimension with all elements";
    TooManyElements(size: i64): error Parameter
        "expected at most 2^32 - 1 elements for a parameter, found {size}",
        "pass a pointer to the data";
    InstructionType(ty: ScalarType): error VariableType
        "`{ty}` is a type of instructions and cannot be the type of a parameter",
        "use a `.b` type of the same size";
    RegisterParameter: error Parameter
        "expected a scalar type for a parameter in `.reg`, found an array or an opaque type",
        "pass it in `.param`";
    PredicateInParam: error Parameter
        "a `.pred` parameter must be in `.reg`, found `.param`",
        "use `.reg`, or pass an integer";
    /// A texture, sampler or surface as a parameter of a function.
    OpaqueParameter(ty: ScalarType): error Parameter
        "only kernels have parameters of type `{ty}`, found one of a function",
        "pass its address as `.u64`";
    UnifiedSampler: error Parameter
        "a `.samplerref` requires `texmode_independent` in `.target`",
        "add `texmode_independent` to `.target`";
    ParamType(ty: ScalarType): error Parameter
        "expected a scalar of 8 to 64 bits or an array of `.b8` in `.param`, found `{ty}`",
        "declare an array of `.b8`";
    ParamVector(len: u8): error Parameter
        "expected a scalar or an array in `.param`, found a vector of {len} elements",
        "declare an array of `.b8`";
    HiddenInFunction: error Parameter
        "`.hidden` is for parameters of kernels, found it on a function",
        "remove `.hidden`";
    PtrInFunction: error Parameter
        "`.ptr` is for parameters of kernels, found it on a function",
        "remove `.ptr`";
    AlignAfterType: error Parameter
        "`.align` after the type is for parameters of kernels, found it on a function",
        "write `.align` before the type";
    PtrSpace(space: StateSpace): error Parameter
        "expected `.const`, `.global`, `.local` or `.shared` after `.ptr`, found `{space}`",
        "remove the state space";
    UnsizedResult: error Parameter
        "expected a size for the array, found a result without one",
        "write the number of elements";
    SeveralResults: error Parameter
        "several results must all be in `.reg`, found one in `.param`",
        "return one array in `.param`, or registers";
    UnsizedKernelParameter: error Parameter
        "expected a size for the array, found a kernel parameter without one",
        "write the number of elements";
    UnsizedBeforeLast: error Parameter
        "expected a size for the array: only the last parameter may be an array without one",
        "write the number of elements";
    ParameterBytes(name: NameId, bytes: i64): error ParameterSpace
        "expected at most {MOST_PARAMETER_BYTES} bytes of parameters, found {bytes} in `{name}`",
        "pass a pointer to the data";
    DirectiveRemoved(directive: Directive, until: PtxVersion): error DirectiveFloor
        "`{directive}` was removed in PTX {until}",
        "remove it, or write an older `.version`";
    DirectiveOfDefinition(directive: Directive, owner: Owner): error DirectiveConflict
        "`{directive}` is only allowed on the definition of a {owner}, found it on a declaration",
        "move it to the definition";
    DirectiveTwice(directive: Directive): error DirectiveConflict
        "duplicate `{directive}`",
        "remove one of the two";
    DirectiveConflict(a: Directive, b: Directive): error DirectiveConflict
        "`{a}` conflicts with `{b}`",
        "keep one of the two";
    ClusterWithout(directive: Directive): error DirectiveConflict
        "`{directive}` requires `.reqntid` and `.reqnctapercluster`",
        "add the missing directive";
    NoThreadCount: warning DirectiveConflict
        "`.minnctapersm` has no effect without `.maxntid` or `.reqntid`",
        "add `.maxntid` or `.reqntid`";
    NoreturnWithResults: error DirectiveConflict
        "a `.noreturn` function cannot have results",
        "remove `.noreturn` or the results";
    NoreturnAfter(directive: Directive): error DirectiveConflict
        "expected `.noreturn` before `{directive}`",
        "write `.noreturn` directly after the parameters";
    DirectiveBits(directive: Directive, found: i64): error DirectiveValue
        "expected a value of `{directive}` that fits 32 bits, found {found}",
        "use a value from 0 to 4294967295";
    DirectiveGreatest(directive: Directive, most: u8, found: i64): error DirectiveValue
        "expected a value of `{directive}` of at most {most}, found {found}",
        "use a value up to {most}";
    DirectiveText(directive: Directive, text: NameId, known: &'static [&'static str]): error DirectiveValue
        "expected a known name after `{directive}`, found {text}",
        "use one of: {known}";
    DirectivePositive(directive: Directive, found: i64): error DirectiveValue
        "expected a value of `{directive}` above 0, found {found}",
        "use 1 or more";
}}
