//! Conditions in the expressions that the tables state ([`ptx_isa::Computation`]): whether modifiers and types decide them.

use ptx_isa::{
    Expr, ExprFunction as Function, Form, Modifier, ScalarType, SlotAssignment, TypeKind,
};

/// What is known of a condition: whether it holds, or what else an analysis knows of conditions.
pub(crate) trait Condition: Copy {
    const UNKNOWN: Self;

    fn known(holds: bool) -> Self;

    /// Whether it holds, if that is known.
    fn holds(self) -> Option<bool>;

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

/// An instruction whose conditions are evaluated; `has` tells with which modifiers it is written.
#[derive(Copy, Clone)]
pub(crate) struct Conditions<'a, H> {
    pub(crate) form: &'static Form,
    pub(crate) slots: &'a SlotAssignment,
    pub(crate) has: H,
}

impl<H: Fn(Modifier) -> bool> Conditions<'_, H> {
    /// What is known of a condition. `other` is asked about what modifiers and types do not decide.
    pub(crate) fn evaluate<T: Condition>(
        &self,
        condition: &Expr,
        other: &mut impl FnMut(&Expr) -> T,
    ) -> T {
        let of_type = |holds: Option<bool>| holds.map_or(T::UNKNOWN, T::known);
        match *condition {
            Expr::Has(modifier) => T::known((self.has)(modifier)),
            Expr::Filled(slot) => T::known(self.slots.is_filled(slot.into())),
            Expr::Call(Function::Signed, [ty]) => {
                of_type(self.element(ty).map(|ty| ty.kind() == TypeKind::Signed))
            }
            Expr::Call(Function::Floating, [ty]) => {
                of_type(self.element(ty).map(ScalarType::is_float))
            }
            Expr::Call(Function::Packed, [ty]) => of_type(self.ty(ty).map(|ty| ty.lanes() > 1)),
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
