//! Translation of the functions of expressions ([`ptx_isa::ExprFunction`]). Loops over bits are unrolled.

use super::NotExpressible;
use super::float::{Float, ieee};
use super::integer::Integer;
use super::number::Number;
use super::term::{Bits, Term, Terms};
use super::translate::{Translation, Value};
use crate::fold::element;
use crate::fold::value::{exact, highest, limits, low, ones};
use ptx_isa::internals::Expr;
use ptx_isa::{ExprFunction as Function, Modifier, ScalarType, TypeKind};

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
                [ty, arguments @ ..],
            ) => {
                let ty = self.scope().ty(ty).ok_or(unknown)?;
                self.with_type(function, ty, arguments)
            }
            (Function::Test | Function::Compare | Function::Combine, [slot, arguments @ ..]) => {
                let modifier = self.scope().modifier(slot).ok_or(unknown)?;
                self.with_slot(function, modifier, arguments)
            }
            (Function::Element, [Expr::Operand(operand), index]) => {
                let index = low(self.integer(index)?.low) as u32;
                self.operand((*operand).into(), index)
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
            (Function::Xorsign, [number_expr, a, b]) => {
                let (a, b) = (self.sign(a)?, self.sign(b)?);
                let is_negative = self.terms.apply("xor", &[a, b]);
                let number = self.number(number_expr)?;
                self.with_sign(number, is_negative)
            }
            (Function::Lookup, [_, a, b, c]) => {
                let mut width = 1;
                for operand in [a, b, c] {
                    let operand = self.integer(operand)?;
                    width = width.max(super::integer::width(operand.low, operand.high) + 1);
                }
                Ok(Value::Integer(Terms::signed(self.lookup(list, width)?)))
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

    /// The value of a function whose first argument is a type, with the other arguments.
    fn with_type(
        &mut self,
        function: Function,
        argument_type: ScalarType,
        arguments: &[Expr],
    ) -> Result<Value, NotExpressible> {
        let ty = element(argument_type);
        let width = u32::from(ty.bits());
        Ok(match (function, arguments) {
            (Function::Width, []) => Value::Integer(self.terms.constant(exact(width.into()))),
            (Function::Highest, []) => Value::Integer(self.terms.constant(highest(ty))),
            (Function::Floating, []) => Value::Predicate(self.terms.truth(ty.is_float())),
            (Function::Signed, []) => {
                let is_signed = ty.kind() == TypeKind::Signed;
                Value::Predicate(self.terms.truth(is_signed))
            }
            (Function::Saturate, [length, a]) => {
                let (length, a) = (self.integer(length)?, self.integer(a)?);
                if !length.is_constant() {
                    return Err(NotExpressible::Function(function));
                }
                let (least, most) = limits(ty.kind() == TypeKind::Signed, low(length.low) as u32);
                Value::Integer(self.terms.clamped(a, least, most))
            }
            (Function::Convert, [a]) => {
                let a = self.value(a)?;
                Value::Integer(self.converted(ty, a)?)
            }
            (Function::Packed, []) => {
                Value::Predicate(self.terms.truth(argument_type.elements() > 1))
            }
            (Function::Unsigned, [a]) => Value::Integer(Terms::natural(self.low_bits(a, width)?)),
            (Function::Reverse, [a]) => {
                let a = self.low_bits(a, width)?;
                Value::Integer(Terms::natural(self.terms.reversed(a)))
            }
            (Function::Field, [a, position, length]) => {
                let (a, position) = (self.integer(a)?, self.integer(position)?);
                let length = self.integer(length)?;
                let is_signed = ty.kind() == TypeKind::Signed;
                Value::Integer(self.terms.field(is_signed, a, position, length)?)
            }
            _ => return Err(NotExpressible::Function(function)),
        })
    }

    /// The value of a function whose first argument is a slot, with the modifier in the slot and the other arguments.
    fn with_slot(
        &mut self,
        function: Function,
        modifier: Modifier,
        arguments: &[Expr],
    ) -> Result<Value, NotExpressible> {
        let unknown = NotExpressible::Function(function);
        let holds = match (function, arguments) {
            (Function::Test, [a]) => match self.number(a)? {
                Number::Exact(Float {
                    term,
                    operand: Some((ty, bits)),
                    ..
                }) => self.terms.test(modifier, term, ty, bits)?,
                _ => return Err(unknown),
            },
            (Function::Compare, [a, b]) => match (self.value(a)?, self.value(b)?) {
                (Value::Integer(a), Value::Integer(b)) => {
                    let relation = integer_relation(modifier).ok_or(unknown)?;
                    self.terms.related(relation, a, b).ok_or(unknown)?
                }
                (Value::Number(a), Value::Number(b)) => self.terms.compared(modifier, a, b)?,
                _ => return Err(unknown),
            },
            (Function::Combine, [a, b]) => {
                let (a, b) = (self.predicate(a)?, self.predicate(b)?);
                match modifier {
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

    /// The value of a function of the bits of an integer.
    fn of_bits(&mut self, function: Function, a: Integer) -> Result<Value, NotExpressible> {
        // The notation demands an integer that is not negative.
        let (low_bound, high_bound) = (a.low.max(exact(0)), a.high.max(exact(0)));
        let a = self.terms.narrowed(a.bits, low_bound, high_bound);
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

    /// The value of a function of two values of one kind.
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
        Ok(Value::Predicate(match function {
            Function::And => self.terms.and(a, b),
            Function::Or => self.terms.or(a, b),
            Function::Xor => self.terms.apply("xor", &[a, b]),
            Function::Equal => self.terms.apply("=", &[a, b]),
            Function::NotEqual => {
                let equal = self.terms.apply("=", &[a, b]);
                self.terms.not(equal)
            }
            _ => return Err(NotExpressible::Function(function)),
        }))
    }

    /// The value of a function of two integers.
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

    /// Whether the sign bit of an operand is set.
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

    /// The number with another sign.
    fn with_sign(&mut self, number: Number, is_negative: Term) -> Result<Value, NotExpressible> {
        match self.unary(Function::Abs, number)? {
            Value::Number(Number::Exact(positive)) => {
                let negated = self.terms.apply("fp.neg", &[positive.term]);
                let term = self.terms.ite(is_negative, negated, positive.term);
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

    /// The position of the `offset`-th one bit of a mask of 32 bits, counted from `base` upwards, or downwards for a negative offset; -1 without
    /// such a bit. For the offset 0, the bit at `base` itself is tested.
    fn find_nth(
        &mut self,
        mask: Integer,
        base: Integer,
        offset: Integer,
    ) -> Result<Integer, NotExpressible> {
        let terms = &mut self.terms;
        let mask = terms.resize(mask, 32);
        let [zero, one, last_position] = [0, 1, 31].map(|n| terms.constant(exact(n)));
        let is_ascending = terms.less(zero, offset);
        let tests_base_only = terms.equal(offset, zero);
        let distance = terms.absolute(offset)?;
        let wanted_count = terms.greater_of(distance, one);
        let mut result = terms.constant(exact(-1));
        for ascending in [true, false] {
            let mut count = zero;
            let has_direction = if ascending {
                is_ascending
            } else {
                terms.not(is_ascending)
            };
            for step in 0..32 {
                let index = if ascending { step } else { 31 - step };
                let position = terms.constant(exact(index));
                let is_before_base = if ascending {
                    terms.less(position, base)
                } else {
                    terms.less(base, position)
                };
                let bit = terms.bit(mask, index as u32);
                let is_in_range = terms.not(is_before_base);
                let is_counted = terms.and(bit, is_in_range);
                let increment = terms.zero_or_one(is_counted);
                count = terms.add(count, increment)?;
                let is_last = terms.equal(count, wanted_count);
                let is_base = terms.equal(position, base);
                let tests_all = terms.not(tests_base_only);
                let is_tested = terms.or(tests_all, is_base);
                let mut is_result = terms.and(is_counted, is_last);
                is_result = terms.and(is_result, is_tested);
                is_result = terms.and(is_result, has_direction);
                result = terms.select(is_result, position, result);
            }
        }
        let is_too_large = terms.less(last_position, base);
        let is_negative = terms.less(base, zero);
        let is_outside = terms.or(is_too_large, is_negative);
        let none = terms.constant(exact(-1));
        Ok(terms.select(is_outside, none, result))
    }
}

/// The relation of integers that a comparison tests.
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

    /// The integer whose bits are `length` bits of `a` from a position on, in two's complement if it is `signed`.
    fn field(
        &mut self,
        signed: bool,
        a: Integer,
        position: Integer,
        length: Integer,
    ) -> Result<Integer, NotExpressible> {
        let shifted = self.shift_right(a, position)?;
        let length = self.amount(length)?;
        if signed {
            self.signed_field(shifted, length)
        } else {
            self.unsigned_field(shifted, length)
        }
    }

    /// The lowest `length` bits of an integer.
    fn unsigned_field(
        &mut self,
        shifted: Integer,
        length: Integer,
    ) -> Result<Integer, NotExpressible> {
        let longest = if !shifted.is_signed() {
            shifted.bits.width.min(low(length.high).min(255) as u32)
        } else if length.high > exact(254) {
            return Err(NotExpressible::Wide);
        } else {
            low(length.high) as u32
        };
        let width = longest.max(1);
        let (bits, mask) = (self.resize(shifted, width), self.ones(length, width));
        if length.is_constant() && low(length.low) as u32 == width {
            return Ok(Terms::natural(bits));
        }
        Ok(Terms::natural(self.bits("bvand", &[bits, mask], width)))
    }

    /// The lowest `length` bits of an integer in two's complement. If `length` is at least the width of the integer, this is the integer.
    fn signed_field(
        &mut self,
        shifted: Integer,
        length: Integer,
    ) -> Result<Integer, NotExpressible> {
        let signed_width = shifted.bits.width + u32::from(!shifted.is_signed());
        if length.is_constant() && length.low > exact(0) && length.low < exact(signed_width.into())
        {
            let bits = self.extract(shifted.bits, 0, low(length.low) as u32);
            return Ok(Terms::signed(bits));
        }
        let longest = self.constant(exact(signed_width.into()));
        let kept = self.lesser_of(length, longest);
        let lost = self.sub(longest, kept)?;
        let width = signed_width.max(lost.bits.width);
        let (bits, lost) = (self.resize(shifted, width), self.resize(lost, width));
        let raised = self.bits("bvshl", &[bits, lost], width);
        Ok(Terms::signed(self.bits("bvashr", &[raised, lost], width)))
    }

    /// The bits in reverse order.
    fn reversed(&mut self, bits: Bits) -> Bits {
        let mut result = self.extract(bits, 0, 1);
        for position in 1..bits.width {
            let bit = self.extract(bits, position, 1);
            result = self.bits("concat", &[result, bit], position + 1);
        }
        result
    }

    /// The number of one bits.
    fn popcount(&mut self, a: Integer) -> Result<Integer, NotExpressible> {
        let mut sum = self.constant(exact(0));
        for position in 0..a.bits.width {
            let bit = self.extract(a.bits, position, 1);
            sum = self.add(sum, Terms::natural(bit))?;
        }
        Ok(sum)
    }

    /// The position of the highest one bit, + 1; 0 for zero.
    fn bit_length(&mut self, a: Integer) -> Integer {
        let mut length = self.constant(exact(0));
        for position in 0..a.bits.width {
            let is_one = self.bit(a.bits, position);
            let least_length = self.constant(exact(i64::from(position) + 1));
            length = self.select(is_one, least_length, length);
        }
        length
    }

    /// The product without carries.
    fn carryless(&mut self, a: Integer, b: Integer) -> Result<Integer, NotExpressible> {
        let width = a.bits.width + b.bits.width;
        if a.is_signed() || b.is_signed() || width > 254 {
            return Err(NotExpressible::Function(Function::Carryless));
        }
        let resized_b = self.resize(b, width);
        let zero = self.literal(exact(0), width);
        let mut sum = zero;
        for position in 0..a.bits.width {
            let is_one = self.bit(a.bits, position);
            let amount = self.literal(exact(position.into()), width);
            let shifted = self.bits("bvshl", &[resized_b, amount], width);
            let summand = self.choose(is_one, shifted, zero);
            sum = self.bits("bvxor", &[sum, summand], width);
        }
        Ok(Terms::natural(sum))
    }

    /// A function of three bits, whose truth table has eight bits, applied to each bit position of three operands.
    fn lookup(&mut self, table: Bits, [a, b, c]: [Bits; 3], width: u32) -> Bits {
        let zero = self.literal(exact(0), width);
        let mut result: Option<Bits> = None;
        for row in 0..8 {
            let mut matches_row = self.equal_to(row & 4 != 0, a);
            for (row_bit, operand) in [(row & 2 != 0, b), (row & 1 != 0, c)] {
                let matches_operand = self.equal_to(row_bit, operand);
                matches_row = self.bits("bvand", &[matches_row, matches_operand], width);
            }
            let is_one = self.bit(table, row);
            let row_result = self.choose(is_one, matches_row, zero);
            result = Some(match result {
                Some(previous) => self.bits("bvor", &[previous, row_result], width),
                None => row_result,
            });
        }
        result.unwrap_or(zero)
    }

    /// Bits that are one where those of `bits` equal `bit`.
    fn equal_to(&mut self, bit: bool, bits: Bits) -> Bits {
        if bit {
            bits
        } else {
            self.bits("bvnot", &[bits], bits.width)
        }
    }

    /// The byte whose index is in the low three bits of a selector, or eight copies of its highest bit if the fourth bit is set.
    fn byte(&mut self, a: Integer, selector: Integer) -> Result<Integer, NotExpressible> {
        let selector = self.resize(selector, 4);
        let index = self.extract(selector, 0, 3);
        let eight = self.constant(exact(8));
        let position = self.mul(Terms::natural(index), eight)?;
        let shifted = self.shift_right(a, position)?;
        let byte = self.resize(shifted, 8);
        let sign = self.bit(byte, 7);
        let (ones, zeros) = (self.literal(exact(-1), 8), self.literal(exact(0), 8));
        let copies = self.choose(sign, ones, zeros);
        let is_replicated = self.bit(selector, 3);
        Ok(Terms::natural(self.choose(is_replicated, copies, byte)))
    }

    /// Whether an operand has a property. Zero counts as normal.
    fn test(
        &mut self,
        property: Modifier,
        number: Term,
        ty: ScalarType,
        bits: Bits,
    ) -> Result<Term, NotExpressible> {
        let unknown = NotExpressible::Function(Function::Test);
        let format = ieee(ty)?;
        let is_nan = self.apply("fp.isNaN", &[number]);
        let is_infinite = self.apply("fp.isInfinite", &[number]);
        let is_not_finite = self.or(is_nan, is_infinite);
        let is_finite = self.not(is_not_finite);
        // Subnormal numbers are tested by the bits, as the number of an operand may have been flushed.
        let magnitude = self.extract(bits, 0, bits.width - 1);
        let least_normal = self.code(1 << format.fraction(), magnitude.width);
        let zero = self.code(0, magnitude.width);
        let is_small = self.apply("bvult", &[magnitude.term, least_normal.term]);
        let is_zero = self.apply("=", &[magnitude.term, zero.term]);
        let is_not_zero = self.not(is_zero);
        let is_subnormal = self.and(is_small, is_not_zero);
        let is_not_subnormal = self.not(is_subnormal);
        Ok(match property {
            Modifier::Finite => is_finite,
            Modifier::Infinite => is_infinite,
            Modifier::Number => self.not(is_nan),
            Modifier::Notanumber => is_nan,
            Modifier::Normal => self.and(is_finite, is_not_subnormal),
            Modifier::Subnormal => is_subnormal,
            _ => return Err(unknown),
        })
    }
}
