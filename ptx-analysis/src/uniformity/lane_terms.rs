//! The differing bits of the results of instructions on integers, from the expressions of the tables ([`ptx_isa::internals::Computation`]).

use ptx_dataflow::internals::Conditions;
use ptx_ir::Operand;
use ptx_isa::internals::{Assignment, Destination, Expr, SlotAssignment};
use ptx_isa::{ExprFunction as Function, Form, Modifier, Role, ScalarType, TypeKind, Uniformity};

use super::evaluation::{Evaluation, Site};
use super::lane_bits::{LaneBits, Sign, ones};
use crate::reg_lanes::VariableId;

/// An instruction on integers.
pub(super) struct Terms<'e, 'a> {
    evaluation: &'e Evaluation<'a>,
    site: &'e Site<'a>,
    form: &'static Form,
    slots: &'e SlotAssignment,
    assignments: &'static [Assignment],
}

impl<'e, 'a> Terms<'e, 'a> {
    /// `None` if the tables do not describe the instruction exactly.
    pub(super) fn new(evaluation: &'e Evaluation<'a>, site: &'e Site<'a>) -> Option<Self> {
        let (form, slots) = site.facts.form()?;
        let computation = form.computation().filter(|c| !c.is_approximate())?;
        let is_clamped =
            site.facts.has_modifier(Modifier::Sat) || site.facts.has_modifier(Modifier::Relu);
        (!is_clamped).then_some(Self {
            evaluation,
            site,
            form,
            slots,
            assignments: computation.assignments(),
        })
    }

    /// The differing bits of a register that the instruction writes.
    pub(super) fn result(&self, variable: VariableId) -> Option<LaneBits> {
        let mut results = self.assignments.iter().filter_map(|assignment| {
            let Destination::Operand(index) = assignment.target() else {
                return None;
            };
            (self.variable(index)? == variable).then_some((index, assignment))
        });
        let (Some((index, assignment)), None) = (results.next(), results.next()) else {
            return None;
        };
        let ty = self.integer_type(index)?;
        let value = self.bits(&assignment.value())?;
        Some(value.fitted(ty.bits().into(), sign(ty)))
    }

    /// The variable that an operand is.
    fn variable(&self, index: u8) -> Option<VariableId> {
        let facts = &self.site.facts;
        let operand = facts.operand(index.into())?.operand;
        self.evaluation.variables.of(facts.place(operand)?).single()
    }

    /// The type of an operand that is an integer of at most 64 bits.
    fn integer_type(&self, index: u8) -> Option<ScalarType> {
        let operand = self.form.operands().get(usize::from(index))?;
        let ty = operand.ty().scalar_type(self.slots, self.form)?;
        is_integer(ty).then_some(ty)
    }

    fn ty(&self, expr: &Expr) -> Option<ScalarType> {
        let Expr::Type(ty) = expr else {
            return None;
        };
        let ty = ty.scalar_type(self.slots, self.form)?;
        is_integer(ty).then_some(ty)
    }

    fn bits(&self, expr: &Expr) -> Option<LaneBits> {
        match *expr {
            Expr::Operand(index) => self.operand(index),
            Expr::Assigned(index) => self.bits(&self.local(index)?),
            Expr::Integer(_) => Some(LaneBits::uniform(Uniformity::Grid)),
            Expr::If([when, then, otherwise]) => {
                self.bits(if self.truth(when)? { then } else { otherwise })
            }
            Expr::Call(function, arguments) => self.function(function, arguments),
            _ => None,
        }
    }

    /// The expression that was assigned to a name.
    fn local(&self, index: u8) -> Option<Expr> {
        let assignment = self.assignments.get(usize::from(index))?;
        (assignment.target() == Destination::Local).then(|| assignment.value())
    }

    fn operand(&self, index: u8) -> Option<LaneBits> {
        let ty = self.integer_type(index)?;
        let role = self.form.operands().get(usize::from(index))?.role();
        if !matches!(role, Role::Use | Role::Imm | Role::Sreg | Role::Symbol) {
            return None;
        }
        let (evaluation, block) = (self.evaluation, self.site.block);
        let bits = match self.site.facts.operand(index.into())?.operand {
            Operand::Small(_) | Operand::Imm(_) => LaneBits::uniform(Uniformity::Grid),
            operand @ (Operand::Symbol(_) | Operand::Var(_)) => {
                LaneBits::uniform(evaluation.symbol_address(operand))
            }
            Operand::Special(register) => evaluation.special_lanes(register, None, block),
            Operand::Component(selector, inner) => {
                match evaluation.facts.body().pool().get(inner) {
                    Operand::Special(register) => {
                        evaluation.special_lanes(register, selector.element(), block)
                    }
                    _ => return None,
                }
            }
            Operand::Reg(_) => {
                let variable = self.variable(index)?;
                let value = evaluation.ssa.read(self.site.stmt, variable)?;
                evaluation.read_lanes(value, block)
            }
            _ => return None,
        };
        Some(bits.fitted(ty.bits().into(), sign(ty)))
    }

