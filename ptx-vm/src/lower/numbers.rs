//! Floating-point expressions.
//!
//! The numbers of an expression are computed in 32 or 64 bits: exactly, but for its outermost operation, which rounds.

use ptx_isa::internals::Expr;
use ptx_isa::{ExprFunction as Function, Modifier, ScalarType, TypeKind};

use super::{Assigned, Lowering, argument};
use crate::lanes::{Conversion, FLUSH, Float, Integer, Kind, Place};

impl Lowering<'_> {
    /// The value of an expression as a number of a type, rounded to nearest. The place has the bits of the type.
    pub(super) fn rounded(&mut self, expr: Expr, ty: ScalarType) -> Option<Place> {
        let element = ty.element().unwrap_or(ty);
        if let Some(bits) = self.copied_number(expr, ty) {
            return Some(bits);
        }
        if let Expr::If([condition, then, otherwise]) = expr {
            return match self.decided(*condition) {
                Some(true) => self.rounded(*then, ty),
                Some(false) => self.rounded(*otherwise, ty),
                None => self.number_choice(*condition, *then, *otherwise, ty),
            };
        }
        if let Expr::Assigned(index) = expr
            && let Assigned::Expr(expr) = *self.assigned.get(usize::from(index))?
        {
            return self.rounded(expr, ty);
        }
        let approximate = self.form.computation().is_some_and(|c| c.is_approximate());
        if approximate {
            return self.approximation(expr, element);
        }
        if !self.rounds_to_nearest() {
            return None;
        }
        let long = element == ScalarType::F64;
        let is_supported = matches!(
            element,
            ScalarType::F16 | ScalarType::Bf16 | ScalarType::F32 | ScalarType::F64
        );
        if !is_supported {
            return None;
        }
        let value = self.operation(expr, element, long)?;
        self.finished(value, element)
    }

    fn rounds_to_nearest(&self) -> bool {
        let other = [
            Modifier::Rz,
            Modifier::Rm,
            Modifier::Rp,
            Modifier::Rna,
            Modifier::Rs,
            Modifier::Satfinite,
        ];
        !other.into_iter().any(|m| self.has(m))
    }

    /// An operand that is assigned as it is.
    fn copied_number(&mut self, expr: Expr, ty: ScalarType) -> Option<Place> {
        let (from, place) = match expr {
            Expr::Operand(index) => (
                self.operand_type(index.into())?,
                self.operand_place(index.into())?,
            ),
            Expr::Memory(index) => {
                let loaded = self.loaded(index)?;
                (loaded.ty, loaded.place)
            }
            Expr::Assigned(index) => match *self.assigned.get(usize::from(index))? {
                Assigned::Bits(ty, place) => (ty, place),
                _ => return None,
            },
            _ => return None,
        };
        if from.element().unwrap_or(from) != ty {
            return None;
        }
        match self.lane {
            Some(lane) if from.elements() > 1 => self.element_bits(place, ty, lane),
            _ => Some(place),
        }
    }

    fn number_choice(
        &mut self,
        condition: Expr,
        then: Expr,
        otherwise: Expr,
        ty: ScalarType,
    ) -> Option<Place> {
        // An undefined value may be any.
        match (then, otherwise) {
            (Expr::Undefined, defined) | (defined, Expr::Undefined) => {
                return self.rounded(defined, ty);
            }
            _ => {}
        }
        let condition = self.condition(condition)?;
        let (b, c) = (self.rounded(then, ty)?, self.rounded(otherwise, ty)?);
        let sources = [condition, b.index(), c.index()];
        match (b, c) {
            (Place::Word(_), Place::Word(_)) => {
                Some(Place::Word(self.code.word(Kind::SelectWord, sources)))
            }
            (Place::Double(_), Place::Double(_)) => {
                Some(Place::Double(self.code.double(Kind::SelectDouble, sources)))
            }
            _ => None,
        }
    }

    /// The outermost operation, whose result is rounded to 32 or 64 bits.
    fn operation(&mut self, expr: Expr, ty: ScalarType, long: bool) -> Option<Place> {
        let Expr::Call(function, arguments) = expr else {
            return self.number(expr, long);
        };
        let half = ty.bits() < 32;
        match function {
            Function::Add | Function::Sub if !half => {
                let (a, b) = (argument(arguments, 0)?, argument(arguments, 1)?);
                if let Expr::Call(Function::Mul, &[x, y]) = a {
                    let (x, y) = (self.number(x, long)?, self.number(y, long)?);
                    let mut z = self.number(b, long)?;
                    if function == Function::Sub {
                        z = self.float(Float::Negate, [z, z, z]);
                    }
                    return Some(self.float(Float::MulAdd, [x, y, z]));
                }
                self.binary(function, a, b, long)
            }
            Function::Add | Function::Sub | Function::Mul => self.binary(
                function,
                argument(arguments, 0)?,
                argument(arguments, 1)?,
                long,
            ),
            Function::Div if !half => self.binary(
                function,
                argument(arguments, 0)?,
                argument(arguments, 1)?,
                long,
            ),
            Function::Sqrt if !half => {
                let a = self.number(argument(arguments, 0)?, long)?;
                Some(self.float(Float::Sqrt, [a, a, a]))
            }
            Function::Number => self.converted(argument(arguments, 0)?, long, half),
            _ => self.number(expr, long),
        }
    }

    fn binary(&mut self, function: Function, a: Expr, b: Expr, long: bool) -> Option<Place> {
        let (a, b) = (self.number(a, long)?, self.number(b, long)?);
        let operation = match function {
            Function::Add => Float::Add,
            Function::Sub => Float::Sub,
            Function::Mul => Float::Mul,
            _ => Float::Div,
        };
        Some(self.float(operation, [a, b, b]))
    }

    /// The number that an integer or a number of another format is, rounded to 32 or 64 bits.
    fn converted(&mut self, expr: Expr, long: bool, half: bool) -> Option<Place> {
        if let Some(value) = self.number(expr, long) {
            return Some(value);
        }
        if self.is_long(expr) && !half {
            let Place::Double(index) = self.number(expr, true)? else {
                return None;
            };
            let kind = Kind::Convert(Conversion::LongToSingle);
            return Some(Place::Word(self.code.word(kind, [index, 0, 0])));
        }
        let value = self.integer(expr, super::Need::Exact)?;
        let range = value.range?;
        // Rounding twice must not differ from rounding once.
        if half && !range.fits(16) {
            return None;
        }
        let signed = range.is_signed();
        let index = self.as_double(value)?.index();
        Some(if long {
            let kind = Kind::Convert(Conversion::DoubleToLong { signed });
            Place::Double(self.code.double(kind, [index, 0, 0]))
        } else {
            let kind = Kind::Convert(Conversion::DoubleToSingle { signed });
            Place::Word(self.code.word(kind, [index, 0, 0]))
        })
    }

    /// The number that an expression is exactly, in 32 or 64 bits; `None` if that is not possible.
    pub(super) fn number(&mut self, expr: Expr, long: bool) -> Option<Place> {
        match expr {
            Expr::Integer(value) if value.unsigned_abs() < 1 << 20 => Some(if long {
                Place::Double(self.code.constant_double((value as f64).to_bits()))
            } else {
                Place::Word(self.code.constant_word((value as f32).to_bits()))
            }),
            Expr::Operand(index) => {
                let ty = self.operand_type(index.into())?;
                let place = self.operand_place(index.into())?;
                self.exact(place, ty, long)
            }
            Expr::Memory(index) => {
                let loaded = self.loaded(index)?;
                self.exact(loaded.place, loaded.ty, long)
            }
            Expr::Assigned(index) => match *self.assigned.get(usize::from(index))? {
                Assigned::Expr(expr) => self.number(expr, long),
                Assigned::Bits(ty, place) => self.exact(place, ty, long),
                _ => None,
            },
            Expr::If([condition, then, otherwise]) => {
                if self.decided(*condition)? {
                    self.number(*then, long)
                } else {
                    self.number(*otherwise, long)
                }
            }
            Expr::Call(function, arguments) => {
                let mut sources = [Place::Word(0); 3];
                let operation = match function {
                    Function::Abs => Float::Abs,
                    Function::Negate => Float::Negate,
                    Function::Min => Float::Min {
                        nan: self.has(Modifier::NaN),
                    },
                    Function::Max => Float::Max {
                        nan: self.has(Modifier::NaN),
                    },
                    _ => return None,
                };
                for (source, argument) in sources.iter_mut().zip(arguments) {
                    *source = self.number(*argument, long)?;
                }
                if let [_] = arguments {
                    sources[1] = sources[0];
                }
                sources[2] = sources[0];
                Some(self.float(operation, sources))
            }
            _ => None,
        }
    }

    /// Whether an expression has operands of 64 bits.
    pub(super) fn is_long(&self, expr: Expr) -> bool {
        match expr {
            Expr::Operand(index) => self.operand_type(index.into()) == Some(ScalarType::F64),
            Expr::Assigned(index) => match self.assigned.get(usize::from(index)) {
                Some(Assigned::Expr(expr)) => self.is_long(*expr),
                Some(Assigned::Bits(ty, _)) => *ty == ScalarType::F64,
                _ => false,
            },
            Expr::Memory(index) => self.loaded(index).is_some_and(|l| l.ty == ScalarType::F64),
            Expr::Call(_, arguments) => arguments.iter().any(|a| self.is_long(*a)),
            _ => false,
        }
    }

    /// A number of a type in 32 or 64 bits, where these represent all numbers of the type.
    fn exact(&mut self, place: Place, ty: ScalarType, long: bool) -> Option<Place> {
        let element = ty.element().unwrap_or(ty);
        let place = match self.lane {
            Some(lane) if ty.elements() > 1 => self.element_bits(place, element, lane)?,
            _ => place,
        };
        let single = match (element, place) {
            (ScalarType::F64, Place::Double(_)) => return long.then_some(place),
            (ScalarType::F32, Place::Word(_)) => self.flushed(place, element),
            (ScalarType::F16, Place::Word(word)) => {
                let kind = Kind::Convert(Conversion::HalfToSingle);
                let single = self.code.word(kind, [word, 0, 0]);
                self.flushed(Place::Word(single), element)
            }
            (ScalarType::Bf16, Place::Word(word)) => {
                let kind = Kind::Convert(Conversion::BrainToSingle);
                let single = self.code.word(kind, [word, 0, 0]);
                self.flushed(Place::Word(single), element)
            }
            _ => return None,
        };
        match (long, single) {
            (true, Place::Word(word)) => {
                let kind = Kind::Convert(Conversion::SingleToLong);
                Some(Place::Double(self.code.double(kind, [word, 0, 0])))
            }
            _ => Some(single),
        }
    }

    /// With `.ftz`, zero for subnormal numbers.
    fn flushed(&mut self, place: Place, ty: ScalarType) -> Place {
        if !self.has(Modifier::Ftz) {
            return place;
        }
        match ty {
            ScalarType::F32 => self.float(Float::Flush, [place; 3]),
            ScalarType::F16 | ScalarType::Bf16 => {
                let mut types =
                    (0..self.form.operands().len()).filter_map(|index| self.operand_type(index));
                let is_mixed = types.any(|ty| ty.element().unwrap_or(ty) == ScalarType::F32);
                if is_mixed {
                    place
                } else {
                    self.flush_half(place, ty)
                }
            }
            _ => place,
        }
    }

    /// Zero for numbers in 32 bits that are subnormal as numbers of 16 bits.
    fn flush_half(&mut self, place: Place, ty: ScalarType) -> Place {
        if ty == ScalarType::Bf16 {
            return self.float(Float::Flush, [place; 3]);
        }
        let (sign, least) = (
            self.code.constant_word(0x8000_0000),
            self.code.constant_word(0x3880_0000),
        );
        let magnitude = (self.code).word(Kind::Single(Float::Abs), [place.index(); 3]);
        let comparison = crate::lanes::Comparison::Less { signed: false };
        let tiny = self
            .code
            .predicate(Kind::CompareWord(comparison), [magnitude, least, least]);
        let zero = (self.code).word(Kind::Word(Integer::And), [place.index(), sign, sign]);
        Place::Word(
            self.code
                .word(Kind::SelectWord, [tiny, zero, place.index()]),
        )
    }

    /// The bits of a type of a number in 32 or 64 bits, after `.ftz`, `.sat` and `.relu`.
    pub(super) fn finished(&mut self, value: Place, ty: ScalarType) -> Option<Place> {
        let mut value = value;
        if ty == ScalarType::F32 && !self.flushes_itself(value) {
            value = self.flushed(value, ty);
        }
        if self.has(Modifier::Sat) {
            value = self.float(Float::Saturate, [value; 3]);
        }
        if self.has(Modifier::Relu) {
            value = self.float(Float::Relu, [value; 3]);
        }
        let conversion = match (ty, value) {
            (ScalarType::F32, Place::Word(_)) | (ScalarType::F64, Place::Double(_)) => {
                return Some(value);
            }
            (ScalarType::F16, Place::Word(_)) => Conversion::SingleToHalf,
            (ScalarType::Bf16, Place::Word(_)) => Conversion::SingleToBrain,
            _ => return None,
        };
        if ty.kind() == TypeKind::Predicate {
            return None;
        }
        let value = Place::Word(
            self.code
                .word(Kind::Convert(conversion), [value.index(), 0, 0]),
        );
        if self.has(Modifier::Ftz) && ty == ScalarType::F16 {
            None
        } else {
            Some(value)
        }
    }

    /// Whether the operation that gives a value flushes it by itself: it knows the value before it is rounded.
    fn flushes_itself(&mut self, value: Place) -> bool {
        let flushes = self.has(Modifier::Ftz);
        let Some(last) = self.code.ops.last_mut() else {
            return false;
        };
        let operation = matches!(
            last.kind,
            Kind::Single(Float::Mul | Float::MulAdd | Float::Div)
        );
        let flushes = flushes && operation && last.result() == value;
        if flushes {
            last.imm = FLUSH;
        }
        flushes
    }

    pub(super) fn float(&mut self, operation: Float, [a, b, c]: [Place; 3]) -> Place {
        let sources = [a.index(), b.index(), c.index()];
        match a {
            Place::Double(_) => Place::Double(self.code.double(Kind::Long(operation), sources)),
            _ => Place::Word(self.code.word(Kind::Single(operation), sources)),
        }
    }
}
