//! Initial values of variables.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use crate::error::{BuildError, BuildErrorKind};
use crate::handle::{CodeLabel, Func, Variable};
use crate::lexical;
use crate::name_scope::NameScope;
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

const DEPTH: usize = 64;

/// Writes an initial value that is nested in `depth` others.
pub(crate) fn write_init(
    init: &Init,
    names: &mut NameScope<'_>,
    out: &mut String,
    depth: usize,
) -> Result<(), BuildError> {
    if depth > DEPTH {
        return Err(BuildError::new(
            BuildErrorKind::Argument,
            format!("initial values nest deeper than {DEPTH} lists"),
            "a list holds one list for each dimension of the array",
        ));
    }
    let _ = match init {
        Init::Int(n) => write!(out, "{n}"),
        Init::Unsigned(n) => write!(out, "{n}"),
        Init::F32(x) => write!(out, "0f{:08X}", x.to_bits()),
        Init::F64(x) => write!(out, "0d{:016X}", x.to_bits()),
        Init::Constant(text) => write!(out, "{}", Number::from(text.as_str()).text()?),
        Init::Text(text) => write!(out, "{}", lexical::string(text)?),
        Init::Address(var, n) => {
            let named = names.variable(*var)?;
            write!(out, "{}{}", names.mention(named), Offset(*n))
        }
        Init::Generic(var, n) => {
            let named = names.variable(*var)?;
            write!(out, "generic({}){}", names.mention(named), Offset(*n))
        }
        Init::Function(func) => {
            let named = names.function(*func)?;
            write!(out, "{}", names.mention(named))
        }
        Init::Label(label) => {
            let named = names.label(*label)?;
            write!(out, "{}", names.mention(named))
        }
        Init::Plus(base, number) => {
            write_init(base, names, out, depth + 1)?;
            write!(out, "+{}", number.text()?)
        }
        Init::Masked(mask, of) => {
            let _ = write!(out, "{}(", mask.text()?);
            write_init(of, names, out, depth + 1)?;
            write!(out, ")")
        }
        Init::Field(name, value) => {
            lexical::name(name)?;
            if !lexical::is_constant(value) {
                lexical::name(value)?;
            }
            write!(out, "{name} = {value}")
        }
        Init::List(parts) => {
            out.push('{');
            for (i, part) in parts.iter().enumerate() {
                if i > 0 {
                    // As the canonical style has it.
                    out.push_str(if i % 16 == 0 { ",\n\t" } else { ", " });
                }
                write_init(part, names, out, depth + 1)?;
            }
            write!(out, "}}")
        }
    };
    Ok(())
}

/// `+4`, or nothing.
struct Offset(i64);

impl core::fmt::Display for Offset {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            0 => Ok(()),
            offset => write!(f, "+{offset}"),
        }
    }
}
