//! Wrong results of ptxas for instructions with constant operands, although the code that it generates for
//! variable operands is right.

use ptx_isa::{Modifier, Opcode};

use super::template::Template;

/// Whether ptxas is known to compute a wrong result of an instruction for sources with these bits.
pub(super) fn is_known(template: &Template, sources: &[u128]) -> bool {
    let modifiers = &template.case.modifiers;
    match (template.case.opcode, modifiers.last(), sources.last()) {
        // ptxas 13.2, but not 13.5, interprets the integer that is compared with zero as a number of single precision: -0, or a NaN.
        (Opcode::Slct, Some(Modifier::S32), Some(&c)) => {
            c == 0x8000_0000 || (0x7f80_0001..=0x7fff_ffff).contains(&c)
        }
        _ => false,
    }
}
