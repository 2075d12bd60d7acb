//! The lowest bits of integers, where the others do not matter.

use super::NotExpressible;
use super::term::Bits;
use super::translate::{Kind, Translation};
use crate::fold::value::ones;
use ptx_isa::{Expr, ExprFunction as Function};

impl Translation<'_> {
    /// The lowest bits of an integer, as many as are asked for. Those of a sum, a product and a bitwise operation depend on
    /// the same bits of its operands alone, however long the exact result is.
    pub(super) fn low_bits(&mut self, expr: &Expr, width: u32) -> Result<Bits, NotExpressible> {
        if self.kind(expr)? != Kind::Integer {
            return Err(NotExpressible::Construct(
                "an integer made of a number or a predicate",
            ));
        }
        match *expr {
            Expr::Assigned(at) => match self.local(at) {
                Some(local) => self.low_bits(&local, width),
                None => self.low_bits_of_exact(expr, width),
            },
            Expr::If([when, then, otherwise]) => {
                let when = self.predicate(when)?;
                self.branch(when, width, |this, taken| {
                    this.low_bits(if taken { then } else { otherwise }, width)
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
                let exact = [self.integer(a), self.integer(b)];
                // All bits of a mask are one: nothing changes.
                if let ("bvand", [Ok(x), Ok(y)]) = (head, exact)
                    && [x, y]
                        .iter()
                        .any(|m| m.is_constant() && m.low & ones(width) == ones(width))
                {
                    return self.low_bits_of_exact(expr, width);
                }
                let operands = [self.low_bits(a, width)?, self.low_bits(b, width)?];
                self.terms.bits(head, &operands, width)
            }
            _ => return Err(NotExpressible::Function(function)),
        })
    }

    /// `a << n`, however great `n` is.
    fn low_shifted(&mut self, list: &[Expr], width: u32) -> Result<Bits, NotExpressible> {
        let [a, n] = list else {
            return Err(NotExpressible::Function(Function::ShiftLeft));
        };
        let n = self.integer(n)?;
        let n = self.terms.amount(n)?;
        let wide = width.max(n.bits.width);
        let a = self.low_bits(a, wide)?;
        let n = self.terms.resize(n, wide);
        let shifted = self.terms.bits("bvshl", &[a, n], wide);
        Ok(self.terms.extract(shifted, 0, width))
    }

    /// `ones(n)`, however great `n` is.
    fn low_ones(&mut self, list: &[Expr], width: u32) -> Result<Bits, NotExpressible> {
        let [n] = list else {
            return Err(NotExpressible::Function(Function::Ones));
        };
        let n = self.integer(n)?;
        let n = self.terms.amount(n)?;
        Ok(self.terms.ones(n, width))
    }
}
