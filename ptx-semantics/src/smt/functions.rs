//! The functions of expressions ([`ptx_isa::ExprFunction`]). Those that look at each bit are unrolled.

use super::NotExpressible;
use super::float::{Float, ieee};
use super::integer::Integer;
use super::number::Number;
use super::term::{Bits, Term, Terms};
use super::translate::{Translation, Value};
use crate::fold::element;
use crate::fold::value::{exact, highest, limits, low, ones};
use ptx_isa::{Expr, ExprFunction as Function, Modifier, ScalarType, TypeKind};

impl Translation<'_> {
    /// The value of a function.
    pub(super) fn call(
        &mut self,
        function: Function,
        list: &[Expr],
    ) -> Result<Value, NotExpressible> {
        let unknown = NotExpressible::Function(function);
        match (function, list) {
            (
                Function::Width
                | Function::Highest
                | Function::Signed
                | Function::Saturate
                | Function::Convert
                | Function::Floating
                | Function::Packed
                | Function::Unsigned
                | Function::Field
                | Function::Reverse,
                [ty, rest @ ..],
            ) => {
                let ty = self.scope().ty(ty).ok_or(unknown)?;
                self.with_type(function, ty, rest)
            }
            (Function::Test | Function::Compare | Function::Combine, [slot, rest @ ..]) => {
                let chosen = self.scope().modifier(slot).ok_or(unknown)?;
                self.with_slot(function, chosen, rest)
            }
            (Function::Element, [Expr::Operand(at), n]) => {
                let n = low(self.integer(n)?.low) as u32;
                self.operand((*at).into(), n)
            }
            (Function::Length | Function::Sign | Function::Sum | Function::Bits, list) => {
                self.of_operand(function, list).map(Value::Integer)
            }
            (Function::Not, [a]) => match self.value(a)? {
                Value::Predicate(a) => Ok(Value::Predicate(self.terms.not(a))),
                Value::Integer(a) => self.terms.invert(a).map(Value::Integer),
                Value::Number(_) => Err(unknown),
            },
            (Function::Sqrt | Function::Number | Function::Integral, [a]) => {
                let a = self.number(a)?;
                self.unary(function, a)
            }
            (Function::Abs | Function::Negate, [a]) => match (function, self.value(a)?) {
                (Function::Abs, Value::Integer(a)) => self.terms.absolute(a).map(Value::Integer),
                (_, Value::Integer(a)) => self.terms.negate(a).map(Value::Integer),
                (_, Value::Number(a)) => self.unary(function, a),
                (_, Value::Predicate(_)) => Err(unknown),
            },
            (Function::Copysign, [a, b]) => {
                let negative = self.sign(a)?;
                let number = self.number(b)?;
                self.with_sign(number, negative)
            }
            (Function::Xorsign, [x, a, b]) => {
                let (a, b) = (self.sign(a)?, self.sign(b)?);
                let negative = self.terms.apply("xor", &[a, b]);
                let number = self.number(x)?;
                self.with_sign(number, negative)
            }
            (Function::Lookup, [_, a, b, c]) => {
                let mut wide = 1;
                for operand in [a, b, c] {
                    let operand = self.integer(operand)?;
                    wide = wide.max(super::integer::width(operand.low, operand.high) + 1);
                }
                Ok(Value::Integer(Terms::signed(self.lookup(list, wide)?)))
            }
            (Function::Ones | Function::Popcount | Function::BitLength, [a]) => {
                let a = self.integer(a)?;
                self.of_bits(function, a)
            }
            (Function::FindNth, [mask, base, offset]) => {
                let mask = self.integer(mask)?;
                let (base, offset) = (self.integer(base)?, self.integer(offset)?);
                self.find_nth(mask, base, offset).map(Value::Integer)
            }
            (_, [a, b]) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                self.binary(function, a, b)
            }
            _ => Err(unknown),
        }
    }

    /// The functions whose first argument is a type.
    fn with_type(
        &mut self,
        function: Function,
        whole: ScalarType,
        rest: &[Expr],
    ) -> Result<Value, NotExpressible> {
        let ty = element(whole);
        let width = u32::from(ty.bits());
        Ok(match (function, rest) {
            (Function::Width, []) => Value::Integer(self.terms.constant(exact(width.into()))),
            (Function::Highest, []) => Value::Integer(self.terms.constant(highest(ty))),
            (Function::Floating, []) => Value::Predicate(self.terms.truth(ty.is_float())),
            (Function::Signed, []) => {
                let signed = ty.kind() == TypeKind::Signed;
                Value::Predicate(self.terms.truth(signed))
            }
            (Function::Saturate, [n, a]) => {
                let (n, a) = (self.integer(n)?, self.integer(a)?);
                if !n.is_constant() {
                    return Err(NotExpressible::Function(function));
                }
                let (least, most) = limits(ty.kind() == TypeKind::Signed, low(n.low) as u32);
                Value::Integer(self.terms.clamped(a, least, most))
            }
            (Function::Convert, [a]) => {
                let a = self.value(a)?;
                Value::Integer(self.converted(ty, a)?)
            }
            (Function::Packed, []) => Value::Predicate(self.terms.truth(whole.lanes() > 1)),
            (Function::Unsigned, [a]) => Value::Integer(Terms::natural(self.low_bits(a, width)?)),
            (Function::Reverse, [a]) => {
                let a = self.low_bits(a, width)?;
                Value::Integer(Terms::natural(self.terms.reversed(a)))
            }
            (Function::Field, [a, position, length]) => {
                let (a, position) = (self.integer(a)?, self.integer(position)?);
                let length = self.integer(length)?;
                let signed = ty.kind() == TypeKind::Signed;
                Value::Integer(self.terms.field(signed, a, position, length)?)
            }
            _ => return Err(NotExpressible::Function(function)),
        })
    }

    /// The functions whose first argument is a slot.
    fn with_slot(
        &mut self,
        function: Function,
        chosen: Modifier,
        rest: &[Expr],
    ) -> Result<Value, NotExpressible> {
        let unknown = NotExpressible::Function(function);
        let holds = match (function, rest) {
            (Function::Test, [a]) => match self.number(a)? {
                Number::Exact(Float {
                    term,
                    operand: Some((ty, bits)),
                    ..
                }) => self.terms.test(chosen, term, ty, bits)?,
                _ => return Err(unknown),
            },
            (Function::Compare, [a, b]) => match (self.value(a)?, self.value(b)?) {
                (Value::Integer(a), Value::Integer(b)) => {
                    let relation = integer_relation(chosen).ok_or(unknown)?;
                    self.terms.related(relation, a, b).ok_or(unknown)?
                }
                (Value::Number(a), Value::Number(b)) => self.terms.compared(chosen, a, b)?,
                _ => return Err(unknown),
            },
            (Function::Combine, [a, b]) => {
                let (a, b) = (self.predicate(a)?, self.predicate(b)?);
                match chosen {
                    Modifier::And => self.terms.and(a, b),
                    Modifier::Or => self.terms.or(a, b),
                    Modifier::Xor => self.terms.apply("xor", &[a, b]),
                    _ => return Err(unknown),
                }
            }
            _ => return Err(unknown),
        };
        Ok(Value::Predicate(holds))
    }

    fn of_bits(&mut self, function: Function, a: Integer) -> Result<Value, NotExpressible> {
        // The notation demands an integer that is not negative.
        let positive = a.high.max(exact(0));
        let a = self.terms.narrowed(a.bits, a.low.max(exact(0)), positive);
        Ok(Value::Integer(match function {
            Function::Popcount => self.terms.popcount(a)?,
            Function::BitLength => self.terms.bit_length(a),
            _ if a.high > exact(254) => return Err(NotExpressible::Wide),
            _ => {
                let (least, most) = (ones(low(a.low) as u32), ones(low(a.high) as u32));
                let bits = self.terms.ones(a, super::integer::width(least, most));
                self.terms.narrowed(bits, least, most)
            }
        }))
    }

    /// The functions of two values of one kind.
    fn binary(&mut self, function: Function, a: Value, b: Value) -> Result<Value, NotExpressible> {
        let keep_nan = self.inputs.has(Modifier::NaN);
        let (a, b) = match (a, b) {
            (Value::Integer(a), Value::Integer(b)) => return self.of_integers(function, a, b),
            (Value::Predicate(a), Value::Predicate(b)) => return self.logical(function, a, b),
            (Value::Number(a), Value::Number(b)) => (a, b),
            (Value::Number(a), Value::Integer(b)) => (a, Number::Integer(b)),
            (Value::Integer(a), Value::Number(b)) => (Number::Integer(a), b),
            _ => return Err(NotExpressible::Function(function)),
        };
        self.terms.arithmetic(function, a, b, keep_nan)
    }

    fn logical(&mut self, function: Function, a: Term, b: Term) -> Result<Value, NotExpressible> {
        let equal = |terms: &mut Terms| terms.apply("=", &[a, b]);
        Ok(Value::Predicate(match function {
            Function::And => self.terms.and(a, b),
            Function::Or => self.terms.or(a, b),
            Function::Xor => self.terms.apply("xor", &[a, b]),
            Function::Equal => equal(&mut self.terms),
            Function::NotEqual => {
                let equal = equal(&mut self.terms);
                self.terms.not(equal)
            }
            _ => return Err(NotExpressible::Function(function)),
        }))
    }

    fn of_integers(
        &mut self,
        function: Function,
        a: Integer,
        b: Integer,
    ) -> Result<Value, NotExpressible> {
        let terms = &mut self.terms;
        if let Some(holds) = terms.related(function, a, b) {
            return Ok(Value::Predicate(holds));
        }
        Ok(Value::Integer(match function {
            Function::Add => terms.add(a, b)?,
            Function::Sub => terms.sub(a, b)?,
            Function::Mul => terms.mul(a, b)?,
            Function::Div | Function::Rem => {
                let zero = terms.constant(exact(0));
                let is_zero = terms.equal(b, zero);
                if self.decided(is_zero) != Some(false) {
                    return Err(NotExpressible::Construct(
                        "a division by zero that no condition excludes",
                    ));
                }
                self.terms.divide(function == Function::Div, a, b)
            }
            Function::And => terms.bitwise("bvand", a, b)?,
            Function::Or => terms.bitwise("bvor", a, b)?,
            Function::Xor => terms.bitwise("bvxor", a, b)?,
            Function::ShiftLeft => terms.shift_left(a, b)?,
            Function::ShiftRight => terms.shift_right(a, b)?,
            Function::Min => terms.lesser_of(a, b),
            Function::Max => terms.greater_of(a, b),
            Function::Carryless => terms.carryless(a, b)?,
            Function::Byte => terms.byte(a, b)?,
            _ => return Err(NotExpressible::Function(function)),
        }))
    }

    /// Whether an operand is negative, a NaN by its sign bit.
    fn sign(&mut self, expr: &Expr) -> Result<Term, NotExpressible> {
        match self.number(expr)? {
            Number::Exact(Float {
                operand: Some((_, bits)),
                ..
            }) => Ok(self.terms.bit(bits, bits.width - 1)),
            _ => Err(NotExpressible::Construct(
                "the sign of a number that is computed",
            )),
        }
    }

    fn with_sign(&mut self, number: Number, negative: Term) -> Result<Value, NotExpressible> {
        match self.unary(Function::Abs, number)? {
            Value::Number(Number::Exact(positive)) => {
                let negated = self.terms.apply("fp.neg", &[positive.term]);
                let term = self.terms.ite(negative, negated, positive.term);
                Ok(Value::Number(Number::Exact(positive.replaced(term))))
            }
            _ => Err(NotExpressible::Function(Function::Copysign)),
        }
    }

    /// The lowest bits of `lookup(table, a, b, c)`.
    pub(super) fn lookup(&mut self, list: &[Expr], width: u32) -> Result<Bits, NotExpressible> {
        let [table, a, b, c] = list else {
            return Err(NotExpressible::Function(Function::Lookup));
        };
        let table = self.low_bits(table, 8)?;
        let mut operands = [table; 3];
        for (operand, expr) in operands.iter_mut().zip([a, b, c]) {
            *operand = self.low_bits(expr, width)?;
        }
        Ok(self.terms.lookup(table, operands, width))
    }

    /// The position of a one bit of a mask of 32 bits, or -1.
    fn find_nth(
        &mut self,
        mask: Integer,
        base: Integer,
        offset: Integer,
    ) -> Result<Integer, NotExpressible> {
        let terms = &mut self.terms;
        let mask = terms.resize(mask, 32);
        let [zero, one, all] = [0, 1, 31].map(|n| terms.constant(exact(n)));
        let (upwards, here) = (terms.less(zero, offset), terms.equal(offset, zero));
        let count = terms.absolute(offset)?;
        let count = terms.greater_of(count, one);
        let mut found = terms.constant(exact(-1));
        // The ones from the base on, and from the base downwards.
        for (positions, ascending) in [(0..32, true), (0..32, false)] {
            let mut seen = zero;
            let direction = if ascending {
                upwards
            } else {
                terms.not(upwards)
            };
            for at in positions {
                let at = if ascending { at } else { 31 - at };
                let position = terms.constant(exact(at));
                let before = match ascending {
                    true => terms.less(position, base),
                    false => terms.less(base, position),
                };
                let bit = terms.bit(mask, at as u32);
                let reached = terms.not(before);
                let counts = terms.and(bit, reached);
                let more = terms.zero_or_one(counts);
                seen = terms.add(seen, more)?;
                let is_last = terms.equal(seen, count);
                let is_base = terms.equal(position, base);
                let elsewhere = terms.not(here);
                let fits = terms.or(elsewhere, is_base);
                let mut hit = terms.and(counts, is_last);
                hit = terms.and(hit, fits);
                hit = terms.and(hit, direction);
                found = terms.select(hit, position, found);
            }
        }
        let beyond = terms.less(all, base);
        let below = terms.less(base, zero);
        let outside = terms.or(beyond, below);
        let none = terms.constant(exact(-1));
        Ok(terms.select(outside, none, found))
    }
}

