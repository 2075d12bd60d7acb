//! Initial values of variables.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::handle::{CodeLabel, Func, Variable};
use crate::number::Number;

/// An initial value. Manual 5.4.4.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Init {
    /// An integer.
    Int(i64),
    /// An integer without a sign.
    Unsigned(u64),
    /// Single precision.
    F32(f32),
    /// Double precision.
    F64(f64),
    /// A constant in its own spelling.
    Constant(String),
    /// A string with its end.
    Text(String),
    /// The address of a variable plus an offset in bytes.
    Address(Variable, i64),
    /// The generic address of a variable plus an offset in bytes: `generic(a)+4`.
    Generic(Variable, i64),
    /// A function.
    Function(Func),
    /// The place of a label of the function.
    Label(CodeLabel),
    /// Another value plus an offset in bytes, which keeps its spelling: `a+0x10`.
    Plus(Box<Init>, Number),
    /// One byte of an address, shifted down: `0xFF00(a)`. Manual 5.4.4.
    Masked(Number, Box<Init>),
    /// A field of a sampler or texture: `addr_mode_0 = wrap`.
    Field(String, String),
    /// `{…}`
    List(Vec<Init>),
}
