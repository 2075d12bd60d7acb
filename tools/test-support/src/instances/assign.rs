//! Statements that assign a constant to a register.

use ptx_isa::ScalarType;

use super::template::Register;

/// The declarations of the registers for values of widths that `mov` does not support.
pub const SCRATCH: &str = ".reg .b32 word; .reg .b64 low, high;";

/// The statements that assign a value to a register.
pub fn assign(register: &Register, bits: u128) -> String {
    let name = &register.name;
    match register.declared.bits() {
        _ if register.declared == ScalarType::Pred => {
            format!("mov.b32 word, {bits};\nsetp.ne.u32 {name}, word, 0;\n")
        }
        8 => format!("mov.b32 word, {bits};\ncvt.u8.u32 {name}, word;\n"),
        128 => format!(
            "mov.b64 low, {:#x};\nmov.b64 high, {:#x};\nmov.b128 {name}, {{low, high}};\n",
            bits as u64,
            (bits >> 64) as u64
        ),
        width => format!("mov.b{width} {name}, {bits:#x};\n"),
    }
}
