//! Reasons why an instruction is not legal.

use crate::{Rule, Since, SpecialReg, Table};

/// A violation by one operand.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum OperandViolation {
    /// It must be present, because its condition holds.
    Missing,
    /// It must be absent, because its condition does not hold.
    Unexpected,
    /// It must be an address, vector, list or pair and is not, or the reverse.
    Shape,
    /// It must be a vector of this length.
    Length(u16),
    /// It must be a register.
    NeedsRegister,
    /// It must be a constant.
    NeedsConstant,
    /// The declared type of the register is incompatible with the type of the operand.
    Type,
    /// The constant has the wrong kind or is out of range.
    Constant,
    /// The variable is in the wrong state space.
    Space,
    /// It must not be `_`.
    Discard,
    /// It must not be negated.
    Negated,
    /// It must not be inverted.
    Inverted,
    /// It must not have a selector.
    Lanes,
    /// A vector must not contain both a constant and one component of a vector register, such as `v.x`.
    Component,
    /// It must not be followed by `.unified`.
    Unified,
    /// The kernel does not have the directive that the special register needs.
    Directive(SpecialReg),
    /// It has another kind, such as a label instead of a register.
    Kind,
}

/// One reason why an instruction is not legal. Slots and operands are those of the form, modifiers those of the query,
/// all counted from zero.
#[derive(Copy, Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Violation {
    /// No instruction has this name.
    Instruction,
    /// No free slot takes the modifier.
    Modifier(usize),
    /// The slot must not be empty.
    Slot(usize),
    /// The number of operands is wrong: the least and the greatest legal number.
    Count(usize, usize),
    /// An operand is not legal.
    Operand(usize, OperandViolation),
    /// A rule of the form is violated.
    Rule(&'static Rule),
    /// No row of the table matches.
    Table(&'static Table),
    /// None of these requirements is satisfied.
    RequiresTarget(&'static [Since]),
    /// The special register is not available.
    Register(SpecialReg),
    /// The instruction was removed in one of these versions.
    RemovedIn(&'static [Since]),
}

/// The first few violations in the order in which they were found, and their total number.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Violations {
    list: [Violation; Self::KEPT],
    count: usize,
}

impl Violations {
    const KEPT: usize = 8;

    /// No violations.
    pub(crate) const NONE: Self = Self {
        list: [Violation::Instruction; Self::KEPT],
        count: 0,
    };

    pub(crate) fn add(&mut self, violation: Violation) {
        if let Some(entry) = self.list.get_mut(self.count) {
            *entry = violation;
        }
        self.count += 1;
    }

    /// Whether there are no violations.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The total number of violations.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// The first few violations.
    #[must_use]
    pub fn as_slice(&self) -> &[Violation] {
        self.list.get(..self.count).unwrap_or(&self.list)
    }
}