/// The function that a comparison of integers is.
fn integer_relation(test: Modifier) -> Option<Function> {
    Some(match test {
        Modifier::Eq => Function::Equal,
        Modifier::Ne => Function::NotEqual,
        Modifier::Lt | Modifier::Lo => Function::Less,
        Modifier::Le | Modifier::Ls => Function::LessEqual,
        Modifier::Gt | Modifier::Hi => Function::Greater,
        Modifier::Ge | Modifier::Hs => Function::GreaterEqual,
        _ => return None,
    })
}

/// Functions of bit vectors.
impl Terms {
    /// Whether a relation of two integers holds; `None` for another function.
    fn related(&mut self, relation: Function, a: Integer, b: Integer) -> Option<Term> {
        Some(match relation {
            Function::Equal => self.equal(a, b),
            Function::NotEqual => {
                let equal = self.equal(a, b);
                self.not(equal)
            }
            Function::Less => self.less(a, b),
            Function::Greater => self.less(b, a),
            Function::LessEqual => {
                let greater = self.less(b, a);
                self.not(greater)
            }
            Function::GreaterEqual => {
                let less = self.less(a, b);
                self.not(less)
            }
            _ => return None,
        })
    }

    /// The bits from a position on, with or without a sign.
    fn field(
        &mut self,
        signed: bool,
        a: Integer,
        position: Integer,
        length: Integer,
    ) -> Result<Integer, NotExpressible> {
        let shifted = self.shift_right(a, position)?;
        let length = self.amount(length)?;
        if !signed {
            let wide = match shifted.is_signed() {
                true if length.high > exact(254) => return Err(NotExpressible::Wide),
                true => low(length.high) as u32,
                false => shifted.bits.width.min(low(length.high).min(255) as u32),
            };
            let wide = wide.max(1);
            let (bits, mask) = (self.resize(shifted, wide), self.ones(length, wide));
            if length.is_constant() && low(length.low) as u32 == wide {
                return Ok(Terms::natural(bits));
            }
            return Ok(Terms::natural(self.bits("bvand", &[bits, mask], wide)));
        }
        // With a sign, a field as long as all bits is the integer.
        let wide = shifted.bits.width + u32::from(!shifted.is_signed());
        if length.is_constant() && length.low > exact(0) && length.low < exact(wide.into()) {
            let bits = self.extract(shifted.bits, 0, low(length.low) as u32);
            return Ok(Terms::signed(bits));
        }
        let all = self.constant(exact(wide.into()));
        let kept = self.lesser_of(length, all);
        let lost = self.sub(all, kept)?;
        let wide = wide.max(lost.bits.width);
        let (bits, lost) = (self.resize(shifted, wide), self.resize(lost, wide));
        let raised = self.bits("bvshl", &[bits, lost], wide);
        Ok(Terms::signed(self.bits("bvashr", &[raised, lost], wide)))
    }

