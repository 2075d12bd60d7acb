//! The instructions that instrumentation inserts.
//!
//! Probes need the same few instructions whatever the module contains: to compute addresses, to combine predicates, to keep
//! the carry flag. This is the only file of the crate that names instructions; the check `opcode_lint` of `xtask` excludes it.
//! The effects of the instructions of a module are always read from the tables.

use alloc::string::String;

use ptx_isa::{ScalarType, StateSpace};

/// Computes the conjunction of two predicates.
pub(super) const AND: &str = "and.pred";
pub(super) const NOT: &str = "not.pred";
/// Adds the carry flag to two numbers.
pub(super) const ADD_WITH_CARRY: &str = "addc.u32";
/// Subtracts a number and the carry flag from a number.
pub(super) const SUBTRACT_WITH_BORROW: &str = "subc.u32";
/// Add or subtract two numbers, and set the carry flag.
pub(super) const ADD_SETTING_CARRY: &str = "add.cc.u32";
pub(super) const SUBTRACT_SETTING_BORROW: &str = "sub.cc.u32";
/// Operations on 64-bit numbers.
pub(super) const SUBTRACT: &str = "sub.s64";
pub(super) const AT_LEAST: &str = "setp.ge.u64";
/// Whether a number is less than another one, or a predicate holds.
pub(super) const LESS_OR: &str = "setp.lt.or.u64";
/// Loads a 64-bit number.
pub(super) const LOAD_GLOBAL: &str = "ld.global.u64";
/// Truncates 64 bits to 32.
pub(super) const TRUNCATE: &str = "cvt.u32.u64";

/// Copies a value of a type.
pub(super) fn copy(ty: ScalarType) -> String {
    format!("mov{}", ty.text())
}

/// Copies a value of a number of bits, without a type.
pub(super) fn copy_untyped(bits: u16) -> String {
    format!("mov.b{bits}")
}

/// Adds two numbers of 32 or 64 bits.
pub(super) fn add(bits: u16) -> &'static str {
    match bits {
        32 => "add.s32",
        _ => "add.s64",
    }
}

/// Multiplies two numbers of 32 or 64 bits and adds a third one.
pub(super) fn multiply_add(bits: u16) -> &'static str {
    match bits {
        32 => "mad.lo.s32",
        _ => "mad.lo.s64",
    }
}

/// Extends a number to 32 bits with zeros.
pub(super) fn zero_extend_to_word(bits: u16) -> String {
    format!("cvt.u32.u{bits}")
}

/// Extends a number to 64 bits with zeros.
pub(super) fn zero_extend(bits: u16) -> String {
    format!("cvt.u64.u{bits}")
}

/// Whether a generic address is in a state space.
pub(super) fn is_in_space(space: StateSpace) -> String {
    format!("isspacep{}", space.text())
}

/// Converts a generic address to one in a state space.
pub(super) fn to_space(space: StateSpace) -> String {
    format!("cvta.to{}.u64", space.text())
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned;
    use alloc::vec::Vec;

    use ptx_ir::Signatures;

    use super::*;

    #[test]
    fn every_mnemonic_is_in_the_tables() {
        let mut all: Vec<String> = [
            AND,
            NOT,
            ADD_WITH_CARRY,
            SUBTRACT_WITH_BORROW,
            ADD_SETTING_CARRY,
            SUBTRACT_SETTING_BORROW,
            SUBTRACT,
            AT_LEAST,
            LESS_OR,
            LOAD_GLOBAL,
            TRUNCATE,
            add(32),
            add(64),
            multiply_add(32),
            multiply_add(64),
        ]
        .map(ToOwned::to_owned)
        .into();
        let types = [
            ScalarType::Pred,
            ScalarType::B16,
            ScalarType::B64,
            ScalarType::U32,
        ];
        all.extend(types.map(copy));
        all.extend([8, 16, 32].map(zero_extend));
        all.extend([8, 16].map(zero_extend_to_word));
        let spaces = [
            StateSpace::Global,
            StateSpace::Shared,
            StateSpace::Local,
            StateSpace::Const,
        ];
        all.extend(spaces.map(is_in_space));
        all.extend(spaces.map(to_space));
        for mnemonic in all {
            let mut signatures = Signatures::new(Default::default(), 1);
            let id = signatures.intern(mnemonic.as_bytes());
            assert!(signatures.get(id).is_known(), "{mnemonic}");
        }
    }
}
