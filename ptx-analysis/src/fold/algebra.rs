//! What is known of an instruction's function whatever its operands are.

use ptx_isa::{Modifier, Opcode, StateSpace};

/// The instruction that writes its only source to its only result; a type follows it.
pub const COPY: Opcode = Opcode::Mov;

/// Whether the first result is the first source, bit for bit (both being scalars of one width).
#[must_use]
pub fn is_copy(opcode: Opcode) -> bool {
    opcode == COPY
}

/// An address of a state space and a generic one: what turns one into the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Conversion {
    /// The state space.
    pub space: StateSpace,
    /// Whether the result is the generic address; else it is the source.
    pub to_generic: bool,
}

/// Whether the first result is the first source as an address of another kind.
#[must_use]
pub fn conversion(opcode: Opcode, modifiers: &[Modifier]) -> Option<Conversion> {
    let space = modifiers.iter().find_map(|m| m.state_space())?;
    (opcode == Opcode::Cvta).then_some(Conversion {
        space,
        to_generic: !modifiers.contains(&Modifier::To),
    })
}

/// Whether the first two sources may change places.
#[must_use]
pub fn commutes(opcode: Opcode, modifiers: &[Modifier]) -> bool {
    let has = |m| modifiers.contains(&m);
    match opcode {
        // Of the two zeros, and of two NaNs, the first may be the result.
        Opcode::Add | Opcode::Mul | Opcode::Min | Opcode::Max | Opcode::Mad => modifiers
            .iter()
            .filter_map(|m| m.scalar_type())
            .all(|ty| !super::element(ty).is_float()),
        Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Mul24 | Opcode::Mad24 | Opcode::Sad => {
            true
        }
        Opcode::Addc | Opcode::Madc => true,
        // With integers and floats alike.
        Opcode::Setp | Opcode::Set => has(Modifier::Eq) || has(Modifier::Ne),
        _ => false,
    }
}
