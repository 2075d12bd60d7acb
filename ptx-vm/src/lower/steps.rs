//! The steps of the machine code around the hardware's tables of 32 bits, which take no subnormal numbers and give none: arguments are scaled,
//! and results are scaled back, which rounds them again. Where scaling back is exact, as for square roots, the result is the same without
//! these steps.

use ptx_isa::internals::Expr;
use ptx_isa::{ExprFunction as Function, Modifier, ScalarType};

use super::Lowering;
use crate::lanes::{Conversion, Float, FloatComparison, Kind, Place};

/// The least normal number, and two powers of two: subnormal numbers are multiplied by the first one.
const LEAST_NORMAL: u32 = 0x0080_0000;
const TWO_TO_24: u32 = 0x4b80_0000;
/// Numbers above this have a subnormal reciprocal; they are multiplied by a quarter.
const TWO_TO_126: u32 = 0x7e80_0000;
const QUARTER: u32 = 0x3e80_0000;
/// Below this, powers of two are subnormal; the square of the power of the half is taken instead.
const LEAST_EXPONENT: f32 = -126.0;

const LESS: FloatComparison = FloatComparison {
    less: true,
    equal: false,
    greater: false,
    unordered: false,
};

impl Lowering<'_> {
    /// The value in 32 bits of an expression that is not computed by one look at a table; `None` for other expressions.
    pub(super) fn in_steps(&mut self, expr: Expr) -> Option<Place> {
        let flushes = self.has(Modifier::Ftz);
        match expr {
            Expr::Call(Function::Flush, [ty, value]) if self.is_single(*ty) => {
                let value = self.steps(*value, true)?;
                Some(self.float(Float::Flush, [value; 3]))
            }
            _ => self.steps(expr, flushes),
        }
    }

    fn steps(&mut self, expr: Expr, flushes: bool) -> Option<Place> {
        let Expr::Call(function, arguments) = expr else {
            return None;
        };
        match (function, arguments) {
            (Function::Div, [Expr::Integer(1), _]) if flushes => None,
            (Function::Div, [Expr::Integer(1), divisor]) => {
                let divisor = self.step_argument(*divisor)?;
                self.reciprocal(divisor)
            }
            (Function::Div, [dividend, divisor]) => {
                let (a, b) = (
                    self.step_argument(*dividend)?,
                    self.step_argument(*divisor)?,
                );
                self.quotient(a, b, flushes)
            }
            (Function::Exp2, [exponent]) if !flushes => {
                let exponent = self.step_argument(*exponent)?;
                self.power(exponent)
            }
            (Function::Log2, [number]) if !flushes => {
                let number = self.step_argument(*number)?;
                self.logarithm(number)
            }
            _ => None,
        }
    }

    fn is_single(&self, ty: Expr) -> bool {
        self.type_argument(ty) == Some(ScalarType::F32)
    }

    /// An argument in 32 bits: an operand, perhaps with zero in the place of subnormal numbers.
    fn step_argument(&mut self, expr: Expr) -> Option<Place> {
        match expr {
            Expr::Call(Function::Flush, [ty, value]) if self.is_single(*ty) => {
                let value = self.step_argument(*value)?;
                Some(self.float(Float::Flush, [value; 3]))
            }
            Expr::Call(Function::Sqrt, _) => None,
            _ => self
                .number(expr, false)
                .filter(|place| matches!(place, Place::Word(_))),
        }
    }

    fn reciprocal(&mut self, divisor: Place) -> Option<Place> {
        let one = self.single(1f32.to_bits());
        let scale = self.scale(divisor, one, true);
        let scaled = self.product(divisor, scale);
        let reciprocal = self.reciprocal_of_normal(scaled);
        Some(self.product(reciprocal, scale))
    }

    /// The dividend multiplied by the reciprocal. Where the PTX ISA manual states no bound for large divisors, these have the reciprocal zero.
    fn quotient(&mut self, dividend: Place, divisor: Place, flushes: bool) -> Option<Place> {
        let computation = self.form.computation()?;
        let large = f64::from(f32::MAX);
        let bounds_large = computation.error_limit(self.slots, |_| large).is_some();
        let one = self.single(1f32.to_bits());
        let scale = if !flushes {
            self.scale(divisor, one, bounds_large)
        } else if bounds_large {
            self.scale_of_large(divisor, one)
        } else {
            one
        };
        let (mut a, mut b) = (dividend, divisor);
        if scale != one {
            (a, b) = (self.product(a, scale), self.product(b, scale));
        }
        if scale != one && flushes {
            a = self.float(Float::Flush, [a; 3]);
        }
        let reciprocal = self.reciprocal_of_normal(b);
        Some(self.product(reciprocal, a))
    }

    fn power(&mut self, exponent: Place) -> Option<Place> {
        let least = self.single(LEAST_EXPONENT.to_bits());
        let is_small = self.is_less(exponent, least);
        let half = self.single(0.5f32.to_bits());
        let half = self.product(exponent, half);
        let exponent = self.choose(is_small, half, exponent);
        let power = self.in_table(Float::Exp2, exponent);
        let square = self.product(power, power);
        Some(self.choose(is_small, square, power))
    }

    fn logarithm(&mut self, number: Place) -> Option<Place> {
        let is_subnormal = self.is_subnormal(number);
        let scale = self.single(TWO_TO_24);
        let scaled = self.product(number, scale);
        let number = self.choose(is_subnormal, scaled, number);
        let logarithm = self.in_table(Float::Log2, number);
        let difference = self.single((-24f32).to_bits());
        let sum = self.float(Float::Add, [logarithm, difference, difference]);
        Some(self.choose(is_subnormal, sum, logarithm))
    }

    /// The factor of a divisor: by more than one if it is subnormal, and perhaps by less if it is large.
    fn scale(&mut self, divisor: Place, one: Place, large: bool) -> Place {
        let is_subnormal = self.is_subnormal(divisor);
        let scaled_up = self.single(TWO_TO_24);
        let scale = self.choose(is_subnormal, scaled_up, one);
        if large {
            self.scale_of_large(divisor, scale)
        } else {
            scale
        }
    }

    /// A quarter for large divisors, otherwise a factor.
    fn scale_of_large(&mut self, divisor: Place, otherwise: Place) -> Place {
        let magnitude = self.float(Float::Abs, [divisor; 3]);
        let limit = self.single(TWO_TO_126);
        let is_large = self.is_less(limit, magnitude);
        let quarter = self.single(QUARTER);
        self.choose(is_large, quarter, otherwise)
    }

    /// The reciprocal of a number that is not subnormal, zero in the place of a subnormal one.
    fn reciprocal_of_normal(&mut self, number: Place) -> Place {
        let one = self.code.constant_double(1f64.to_bits());
        let long = self.code.double(
            Kind::Convert(Conversion::SingleToLong),
            [number.index(), 0, 0],
        );
        let sources = [one, long, long].map(Place::Double);
        let quotient = self.float(Float::Div, sources);
        let rounded = self.rounded_to_single(quotient);
        self.float(Float::Flush, [rounded; 3])
    }

    /// The entry of a table for a number.
    fn in_table(&mut self, operation: Float, number: Place) -> Place {
        let long = self.code.double(
            Kind::Convert(Conversion::SingleToLong),
            [number.index(), 0, 0],
        );
        let value = self.float(operation, [Place::Double(long); 3]);
        let rounded = self.rounded_to_single(value);
        self.float(Float::Flush, [rounded; 3])
    }

    fn rounded_to_single(&mut self, value: Place) -> Place {
        let kind = Kind::Convert(Conversion::LongToSingle);
        Place::Word(self.code.word(kind, [value.index(), 0, 0]))
    }

    fn is_subnormal(&mut self, number: Place) -> u32 {
        let magnitude = self.float(Float::Abs, [number; 3]);
        let least = self.single(LEAST_NORMAL);
        self.is_less(magnitude, least)
    }

    fn is_less(&mut self, a: Place, b: Place) -> u32 {
        let kind = Kind::CompareSingle(LESS);
        self.code.predicate(kind, [a.index(), b.index(), b.index()])
    }

    fn choose(&mut self, condition: u32, then: Place, otherwise: Place) -> Place {
        let sources = [condition, then.index(), otherwise.index()];
        Place::Word(self.code.word(Kind::SelectWord, sources))
    }

    fn product(&mut self, a: Place, b: Place) -> Place {
        self.float(Float::Mul, [a, b, b])
    }

    fn single(&mut self, bits: u32) -> Place {
        Place::Word(self.code.constant_word(bits))
    }
}
