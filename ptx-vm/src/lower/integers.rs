//! Integer expressions.

use ptx_isa::internals::Expr;
use ptx_isa::{ExprFunction as Function, Modifier};

use super::range::{Int, Range, result_range};
use super::{Assigned, Lowering, argument};
use crate::lanes::{Conversion, Integer, Kind, Place, Rounding};

/// The part of an integer that matters.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Need {
    /// The lowest bits, at most 64.
    Low(u16),
    Exact,
}

impl Need {
    /// Whether a word is sufficient for an integer with this range.
    fn fits_word(self, range: Option<Range>) -> Option<bool> {
        Some(match self {
            Self::Low(bits) => bits <= 32,
            Self::Exact => range?.fits(32),
        })
    }
}

impl Lowering<'_> {
    /// The value of an expression that is an integer.
    pub(super) fn integer(&mut self, expr: Expr, need: Need) -> Option<Int> {
        if let Some(value) = self.fixed(expr) {
            return self.constant(value, need);
        }
        match expr {
            Expr::Operand(index) => self.operand_value(index.into()),
            Expr::Memory(index) => {
                let loaded = self.loaded(index)?;
                self.read(loaded.place, loaded.ty)
            }
            Expr::Assigned(index) => match *self.assigned.get(usize::from(index))? {
                Assigned::Expr(expr) => self.integer(expr, need),
                Assigned::Integer(int) => Some(int),
                _ => None,
            },
            Expr::Carry => {
                let carry = [super::Code::CARRY, 0, 0];
                let word = self.code.word(Kind::WordOfPredicate, carry);
                Some(Int::exact(Place::Word(word), Range::new(0, 1)))
            }
            Expr::If([condition, then, otherwise]) => match self.decided(*condition) {
                Some(true) => self.integer(*then, need),
                Some(false) => self.integer(*otherwise, need),
                None => self.choice(*condition, *then, *otherwise, need),
            },
            Expr::Call(function, arguments) => self.function(function, arguments, need),
            _ => None,
        }
    }

    fn constant(&mut self, value: i128, need: Need) -> Option<Int> {
        let range = Range::new(value, value);
        Some(match need {
            _ if range.fits(32) => {
                let index = self.code.constant_word(value as u32);
                Int::exact(Place::Word(index), range)
            }
            _ if range.fits(64) => {
                let index = self.code.constant_double(value as u64);
                Int::exact(Place::Double(index), range)
            }
            Need::Low(_) => Int::low(Place::Double(self.code.constant_double(value as u64))),
            Need::Exact => return None,
        })
    }

    /// The value of an operand, or of its element.
    fn operand_value(&mut self, index: usize) -> Option<Int> {
        let ty = self.operand_type(index);
        let place = self.operand_place(index)?;
        let Some(ty) = ty else {
            // A constant without a type.
            return match place {
                Place::Word(_) => Some(Int::exact(place, Range::of_bits(32, false))),
                Place::Double(_) => Some(Int::exact(place, Range::of_bits(64, false))),
                _ => None,
            };
        };
        self.read(place, ty)
    }

    /// The integer of a type that a value is; of a packed one, its element.
    pub(super) fn read(&mut self, place: Place, ty: ptx_isa::ScalarType) -> Option<Int> {
        let element = ty.element().unwrap_or(ty);
        if element.is_float() {
            return None;
        }
        let (range, signed) = (Range::of_type(element)?, Self::is_signed(element));
        let place = match self.lane {
            Some(lane) if ty.elements() > 1 => self.element_bits(place, element, lane)?,
            _ => place,
        };
        let word = match place {
            Place::Double(double) if element.bits() > 32 => {
                return Some(Int::exact(Place::Double(double), range));
            }
            Place::Double(double) => Place::Word(self.code.word(Kind::Narrow, [double, 0, 0])),
            Place::Word(_) if element.bits() <= 32 => place,
            _ => return None,
        };
        // Bits above the width of a register are zero.
        let clean = element.bits() == 32 || !signed && self.code.width(word) <= element.bits();
        let word = if clean {
            word
        } else {
            self.code.extend(word, element.bits(), signed)
        };
        Some(Int::exact(word, range))
    }

    fn choice(&mut self, condition: Expr, then: Expr, otherwise: Expr, need: Need) -> Option<Int> {
        // An undefined value may be any.
        match (then, otherwise) {
            (Expr::Undefined, defined) | (defined, Expr::Undefined) => {
                return self.integer(defined, need);
            }
            _ => {}
        }
        let condition = self.condition(condition)?;
        let (then, otherwise) = (self.integer(then, need)?, self.integer(otherwise, need)?);
        let range = match (then.range, otherwise.range) {
            (Some(a), Some(b)) => Some(a.join(b)).filter(|r| r.fits(64)),
            _ => None,
        };
        if range.is_none() && need == Need::Exact {
            return None;
        }
        let words = match (range, need) {
            (Some(range), _) => range.fits(32),
            (None, Need::Low(bits)) => bits <= 32,
            (None, Need::Exact) => false,
        };
        let (b, c) = (
            self.as_width(then, words)?.index(),
            self.as_width(otherwise, words)?.index(),
        );
        let place = if words {
            Place::Word(self.code.word(Kind::SelectWord, [condition, b, c]))
        } else {
            Place::Double(self.code.double(Kind::SelectDouble, [condition, b, c]))
        };
        Some(Int { place, range })
    }

    fn function(
        &mut self,
        function: Function,
        arguments: &'static [Expr],
        need: Need,
    ) -> Option<Int> {
        match function {
            Function::Add
            | Function::Sub
            | Function::Mul
            | Function::And
            | Function::Or
            | Function::Xor => self.modular(
                function,
                argument(arguments, 0)?,
                argument(arguments, 1)?,
                need,
            ),
            Function::Not | Function::Negate => {
                self.modular_unary(function, argument(arguments, 0)?, need)
            }
            Function::ShiftLeft => {
                self.shift_left(argument(arguments, 0)?, argument(arguments, 1)?, need)
            }
            Function::ShiftRight => {
                self.shift_right(argument(arguments, 0)?, argument(arguments, 1)?, need)
            }
            Function::Min | Function::Max | Function::Div | Function::Rem => {
                self.exact_binary(function, argument(arguments, 0)?, argument(arguments, 1)?)
            }
            Function::Abs | Function::Popcount | Function::BitLength => {
                self.exact_unary(function, argument(arguments, 0)?)
            }
            Function::Reverse => {
                let bits = self.type_argument(argument(arguments, 0)?)?.bits();
                let value = self.integer(argument(arguments, 1)?, Need::Low(bits))?;
                let place = match bits {
                    32 => self.as_word(value)?,
                    64 => self.as_double(value)?,
                    _ => return None,
                };
                let place = self.apply(Integer::Reverse, place, place);
                Some(Int::exact(place, Range::of_bits(bits, false)))
            }
            Function::Unsigned => {
                let bits = self.type_argument(argument(arguments, 0)?)?.bits();
                let value = self.integer(argument(arguments, 1)?, Need::Low(bits))?;
                self.truncated(value, bits, false)
            }
            Function::Ones => {
                let count = self.integer(argument(arguments, 0)?, Need::Exact)?;
                let range = count.range.filter(|r| r.min >= 0 && r.max <= 64)?;
                let count = self.as_double(count)?.index();
                let one = self.code.constant_double(1);
                let power = (self.code).double(Kind::Double(Integer::ShiftLeft), [one, count, 0]);
                let mask = (self.code).double(Kind::Double(Integer::Sub), [power, one, 0]);
                let max = (1i128 << range.max) - 1;
                Some(Int::exact(Place::Double(mask), Range::new(0, max)))
            }
            Function::Field => self.field(arguments),
            Function::Convert => self.convert(argument(arguments, 0)?, argument(arguments, 1)?),
            Function::Lookup => self.lookup(arguments, need),
            _ => None,
        }
    }

    /// The integer of a type that is nearest to a number, or an integer.
    fn convert(&mut self, ty: Expr, a: Expr) -> Option<Int> {
        let ty = self.type_argument(ty)?;
        let range = Range::of_type(ty)?;
        let value = match self.number(a, true) {
            Some(number) => {
                let (signed, rounding) = (range.is_signed(), self.integer_rounding()?);
                let kind = Kind::Convert(Conversion::LongToDouble { signed, rounding });
                let double = self.code.double(kind, [number.index(), 0, 0]);
                Int::exact(Place::Double(double), Range::of_bits(64, signed))
            }
            None => self.integer(a, Need::Exact)?,
        };
        let value = self.bounded(value, range.min, false)?;
        self.bounded(value, range.max, true)
    }

    /// The rounding of a number to an integer.
    fn integer_rounding(&self) -> Option<Rounding> {
        let roundings = [
            (Modifier::Rni, Rounding::Nearest),
            (Modifier::Rzi, Rounding::Zero),
            (Modifier::Rmi, Rounding::Down),
            (Modifier::Rpi, Rounding::Up),
        ];
        let mut roundings = roundings.into_iter();
        let rounding = roundings.find(|(modifier, _)| self.has(*modifier));
        rounding.map(|(_, rounding)| rounding)
    }

    /// Bits of an integer, with the sign of a type.
    fn field(&mut self, arguments: &'static [Expr]) -> Option<Int> {
        let [ty, a, position, length] = *arguments else {
            return None;
        };
        let signed = Self::is_signed(self.type_argument(ty)?);
        let exact = [a, position, length].map(|e| self.integer(e, Need::Exact));
        let [Some(a), Some(position), Some(count)] = exact else {
            return None;
        };
        if position.range?.min < 0 || count.range?.min < 0 {
            return None;
        }
        let arithmetic = a.range?.is_signed();
        let a = self.as_double(a)?;
        let position = self.as_double(position)?;
        let count = self.as_double(count)?;
        let shifted = self.apply(Integer::ShiftRight { signed: arithmetic }, a, position);
        // The field is moved to the highest bits and back.
        let all = Place::Double(self.code.constant_double(64));
        let count = self.apply(Integer::Min { signed: false }, count, all);
        let unused = self.apply(Integer::Sub, all, count);
        let high = self.apply(Integer::ShiftLeft, shifted, unused);
        let place = self.apply(Integer::ShiftRight { signed }, high, unused);
        let bits = self.fixed(length).and_then(|n| u16::try_from(n).ok());
        let bits = bits.filter(|n| (1..64).contains(n)).unwrap_or(64);
        Some(Int::exact(place, Range::of_bits(bits, signed)))
    }

    fn lookup(&mut self, arguments: &'static [Expr], need: Need) -> Option<Int> {
        let [table, a, b, c] = *arguments else {
            return None;
        };
        let table = self.fixed(table).or_else(|| self.constant_operand(table))?;
        let Need::Low(bits) = need else { return None };
        let words = bits <= 32;
        let mut sources = [0; 3];
        for (source, expr) in sources.iter_mut().zip([a, b, c]) {
            let value = self.integer(expr, need)?;
            *source = self.as_width(value, words)?.index();
        }
        let place = if words {
            Place::Word(self.code.word(Kind::Word(Integer::Lookup), sources))
        } else {
            Place::Double(self.code.double(Kind::Double(Integer::Lookup), sources))
        };
        self.code.ops.last_mut()?.imm = table as u8;
        Some(Int::low(place))
    }

    /// The value of an operand that is a constant of the instruction.
    fn constant_operand(&self, expr: Expr) -> Option<i128> {
        let Expr::Operand(index) = expr else {
            return None;
        };
        let place = self.operand_place(index.into())?;
        let constant = !self.code.is_temporary(place) && self.code.is_constant(place);
        constant.then(|| self.code.initial.get(place, 0) as i128)
    }

    /// An operation whose low bits depend on the low bits of its arguments alone.
    fn modular(&mut self, function: Function, a: Expr, b: Expr, need: Need) -> Option<Int> {
        let operation = match function {
            Function::Add => Integer::Add,
            Function::Sub => Integer::Sub,
            Function::Mul => Integer::Mul,
            Function::And => Integer::And,
            Function::Or => Integer::Or,
            _ => Integer::Xor,
        };
        let (a, b) = (self.integer(a, need)?, self.integer(b, need)?);
        let range = match (a.range, b.range) {
            (Some(a), Some(b)) => result_range(function, a, b).filter(|r| r.fits(64)),
            _ => None,
        };
        let words = need.fits_word(range)?;
        let (a, b) = (self.as_width(a, words)?, self.as_width(b, words)?);
        let place = self.apply(operation, a, b);
        let range = range.filter(|r| r.fits(self.code.width(place)));
        Some(Int { place, range })
    }

    fn modular_unary(&mut self, function: Function, a: Expr, need: Need) -> Option<Int> {
        let a = self.integer(a, need)?;
        let range = a.range.map(|r| match function {
            Function::Not => Range::new(!r.max, !r.min),
            _ => Range::new(-r.max, -r.min),
        });
        let range = range.filter(|r| r.fits(64));
        let words = need.fits_word(range)?;
        let operation = match function {
            Function::Not => Integer::Not,
            _ => Integer::Negate,
        };
        let a = self.as_width(a, words)?;
        let place = self.apply(operation, a, a);
        let range = range.filter(|r| r.fits(self.code.width(place)));
        Some(Int { place, range })
    }

    fn shift_left(&mut self, a: Expr, n: Expr, need: Need) -> Option<Int> {
        let n = self.integer(n, Need::Exact)?;
        let count = n.range.filter(|r| r.min >= 0)?;
        let a = self.integer(a, need)?;
        let range = match (a.range, count.max) {
            (Some(a), ..=63) => {
                let range = a.corners(count, |a, n| a.checked_mul(1i128.checked_shl(n as u32)?));
                range.filter(|range| range.fits(64))
            }
            _ => None,
        };
        let words = need.fits_word(range)?;
        let n = self.shift_count(n, words)?;
        let a = self.as_width(a, words)?;
        let place = self.apply(Integer::ShiftLeft, a, n);
        let range = range.filter(|r| r.fits(self.code.width(place)));
        Some(Int { place, range })
    }

    /// The number of bits of a shift, in the width of the value.
    fn shift_count(&mut self, n: Int, words: bool) -> Option<Place> {
        match (words, n.place) {
            (true, Place::Double(double)) => {
                let max_count = self.code.constant_double(64);
                let kind = Kind::Double(Integer::Min { signed: false });
                let count = self.code.double(kind, [double, max_count, 0]);
                Some(Place::Word(self.code.word(Kind::Narrow, [count, 0, 0])))
            }
            _ => self.as_width(n, words),
        }
    }

    fn shift_right(&mut self, a: Expr, n: Expr, need: Need) -> Option<Int> {
        // The bits above those that matter after the shift do not matter before it.
        if let (Some(count), Need::Low(bits)) = (self.fixed(n), need)
            && (0..=64).contains(&count)
        {
            if count == 64
                && let Expr::Call(Function::Mul, &[x, y]) = a
            {
                return self.high_product(x, y);
            }
            let end = u16::try_from(count).ok()? + bits;
            if end <= 64
                && let Some(value) = self.integer(a, Need::Low(end))
                && value.range.is_none_or(|r| !r.fits(64))
            {
                let words = end <= 32;
                let place = self.as_width(value, words)?;
                let n = self.constant(count, Need::Exact)?;
                let n = self.as_width(n, words)?;
                let kind = Integer::ShiftRight { signed: false };
                return Some(Int::low(self.apply(kind, place, n)));
            }
        }
        let n = self.integer(n, Need::Exact)?;
        let count = n.range.filter(|r| r.min >= 0)?;
        let a = self.integer(a, Need::Exact)?;
        let range = a.range?;
        let words = range.fits(32);
        let n = self.shift_count(n, words)?;
        let place = self.as_width(a, words)?;
        let signed = range.is_signed();
        let place = self.apply(Integer::ShiftRight { signed }, place, n);
        Some(Int {
            place,
            range: range.corners(count, |a, n| Some(a >> n.min(127))),
        })
    }

    /// The high half of the product of two 64-bit integers.
    fn high_product(&mut self, a: Expr, b: Expr) -> Option<Int> {
        let (a, b) = (self.integer(a, Need::Exact)?, self.integer(b, Need::Exact)?);
        let signed = a.range?.is_signed();
        if signed != b.range?.is_signed() {
            return None;
        }
        let (a, b) = (self.as_double(a)?, self.as_double(b)?);
        let place = self.apply(Integer::MulHigh { signed }, a, b);
        Some(Int::exact(place, Range::of_bits(64, signed)))
    }

    fn exact_binary(&mut self, function: Function, a: Expr, b: Expr) -> Option<Int> {
        let (a, b) = (self.integer(a, Need::Exact)?, self.integer(b, Need::Exact)?);
        let (left, right) = (a.range?, b.range?);
        let joined = left.join_in_double(right)?;
        let (words, signed) = (joined.fits(32), joined.is_signed());
        let (operation, range) = match function {
            Function::Min => (
                Integer::Min { signed },
                Range::new(left.min.min(right.min), left.max.min(right.max)),
            ),
            Function::Max => (
                Integer::Max { signed },
                Range::new(left.min.max(right.min), left.max.max(right.max)),
            ),
            // Division by zero gives all ones, and the least integer has no negative: both as the width has it.
            Function::Div => (Integer::Div { signed }, Range::of_bits(64, signed)),
            _ => (Integer::Rem { signed }, left.join(right)),
        };
        let (a, b) = (self.as_width(a, words)?, self.as_width(b, words)?);
        let place = self.apply(operation, a, b);
        let width = self.code.width(place);
        let range = if range.fits(width) {
            range
        } else {
            Range::of_bits(width, signed)
        };
        Some(Int::exact(place, range))
    }

    fn exact_unary(&mut self, function: Function, a: Expr) -> Option<Int> {
        let a = self.integer(a, Need::Exact)?;
        let range = a.range?;
        let words = range.fits(32);
        let place = self.as_width(a, words)?;
        let (operation, range) = match function {
            Function::Abs => {
                let magnitude = range.min.unsigned_abs().max(range.max.unsigned_abs());
                (Integer::Abs, Range::new(0, i128::try_from(magnitude).ok()?))
            }
            _ if range.is_signed() => return None,
            Function::Popcount => (Integer::Popcount, Range::new(0, 64)),
            _ => (Integer::BitLength, Range::new(0, 64)),
        };
        match function {
            Function::Abs if !self.is_signed_range(a) => Some(a),
            _ => Some(Int::exact(self.apply(operation, place, place), range)),
        }
    }

    fn is_signed_range(&self, value: Int) -> bool {
        value.range.is_some_and(Range::is_signed)
    }

    /// An operation on two places of one width.
    fn apply(&mut self, operation: Integer, a: Place, b: Place) -> Place {
        let sources = [a.index(), b.index(), b.index()];
        match a {
            Place::Double(_) => Place::Double(self.code.double(Kind::Double(operation), sources)),
            _ => Place::Word(self.code.word(Kind::Word(operation), sources)),
        }
    }

    /// The nearest integer that is not less, or not greater, than a bound.
    pub(super) fn bounded(&mut self, value: Int, bound: i128, is_upper: bool) -> Option<Int> {
        let range = value.range?;
        let limit = Range::new(bound, bound);
        let inside = if is_upper {
            range.max <= bound
        } else {
            bound <= range.min
        };
        if inside {
            return Some(value);
        }
        let joined = range.join_in_double(limit)?;
        let (words, signed) = (joined.fits(32), joined.is_signed());
        let bound_value = self.constant(bound, Need::Exact)?;
        let (a, b) = (
            self.as_width(value, words)?,
            self.as_width(bound_value, words)?,
        );
        let (operation, range) = if is_upper {
            (
                Integer::Min { signed },
                Range::new(range.min.min(bound), range.max.min(bound)),
            )
        } else {
            (
                Integer::Max { signed },
                Range::new(range.min.max(bound), range.max.max(bound)),
            )
        };
        Some(Int::exact(self.apply(operation, a, b), range))
    }

    /// The integer of a type that the lowest bits are.
    pub(super) fn truncated(&mut self, value: Int, bits: u16, signed: bool) -> Option<Int> {
        let all = Range::of_bits(bits, signed);
        let range = value.range;
        if range.is_some_and(|r| all.min <= r.min && r.max <= all.max) && bits <= 64 {
            return match bits {
                ..=32 => Some(Int::exact(self.as_word(value)?, range?)),
                _ => Some(Int::exact(self.as_double(value)?, range?)),
            };
        }
        let place = match bits {
            64 => self.as_double(value)?,
            32 => self.as_word(value)?,
            ..32 => {
                let word = self.as_word(value)?;
                self.code.extend(word, bits, signed)
            }
            _ => return None,
        };
        Some(Int::exact(place, all))
    }

    pub(super) fn as_width(&mut self, value: Int, words: bool) -> Option<Place> {
        if words {
            self.as_word(value)
        } else {
            self.as_double(value)
        }
    }

    /// The lowest 32 bits.
    pub(super) fn as_word(&mut self, value: Int) -> Option<Place> {
        match value.place {
            Place::Word(_) => Some(value.place),
            Place::Double(double) => {
                Some(Place::Word(self.code.word(Kind::Narrow, [double, 0, 0])))
            }
            _ => None,
        }
    }

    /// The lowest 64 bits; a word is extended by its sign.
    pub(super) fn as_double(&mut self, value: Int) -> Option<Place> {
        match value.place {
            Place::Double(_) => Some(value.place),
            Place::Word(word) => {
                let signed = value.range?.is_signed();
                Some(Place::Double(
                    self.code.double(Kind::Widen, [word, 0, signed.into()]),
                ))
            }
            _ => None,
        }
    }
}
