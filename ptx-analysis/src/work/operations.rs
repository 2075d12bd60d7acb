//! The arithmetic operations of an instruction, from its expressions in the tables.

use ptx_dataflow::internals::Conditions;
use ptx_ir::facts::{Facts, FunctionFacts};
use ptx_isa::{
    Assignment, Destination, Expr, ExprFunction, Form, Modifier, Role, ScalarType, SlotAssignment,
    TypeKind,
};

use super::MatrixProduct;

/// Arithmetic operations.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Operations {
    /// Floating-point operations with at most 16 bits: additions, multiplications, divisions, roots and functions such as sines. A fused
    /// multiply-add counts twice; comparisons, minima, sign operations and conversions do not count.
    pub half: u64,
    /// Single precision.
    pub single: u64,
    /// Double precision.
    pub double: u64,
    /// Integer and bitwise operations, including address arithmetic.
    pub integer: u64,
    /// Multiply-add operations on tensor cores.
    pub multiply_adds: u64,
    /// Tensor-core instructions with an unknown number of operations.
    pub unknown_products: u64,
}

impl Operations {
    /// The total number of floating-point operations; each multiply-add of tensor cores counts as two.
    #[must_use]
    pub const fn floating(&self) -> u64 {
        let ordinary = self.half.saturating_add(self.single);
        let ordinary = ordinary.saturating_add(self.double);
        ordinary.saturating_add(self.multiply_adds.saturating_mul(2))
    }

    pub(super) fn add(&mut self, other: &Self, times: u64) {
        for (sum, more) in [
            (&mut self.half, other.half),
            (&mut self.single, other.single),
            (&mut self.double, other.double),
            (&mut self.integer, other.integer),
            (&mut self.multiply_adds, other.multiply_adds),
            (&mut self.unknown_products, other.unknown_products),
        ] {
            *sum = sum.saturating_add(more.saturating_mul(times));
        }
    }

    /// Those of an instruction that as many lanes execute.
    pub(super) fn of(
        function: FunctionFacts<'_>,
        facts: &Facts<'_>,
        inst: ptx_ir::InstId,
        lanes: u64,
    ) -> Self {
        let mut found = Self::default();
        if facts.is_matrix_multiply() {
            let signature = function.body().inst(inst).map(|i| i.sig);
            let signature = signature.map(|s| function.module().signature(s));
            let modifiers: alloc::vec::Vec<Modifier> =
                signature.iter().flat_map(|s| s.modifiers()).collect();
            match MatrixProduct::of(&modifiers) {
                Some(product) => {
                    found.multiply_adds = product.multiply_adds() / u64::from(product.warps);
                }
                None => found.unknown_products = 1,
            }
            return found;
        }
        let Some((form, slots)) = facts.form() else {
            return found;
        };
        let Some((ty, count)) = Counter { form, slots, facts }.count() else {
            return found;
        };
        let element = ty.element().unwrap_or(ty);
        let count = count * u64::from(ty.lanes().max(1)) * lanes;
        match (element.kind(), element.bits()) {
            (TypeKind::Float, 0..=16) => found.half = count,
            (TypeKind::Float, 17..=32) => found.single = count,
            (TypeKind::Float, _) => found.double = count,
            _ => found.integer = count,
        }
        found
    }
}

/// Counts the operations of a computation.
struct Counter<'a> {
    form: &'static Form,
    slots: &'a SlotAssignment,
    facts: &'a Facts<'a>,
}

impl Counter<'_> {
    /// The type of the result, and the operations for one element of it.
    fn count(&self) -> Option<(ScalarType, u64)> {
        let assignments = self.form.computation()?.assignments();
        let ty = self.result()?;
        if ty.kind() == TypeKind::Predicate {
            return None;
        }
        let element = ty.element().unwrap_or(ty);
        let converts = |a: &Assignment| a.value().any(&|e: &Expr| self.is_conversion(e));
        if assignments.iter().any(converts) {
            return None;
        }
        let is_copy = assignments.iter().all(|a| self.calls(&a.value()) == 0);
        if is_copy {
            return None;
        }
        let stored = assignments
            .iter()
            .filter(|a| a.target() != Destination::Carry);
        let sum = stored.map(|a| self.arithmetic(&a.value())).sum();
        match element.is_float() {
            true => Some((ty, sum)).filter(|(_, sum)| *sum > 0),
            false => Some((ty, sum.max(1))),
        }
    }

    /// The type of the first result; without one, that of the first source, which is stored.
    fn result(&self) -> Option<ScalarType> {
        let operands = self.form.operands();
        let of_role = |role: Role| {
            let mut all = operands.iter().filter(|o| o.role() == role);
            all.find_map(|o| o.ty().scalar_type(self.slots, self.form))
        };
        of_role(Role::Def)
            .or_else(|| of_role(Role::ReadWrite))
            .or_else(|| of_role(Role::Use))
    }

    fn is_conversion(&self, expr: &Expr) -> bool {
        matches!(
            expr,
            Expr::Call(
                ExprFunction::Convert
                    | ExprFunction::Number
                    | ExprFunction::Integral
                    | ExprFunction::Stochastic,
                _
            )
        )
    }

    /// What is evaluated of a choice: the part that a modifier selects, or both.
    fn chosen<'e>(&self, parts: &'e [Expr; 3]) -> &'e [Expr] {
        let [when, ..] = parts;
        match self.holds(when) {
            Some(true) => &parts[1..2],
            Some(false) => &parts[2..],
            None => &parts[1..],
        }
    }

    fn holds(&self, condition: &Expr) -> Option<bool> {
        let conditions = Conditions {
            form: self.form,
            slots: self.slots,
            has: |modifier| self.facts.has_modifier(modifier),
        };
        conditions.evaluate(condition, &mut |_| None)
    }

    /// The functions that an expression calls, the greatest number for any choice.
    fn calls(&self, expr: &Expr) -> u64 {
        match *expr {
            Expr::Call(_, arguments) => 1 + arguments.iter().map(|a| self.calls(a)).sum::<u64>(),
            Expr::If(parts) => self.most(parts, Self::calls),
            _ => 0,
        }
    }

    /// The arithmetic operations of an expression, the greatest number for any choice.
    fn arithmetic(&self, expr: &Expr) -> u64 {
        use ExprFunction as F;
        match *expr {
            Expr::Call(function, arguments) => {
                let counts = matches!(
                    function,
                    F::Add
                        | F::Sub
                        | F::Mul
                        | F::Div
                        | F::Rem
                        | F::Sqrt
                        | F::Exp2
                        | F::Log2
                        | F::Sin
                        | F::Cos
                        | F::Tanh
                );
                // The carry flag and constants are parts of what the hardware does at once.
                let is_plain = |e: &Expr| matches!(e, Expr::Carry | Expr::Integer(_));
                let own = u64::from(counts && !arguments.iter().any(is_plain));
                own + arguments.iter().map(|a| self.arithmetic(a)).sum::<u64>()
            }
            Expr::If(parts) => self.most(parts, Self::arithmetic),
            _ => 0,
        }
    }

    fn most(&self, parts: &[Expr; 3], count: fn(&Self, &Expr) -> u64) -> u64 {
        let counts = self.chosen(parts).iter().map(|e| count(self, e));
        counts.max().unwrap_or(0)
    }
}
