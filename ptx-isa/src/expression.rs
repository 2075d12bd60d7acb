//! What instructions compute: expressions over the values of their operands.

use crate::{ErrorBound, Modifier, SlotAssignment, TypeExpr};

pub use crate::generated::action::Action;
pub use crate::generated::function::ExprFunction;

/// An expression of a [`Computation`]. Integers are exact, whatever the types of operands are: a sum does not wrap around before it is
/// assigned.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Expr {
    /// The value of the operand of this index, by its type: an integer, a number or a predicate.
    Operand(u8),
    /// The value in memory at the operand of this index. It has the type and the length of the first result, or without results those of the
    /// first source.
    Memory(u8),
    /// The value of the assignment of this index, as it was assigned.
    Assigned(u8),
    /// The carry flag: 0 or 1.
    Carry,
    /// The index of the element of packed types, the lowest is 0.
    Lane,
    /// A number.
    Integer(i64),
    /// Whether the instruction has the modifier.
    Has(Modifier),
    /// Whether the slot is filled.
    Filled(u8),
    /// A slot, as an argument.
    Slot(u8),
    /// A type, as an argument.
    Type(TypeExpr),
    /// The value of a function.
    Call(ExprFunction, &'static [Self]),
    /// A condition, the value if it holds, and the value if not.
    If(&'static [Self; 3]),
    /// The PTX ISA manual does not say which value it is.
    Undefined,
}

impl Expr {
    /// Whether the expression or a part of it passes a test.
    #[must_use]
    pub fn any(&self, test: &impl Fn(&Self) -> bool) -> bool {
        let parts: &[Self] = match *self {
            Self::Call(_, arguments) => arguments,
            Self::If(parts) => parts,
            _ => &[],
        };
        test(self) || parts.iter().any(|part| part.any(test))
    }
}

/// What a value is assigned to.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Destination {
    /// A result. Without `.sat` the lowest bits of an integer are kept, with it the nearest integer of the type; a number is rounded.
    Operand(u8),
    /// The memory at the operand of this index.
    Memory(u8),
    /// A name that later assignments use. Nothing is done to the value.
    Local,
    /// The carry flag, if the instruction writes it.
    Carry,
}

record! {
    /// An assignment of a [`Computation`].
    #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
    pub struct Assignment {
        /// What is assigned.
        target: Destination,
        /// The value.
        value: Expr,
    }
}

record! {
    /// What a form computes: assignments, in their order. If the type of the first result is packed, they are done for each element
    /// of the packed operands.
    #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
    pub struct Computation {
        /// The assignments in the notation of the tables: `d = a + b`.
        text: &'static str,
        /// The assignments.
        assignments: &'static [Assignment],
        /// The bounds of the error, of which the first one that holds counts, if the results are approximations: the expressions are what is
        /// approximated. Without a bound the error is unspecified.
        accuracy: Option<&'static [ErrorBound]>,
    }
}

impl TypeExpr {
    /// The type, given the modifiers in the slots; `None` if it has none, or only a width.
    #[must_use]
    pub fn scalar_type(
        self,
        assignment: &SlotAssignment,
        form: &crate::Form,
    ) -> Option<crate::ScalarType> {
        match crate::Expected::of(self, assignment, form) {
            crate::Expected::Type(ty) => Some(ty),
            _ => None,
        }
    }
}
