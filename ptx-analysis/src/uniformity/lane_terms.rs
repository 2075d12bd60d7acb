//! Which bits differ of what instructions compute ([`ptx_isa::Computation`]).

use ptx_dataflow::internals::Conditions;
use ptx_ir::facts::Facts;
use ptx_ir::{Operand, StmtId};
use ptx_isa::{
    Assignment, Destination, Expr, ExprFunction as Function, Form, Modifier, Role, ScalarType,
    SlotAssignment, TypeKind, Uniformity,
};

use super::lane_bits::{LaneBits, ones};
use super::pass::Pass;
use crate::cfg::BlockId;

/// An instruction on integers.
pub(super) struct Terms<'p, 'a> {
    pass: &'p Pass<'a>,
    facts: &'p Facts<'a>,
    stmt: StmtId,
    block: BlockId,
    form: &'static Form,
    slots: &'p SlotAssignment,
    assignments: &'static [Assignment],
}

impl<'p, 'a> Terms<'p, 'a> {
    /// Only of instructions that the tables describe exactly.
    pub(super) fn new(
        pass: &'p Pass<'a>,
        (stmt, block): (StmtId, BlockId),
        facts: &'p Facts<'a>,
    ) -> Option<Self> {
        let (form, slots) = facts.form()?;
        let computation = form.computation().filter(|c| !c.is_approximate())?;
        let limits = facts.has_modifier(Modifier::Sat) || facts.has_modifier(Modifier::Relu);
        (!limits).then_some(Self {
            pass,
            facts,
            stmt,
            block,
            form,
            slots,
            assignments: computation.assignments(),
        })
    }

    /// What is known of a register that the instruction writes.
    pub(super) fn result(&self, variable: u32) -> Option<LaneBits> {
        let mut found = self.assignments.iter().filter_map(|a| match a.target() {
            Destination::Operand(at) if self.variable(at) == Some(variable) => Some((at, a)),
            _ => None,
        });
        let (Some((at, assignment)), None) = (found.next(), found.next()) else {
            return None;
        };
        let ty = self.integer(at)?;
        let value = self.bits(&assignment.value())?;
        Some(value.fitted(ty.bits().into(), is_signed(ty)))
    }

    fn variable(&self, at: u8) -> Option<u32> {
        let operand = self.facts.operand(at.into())?.operand;
        let mut variables = self.pass.variables.of(self.facts.place(operand)?);
        let only = variables.next()?;
        variables.next().is_none().then_some(only)
    }

    /// The type of an operand that is an integer of at most 64 bits.
    fn integer(&self, at: u8) -> Option<ScalarType> {
        let operand = self.form.operands().get(usize::from(at))?;
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
            Expr::Operand(at) => self.operand(at),
            Expr::Assigned(at) => self.bits(&self.local(at)?),
            Expr::Integer(_) => Some(LaneBits::uniform(Uniformity::Grid)),
            Expr::If([when, then, otherwise]) => match self.truth(when)? {
                true => self.bits(then),
                false => self.bits(otherwise),
            },
            Expr::Call(function, arguments) => self.function(function, arguments),
            _ => None,
        }
    }

    /// A value that was assigned to a name.
    fn local(&self, at: u8) -> Option<Expr> {
        let assignment = self.assignments.get(usize::from(at))?;
        (assignment.target() == Destination::Local).then(|| assignment.value())
    }

    fn operand(&self, at: u8) -> Option<LaneBits> {
        let ty = self.integer(at)?;
        let role = self.form.operands().get(usize::from(at))?.role();
        if !matches!(role, Role::Use | Role::Imm | Role::Sreg | Role::Symbol) {
            return None;
        }
        let (pass, pool) = (self.pass, self.pass.facts.body().pool());
        let found = match self.facts.operand(at.into())?.operand {
            Operand::Small(_) | Operand::Imm(_) | Operand::Symbol(_) | Operand::Var(_) => {
                LaneBits::uniform(Uniformity::Grid)
            }
            Operand::Special(register) => pass.special_lanes(register, None, self.block),
            Operand::Lane(selector, inner) => match pool.get(inner) {
                Operand::Special(register) => {
                    pass.special_lanes(register, selector.element(), self.block)
                }
                _ => return None,
            },
            Operand::Reg(_) => {
                let value = pass.ssa.read(self.stmt, self.variable(at)?)?;
                pass.read_lanes(value, self.block)
            }
            _ => return None,
        };
        Some(found.fitted(ty.bits().into(), is_signed(ty)))
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
                Some(self.bits(a)?.fitted(bits.into(), false))
            }
            (Function::Field, [ty, a, position, length]) => {
                let shifted = self.bits(a)?.shifted_right(self.position(position)?);
                let length = self.position(length).filter(|n| *n > 0)?;
                Some(shifted.fitted(length, is_signed(self.ty(ty)?)))
            }
            _ => None,
        }
    }

    fn product(&self, a: &Expr, b: &Expr) -> Option<LaneBits> {
        let power = |e: &Expr| {
            let value = self.constant(e)?;
            (value > 0).then(|| value.trailing_zeros().min(63))
        };
        match (power(a), power(b)) {
            (_, Some(by)) => {
                let product = self.bits(a)?.shifted_left(by);
                Some(product.carried(LaneBits::uniform(Uniformity::Grid)))
            }
            (Some(_), _) => self.product(b, a),
            _ => Some(self.bits(a)?.carried(self.bits(b)?)),
        }
    }

    /// A number of bits.
    fn position(&self, expr: &Expr) -> Option<u32> {
        let value = self.constant(expr)?;
        u32::try_from(value).ok().filter(|n| *n < u64::BITS)
    }

    fn constant(&self, expr: &Expr) -> Option<i64> {
        match *expr {
            Expr::Operand(at) => {
                self.integer(at)?;
                let pool = self.pass.facts.body().pool();
                pool.integer(self.facts.operand(at.into())?.operand)
            }
            Expr::Assigned(at) => self.constant(&self.local(at)?),
            Expr::Integer(value) => Some(value),
            Expr::If([when, then, otherwise]) => match self.truth(when)? {
                true => self.constant(then),
                false => self.constant(otherwise),
            },
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

    /// Whether a condition holds that modifiers, types and constants decide.
    fn truth(&self, expr: &Expr) -> Option<bool> {
        let facts = self.facts;
        let conditions = Conditions {
            form: self.form,
            slots: self.slots,
            has: |modifier| facts.has_modifier(modifier),
        };
        conditions.evaluate(expr, &mut |expr| match *expr {
            Expr::Assigned(at) => self.truth(&self.local(at)?),
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
    kind && ty.lanes() <= 1 && ty.bits() <= 64
}

fn is_signed(ty: ScalarType) -> bool {
    ty.kind() == TypeKind::Signed
}
