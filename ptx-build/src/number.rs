//! Numbers of declarations and directives, and constants as operands.

use alloc::string::{String, ToString};

use ptx_ir::ConstValue;
use ptx_ir::raw::RawModule;
use ptx_ir::raw::read_expression;
use ptx_ir::{Immediate, Limits, Module, NameId, Operand, OperandPool};

use crate::error::BuildError;
use crate::lexical::{is_constant, no_constant};

/// A number of a declaration or directive: an integer, or a constant expression in its own spelling, such as `"0x10"` or `"4*8"`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Number {
    text: String,
    value: Option<u64>,
}

impl Number {
    /// Its spelling, if it is a number.
    ///
    /// # Errors
    ///
    /// The text is not a constant.
    pub fn text(&self) -> Result<&str, BuildError> {
        if !is_constant(&self.text) {
            return Err(no_constant(&self.text));
        }
        Ok(&self.text)
    }

    /// The value, which has to be an integer of 32 bits.
    pub(crate) fn as_u32(&self) -> Result<u32, BuildError> {
        let value = self.value.and_then(|v| u32::try_from(v).ok());
        value.ok_or_else(|| {
            let message = format!("`{}` is not a 32-bit integer", self.text);
            BuildError::new(
                crate::BuildErrorKind::Spelling,
                message,
                "numbers of files, lines and columns are such",
            )
        })
    }

    /// The value, if it is an integer.
    #[must_use]
    pub fn value(&self) -> Option<u64> {
        self.value
    }
}

impl From<&str> for Number {
    fn from(text: &str) -> Self {
        let read = read_expression(text.as_bytes(), 0, Limits::default().nesting);
        let value = read.value.ok().and_then(|v| v.as_int());
        Self {
            text: text.to_string(),
            value: value.map(|v| v as u64),
        }
    }
}

macro_rules! integers {
    ($($ty:ty)*) => {
        $(impl From<$ty> for Number {
            fn from(value: $ty) -> Self {
                Self { text: value.to_string(), value: u64::try_from(value).ok() }
            }
        })*
    };
}
integers!(i32 u32 i64 u64);

/// The operand of a constant whose tokens are next to each other.
pub(crate) fn constant(text: &str, module: &mut Module, pool: &mut OperandPool) -> Option<Operand> {
    let read = read_expression(text.as_bytes(), 0, Limits::default().nesting);
    let value = read
        .value
        .ok()
        .filter(|_| !read.spaced && read.end == text.len())?;
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = digits.len() < 10
        && digits.bytes().all(|b| b.is_ascii_digit())
        && (!digits.starts_with('0') || text == "0");
    if let Some(small) = value.as_int().filter(|_| is_plain) {
        return Some(Operand::Small(small as i32));
    }
    let text = NameId::new(module.names_mut().intern(text.as_bytes()).0);
    Some(Operand::Imm(
        pool.add_immediate(Immediate::new(text, value)),
    ))
}

/// The operand of a constant with this spelling, which may be invalid.
pub(crate) fn spelled(text: &str, module: &mut Module, pool: &mut OperandPool) -> Operand {
    let read = read_expression(text.as_bytes(), 0, Limits::default().nesting);
    let value = read.value.unwrap_or(ConstValue::INVALID);
    let text = NameId::new(module.names_mut().intern(text.as_bytes()).0);
    Operand::Imm(pool.add_immediate(Immediate::new(text, value)))
}