    fn reversed(&mut self, of: Bits) -> Bits {
        let mut result = self.extract(of, 0, 1);
        for at in 1..of.width {
            let bit = self.extract(of, at, 1);
            result = self.bits("concat", &[result, bit], at + 1);
        }
        result
    }

    fn popcount(&mut self, of: Integer) -> Result<Integer, NotExpressible> {
        let mut sum = self.constant(exact(0));
        for at in 0..of.bits.width {
            let bit = self.extract(of.bits, at, 1);
            sum = self.add(sum, Terms::natural(bit))?;
        }
        Ok(sum)
    }

    fn bit_length(&mut self, of: Integer) -> Integer {
        let mut length = self.constant(exact(0));
        for at in 0..of.bits.width {
            let is_one = self.bit(of.bits, at);
            let reached = self.constant(exact(i64::from(at) + 1));
            length = self.select(is_one, reached, length);
        }
        length
    }

    /// The product without carries.
    fn carryless(&mut self, a: Integer, b: Integer) -> Result<Integer, NotExpressible> {
        let wide = a.bits.width + b.bits.width;
        if a.is_signed() || b.is_signed() || wide > 254 {
            return Err(NotExpressible::Function(Function::Carryless));
        }
        let b_wide = self.resize(b, wide);
        let zero = self.literal(exact(0), wide);
        let mut sum = zero;
        for at in 0..a.bits.width {
            let is_one = self.bit(a.bits, at);
            let n = self.literal(exact(at.into()), wide);
            let shifted = self.bits("bvshl", &[b_wide, n], wide);
            let part = self.choose(is_one, shifted, zero);
            sum = self.bits("bvxor", &[sum, part], wide);
        }
        Ok(Terms::natural(sum))
    }

