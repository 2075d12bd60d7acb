//! Translation of integers of which only the lowest bits are needed.

use super::NotExpressible;
use super::term::Bits;
use super::translate::{Kind, Translation};
use crate::fold::value::ones;
use ptx_isa::ExprFunction as Function;
use ptx_isa::internals::Expr;

impl Translation<'_> {
    /// The lowest `width` bits of an integer. Those of a sum, a product and a bitwise operation only depend on the same bits of its
    /// operands, so that the exact result may have any length.
    pub(super) fn low_bits(&mut self, expr: &Expr, width: u32) -> Result<Bits, NotExpressible> {
        if self.kind(expr)? != Kind::Integer {
            return Err(NotExpressible::Construct(
                "an integer made of a number or a predicate",
            ));
        }
        match *expr {
            Expr::Assigned(index) => match self.local(index) {
                Some(local) => self.low_bits(&local, width),
                None => self.low_bits_of_exact(expr, width),
            },
            Expr::If([condition, then, otherwise]) => {
                let condition = self.predicate(condition)?;
                self.branch(condition, width, |translation, holds| {
                    translation.low_bits(if holds { then } else { otherwise }, width)
                })
            }
            Expr::Call(function, list) => self.low_bits_of_call(function, list, width, expr),
            _ => self.low_bits_of_exact(expr, width),
        }
    }

    fn low_bits_of_exact(&mut self, expr: &Expr, width: u32) -> Result<Bits, NotExpressible> {
        let exact = self.integer(expr)?;
        Ok(self.terms.resize(exact, width))
    }

    /// The lowest bits of the value `expr` of a function.
    fn low_bits_of_call(
        &mut self,
        function: Function,
        list: &[Expr],
        width: u32,
        expr: &Expr,
    ) -> Result<Bits, NotExpressible> {
        let head = match function {
            Function::Add => "bvadd",
            Function::Sub => "bvsub",
            Function::Mul => "bvmul",
            Function::And => "bvand",
            Function::Or => "bvor",
            Function::Xor => "bvxor",
            Function::Negate => "bvneg",
            Function::Not => "bvnot",
            Function::ShiftLeft => return self.low_shifted(list, width),
            Function::Ones => return self.low_ones(list, width),
            Function::Lookup => return self.lookup(list, width),
            Function::Merge => return self.merged(list, width),
            _ => return self.low_bits_of_exact(expr, width),
        };
        Ok(match list {
            [a] => {
                let a = self.low_bits(a, width)?;
                self.terms.bits(head, &[a], width)
            }
            [a, b] => {
                let integers = [self.integer(a), self.integer(b)];
                // An operation with a mask of ones keeps all bits.
                if let ("bvand", [Ok(left), Ok(right)]) = (head, integers)
                    && [left, right]
                        .iter()
                        .any(|mask| mask.is_constant() && mask.low & ones(width) == ones(width))
                {
                    return self.low_bits_of_exact(expr, width);
                }
                let operands = [self.low_bits(a, width)?, self.low_bits(b, width)?];
                self.terms.bits(head, &operands, width)
            }
            _ => return Err(NotExpressible::Function(function)),
        })
    }

    /// The lowest bits of `a << n`, for any `n`.
    fn low_shifted(&mut self, list: &[Expr], width: u32) -> Result<Bits, NotExpressible> {
        let [a, n] = list else {
            return Err(NotExpressible::Function(Function::ShiftLeft));
        };
        let n = self.integer(n)?;
        let amount = self.terms.amount(n)?;
        let common_width = width.max(amount.bits.width);
        let a = self.low_bits(a, common_width)?;
        let amount = self.terms.resize(amount, common_width);
        let shifted = self.terms.bits("bvshl", &[a, amount], common_width);
        Ok(self.terms.extract(shifted, 0, width))
    }

    /// The lowest bits of `ones(n)`, for any `n`.
    fn low_ones(&mut self, list: &[Expr], width: u32) -> Result<Bits, NotExpressible> {
        let [n] = list else {
            return Err(NotExpressible::Function(Function::Ones));
        };
        let n = self.integer(n)?;
        let count = self.terms.amount(n)?;
        Ok(self.terms.ones(count, width))
    }
}
