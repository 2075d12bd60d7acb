//! Debug sections. Manual 11.5.3.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use ptx_ir::Code;
use ptx_isa::{Directive, ScalarType};

use crate::error::{Error, Kind};
use crate::lexical;
use crate::number::Number;

/// A line of a debug section.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Datum {
    /// `name:`
    Label(String),
    /// Data of one width: `.b8 1, 2, 3`.
    Data(ScalarType, Vec<Value>),
}

/// A datum.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Value {
    /// A number.
    Number(Number),
    /// A label, of any section or function, or a section (with its dot); names are not looked up.
    Name(String),
    /// So many bytes behind a label or section: `.debug_str+8`.
    Plus(String, Number),
    /// The distance of two labels.
    Difference(String, String),
}

impl<T: Into<Number>> From<T> for Value {
    fn from(number: T) -> Self {
        Self::Number(number.into())
    }
}

/// A label, or a section with its dot.
pub(crate) fn name(text: &str) -> Result<&str, Error> {
    lexical::name(text.strip_prefix('.').unwrap_or(text))?;
    Ok(text)
}

fn value(value: &Value) -> Result<String, Error> {
    Ok(match value {
        Value::Number(n) => n.text()?.to_string(),
        Value::Name(n) => name(n)?.to_string(),
        Value::Plus(n, offset) => format!("{}+{}", name(n)?, offset.text()?),
        Value::Difference(a, b) => format!("{}-{}", name(a)?, name(b)?),
    })
}

const TYPES: &[ScalarType] = &[
    ScalarType::B8,
    ScalarType::B16,
    ScalarType::B32,
    ScalarType::B64,
];

pub(crate) fn text(of: &str, data: &[Datum]) -> Result<String, Error> {
    let mut out = format!("{} {}\n{{\n", Directive::Section, name(of)?);
    for datum in data {
        match datum {
            Datum::Label(label) => {
                lexical::name(label)?;
                let _ = writeln!(out, "{label}:");
            }
            Datum::Data(_, values) if values.is_empty() => {
                return Err(Error::new(
                    Kind::Argument,
                    format!("a line of the section `{of}` without data"),
                    "give it a value, or leave the line out",
                ));
            }
            Datum::Data(ty, _) if !TYPES.contains(ty) => {
                return Err(Error::new(
                    Kind::Argument,
                    format!("data of type `{ty}` in the section `{of}`"),
                    "data of sections are `.b8`, `.b16`, `.b32` or `.b64`",
                )
                .code_is(Code::DebugInfo));
            }
            Datum::Data(ty, values) => {
                let values: Result<Vec<String>, Error> = values.iter().map(value).collect();
                let _ = writeln!(out, "\t{ty} {}", values?.join(", "));
            }
        }
    }
    out.push('}');
    Ok(out)
}