    fn function(&self, function: Function, arguments: &'static [Expr]) -> Option<LaneBits> {
        match (function, arguments) {
            (Function::And, [a, b]) => match (self.constant(a), self.constant(b)) {
                (_, Some(mask)) => Some(self.bits(a)?.masked(mask as u64)),
                (Some(mask), _) => Some(self.bits(b)?.masked(mask as u64)),
                _ => Some(self.bits(a)?.bitwise(self.bits(b)?)),
            },
            (Function::Or, [a, b]) => match (self.constant(a), self.constant(b)) {
                (_, Some(set)) => Some(self.bits(a)?.masked(!set as u64)),
                (Some(set), _) => Some(self.bits(b)?.masked(!set as u64)),
                _ => Some(self.bits(a)?.bitwise(self.bits(b)?)),
            },
            (Function::Xor, [a, b]) => Some(self.bits(a)?.bitwise(self.bits(b)?)),
            (Function::Not, [a]) => self.bits(a),
            (Function::Add | Function::Sub, [a, b]) => Some(self.bits(a)?.carried(self.bits(b)?)),
            (Function::Mul, [a, b]) => self.product(a, b),
            (Function::Negate, [a]) => {
                Some(self.bits(a)?.carried(LaneBits::uniform(Uniformity::Grid)))
            }
            (Function::ShiftLeft, [a, by]) => Some(self.bits(a)?.shifted_left(self.position(by)?)),
            (Function::ShiftRight, [a, by]) => {
                Some(self.bits(a)?.shifted_right(self.position(by)?))
            }
            (Function::Unsigned, [ty, a]) => {
                let bits = self.ty(ty)?.bits();
                Some(self.bits(a)?.fitted(bits.into(), Sign::Unsigned))
            }
            (Function::Field, [ty, a, position, length]) => {
                let shifted = self.bits(a)?.shifted_right(self.position(position)?);
                let length = self.position(length).filter(|n| *n > 0)?;
                Some(shifted.fitted(length, sign(self.ty(ty)?)))
            }
            _ => None,
        }
    }

    fn product(&self, a: &Expr, b: &Expr) -> Option<LaneBits> {
        let zero_bits = |factor: &Expr| {
            let value = self.constant(factor)?;
            (value > 0).then(|| value.trailing_zeros().min(63))
        };
        match (zero_bits(a), zero_bits(b)) {
            (_, Some(by)) => {
                let product = self.bits(a)?.shifted_left(by);
                Some(product.carried(LaneBits::uniform(Uniformity::Grid)))
            }
            (Some(_), _) => self.product(b, a),
            _ => Some(self.bits(a)?.carried(self.bits(b)?)),
        }
    }

    /// The constant of an expression that is a number of bits.
    fn position(&self, expr: &Expr) -> Option<u32> {
        let value = self.constant(expr)?;
        u32::try_from(value).ok().filter(|n| *n < u64::BITS)
    }

    fn constant(&self, expr: &Expr) -> Option<i64> {
        match *expr {
            Expr::Operand(index) => {
                self.integer_type(index)?;
                let pool = self.evaluation.facts.body().pool();
                pool.integer(self.site.facts.operand(index.into())?.operand)
            }
            Expr::Assigned(index) => self.constant(&self.local(index)?),
            Expr::Integer(value) => Some(value),
            Expr::If([when, then, otherwise]) => {
                self.constant(if self.truth(when)? { then } else { otherwise })
            }
            Expr::Call(Function::Width, [ty]) => Some(self.ty(ty)?.bits().into()),
            Expr::Call(Function::Ones, [n]) => Some(ones(self.position(n)?) as i64),
            Expr::Call(function, [a, b]) => {
                let (a, b) = (self.constant(a)?, self.constant(b)?);
                match function {
                    Function::And => Some(a & b),
                    Function::Min => Some(a.min(b)),
                    Function::Add => a.checked_add(b),
                    Function::Sub => a.checked_sub(b),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Returns whether a condition holds, if modifiers, types and constants decide it.
    fn truth(&self, expr: &Expr) -> Option<bool> {
        let facts = &self.site.facts;
        let conditions = Conditions {
            form: self.form,
            slots: self.slots,
            has: |modifier| facts.has_modifier(modifier),
        };
        conditions.evaluate(expr, &mut |expr| match *expr {
            Expr::Assigned(index) => self.truth(&self.local(index)?),
            Expr::Call(Function::Equal, [a, b]) if a == b => Some(true),
            Expr::Call(function, [a, b]) => {
                let (a, b) = (self.constant(a)?, self.constant(b)?);
                match function {
                    Function::Equal => Some(a == b),
                    Function::NotEqual => Some(a != b),
                    Function::Less => Some(a < b),
                    Function::LessEqual => Some(a <= b),
                    Function::Greater => Some(a > b),
                    Function::GreaterEqual => Some(a >= b),
                    _ => None,
                }
            }
            _ => None,
        })
    }
}

fn is_integer(ty: ScalarType) -> bool {
    let kind = matches!(
        ty.kind(),
        TypeKind::Signed | TypeKind::Unsigned | TypeKind::Bits
    );
    kind && ty.elements() <= 1 && ty.bits() <= 64
}

fn sign(ty: ScalarType) -> Sign {
    if ty.kind() == TypeKind::Signed {
        Sign::Signed
    } else {
        Sign::Unsigned
    }
}
