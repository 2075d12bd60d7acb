//! Evaluates conditions in the expressions of the tables ([`ptx_isa::internals::Computation`]), as far as modifiers and types decide them.

use ptx_isa::internals::{Expr, SlotAssignment};
use ptx_isa::{ExprFunction as Function, Form, Modifier, ScalarType, TypeKind};

/// The abstract value of a condition in an analysis.
pub trait Condition: Copy {
    /// Nothing is known of the condition.
    const UNKNOWN: Self;

    /// The value of a condition of which it is known whether it holds.
    fn known(holds: bool) -> Self;

    /// Returns whether the condition holds, if that is known.
    fn holds(self) -> Option<bool>;

    /// The value of the negated condition.
    #[must_use]
    fn inverted(self) -> Self;
}

impl Condition for Option<bool> {
    const UNKNOWN: Self = None;

    fn known(holds: bool) -> Self {
        Some(holds)
    }

    fn holds(self) -> Option<bool> {
        self
    }

    fn inverted(self) -> Self {
        self.map(|holds| !holds)
    }
}

/// An instruction whose conditions are evaluated.
#[derive(Copy, Clone)]
#[allow(missing_debug_implementations, reason = "it holds a function")]
pub struct Conditions<'a, H> {
    /// The form of the instruction.
    pub form: &'static Form,
    /// The modifiers in the slots of the form.
    pub slots: &'a SlotAssignment,
    /// Returns whether the instruction is written with a modifier.
    pub has: H,
}

impl<H: Fn(Modifier) -> bool> Conditions<'_, H> {
    /// Evaluates a condition. `other` evaluates the parts of it that modifiers and types do not decide.
    pub fn evaluate<T: Condition>(
        &self,
        condition: &Expr,
        other: &mut impl FnMut(&Expr) -> T,
    ) -> T {
        let from_type = |holds: Option<bool>| holds.map_or(T::UNKNOWN, T::known);
        match *condition {
            Expr::Has(modifier) => T::known((self.has)(modifier)),
            Expr::Filled(slot) => T::known(self.slots.is_filled(slot.into())),
            Expr::Call(Function::Signed, [ty]) => {
                from_type(self.element(ty).map(|ty| ty.kind() == TypeKind::Signed))
            }
            Expr::Call(Function::Floating, [ty]) => {
                from_type(self.element(ty).map(ScalarType::is_float))
            }
            Expr::Call(Function::Packed, [ty]) => {
                from_type(self.ty(ty).map(|ty| ty.elements() > 1))
            }
            Expr::Call(Function::Not, [a]) => self.evaluate(a, other).inverted(),
            Expr::Call(function @ (Function::And | Function::Or), [a, b]) => {
                let decides = function == Function::Or;
                let (a, b) = (self.evaluate(a, other), self.evaluate(b, other));
                match (a.holds(), b.holds()) {
                    (Some(known), _) | (_, Some(known)) if known == decides => T::known(decides),
                    (Some(_), _) => b,
                    (_, Some(_)) => a,
                    _ => T::UNKNOWN,
                }
            }
            _ => other(condition),
        }
    }

    fn ty(&self, ty: &Expr) -> Option<ScalarType> {
        match ty {
            Expr::Type(ty) => ty.scalar_type(self.slots, self.form),
            _ => None,
        }
    }

    fn element(&self, ty: &Expr) -> Option<ScalarType> {
        let ty = self.ty(ty)?;
        Some(ty.element().unwrap_or(ty))
    }
}
