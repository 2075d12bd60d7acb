//! The arithmetic operations of an instruction, counted in the expressions of its form.

use alloc::vec::Vec;

use ptx_dataflow::internals::Conditions;
use ptx_ir::facts::{Facts, FunctionFacts};
use ptx_isa::internals::{Destination, Expr, SlotAssignment};
use ptx_isa::{ExprFunction, Form, Modifier, Role, ScalarType, TypeKind};

use super::add_multiple;
use super::matrix::MatrixProduct;

/// Arithmetic operations.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Operations {
    /// Floating-point operations with at most 16 bits: additions, multiplications, divisions, roots and functions such as sines. A fused
    /// multiply-add counts twice; comparisons, minima, sign operations and conversions do not count.
    pub half: u64,
    /// Floating-point operations of single precision.
    pub single: u64,
    /// Floating-point operations of double precision.
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
        self.half
            .saturating_add(self.single)
            .saturating_add(self.double)
            .saturating_add(self.multiply_adds.saturating_mul(2))
    }

    /// Adds other operations `times` times.
    pub(super) fn add(&mut self, other: &Self, times: u64) {
        add_multiple(&mut self.half, other.half, times);
        add_multiple(&mut self.single, other.single, times);
        add_multiple(&mut self.double, other.double, times);
        add_multiple(&mut self.integer, other.integer, times);
        add_multiple(&mut self.multiply_adds, other.multiply_adds, times);
        add_multiple(&mut self.unknown_products, other.unknown_products, times);
    }

    /// The operations of an instruction that `lanes` lanes execute.
    pub(super) fn of(
        function: FunctionFacts<'_>,
        facts: &Facts<'_>,
        inst: ptx_ir::InstId,
        lanes: u64,
    ) -> Self {
        let mut operations = Self::default();
        if facts.is_matrix_multiply() {
            let modifiers: Vec<Modifier> = function
                .body()
                .inst(inst)
                .into_iter()
                .flat_map(|i| function.module().signature(i.sig).modifiers())
                .collect();
            match MatrixProduct::of(&modifiers) {
                Some(product) => {
                    operations.multiply_adds = product.multiply_adds() / u64::from(product.warps);
                }
                None => operations.unknown_products = 1,
            }
            return operations;
        }
        let Some((form, slots)) = facts.form() else {
            return operations;
        };
        let Some((ty, count)) = (Counter { form, slots, facts }).count() else {
            return operations;
        };
        let element = ty.element().unwrap_or(ty);
        let count = count * u64::from(ty.elements().max(1)) * lanes;
        match (element.kind(), element.bits()) {
            (TypeKind::Float, 0..=16) => operations.half = count,
            (TypeKind::Float, 17..=32) => operations.single = count,
            (TypeKind::Float, _) => operations.double = count,
            _ => operations.integer = count,
        }
        operations
    }
}

/// Counts the operations in the computation of a form.
struct Counter<'a> {
    form: &'static Form,
    slots: &'a SlotAssignment,
    facts: &'a Facts<'a>,
}

impl Counter<'_> {
    /// The type of the result, and the number of operations for one element of it; `None` without operations.
    fn count(&self) -> Option<(ScalarType, u64)> {
        let assignments = self.form.computation()?.assignments();
        let ty = self.result_type()?;
        if ty.kind() == TypeKind::Predicate {
            return None;
        }
        if assignments
            .iter()
            .any(|a| a.value().any(&|e: &Expr| self.is_conversion(e)))
        {
            return None;
        }
        let is_copy = assignments.iter().all(|a| self.calls(&a.value()) == 0);
        if is_copy {
            return None;
        }
        let operations: u64 = assignments
            .iter()
            .filter(|a| a.target() != Destination::Carry)
            .map(|a| self.arithmetic(&a.value()))
            .sum();
        let is_float = ty.element().unwrap_or(ty).is_float();
        if is_float {
            (operations > 0).then_some((ty, operations))
        } else {
            Some((ty, operations.max(1)))
        }
    }

    /// The type of the first result; without a result, that of the first source, which is stored.
    fn result_type(&self) -> Option<ScalarType> {
        [Role::Def, Role::ReadWrite, Role::Use]
            .into_iter()
            .find_map(|role| {
                self.form
                    .operands()
                    .iter()
                    .filter(|operand| operand.role() == role)
                    .find_map(|operand| operand.ty().scalar_type(self.slots, self.form))
            })
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

    /// The alternative of a choice that the modifiers select, or both alternatives. The parts of a choice are its condition and the alternatives.
    fn selected_alternatives<'e>(&self, parts: &'e [Expr; 3]) -> &'e [Expr] {
        let [condition, ..] = parts;
        match self.holds(condition) {
            Some(true) => &parts[1..2],
            Some(false) => &parts[2..],
            None => &parts[1..],
        }
    }

    /// Whether a condition on the modifiers holds; `None` if it depends on operands.
    fn holds(&self, condition: &Expr) -> Option<bool> {
        let conditions = Conditions {
            form: self.form,
            slots: self.slots,
            has: |modifier| self.facts.has_modifier(modifier),
        };
        conditions.evaluate(condition, &mut |_| None)
    }

    /// The number of functions that an expression calls: the greatest one of the alternatives of each choice.
    fn calls(&self, expr: &Expr) -> u64 {
        match *expr {
            Expr::Call(_, arguments) => 1 + arguments.iter().map(|a| self.calls(a)).sum::<u64>(),
            Expr::If(parts) => self.most_of_alternatives(parts, Self::calls),
            _ => 0,
        }
    }

    /// The number of arithmetic operations of an expression: the greatest one of the alternatives of each choice.
    fn arithmetic(&self, expr: &Expr) -> u64 {
        use ExprFunction as F;
        match *expr {
            Expr::Call(function, arguments) => {
                let is_arithmetic = matches!(
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
                // The hardware adds the carry flag or a constant in the same operation.
                let is_part_of_other = arguments
                    .iter()
                    .any(|a| matches!(a, Expr::Carry | Expr::Integer(_)));
                u64::from(is_arithmetic && !is_part_of_other)
                    + arguments.iter().map(|a| self.arithmetic(a)).sum::<u64>()
            }
            Expr::If(parts) => self.most_of_alternatives(parts, Self::arithmetic),
            _ => 0,
        }
    }

    fn most_of_alternatives(&self, parts: &[Expr; 3], count: fn(&Self, &Expr) -> u64) -> u64 {
        self.selected_alternatives(parts)
            .iter()
            .map(|alternative| count(self, alternative))
            .max()
            .unwrap_or(0)
    }
}