    fn lookup(&mut self, table: Bits, [a, b, c]: [Bits; 3], width: u32) -> Bits {
        let none = self.literal(exact(0), width);
        let mut result: Option<Bits> = None;
        for row in 0..8 {
            let mut all = self.take(row & 4 != 0, a);
            for (on, operand) in [(row & 2 != 0, b), (row & 1 != 0, c)] {
                let taken = self.take(on, operand);
                all = self.bits("bvand", &[all, taken], width);
            }
            let is_one = self.bit(table, row);
            let part = self.choose(is_one, all, none);
            result = Some(match result {
                Some(earlier) => self.bits("bvor", &[earlier, part], width),
                None => part,
            });
        }
        result.unwrap_or(none)
    }

    /// Bits as they are, or inverted.
    fn take(&mut self, as_is: bool, of: Bits) -> Bits {
        match as_is {
            true => of,
            false => self.bits("bvnot", &[of], of.width),
        }
    }

    /// A byte, or eight copies of its highest bit.
    fn byte(&mut self, a: Integer, selector: Integer) -> Result<Integer, NotExpressible> {
        let selector = self.resize(selector, 4);
        let number = self.extract(selector, 0, 3);
        let eight = self.constant(exact(8));
        let at = self.mul(Terms::natural(number), eight)?;
        let moved = self.shift_right(a, at)?;
        let byte = self.resize(moved, 8);
        let sign = self.bit(byte, 7);
        let (all, none) = (self.literal(exact(-1), 8), self.literal(exact(0), 8));
        let copies = self.choose(sign, all, none);
        let replicate = self.bit(selector, 3);
        Ok(Terms::natural(self.choose(replicate, copies, byte)))
    }

