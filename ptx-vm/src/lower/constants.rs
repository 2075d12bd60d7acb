//! Constant expressions.

use ptx_isa::internals::Expr;
use ptx_isa::{ExprFunction as Function, ScalarType, TypeKind};

use super::range::Range;
use super::{Lowering, argument};

impl Lowering<'_> {
    /// The integer that an expression is whatever the operands are.
    pub(super) fn fixed(&self, expr: Expr) -> Option<i128> {
        match expr {
            Expr::Integer(value) => Some(value.into()),
            Expr::Assigned(index) => match *self.assigned.get(usize::from(index))? {
                super::Assigned::Expr(expr) => self.fixed(expr),
                _ => None,
            },
            Expr::If([condition, then, otherwise]) => {
                if self.decided(*condition)? {
                    self.fixed(*then)
                } else {
                    self.fixed(*otherwise)
                }
            }
            Expr::Call(function, arguments) => {
                let integer = |index: usize| self.fixed(argument(arguments, index)?);
                match function {
                    Function::Width => Some(self.first_type(arguments)?.bits().into()),
                    Function::Highest => Some(Range::of_type(self.first_type(arguments)?)?.max),
                    Function::Add => integer(0)?.checked_add(integer(1)?),
                    Function::Sub => integer(0)?.checked_sub(integer(1)?),
                    Function::Mul => integer(0)?.checked_mul(integer(1)?),
                    Function::Negate => integer(0)?.checked_neg(),
                    Function::Not => Some(!integer(0)?),
                    Function::ShiftLeft => {
                        integer(0)?.checked_mul(1i128.checked_shl(integer(1)?.try_into().ok()?)?)
                    }
                    Function::Ones => {
                        let bits = u32::try_from(integer(0)?).ok()?;
                        1i128.checked_shl(bits)?.checked_sub(1)
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Whether a condition holds, if that does not depend on the operands.
    pub(super) fn decided(&self, expr: Expr) -> Option<bool> {
        match expr {
            Expr::Has(modifier) => Some(self.has(modifier)),
            Expr::Filled(slot) => Some(self.slots.is_filled(slot.into())),
            Expr::Call(function, arguments) => {
                let condition = |index: usize| self.decided(argument(arguments, index)?);
                let integer = |index: usize| self.fixed(argument(arguments, index)?);
                match function {
                    Function::Floating => Some(self.first_type(arguments)?.is_float()),
                    Function::Packed => match arguments.first()? {
                        Expr::Type(ty) => {
                            Some(ty.scalar_type(self.slots, self.form)?.elements() > 1)
                        }
                        _ => None,
                    },
                    Function::Not => condition(0).map(|holds| !holds),
                    Function::And => match (condition(0), condition(1)) {
                        (Some(false), _) | (_, Some(false)) => Some(false),
                        (a, b) => Some(a? && b?),
                    },
                    Function::Or => match (condition(0), condition(1)) {
                        (Some(true), _) | (_, Some(true)) => Some(true),
                        (a, b) => Some(a? || b?),
                    },
                    Function::Equal => Some(integer(0)? == integer(1)?),
                    Function::NotEqual => Some(integer(0)? != integer(1)?),
                    Function::Less => Some(integer(0)? < integer(1)?),
                    Function::LessEqual => Some(integer(0)? <= integer(1)?),
                    Function::Greater => Some(integer(0)? > integer(1)?),
                    Function::GreaterEqual => Some(integer(0)? >= integer(1)?),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The type that the first argument of a function is.
    fn first_type(&self, arguments: &[Expr]) -> Option<ScalarType> {
        self.type_argument(argument(arguments, 0)?)
    }

    /// The type that an argument is; of a packed type, that of its elements.
    pub(super) fn type_argument(&self, argument: Expr) -> Option<ScalarType> {
        let Expr::Type(ty) = argument else {
            return None;
        };
        let ty = ty.scalar_type(self.slots, self.form)?;
        Some(ty.element().unwrap_or(ty))
    }

    pub(super) fn is_signed(ty: ScalarType) -> bool {
        ty.kind() == TypeKind::Signed
    }
}
