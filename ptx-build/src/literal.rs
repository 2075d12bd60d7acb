//! Numbers as text, and text as operands.

use alloc::string::String;

use ptx_ir::constant::read_expression;
use ptx_ir::raw::RawModule;
use ptx_ir::{Immediate, Limits, Module, NameId, Operand, OperandPool};

/// Writes a number, without what formatting costs.
#[inline]
pub(crate) fn push_digits(text: &mut String, mut value: u64) {
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    for (i, digit) in digits.iter_mut().enumerate().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
        start = i;
        if value == 0 {
            break;
        }
    }
    for digit in digits.get(start..).unwrap_or_default() {
        text.push(char::from(*digit));
    }
}

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
