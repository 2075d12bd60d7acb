//! Debug sections. Manual 11.5.3.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use ptx_ir::Code;
use ptx_isa::{Directive, ScalarType};

use crate::error::{BuildError, BuildErrorKind};
use crate::lexical;
use crate::number::Number;

/// A line of a debug section.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Datum {
    /// `name:`
    Label(String),
    /// Data of one width: `.b8 1, 2, 3`.
    Data(ScalarType, Vec<DatumValue>),
}

/// A datum.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum DatumValue {
    /// A number.
    Number(Number),
    /// A label, of any section or function, or a section (with its dot); names are not looked up.
    Name(String),
    /// A label or section plus an offset in bytes: `.debug_str+8`.
    Plus(String, Number),
    /// The distance of two labels.
    Difference(String, String),
}

impl<T: Into<Number>> From<T> for DatumValue {
    fn from(number: T) -> Self {
        Self::Number(number.into())
    }
}

/// A label, or a section with its dot.
pub(crate) fn name(text: &str) -> Result<&str, BuildError> {
    lexical::name(text.strip_prefix('.').unwrap_or(text))?;
    Ok(text)
}

fn value(value: &DatumValue) -> Result<String, BuildError> {
    Ok(match value {
        DatumValue::Number(n) => n.text()?.to_string(),
        DatumValue::Name(n) => name(n)?.to_string(),
        DatumValue::Plus(n, offset) => format!("{}+{}", name(n)?, offset.text()?),
        DatumValue::Difference(a, b) => format!("{}-{}", name(a)?, name(b)?),
    })
}

const TYPES: &[ScalarType] = &[
    ScalarType::B8,
    ScalarType::B16,
    ScalarType::B32,
    ScalarType::B64,
];

pub(crate) fn text(section: &str, data: &[Datum]) -> Result<String, BuildError> {
    let mut out = format!("{} {}\n{{\n", Directive::Section, name(section)?);
    for datum in data {
        match datum {
            Datum::Label(label) => {
                lexical::name(label)?;
                let _ = writeln!(out, "{label}:");
            }
            Datum::Data(_, values) if values.is_empty() => {
                return Err(BuildError::new(
                    BuildErrorKind::Argument,
                    format!("a line of the section `{section}` without data"),
                    "give it a value, or leave the line out",
                ));
            }
            Datum::Data(ty, _) if !TYPES.contains(ty) => {
                return BuildErrorKind::Argument.refuse(
                    Code::DebugInfo,
                    format!("data of type `{ty}` in the section `{section}`"),
                    "data of sections are `.b8`, `.b16`, `.b32` or `.b64`",
                );
            }
            Datum::Data(ty, values) => {
                let values: Result<Vec<String>, BuildError> = values.iter().map(value).collect();
                let _ = writeln!(out, "\t{ty} {}", values?.join(", "));
            }
        }
    }
    out.push('}');
    Ok(out)
}
