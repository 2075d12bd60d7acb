//! Problems of initial values.

use ptx_ir::NameId;
use ptx_isa::{ScalarType, StateSpace};

use super::problems;
use crate::location::Part;

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
    /// As above, in inner braces.
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
