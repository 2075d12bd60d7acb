//! Why an instruction is not legal.

use crate::{Rule, Since, SpecialReg, Table};

/// What is wrong with an operand.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum OperandViolation {
    /// It must be there: the condition of the operand holds.
    Missing,
    /// It must not be there: the condition does not hold.
    Unexpected,
    /// It is no address, no vector, no list, no pair where one is needed, or the other way round.
    Shape,
    /// The vector must have so many elements.
    Length(u16),
    /// A register, and nothing else.
    NeedsRegister,
    /// A constant, and nothing else.
    NeedsConstant,
    /// The declared type of the register does not go with the type of the operand.
    Type,
    /// The constant is of the wrong sort, or not in the range of the operand.
    Constant,
    /// The variable lies in another state space.
    Space,
    /// `_` may not stand for it.
    Discard,
    /// It may not be negated.
    Negated,
    /// It may not be inverted.
    Inverted,
    /// No bytes or half words of it may be selected.
    Lanes,
    /// `.unified` may not follow it.
    Unified,
    /// It is something of another kind: a label for a register, a function for a variable.
    Kind,
}

/// One reason why an instruction is not legal. Slots and operands are those of the form, modifiers the written ones,
/// all counted from zero.
#[derive(Copy, Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Violation {
    /// No instruction has this name.
    Instruction,
    /// No slot that is free takes the written modifier.
    Modifier(usize),
    /// The slot must be filled.
    Slot(usize),
    /// There are too few or too many operands: at least and at most so many are taken.
    Count(usize, usize),
    /// An operand is not as it must be.
    Operand(usize, OperandViolation),
    /// A rule of the form is broken.
    Rule(&'static Rule),
    /// No row of the table matches.
    Table(&'static Table),
    /// None of these versions and targets is reached.
    RequiresTarget(&'static [Since]),
    /// The special register is not there.
    Register(SpecialReg),
    /// From one of these versions on it is refused.
    RemovedIn(&'static [Since]),
}

/// A few problems, in the order in which they were found; more are only counted.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Violations {
    list: [Violation; Self::KEPT],
    count: usize,
}

impl Violations {
    const KEPT: usize = 8;

    /// None.
    pub(crate) const NONE: Self = Self {
        list: [Violation::Instruction; Self::KEPT],
        count: 0,
    };

    pub(crate) fn add(&mut self, problem: Violation) {
        if let Some(entry) = self.list.get_mut(self.count) {
            *entry = problem;
        }
        self.count += 1;
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many there are, those that were not kept included.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Those that were kept.
    pub fn as_slice(&self) -> &[Violation] {
        self.list.get(..self.count).unwrap_or(&self.list)
    }
}
