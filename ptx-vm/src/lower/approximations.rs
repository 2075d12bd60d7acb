//! Results that the hardware approximates: the exact value is computed in 64 bits and rounded to nearest, which is within the error that the PTX
//! ISA manual allows.

use ptx_isa::{Expr, ExprFunction as Function, ScalarType};

use super::Lowering;
use crate::lanes::{Conversion, Float, Integer, Kind, Place};

impl Lowering<'_> {
    /// The bits of a number of a type that an expression is about.
    pub(super) fn approximation(&mut self, expr: Expr, ty: ScalarType) -> Option<Place> {
        let value = self.in_64_bits(expr)?;
        match ty {
            ScalarType::F64 => self.finished(value, ty),
            ScalarType::F32 | ScalarType::F16 | ScalarType::Bf16 => {
                let kind = Kind::Convert(Conversion::LongToSingle);
                let at = self.code.word(kind, [value.index(), 0, 0]);
                self.finished(Place::Word(at), ty)
            }
            _ => None,
        }
    }

    /// The value of an expression, each operation rounded to 64 bits.
    fn in_64_bits(&mut self, expr: Expr) -> Option<Place> {
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
            Function::Sin => Float::Sin,
            Function::Cos => Float::Cos,
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
    /// A number rounded towards zero to a number of significant bits, the first of which is not stored.
    fn truncated_to(&mut self, bits: Expr, value: Expr) -> Option<Place> {
        let Expr::Integer(bits) = bits else {
            return None;
        };
        let dropped = 53 - u32::try_from(bits).ok().filter(|b| (1..=53).contains(b))?;
        let value = self.in_64_bits(value)?.index();
        let kept = self.code.constant_double(u64::MAX << dropped);
        let kind = Kind::Double(Integer::And);
        Some(Place::Double(self.code.double(kind, [value, kept, kept])))
    }
}