    /// A property of an operand; zero counts as normal.
    fn test(
        &mut self,
        property: Modifier,
        number: Term,
        ty: ScalarType,
        bits: Bits,
    ) -> Result<Term, NotExpressible> {
        let unknown = NotExpressible::Function(Function::Test);
        let format = ieee(ty)?;
        let nan = self.apply("fp.isNaN", &[number]);
        let infinite = self.apply("fp.isInfinite", &[number]);
        let neither = self.or(nan, infinite);
        let finite = self.not(neither);
        // Of the bits: an operand may have been flushed.
        let magnitude = self.extract(bits, 0, bits.width - 1);
        let least = self.code(1 << format.fraction(), magnitude.width);
        let zero = self.code(0, magnitude.width);
        let small = self.apply("bvult", &[magnitude.term, least.term]);
        let is_zero = self.apply("=", &[magnitude.term, zero.term]);
        let is_not_zero = self.not(is_zero);
        let subnormal = self.and(small, is_not_zero);
        let not_subnormal = self.not(subnormal);
        Ok(match property {
            Modifier::Finite => finite,
            Modifier::Infinite => infinite,
            Modifier::Number => self.not(nan),
            Modifier::Notanumber => nan,
            Modifier::Normal => self.and(finite, not_subnormal),
            Modifier::Subnormal => subnormal,
            _ => return Err(unknown),
        })
    }
}
