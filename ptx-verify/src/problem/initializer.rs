//! Problems of initial values.

use alloc::format;
use ptx_ir::{Code, NameId};
use ptx_isa::{ScalarType, StateSpace};

use super::{Side, Text, Wording};
use crate::location::Part;

#[derive(Copy, Clone, Debug)]
pub(crate) enum InitializerProblem {
    /// In a state space without initial values.
    Space(NameId, StateSpace),
    External(NameId),
    F16,
    /// Braces that do not match the dimensions.
    MissingBraces(ScalarType),
    ExtraBraces(ScalarType),
    /// An array without a size and without values.
    NoValues(ScalarType),
    /// More values than an array has elements: the name if it is in its outermost braces, found, expected.
    TooMany(Option<NameId>, i64, i64),
    /// Not as many values as a vector has elements: found, expected.
    VectorCount(i64, i64),
    Field(ScalarType, NameId, &'static [&'static str]),
    FieldValue(NameId, NameId, &'static [&'static str]),
    /// An integer for a floating-point type, or the other way round.
    ConstantType(ScalarType),
    /// An address for a type that cannot hold it.
    AddressType(ScalarType),
    /// The byte of an address for a type that cannot hold it.
    AddressByteType(ScalarType),
    /// `generic(f)` of a function.
    GenericFunction,
    /// The address of something that has none before the program runs.
    NoAddress,
    /// The name that is declared, or one before it in the same declaration.
    OwnName,
    /// The address of a function with an offset.
    FunctionOffset,
    /// An offset that is not an integer.
    Offset,
    /// A value without a name for an opaque type.
    UnnamedField(ScalarType),
    /// A mask that does not select one byte.
    Mask(u64),
}

impl InitializerProblem {
    pub(super) fn text(self, wording: Wording<'_>) -> Text {
        let name = |id| wording.module.name(id);
        let place = |message| Text::error(Code::InitialPlace, message);
        let count = |message| Text::error(Code::InitialCount, message);
        match self {
            Self::Space(id, space) => place(format!(
                "`{}` is in `{space}`: only `.global` and `.const` variables have initial values",
                name(id)
            ))
            .help("store the value at the start of the kernel"),
            Self::External(id) => place(format!(
                "`{}` is `.extern`: its definition has the initial value",
                name(id)
            ))
            .help("remove the initial value, or `.extern`"),
            Self::F16 => place("a variable of type `.f16` cannot have an initial value".into())
                .help("declare it as `.b16` with the bits of the number"),
            Self::TooMany(array, found, expected) => {
                let message = format!("expected at most {expected} initial values, found {found}");
                let text = count(message).help("remove values, or enlarge the array");
                match array {
                    Some(name) => text.fix(Part::Dimension(name), Side::Whole, format!("{found}")),
                    None => text,
                }
            }
            Self::VectorCount(found, expected) => count(format!(
                "expected {expected} initial values for the vector, found {found}"
            ))
            .help("write one value for each element"),
            _ => self.value(wording),
        }
    }

    /// Problems of single values and of their nesting.
    fn value(self, wording: Wording<'_>) -> Text {
        let name = |id| wording.module.name(id);
        let error = |message| Text::error(Code::InitialValue, message);
        match self {
            Self::MissingBraces(ty) => error(format!(
                "expected initial values of type `{ty}` in braces, one pair for each dimension"
            ))
            .help("write `{` and `}` around the values"),
            Self::ExtraBraces(ty) => error(format!(
                "expected an initial value of type `{ty}`, found `{{`"
            ))
            .help("write one pair of braces for each dimension"),
            Self::NoValues(ty) => error(format!(
                "expected initial values of type `{ty}`, found none: the array has no size"
            ))
            .help("write values, or the size"),
            Self::Field(ty, field, all) => {
                error(format!("`{ty}` has no field `{}`", name(field)))
                    .help(format!("its fields are {}", all.join(", ")))
            }
            Self::FieldValue(field, value, all) => error(format!(
                "expected a number or a mode for the field `{}`, found `{}`",
                name(field),
                name(value)
            ))
            .help(format!("the modes are {}", all.join(", "))),
            Self::AddressType(ty) => error(format!(
                "expected `.u32` or `.u64` as the type of a variable with an address, found `{ty}`"
            ))
            .help("declare the variable with the unsigned type of the address size"),
            Self::AddressByteType(ty) => error(format!(
                "expected `.u8` as the type of a variable with bytes of addresses, found `{ty}`"
            ))
            .help("declare the variable as `.u8`"),
            Self::GenericFunction => {
                error("expected a variable in `generic()`, found a function".into())
                    .help("write the name of the function alone")
            }
            Self::NoAddress => error(
                "expected a `.global` or `.const` variable or a function: nothing else has a constant address".into(),
            )
            .help("store the address at the start of the kernel"),
            Self::OwnName => error(
                "expected a variable of an earlier declaration, found one of this declaration".into(),
            )
            .help("declare the variable whose address is needed in a statement before this one"),
            Self::FunctionOffset => error("expected the address of a function, found an offset from it".into())
                .help("write the name of the function alone"),
            Self::Offset => error("expected an integer offset from the address".into())
                .help("write a number of bytes"),
            Self::UnnamedField(ty) => error(format!("expected named fields for `{ty}`, found a value"))
                .help("write `field = value`"),
            Self::Mask(mask) => error(format!(
                "expected a mask of one byte such as `0xFF00`, found {mask:#x}"
            ))
            .help("use `0xFF` shifted by a multiple of 8"),
            Self::ConstantType(ty) => error(format!(
                "expected a constant of type `{ty}` as the initial value"
            ))
            .help("write integers for integer types and floating-point constants for `.f` types"),
            _ => error("invalid initial value".into()),
        }
    }
}
