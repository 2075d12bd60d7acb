//! Results that the hardware approximates: the exact value is computed in 64 bits and rounded to nearest, which is within the error that the PTX
//! ISA manual allows. The steps of the machine code around the hardware's tables are those of GPUs (`steps.rs`).

use ptx_isa::internals::Expr;
use ptx_isa::{ExprFunction as Function, ScalarType};

use super::Lowering;
use crate::lanes::{Conversion, Float, Integer, Kind, Place};

/// One divided by two pi, in 32 bits, as the machine code has it.
const TURNS: u32 = 0x3e22_f983;

impl Lowering<'_> {
    /// The bits of a number of a type that an expression is about.
    pub(super) fn approximation(&mut self, expr: Expr, ty: ScalarType) -> Option<Place> {
        if ty == ScalarType::F32
            && let Some(value) = self.in_steps(expr)
        {
            return self.finished(value, ty);
        }
        let value = self.in_64_bits(expr)?;
        match ty {
            ScalarType::F64 => self.finished(value, ty),
            ScalarType::F32 | ScalarType::F16 | ScalarType::Bf16 => {
                let kind = Kind::Convert(Conversion::LongToSingle);
                let word = self.code.word(kind, [value.index(), 0, 0]);
                self.finished(Place::Word(word), ty)
            }
            _ => None,
        }
    }

    /// The value of an expression, each operation rounded to 64 bits.
    pub(super) fn in_64_bits(&mut self, expr: Expr) -> Option<Place> {
        if let Some(place) = self.number(expr, true) {
            return Some(place);
        }
        let Expr::Call(function, arguments) = expr else {
            return None;
        };
        let operation = match function {
            Function::Add => Float::Add,
            Function::Sub => Float::Sub,
            Function::Mul => Float::Mul,
            Function::Div => Float::Div,
            Function::Sqrt => Float::Sqrt,
            Function::Exp2 => Float::Exp2,
            Function::Log2 => Float::Log2,
            Function::Sin | Function::Cos => {
                let turns = self.turns(*arguments.first()?)?;
                let operation = match function {
                    Function::Sin => Float::Sin,
                    _ => Float::Cos,
                };
                return Some(self.float(operation, [turns; 3]));
            }
            Function::Tanh => Float::Tanh,
            Function::Flush => return self.flushed_as(*arguments.first()?, *arguments.get(1)?),
            Function::Truncate => {
                return self.truncated_to(*arguments.first()?, *arguments.get(1)?);
            }
            _ => return None,
        };
        let first = self.in_64_bits(*arguments.first()?)?;
        let second = match arguments.get(1) {
            Some(argument) => self.in_64_bits(*argument)?,
            None => first,
        };
        Some(self.float(operation, [first, second, second]))
    }

    /// A number, or zero where it is subnormal in a type of 32 bits.
    fn flushed_as(&mut self, ty: Expr, value: Expr) -> Option<Place> {
        let value = self.in_64_bits(value)?;
        match self.type_argument(ty)? {
            ScalarType::F32 => {}
            ScalarType::F64 => return Some(self.float(Float::Flush, [value; 3])),
            _ => return Some(value),
        }
        let kind = Kind::Convert(Conversion::LongToSingle);
        let single = Place::Word(self.code.word(kind, [value.index(), 0, 0]));
        let single = self.float(Float::Flush, [single; 3]);
        let kind = Kind::Convert(Conversion::SingleToLong);
        Some(Place::Double(
            self.code.double(kind, [single.index(), 0, 0]),
        ))
    }

    /// An angle as a number of turns. The hardware rounds the product towards zero.
    fn turns(&mut self, angle: Expr) -> Option<Place> {
        let angle = self.in_64_bits(angle)?;
        let factor = f64::from(f32::from_bits(TURNS)).to_bits();
        let factor = Place::Double(self.code.constant_double(factor));
        let product = self.float(Float::Mul, [angle, factor, factor]);
        self.without_low_bits(product, f32::MANTISSA_DIGITS)
    }

    /// A number rounded towards zero to a number of significant bits, the first of which is not stored.
    fn truncated_to(&mut self, bits: Expr, value: Expr) -> Option<Place> {
        let Expr::Integer(bits) = bits else {
            return None;
        };
        let value = self.in_64_bits(value)?;
        self.without_low_bits(value, u32::try_from(bits).ok()?)
    }

    fn without_low_bits(&mut self, value: Place, bits: u32) -> Option<Place> {
        let dropped = 53 - Some(bits).filter(|b| (1..=53).contains(b))?;
        let kept = self.code.constant_double(u64::MAX << dropped);
        let kind = Kind::Double(Integer::And);
        Some(Place::Double(
            self.code.double(kind, [value.index(), kept, kept]),
        ))
    }
}
