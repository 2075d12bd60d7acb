//! Functions of integers in rows.

use alloc::vec::Vec;

use ptx_isa::ExprFunction as Function;
use ptx_isa::internals::Expr;

use super::expression::{Scope, Term, element};
use super::rows::Rows;
use crate::values::AffineSymbolId;

impl Scope<'_> {
    /// A function of integers in rows.
    pub(super) fn rows(&self, function: Function, arguments: &[Expr]) -> Option<Rows> {
        let rows = |index: usize| Rows::of_term(&self.value(arguments.get(index)?)?);
        let constant = |index: usize| self.number(arguments.get(index)?)?.single();
        let result = match function {
            Function::Add => rows(0)?.sum(rows(1)?),
            Function::Sub => rows(0)?.sum(rows(1)?.times(-1)?),
            Function::Negate => rows(0)?.times(-1),
            Function::Mul => self.product(arguments),
            Function::ShiftLeft => {
                let by = u32::try_from(constant(1)?).ok().filter(|by| *by < 64)?;
                rows(0)?.times(1 << by)
            }
            Function::Convert | Function::Unsigned => {
                let ty = element(self.ty(arguments.first())?);
                Some(rows(1)?.truncated(ty.bits().into()))
            }
            _ => None,
        };
        if result.is_some() {
            return result;
        }
        let mut operands = Vec::new();
        for argument in arguments {
            match *argument {
                Expr::Type(_) | Expr::Slot(_) => {}
                _ => operands.push(Rows::of_term(&self.value(argument)?)?),
            }
        }
        Some(Rows::equal_where(operands.into_iter()))
    }

    fn product(&self, arguments: &[Expr]) -> Option<Rows> {
        let [a, b] = arguments else {
            return None;
        };
        let (x, y) = (self.value(a)?, self.value(b)?);
        match (x, y) {
            (Term::Rows(rows), Term::Number(factor)) | (Term::Number(factor), Term::Rows(rows)) => {
                rows.times(factor.single()?)
            }
            (Term::Number(x), Term::Number(y)) if y.is_uniform() => {
                Rows::strided(&x, &y, self.symbol(b))
            }
            (Term::Number(x), Term::Number(y)) if x.is_uniform() => {
                Rows::strided(&y, &x, self.symbol(a))
            }
            _ => None,
        }
    }

    /// The symbol that an operand is a multiple of, with the factor.
    fn symbol(&self, expr: &Expr) -> Option<(AffineSymbolId, i64)> {
        match *expr {
            Expr::Operand(at) => *self.symbols.get(usize::from(at))?,
            Expr::Call(Function::Convert, arguments) => self.symbol(arguments.get(1)?),
            _ => None,
        }
    }
}
