//! Problems of variable declarations and of initial values.

use ptx_ir::{Linkage, NameId};
use ptx_isa::{ScalarType, StateSpace};

use super::problems;
use crate::location::Part;

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

problems! { InitializerProblem {
    Space(name: NameId, space: StateSpace): error InitialPlace
        "`{name}` is in `{space}`: only `.global` and `.const` variables have initial values",
        "store the value at the start of the kernel";
    External(name: NameId): error InitialPlace
        "`{name}` is `.extern`: its definition has the initial value",
        "remove the initial value, or `.extern`";
    F16: error InitialPlace
        "a variable of type `.f16` cannot have an initial value",
        "declare it as `.b16` with the bits of the number";
    /// More values in the outermost braces than the array has elements.
    TooMany(_array: NameId, found: i64, expected: i64): error InitialCount
        "expected at most {expected} initial values, found {found}",
        "remove values, or enlarge the array",
        Part::Dimension(_array) => "{found}";
    /// More values in inner braces than the array has elements.
    TooManyInside(found: i64, expected: i64): error InitialCount
        "expected at most {expected} initial values, found {found}",
        "remove values, or enlarge the array";
    VectorCount(found: i64, expected: i64): error InitialCount
        "expected {expected} initial values for the vector, found {found}",
        "write one value for each element";
    MissingBraces(ty: ScalarType): error InitialValue
        "expected initial values of type `{ty}` in braces, one pair for each dimension",
        "write `{{` and `}}` around the values";
    ExtraBraces(ty: ScalarType): error InitialValue
        "expected an initial value of type `{ty}`, found `{{`",
        "write one pair of braces for each dimension";
    NoValues(ty: ScalarType): error InitialValue
        "expected initial values of type `{ty}`, found none: the array has no size",
        "write values, or the size";
    Field(ty: ScalarType, field: NameId, all: &'static [&'static str]): error InitialValue
        "`{ty}` has no field `{field}`",
        "its fields are {all}";
    FieldValue(field: NameId, value: NameId, modes: &'static [&'static str]): error InitialValue
        "expected a number or a mode for the field `{field}`, found `{value}`",
        "the modes are {modes}";
    /// An integer for a floating-point type, or the other way round.
    ConstantType(ty: ScalarType): error InitialValue
        "expected a constant of type `{ty}` as the initial value",
        "write integers for integer types and floating-point constants for `.f` types";
    AddressType(ty: ScalarType): error InitialValue
        "expected `.u32` or `.u64` as the type of a variable with an address, found `{ty}`",
        "declare the variable with the unsigned type of the address size";
    AddressByteType(ty: ScalarType): error InitialValue
        "expected `.u8` as the type of a variable with bytes of addresses, found `{ty}`",
        "declare the variable as `.u8`";
    GenericFunction: error InitialValue
        "expected a variable in `generic()`, found a function",
        "write the name of the function alone";
    NoAddress: error InitialValue
        "expected a `.global` or `.const` variable or a function: nothing else has a constant address",
        "store the address at the start of the kernel";
    OwnName: error InitialValue
        "expected a variable of an earlier declaration, found one of this declaration",
        "declare the variable whose address is needed in a statement before this one";
    FunctionOffset: error InitialValue
        "expected the address of a function, found an offset from it",
        "write the name of the function alone";
    Offset: error InitialValue
        "expected an integer offset from the address",
        "write a number of bytes";
    /// A value without a name for an opaque type.
    UnnamedField(ty: ScalarType): error InitialValue
        "expected named fields for `{ty}`, found a value",
        "write `field = value`";
    Mask(mask: u64): error InitialValue
        "expected a mask of one byte such as `0xFF00`, found {mask}",
        "use `0xFF` shifted by a multiple of 8";
}}
