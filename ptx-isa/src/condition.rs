//! Conditions on the modifiers and operands of an instruction.

use crate::{ModifierSet, SlotAssignment};

/// A test of an operand.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum OperandTest {
    /// It is absent.
    Absent,
    /// It is present.
    Present,
    /// It is a constant.
    Immediate,
    /// It is a register.
    Register,
    /// It is a predicate.
    Predicate,
    /// It is a variable or its address.
    Variable,
    /// It is a special register.
    SpecialRegister,
    /// It is a function.
    Function,
    /// It is `_`.
    Discard,
    /// It has a minus sign.
    Negated,
    /// It has an exclamation mark.
    Inverted,
    /// It is a pair `p|q`.
    Pair,
    /// It is followed by `.unified`.
    Unified,
    /// It is a vector with `_` among its elements.
    HasDiscard,
    /// It is floating point, or a vector whose first element is.
    Floating,
    /// It is a register of a bits type, or a vector with one among its elements.
    Bits,
    /// It is a constant, or a vector of constants.
    Constant,
    /// It is a floating-point constant that is not written as `0f…`, or a vector whose last element is.
    NotF32Bits,
    /// It is an integer, or a vector of integers.
    Integer,
    /// It is a vector of an integer followed by floating point.
    IntThenFloat,
    /// It is a texture, sampler or surface.
    Handle,
    /// It is a texture.
    Texture,
    /// It is a register of 128 bits.
    B128,
    /// It is an unsigned integer register, or a vector of only such registers.
    Unsigned,
    /// It is an integer other than zero, or a vector with one among its elements.
    Nonzero,
    /// It is a vector of this length.
    Vector(u16),
    /// It is a register, general or special, of fewer than this many bits, or a vector of only such registers.
    Below(u16),
}

/// A condition on one form of an instruction.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Cond {
    /// True.
    Always,
    /// False.
    Never,
    /// All conditions hold.
    All(&'static [Cond]),
    /// At least one condition holds.
    Any(&'static [Cond]),
    /// The condition does not hold.
    Not(&'static Cond),
    /// The slot of this index is filled.
    Filled(u8),
    /// The slot of this index holds one of these modifiers.
    Holds(u8, ModifierSet),
    /// The operand of this index passes the test.
    Operand(u8, OperandTest),
    /// The instruction is in a kernel.
    InEntry,
    /// The instruction is in a function that is not a kernel.
    InFunc,
    /// Textures are read without separate samplers: the module does not have the target option `texmode_independent`.
    UnifiedTextures,
}

/// An instruction on which conditions are evaluated.
pub trait Context {
    /// Whether the slot is filled.
    fn is_filled(&self, slot: usize) -> bool;
    /// Whether the slot holds one of the modifiers.
    fn holds(&self, slot: usize, words: ModifierSet) -> bool;
    /// Whether the operand passes the test.
    fn operand(&self, operand: usize, test: OperandTest) -> bool;
    /// Whether the instruction is in a kernel.
    fn in_entry(&self) -> bool;
    /// Whether textures are read without separate samplers, as they are by default.
    fn unified_textures(&self) -> bool {
        true
    }
}

impl Cond {
    /// Whether the condition holds for an instruction.
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
            Self::UnifiedTextures => context.unified_textures(),
        }
    }

    /// Whether the condition contains the test of an operand.
    pub(crate) fn tests_operand_for(&self, test: OperandTest) -> bool {
        match *self {
            Self::All(list) | Self::Any(list) => list.iter().any(|c| c.tests_operand_for(test)),
            Self::Not(c) => c.tests_operand_for(test),
            Self::Operand(_, operand_test) => operand_test == test,
            _ => false,
        }
    }

    /// The value of the condition as far as the modifiers determine it; `None` if it depends on operands, on the function or on the module.
    #[must_use]
    pub fn decide(&self, modifiers: &SlotAssignment) -> Option<bool> {
        match *self {
            Self::Always => Some(true),
            Self::Never => Some(false),
            Self::All(list) => Self::decide_list(list, modifiers, false),
            Self::Any(list) => Self::decide_list(list, modifiers, true),
            Self::Not(c) => c.decide(modifiers).map(|value| !value),
            Self::Filled(slot) => Some(modifiers.is_filled(slot.into())),
            Self::Holds(slot, words) => Some(modifiers.holds(slot.into(), words)),
            Self::Operand(..) | Self::InEntry | Self::InFunc | Self::UnifiedTextures => None,
        }
    }

    /// The value of a list of conditions: `dominant` if a condition has this value, else `None` if a condition is undecided, else
    /// the opposite value.
    fn decide_list(list: &[Self], modifiers: &SlotAssignment, dominant: bool) -> Option<bool> {
        let mut value = Some(!dominant);
        for cond in list {
            match cond.decide(modifiers) {
                Some(decided) if decided == dominant => return Some(dominant),
                None => value = None,
                Some(_) => {}
            }
        }
        value
    }
}
