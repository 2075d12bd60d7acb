//! The results of forms: computations over the values of the operands, bounds of their error, and actions.

use crate::{Cond, Modifier, SlotAssignment, TypeExpr};

pub use crate::generated::action::Action;
pub use crate::generated::function::ExprFunction;

/// Declares the actions, each with its meaning.
macro_rules! actions {
    ($($name:ident $results:ident $meaning:literal,)*) => {
        /// The behavior of a form whose results are not a function of its operands.
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        pub enum Action {
            $(#[doc = $meaning] $name,)*
        }

        impl Action {
            /// All actions.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// A sentence that describes the action.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => $meaning,)*
                }
            }

            /// The uniformity of the results of the action.
            pub(crate) const fn results(self) -> $crate::uniformity::ActionResults {
                match self {
                    $(Self::$name => $crate::uniformity::ActionResults::$results,)*
                }
            }
        }
    };
}

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
    /// The index of the current element of packed types, from 0 for the lowest one.
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
    /// A value that the PTX ISA manual leaves undefined.
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

/// The destination of an assignment.
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
        /// The destination of the value.
        target: Destination,
        /// The value.
        value: Expr,
    }
}

record! {
    /// The computation of a form: assignments, in their order. If the type of the first result is packed, they are done for each element
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

/// The greatest error of an approximation.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ErrorLimit {
    /// Units in the last place of the result.
    Ulp(u16),
    /// The difference from the exact value: two to the power of this number of thousandths.
    Absolute(i32),
    /// The difference divided by the exact value: two to the power of this number of thousandths.
    Relative(i32),
}

record! {
    /// A bound of the error of an approximation, and the condition under which it holds.
    #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
    pub struct ErrorBound {
        /// The greatest error.
        limit: ErrorLimit,
        /// The condition on the modifiers.
        when: Cond,
        /// The values of an operand for which the bound holds; `None` for all values.
        range: Option<MagnitudeRange>,
    }
}

record! {
    /// The absolute values of an operand from one number to another.
    #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
    pub struct MagnitudeRange {
        /// The index of the operand.
        operand: u8,
    }
    private {
        low: u64,
        high: u64,
    }
}

impl MagnitudeRange {
    /// The least absolute value.
    #[must_use]
    pub const fn low(&self) -> f64 {
        f64::from_bits(self.low)
    }

    /// The greatest absolute value.
    #[must_use]
    pub const fn high(&self) -> f64 {
        f64::from_bits(self.high)
    }

    fn contains(&self, magnitude: f64) -> bool {
        self.low() <= magnitude && magnitude <= self.high()
    }
}

impl Computation {
    /// Whether the results are approximations: their bits may differ from those of the rounded exact value.
    #[must_use]
    pub const fn is_approximate(&self) -> bool {
        self.accuracy.is_some()
    }

    /// The greatest error for modifiers and for the absolute values of operands; `None` if the results are exact, or if the PTX ISA manual
    /// gives no bound.
    ///
    /// ```
    /// use ptx_isa::{Modifier, Opcode, find_instruction};
    /// use ptx_isa::internals::ErrorLimit;
    ///
    /// let modifiers = [Modifier::Approx, Modifier::F32];
    /// let sine = &find_instruction(Opcode::Sin, &modifiers).unwrap().forms()[0];
    /// let slots = sine.match_modifiers(&modifiers).unwrap();
    /// let computation = sine.computation().unwrap();
    /// assert!(computation.is_approximate());
    /// let limit = |angle| computation.error_limit(&slots, |_operand| angle);
    /// assert_eq!(limit(1.0), Some(ErrorLimit::Absolute(-20_500)));
    /// assert_eq!(limit(100.0), Some(ErrorLimit::Absolute(-14_700)));
    /// assert_eq!(limit(1000.0), None);
    /// ```
    #[must_use]
    pub fn error_limit(
        &self,
        slots: &SlotAssignment,
        magnitude: impl Fn(u8) -> f64,
    ) -> Option<ErrorLimit> {
        self.accuracy?
            .iter()
            .find(|bound| {
                bound.when.decide(slots) == Some(true)
                    && bound
                        .range
                        .is_none_or(|range| range.contains(magnitude(range.operand)))
            })
            .map(ErrorBound::limit)
    }
}
