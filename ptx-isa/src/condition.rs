//! Conditions over an instruction as it is written: the only logic of the table.

use crate::TokenSet;

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
    Sink,
    /// Has it a minus sign?
    Negated,
    /// Has it an exclamation mark?
    Inverted,
    /// Is it a pair `p|q`?
    Pair,
    /// Does `.unified` follow it?
    Unified,
    /// A vector with `_` among its elements.
    Partial,
    /// Is it floating point, or a vector that begins with that?
    Floating,
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
    Holds(u8, TokenSet),
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
    fn holds(&self, slot: usize, words: TokenSet) -> bool;
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
}
