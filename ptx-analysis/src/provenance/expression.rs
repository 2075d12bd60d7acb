//! Evaluates the semantics of instructions ([`ptx_isa::Computation`]) for addresses.

use ptx_dataflow::internals::Conditions;
use ptx_isa::{Expr, ExprFunction as Function, Form, Modifier, SlotAssignment};

use super::origin::Known;

/// An instruction whose results are evaluated.
pub(super) struct Scope<'p> {
    pub(super) form: &'static Form,
    pub(super) slots: &'p SlotAssignment,
    pub(super) modifiers: &'p [Modifier],
    /// The operands of the form, and the bits of their registers.
    pub(super) operands: &'p [(Known, u16)],
    /// What is loaded.
    pub(super) loaded: Known,
    /// The bits of the result that is evaluated.
    pub(super) bits: u16,
    pub(super) assigned: &'p [Expr],
}

/// How deep expressions may be nested.
const DEPTH: u32 = 32;

impl Scope<'_> {
    /// What is known of a result: as many bits of an expression as its type has.
    pub(super) fn result(&self, expr: &Expr) -> Known {
        let widest = (0..self.operands.len()).filter_map(|at| self.operand_bits(at));
        let widest = widest.max().unwrap_or(self.bits);
        self.evaluated(expr, DEPTH).truncated(self.bits, widest)
    }

    fn evaluated(&self, expr: &Expr, depth: u32) -> Known {
        let Some(depth) = depth.checked_sub(1) else {
            return Known::Unknown;
        };
        match *expr {
            Expr::Operand(at) => self.operand(at.into()),
            Expr::Memory(_) => self.loaded,
            Expr::Assigned(at) => match self.assigned.get(usize::from(at)) {
                Some(expr) => self.evaluated(expr, depth),
                None => Known::Unknown,
            },
            Expr::Integer(value) => Known::Constant(value),
            Expr::Carry | Expr::Lane => Known::Number,
            Expr::Undefined => Known::Nothing,
            Expr::If([when, then, otherwise]) => match self.condition(when) {
                Some(true) => self.evaluated(then, depth),
                Some(false) => self.evaluated(otherwise, depth),
                None => {
                    let then = self.evaluated(then, depth);
                    then.join(self.evaluated(otherwise, depth))
                }
            },
            Expr::Call(function, arguments) => self.call(function, arguments, depth),
            _ => Known::Number,
        }
    }

    /// An operand, as many bits of it as its type has.
    fn operand(&self, at: usize) -> Known {
        let known = self.operands.get(at).copied();
        let (known, width) = known.unwrap_or((Known::Unknown, 64));
        match (known, self.operand_bits(at)) {
            // Addresses of 64 bits are not made of 32 bits that were loaded.
            (Known::Any, Some(bits)) if bits < self.bits => Known::Number,
            (known, Some(bits)) => known.truncated(bits, width),
            (known, None) => known,
        }
    }

    fn operand_bits(&self, at: usize) -> Option<u16> {
        let ty = self.form.operands().get(at)?.ty();
        Some(ty.scalar_type(self.slots, self.form)?.bits())
    }

    fn call(&self, function: Function, arguments: &'static [Expr], depth: u32) -> Known {
        let at = |n: usize| match arguments.get(n) {
            Some(expr) => self.evaluated(expr, depth),
            None => Known::Unknown,
        };
        match function {
            Function::Add => at(0).plus(at(1)),
            Function::Sub => at(0).minus(at(1)),
            Function::And => at(0).masked(at(1)),
            Function::Or | Function::Xor => at(0).with_bits(at(1)),
            Function::Min | Function::Max => at(0).join(at(1)),
            Function::Convert | Function::Unsigned => at(1),
            _ => {
                let values = arguments
                    .iter()
                    .filter(|a| !matches!(a, Expr::Type(_) | Expr::Slot(_)));
                let all = values.map(|a| self.evaluated(a, depth));
                all.fold(Known::Number, Known::computed_with)
            }
        }
    }

    /// Whether a condition holds, if modifiers and types decide it.
    fn condition(&self, expr: &Expr) -> Option<bool> {
        let conditions = Conditions {
            form: self.form,
            slots: self.slots,
            has: |modifier| self.modifiers.contains(&modifier),
        };
        conditions.evaluate(expr, &mut |_| None)
    }
}
