//! Predicate expressions.

use ptx_isa::internals::Expr;
use ptx_isa::{ExprFunction as Function, Modifier};

use super::integers::Need;
use super::{Assigned, Lowering, argument};
use crate::lanes::{Comparison, FloatComparison, Kind, Logic, Place};

/// A comparison by the order of its arguments.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Test {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Lowering<'_> {
    /// The predicate that an expression is.
    pub(super) fn condition(&mut self, expr: Expr) -> Option<u32> {
        if let Some(holds) = self.decided(expr) {
            return Some(self.code.constant_predicate(holds));
        }
        match expr {
            Expr::Operand(index) => match self.operand_place(index.into())? {
                Place::Predicate(predicate) => Some(predicate),
                _ => None,
            },
            Expr::Assigned(index) => match *self.assigned.get(usize::from(index))? {
                Assigned::Expr(expr) => self.condition(expr),
                Assigned::Predicate(predicate) => Some(predicate),
                _ => None,
            },
            Expr::If([condition, then, otherwise]) => {
                let sources = [
                    self.condition(*condition)?,
                    self.condition(*then)?,
                    self.condition(*otherwise)?,
                ];
                Some(self.code.predicate(Kind::Predicate(Logic::Select), sources))
            }
            Expr::Call(function, arguments) => self.predicate_function(function, arguments),
            _ => None,
        }
    }

    /// The lowest bit of an integer.
    pub(super) fn bit(&mut self, expr: Expr) -> Option<u32> {
        let value = self.integer(expr, Need::Low(1))?;
        let word = self.as_word(value)?.index();
        let (one, zero) = (self.code.constant_word(1), self.code.constant_word(0));
        let bit = (self.code).word(Kind::Word(crate::lanes::Integer::And), [word, one, one]);
        let kind = Kind::CompareWord(Comparison::NotEqual);
        Some(self.code.predicate(kind, [bit, zero, zero]))
    }

    fn predicate_function(
        &mut self,
        function: Function,
        arguments: &'static [Expr],
    ) -> Option<u32> {
        let logic = match function {
            Function::And => Logic::And,
            Function::Or => Logic::Or,
            Function::Xor => Logic::Xor,
            Function::Not => {
                let condition = self.condition(argument(arguments, 0)?)?;
                let kind = Kind::Predicate(Logic::Not);
                return Some(self.code.predicate(kind, [condition; 3]));
            }
            Function::Combine => {
                let logic = match self.slot_argument(argument(arguments, 0)?)? {
                    Modifier::And => Logic::And,
                    Modifier::Or => Logic::Or,
                    Modifier::Xor => Logic::Xor,
                    _ => return None,
                };
                return self.logical(logic, argument(arguments, 1)?, argument(arguments, 2)?);
            }
            Function::Compare => {
                let test = self.slot_argument(argument(arguments, 0)?)?;
                return self.comparison(test, argument(arguments, 1)?, argument(arguments, 2)?);
            }
            Function::Equal => return self.ordered(Test::Equal, arguments),
            Function::NotEqual => return self.ordered(Test::NotEqual, arguments),
            Function::Less => return self.ordered(Test::Less, arguments),
            Function::LessEqual => return self.ordered(Test::LessEqual, arguments),
            Function::Greater => return self.ordered(Test::Greater, arguments),
            Function::GreaterEqual => return self.ordered(Test::GreaterEqual, arguments),
            _ => return None,
        };
        self.logical(logic, argument(arguments, 0)?, argument(arguments, 1)?)
    }

    fn slot_argument(&self, argument: Expr) -> Option<Modifier> {
        match argument {
            Expr::Slot(slot) => self.slots.word(slot.into()),
            _ => None,
        }
    }

    fn logical(&mut self, logic: Logic, a: Expr, b: Expr) -> Option<u32> {
        let (a, b) = (self.condition(a)?, self.condition(b)?);
        Some(self.code.predicate(Kind::Predicate(logic), [a, b, b]))
    }

    fn ordered(&mut self, test: Test, arguments: &'static [Expr]) -> Option<u32> {
        let [a, b] = *arguments else { return None };
        if test == Test::Equal
            && let Some(holds) = self.wide_equal(a, b)
        {
            return Some(holds);
        }
        self.integers(test, a, b)
            .or_else(|| self.numbers(test, false, a, b))
    }

    /// A comparison that a modifier names.
    fn comparison(&mut self, test: Modifier, a: Expr, b: Expr) -> Option<u32> {
        let (test, unordered) = match test {
            Modifier::Eq => (Test::Equal, false),
            Modifier::Ne => (Test::NotEqual, false),
            Modifier::Lt | Modifier::Lo => (Test::Less, false),
            Modifier::Le | Modifier::Ls => (Test::LessEqual, false),
            Modifier::Gt | Modifier::Hi => (Test::Greater, false),
            Modifier::Ge | Modifier::Hs => (Test::GreaterEqual, false),
            Modifier::Equ => (Test::Equal, true),
            Modifier::Neu => (Test::NotEqual, true),
            Modifier::Ltu => (Test::Less, true),
            Modifier::Leu => (Test::LessEqual, true),
            Modifier::Gtu => (Test::Greater, true),
            Modifier::Geu => (Test::GreaterEqual, true),
            Modifier::Num | Modifier::Nan => {
                let nan = test == Modifier::Nan;
                return self.float_comparison(
                    FloatComparison {
                        less: !nan,
                        equal: !nan,
                        greater: !nan,
                        unordered: nan,
                    },
                    a,
                    b,
                );
            }
            _ => return None,
        };
        if !unordered && let Some(holds) = self.integers(test, a, b) {
            return Some(holds);
        }
        self.numbers(test, unordered, a, b)
    }

    fn integers(&mut self, test: Test, a: Expr, b: Expr) -> Option<u32> {
        let start = self.code.ops.len();
        let compared = self.compare_integers(test, a, b);
        if compared.is_none() {
            self.code.ops.truncate(start);
        }
        compared
    }

    fn compare_integers(&mut self, test: Test, a: Expr, b: Expr) -> Option<u32> {
        let (a, b) = match test {
            Test::Greater | Test::GreaterEqual => (b, a),
            _ => (a, b),
        };
        let (a, b) = (self.integer(a, Need::Exact)?, self.integer(b, Need::Exact)?);
        let joined = a.range?.join_in_double(b.range?)?;
        let (words, signed) = (joined.fits(32), joined.is_signed());
        let comparison = match test {
            Test::Equal => Comparison::Equal,
            Test::NotEqual => Comparison::NotEqual,
            Test::Less | Test::Greater => Comparison::Less { signed },
            Test::LessEqual | Test::GreaterEqual => Comparison::LessEqual { signed },
        };
        let (a, b) = (
            self.as_width(a, words)?.index(),
            self.as_width(b, words)?.index(),
        );
        let kind = if words {
            Kind::CompareWord(comparison)
        } else {
            Kind::CompareDouble(comparison)
        };
        Some(self.code.predicate(kind, [a, b, b]))
    }

    fn numbers(&mut self, test: Test, unordered: bool, a: Expr, b: Expr) -> Option<u32> {
        let test = FloatComparison {
            less: matches!(test, Test::Less | Test::LessEqual | Test::NotEqual),
            equal: matches!(test, Test::Equal | Test::LessEqual | Test::GreaterEqual),
            greater: matches!(test, Test::Greater | Test::GreaterEqual | Test::NotEqual),
            unordered,
        };
        self.float_comparison(test, a, b)
    }

    fn float_comparison(&mut self, test: FloatComparison, a: Expr, b: Expr) -> Option<u32> {
        let long = self.is_long(a) || self.is_long(b);
        let (a, b) = (self.number(a, long)?.index(), self.number(b, long)?.index());
        let kind = if long {
            Kind::CompareLong(test)
        } else {
            Kind::CompareSingle(test)
        };
        Some(self.code.predicate(kind, [a, b, b]))
    }
}
