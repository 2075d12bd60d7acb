//! The evaluation of the expressions of instructions ([`ptx_isa::internals::Computation`]) for addresses.

use ptx_dataflow::internals::Conditions;
use ptx_isa::internals::{Assignment, Expr, SlotAssignment};
use ptx_isa::{ExprFunction as Function, Form};

use super::evaluation::Site;
use super::lattice::AbstractValue;

/// The maximum nesting of expressions.
const MAX_DEPTH: u32 = 32;

/// The maximum number of operands of a form.
pub(super) const MAX_OPERANDS: usize = 12;

/// An operand of an instruction.
#[derive(Copy, Clone)]
pub(super) struct Source {
    pub(super) value: AbstractValue,
    /// The bits of its register.
    pub(super) register_bits: u16,
    /// The bits of its type, if the form states one.
    pub(super) type_bits: Option<u16>,
}

impl Source {
    pub(super) const UNKNOWN: Self = Self {
        value: AbstractValue::Unknown,
        register_bits: 64,
        type_bits: None,
    };
}

/// A result of an instruction that is evaluated.
pub(super) struct Scope<'e, 'a> {
    pub(super) site: &'e Site<'a>,
    pub(super) form: &'static Form,
    pub(super) slots: &'e SlotAssignment,
    /// The operands, by their index in the form.
    pub(super) sources: &'e [Source; MAX_OPERANDS],
    /// The value that the instruction loads.
    pub(super) loaded: AbstractValue,
    /// The bits of the result.
    pub(super) bits: u16,
    pub(super) assignments: &'static [Assignment],
}

impl Scope<'_, '_> {
    /// The value of a result: the low bits of an expression.
    pub(super) fn result(&self, expr: &Expr) -> AbstractValue {
        let types = self.sources.iter().filter_map(|source| source.type_bits);
        let widest = types.max().unwrap_or(self.bits);
        self.value(expr, MAX_DEPTH).truncated(self.bits, widest)
    }

    fn value(&self, expr: &Expr, depth: u32) -> AbstractValue {
        let Some(depth) = depth.checked_sub(1) else {
            return AbstractValue::Unknown;
        };
        match *expr {
            Expr::Operand(index) => self.operand(index.into()),
            Expr::Memory(_) => self.loaded,
            Expr::Assigned(index) => match self.assignments.get(usize::from(index)) {
                Some(assignment) => self.value(&assignment.value(), depth),
                None => AbstractValue::Unknown,
            },
            Expr::Integer(value) => AbstractValue::Constant(value),
            Expr::Carry | Expr::Lane => AbstractValue::Number,
            Expr::Undefined => AbstractValue::Undefined,
            Expr::If([condition, then, otherwise]) => match self.condition(condition) {
                Some(true) => self.value(then, depth),
                Some(false) => self.value(otherwise, depth),
                None => self.value(then, depth).join(self.value(otherwise, depth)),
            },
            Expr::Call(function, arguments) => self.call(function, arguments, depth),
            _ => AbstractValue::Number,
        }
    }

    /// The low bits of an operand that its type has.
    fn operand(&self, index: usize) -> AbstractValue {
        let source = self.sources.get(index).unwrap_or(&Source::UNKNOWN);
        match (source.value, source.type_bits) {
            // Addresses of 64 bits do not consist of 32 bits that were loaded.
            (AbstractValue::AddressOrNumber, Some(bits)) if bits < self.bits => {
                AbstractValue::Number
            }
            (value, Some(bits)) => value.truncated(bits, source.register_bits),
            (value, None) => value,
        }
    }

    fn call(&self, function: Function, arguments: &'static [Expr], depth: u32) -> AbstractValue {
        let argument = |index: usize| match arguments.get(index) {
            Some(expr) => self.value(expr, depth),
            None => AbstractValue::Unknown,
        };
        match function {
            Function::Add => argument(0).plus(argument(1)),
            Function::Sub => argument(0).minus(argument(1)),
            Function::And => argument(0).masked(argument(1)),
            Function::Or | Function::Xor => argument(0).with_bits(argument(1)),
            Function::Min | Function::Max => argument(0).join(argument(1)),
            Function::Convert | Function::Unsigned => argument(1),
            _ => arguments
                .iter()
                .filter(|argument| !matches!(argument, Expr::Type(_) | Expr::Slot(_)))
                .map(|argument| self.value(argument, depth))
                .fold(AbstractValue::Number, AbstractValue::computed_with),
        }
    }

    /// Returns whether a condition holds, if modifiers and types decide it.
    fn condition(&self, expr: &Expr) -> Option<bool> {
        let conditions = Conditions {
            form: self.form,
            slots: self.slots,
            has: |modifier| self.site.facts.has_modifier(modifier),
        };
        conditions.evaluate(expr, &mut |_| None)
    }
}
