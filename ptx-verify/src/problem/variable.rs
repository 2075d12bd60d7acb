//! Problems of variable declarations.

use ptx_ir::{Linkage, NameId};
use ptx_isa::{ScalarType, StateSpace};

use super::problems;

problems! { VariableProblem {
    ConstBank: error VariablePlace
        "banks of `.const` were removed in PTX 2.2",
        "declare an array in `.const` without a bank number";
    EarlyBank: error VariablePlace
        "banks of `.const` require PTX 1.5",
        "remove the number of the bank";
    BankNumber(bank: i64): error VariablePlace
        "expected a bank of `.const` from 0 to 10, found {bank}",
        "use one of banks 0 to 10";
    NoBank: error VariablePlace
        "an external array without a size must be in one of banks 1 to 10 of `.const`",
        "write the number of its bank: `.const[1]`";
    BankContents(bank: i64): error VariablePlace
        "bank {bank} of `.const` is for external arrays without a size",
        "declare it in bank 0, or as an `.extern` array with empty brackets";
    SpecialRegister: error VariablePlace
        "special registers are predefined and cannot be declared",
        "remove the declaration";
    TexType(ty: ScalarType): error VariablePlace
        "expected `.u32` or `.u64` as the type of a `.tex` variable, found `{ty}`",
        "declare a `.global .texref`";
    TexArray: error VariablePlace
        "a `.tex` variable cannot be an array",
        "declare each texture with a separate name";
    TexInBody: error VariablePlace
        "a `.tex` variable must be declared at module level, found it in a function",
        "declare a `.global .texref`";
    TexRemoved: error VariablePlace
        "`.tex` variables were removed in PTX 1.5",
        "declare a `.global .texref`";
    BodySpace(space: StateSpace): error VariablePlace
        "a `{space}` variable must be declared in a function, found it at module level",
        "move the declaration into the function";
    OpaqueInBody(ty: ScalarType): error VariablePlace
        "a `{ty}` variable must be declared at module level, found it in a function",
        "declare it as `.global {ty}` before the function, or as a parameter of the kernel";
    OpaqueSpace(ty: ScalarType, space: StateSpace): error VariablePlace
        "a `{ty}` variable must be in `.global`, found `{space}`",
        "declare it as `.global {ty}`";
    UnifiedSampler: error VariablePlace
        "a `.samplerref` requires `texmode_independent` in `.target`",
        "add `texmode_independent` to `.target`";
    LocalLinkage(linkage: Linkage): error Linkage
        "`{linkage}` is only allowed at module level, found it in a function",
        "move the declaration before the function";
    CommonSpace(space: StateSpace): error Linkage
        "a `.common` variable must be in `.global`, found `{space}`",
        "use `.global`, or remove `.common`";
    CommonType(ty: ScalarType): error Linkage
        "a `{ty}` variable cannot be `.common`",
        "remove `.common`";
    AttributeSpace(attribute: &'static str, space: StateSpace): error Attribute
        "a `{attribute}` variable must be in `.global`, found `{space}`",
        "use `.global`, or remove `{attribute}`";
    InstructionType(ty: ScalarType): error VariableType
        "`{ty}` is a type of instructions and cannot be the type of a variable",
        "use a `.b` type of the same size";
    PredicateSpace(space: StateSpace): error VariableType
        "a `.pred` variable must be in `.reg`, found `{space}`",
        "store the predicate as an integer, for example with `selp`";
    ParamVector(len: u8): error VariableType
        "expected a scalar or an array of `.b8` in `.param`, found a vector of {len} elements",
        "declare an array of `.b8` or a scalar";
    ParamType(ty: ScalarType): error VariableType
        "expected a scalar of 8 to 64 bits or an array of `.b8` in `.param`, found `{ty}`",
        "declare an array of `.b8` or a scalar";
    VectorType(ty: ScalarType): error VectorType
        "`{ty}` cannot be the element type of a vector",
        "declare an array or single variables";
    VectorLength(len: u8): error VectorType
        "expected a vector of 2 or 4 elements, found {len}",
        "use `.v2` or `.v4`";
    VectorBits(len: u8, ty: ScalarType, bits: u32): error VectorType
        "a vector has at most 128 bits, found {len} elements of `{ty}` with {bits}",
        "use a shorter vector";
    ParameterAlignment(align: i64): error Alignment
        "a parameter is aligned to at most 128 bytes, found {align}",
        "use 128 or less";
    NotPowerOfTwo(align: i64): error Alignment
        "expected a power of two below 2^32 as the alignment, found {align}",
        "use 1, 2, 4, 8, 16, 32, 64 or 128";
    RangeInitializer(name: NameId): error InitialPlace
        "`{name}` is a range of variables, which cannot have an initial value",
        "remove the initial value: instructions set registers, and only arrays and single variables have initial values";
    EmptyDimension(name: NameId): error IncompleteArray
        "expected a size above 0 for each dimension of `{name}` after the first",
        "write the number of elements";
    RegisterArray(name: NameId): error VariablePlace
        "`{name}` is declared as an array, which registers cannot be",
        "declare a range of registers: `{name}<4>`";
    /// An array without a size that is neither external nor initialized.
    NoSize(name: NameId): error IncompleteArray
        "expected a size for the array `{name}`: only an `.extern` array may omit it",
        "write the number of elements, or an initial value";
}}
