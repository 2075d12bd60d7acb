//! Constants as operands.

use ptx_ir::constant::{ConstValue, read_expression};
use ptx_ir::raw::RawModule;
use ptx_ir::{Immediate, Limits, Module, NameId, Operand, OperandPool};

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

/// The operand of a constant with this spelling, whatever it is.
pub(crate) fn spelled(text: &str, module: &mut Module, pool: &mut OperandPool) -> Operand {
    let read = read_expression(text.as_bytes(), 0, Limits::default().nesting);
    let value = read.value.unwrap_or(ConstValue::INVALID);
    let text = NameId::new(module.names_mut().intern(text.as_bytes()).0);
    Operand::Imm(pool.add_immediate(Immediate::new(text, value)))
}
