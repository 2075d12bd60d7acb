//! Conditions over an instruction as it is written: the only logic of the table.

use crate::{ModifierSet, SlotAssignment};

/// What an operand may be asked.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum OperandTest {
    /// Is it left out?
    Absent,
    /// Is it there?
    Present,
    /// Is it a constant?
    Immediate,
    /// Is it a register?
    Register,
    /// Is it a predicate?
    Predicate,
    /// Is it a variable or its address?
    Variable,
    /// Is it a special register?
    SpecialRegister,
    /// Is it a function?
    Function,
    /// Is it `_`?
    Discard,
    /// Has it a minus sign?
    Negated,
    /// Has it an exclamation mark?
    Inverted,
    /// Is it a pair `p|q`?
    Pair,
    /// Does `.unified` follow it?
    Unified,
    /// A vector with `_` among its elements.
    HasDiscard,
    /// Is it floating point, or a vector that begins with that?
    Floating,
    /// Is it a register of bits, or a vector with one in it?
    Bits,
    /// Is it a constant, or a vector of nothing else?
    Constant,
    /// Is it a constant of floating point that is not written as the bits of single precision?
    NotF32Bits,
    /// Is it an integer, or a vector of nothing else?
    Integer,
    /// Is it a vector that begins with an integer and goes on with floating point?
    IntThenFloat,
    /// Is it a texture, a sampler or a surface?
    Handle,
    /// Is it a vector of so many elements?
    Vector(u16),
}

/// A condition on one form of an instruction.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Cond {
    /// True.
    Always,
    /// False.
    Never,
    /// All of them hold.
    All(&'static [Cond]),
    /// One of them holds.
    Any(&'static [Cond]),
    /// It does not hold.
    Not(&'static Cond),
    /// The slot of this index is filled.
    Filled(u8),
    /// The slot of this index holds one of these words.
    Holds(u8, ModifierSet),
    /// The operand of this index is so.
    Operand(u8, OperandTest),
    /// The instruction is in a kernel.
    InEntry,
    /// The instruction is in a function that is not a kernel.
    InFunc,
}

/// An instruction that can be asked about its slots and operands.
pub trait Context {
    /// Whether the slot is filled.
    fn is_filled(&self, slot: usize) -> bool;
    /// Whether the slot holds one of the words.
    fn holds(&self, slot: usize, words: ModifierSet) -> bool;
    /// Whether the operand is so.
    fn operand(&self, operand: usize, test: OperandTest) -> bool;
    /// Whether the instruction is in a kernel.
    fn in_entry(&self) -> bool;
}

impl Cond {
    /// Whether the condition is true of an instruction.
    pub fn holds(&self, context: &impl Context) -> bool {
        match *self {
            Self::Always => true,
            Self::Never => false,
            Self::All(all) => all.iter().all(|c| c.holds(context)),
            Self::Any(any) => any.iter().any(|c| c.holds(context)),
            Self::Not(c) => !c.holds(context),
            Self::Filled(slot) => context.is_filled(slot.into()),
            Self::Holds(slot, words) => context.holds(slot.into(), words),
            Self::Operand(operand, test) => context.operand(operand.into(), test),
            Self::InEntry => context.in_entry(),
            Self::InFunc => !context.in_entry(),
        }
    }

    /// What the modifiers alone say of the condition; `None` where it hangs on operands or on the place.
    pub fn decide(&self, modifiers: &SlotAssignment) -> Option<bool> {
        // `sure` settles the whole list; what is open stays open unless something settles it.
        let list = |list: &[Self], sure: bool| {
            let mut all = Some(!sure);
            for cond in list {
                match cond.decide(modifiers) {
                    Some(found) if found == sure => return Some(sure),
                    None => all = None,
                    Some(_) => {}
                }
            }
            all
        };
        match *self {
            Self::Always => Some(true),
            Self::Never => Some(false),
            Self::All(all) => list(all, false),
            Self::Any(any) => list(any, true),
            Self::Not(c) => c.decide(modifiers).map(|found| !found),
            Self::Filled(slot) => Some(modifiers.is_filled(slot.into())),
            Self::Holds(slot, words) => Some(modifiers.holds(slot.into(), words)),
            Self::Operand(..) | Self::InEntry | Self::InFunc => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cond, OperandTest};
    use crate::{Modifier, ModifierSet, Opcode, find_form};

    #[test]
    fn what_modifiers_decide() {
        let opcode = Opcode::from_text(b"brev").unwrap();
        let (_, _, assignment) = find_form(opcode, &[Modifier::B32]).unwrap();
        const OPEN: Cond = Cond::Operand(0, OperandTest::Immediate);
        const FILLED: Cond = Cond::Filled(0);
        const EMPTY: Cond = Cond::Filled(9);
        for (cond, decided) in [
            (OPEN, None),
            (FILLED, Some(true)),
            (Cond::Not(&OPEN), None),
            (Cond::Not(&FILLED), Some(false)),
            (Cond::All(&[FILLED, OPEN]), None),
            (Cond::All(&[OPEN, EMPTY]), Some(false)),
            (Cond::Any(&[OPEN, FILLED]), Some(true)),
            (Cond::Any(&[EMPTY, OPEN]), None),
            (Cond::Any(&[EMPTY]), Some(false)),
            (Cond::InEntry, None),
            (Cond::Holds(0, ModifierSet(&[Modifier::B32])), Some(true)),
        ] {
            assert_eq!(cond.decide(&assignment), decided, "{cond:?}");
        }
    }
}
