//! Executes operations for the lanes of a warp, with the vector instructions of the host.

use super::float::{
    self, brain_to_single, canonical, half_to_single, single, single_to_brain, single_to_half,
    single_to_long,
};
use super::host;
use super::integer::{double, predicate_bits, sign_extend, word};
use super::registers::Registers;
use super::{
    Comparison, Conversion, FLUSH, Float, Integer, Kind, LANES, LaneOp, Logic, Rounding, each,
    each_source,
};

/// Executes an expression for the value of a variable, which is a constant there: a loop over the lanes is compiled for each value.
macro_rules! with_constant {
    ($name:ident: $enum:ident { $($variant:ident $({ $field:ident: $value:tt })?),+ $(,)? }, $body:expr) => {
        match $name {
            $($enum::$variant $({ $field: $value })? => {
                let $name = $enum::$variant $({ $field: $value })?;
                $body
            })+
        }
    };
}

macro_rules! with_integer {
    ($name:ident, $body:expr) => {
        $crate::lanes::with_constant!(
            $name: Integer {
                Copy, Add, Sub, Mul, MulHigh { signed: false }, MulHigh { signed: true },
                Div { signed: false }, Div { signed: true }, Rem { signed: false }, Rem { signed: true },
                And, Or, Xor, Not, Negate, Abs, Min { signed: false }, Min { signed: true },
                Max { signed: false }, Max { signed: true }, ShiftLeft, ShiftRight { signed: false },
                ShiftRight { signed: true }, Popcount, BitLength, Reverse, Lookup,
            },
            $body
        )
    };
}

pub(crate) use {with_constant, with_integer};

macro_rules! with_float {
    ($name:ident, $body:expr) => {
        with_constant!(
            $name: Float {
                Add, Sub, Mul, MulAdd, Div, Sqrt, Abs, Negate, Min { nan: false }, Min { nan: true },
                Max { nan: false }, Max { nan: true }, Flush, Saturate, Relu, Exp2, Log2, Sin, Cos, Tanh,
            },
            $body
        )
    };
}

macro_rules! with_comparison {
    ($name:ident, $body:expr) => {
        with_constant!(
            $name: Comparison {
                Equal, NotEqual, Less { signed: false }, Less { signed: true },
                LessEqual { signed: false }, LessEqual { signed: true },
            },
            $body
        )
    };
}

impl Registers {
    /// Executes operations one after the other for the lanes of a mask.
    pub(crate) fn execute_all(&mut self, ops: &[LaneOp], mask: u32) {
        host::select(
            (self, ops, mask),
            #[inline(always)]
            |(registers, ops, mask)| registers.execute_each::<true>(ops, mask),
            |(registers, ops, mask)| registers.execute_each::<false>(ops, mask),
        );
    }

    /// Executes operations. `FUSED`: the host has an instruction that rounds the sum of a product and a number once.
    #[inline(always)]
    fn execute_each<const FUSED: bool>(&mut self, ops: &[LaneOp], mask: u32) {
        for op in ops {
            self.execute::<FUSED>(op, if op.masked { mask } else { u32::MAX });
        }
    }

    /// Executes an operation for the lanes of a mask.
    #[inline(always)]
    fn execute<const FUSED: bool>(&mut self, op: &LaneOp, mask: u32) {
        match op.kind {
            Kind::Word(operation) => with_integer!(
                operation,
                self.map_words(op, mask, |sources| word(operation, sources, op.imm))
            ),
            Kind::Double(operation) => with_integer!(
                operation,
                self.map_doubles(op, mask, |sources| double(operation, sources, op.imm))
            ),
            Kind::CompareWord(comparison) => with_comparison!(comparison, {
                let (a, b) = (self.word(op.a), self.word(op.b));
                let bits = predicate_bits(|i| comparison.holds_for_words(a[i], b[i]));
                self.set_predicate(op.to, mask, bits);
            }),
            Kind::CompareDouble(comparison) => with_comparison!(comparison, {
                let (a, b) = (self.double(op.a), self.double(op.b));
                let bits = predicate_bits(|i| comparison.holds_for_doubles(a[i], b[i]));
                self.set_predicate(op.to, mask, bits);
            }),
            Kind::Predicate(logic) => self.logic(logic, op, mask),
            Kind::SelectWord => {
                let condition = self.predicates[op.a as usize];
                let (b, c) = (self.word(op.b), self.word(op.c));
                let values = each(|i| if condition >> i & 1 == 1 { b[i] } else { c[i] });
                self.set_words(op.to, mask, &values);
            }
            Kind::SelectDouble => {
                let condition = self.predicates[op.a as usize];
                let (b, c) = (self.double(op.b), self.double(op.c));
                let values = each(|i| if condition >> i & 1 == 1 { b[i] } else { c[i] });
                self.set_doubles(op.to, mask, &values);
            }
            Kind::WordOfPredicate => {
                let bits = self.predicates[op.a as usize];
                self.set_words(op.to, mask, &each(|i| bits >> i & 1));
            }
            Kind::Extend => {
                let (a, width, signed) = (self.word(op.a), op.b, op.c != 0);
                let values = each(|i| sign_extend(a[i], width, signed));
                self.set_words(op.to, mask, &values);
            }
            Kind::Widen if op.c == 0 => self.double_of_word(op, mask, u64::from),
            Kind::Widen => self.double_of_word(op, mask, |a| a as i32 as i64 as u64),
            Kind::Narrow if op.c == 0 => self.word_of_double(op, mask, |a| a as u32),
            Kind::Narrow => self.word_of_double(op, mask, |a| (a >> 32) as u32),
            Kind::Single(operation) => self.singles::<FUSED>(operation, op, mask),
            Kind::Long(operation) => with_float!(operation, self.longs(operation, op, mask)),
            Kind::CompareSingle(test) => {
                let (a, b) = (self.word(op.a), self.word(op.b));
                let bits =
                    predicate_bits(|i| test.holds(f32::from_bits(a[i]), f32::from_bits(b[i])));
                self.set_predicate(op.to, mask, bits);
            }
            Kind::CompareLong(test) => {
                let (a, b) = (self.double(op.a), self.double(op.b));
                let bits =
                    predicate_bits(|i| test.holds(f64::from_bits(a[i]), f64::from_bits(b[i])));
                self.set_predicate(op.to, mask, bits);
            }
            Kind::Convert(conversion) => self.convert(conversion, op, mask),
        }
    }

    /// Sets words to a function of the sources in each lane.
    #[inline(always)]
    fn map_words(&mut self, op: &LaneOp, mask: u32, function: impl Fn([u32; 3]) -> u32) {
        let [a, b, c] = each_source([op.a, op.b, op.c], |index| self.word(index));
        let values = each(|i| function([a[i], b[i], c[i]]));
        self.set_words(op.to, mask, &values);
    }

    /// Sets doubles to a function of the sources in each lane.
    #[inline(always)]
    fn map_doubles(&mut self, op: &LaneOp, mask: u32, function: impl Fn([u64; 3]) -> u64) {
        let [a, b, c] = each_source([op.a, op.b, op.c], |index| self.double(index));
        let values = each(|i| function([a[i], b[i], c[i]]));
        self.set_doubles(op.to, mask, &values);
    }

    /// Executes an operation for one lane.
    #[inline]
    pub(crate) fn execute_in(&mut self, lane: usize, op: &LaneOp) {
        let lane = lane % LANES;
        match op.kind {
            Kind::Word(operation) => {
                let sources =
                    each_source([op.a, op.b, op.c], |index| self.words[index as usize][lane]);
                self.words[op.to as usize][lane] = word(operation, sources, op.imm);
            }
            Kind::Double(operation) => {
                let sources = each_source([op.a, op.b, op.c], |index| {
                    self.doubles[index as usize][lane]
                });
                self.doubles[op.to as usize][lane] = double(operation, sources, op.imm);
            }
            _ => self.execute_all(core::slice::from_ref(op), 1 << lane),
        }
    }

    #[inline(always)]
    fn logic(&mut self, logic: Logic, op: &LaneOp, mask: u32) {
        let predicate = |index: u32| self.predicates[index as usize];
        let bits = match logic {
            Logic::Copy => predicate(op.a),
            Logic::And => predicate(op.a) & predicate(op.b),
            Logic::Or => predicate(op.a) | predicate(op.b),
            Logic::Xor => predicate(op.a) ^ predicate(op.b),
            Logic::Not => !predicate(op.a),
            Logic::Select => predicate(op.a) & predicate(op.b) | !predicate(op.a) & predicate(op.c),
        };
        self.set_predicate(op.to, mask, bits);
    }

    /// Executes an operation on numbers of 32 bits.
    #[inline(always)]
    fn singles<const FUSED: bool>(&mut self, operation: Float, op: &LaneOp, mask: u32) {
        with_float!(operation, {
            let [a, b, c] = each_source([op.a, op.b, op.c], |index| self.word(index));
            let mut values = match operation {
                Float::MulAdd => float::mul_adds::<FUSED>(a, b, c),
                _ => each(|i| single(operation, [a[i], b[i], c[i]])),
            };
            if op.imm == FLUSH && float::is_any_tiny(&values) {
                values = float::flushed_results(operation, a, b, c);
            }
            self.set_words(op.to, mask, &values);
        });
    }

    /// Executes an operation on numbers of 64 bits.
    #[inline(always)]
    fn longs(&mut self, operation: Float, op: &LaneOp, mask: u32) {
        let [a, b, c] = each_source([op.a, op.b, op.c], |index| self.double(index));
        let values = match operation {
            Float::Add | Float::Sub | Float::Mul | Float::MulAdd | Float::Div | Float::Sqrt => {
                float::long_results(operation, a, b, c)
            }
            _ => each(|i| float::long(operation, [a[i], b[i], c[i]])),
        };
        self.set_doubles(op.to, mask, &values);
    }

    #[inline(always)]
    fn convert(&mut self, conversion: Conversion, op: &LaneOp, mask: u32) {
        match conversion {
            Conversion::SingleToLong => self.double_of_word(op, mask, single_to_long),
            Conversion::LongToSingle => {
                self.word_of_double(op, mask, |a| canonical(f64::from_bits(a) as f32));
            }
            Conversion::HalfToSingle => self.map_words(op, mask, |[a, ..]| half_to_single(a)),
            Conversion::SingleToHalf => self.map_words(op, mask, |[a, ..]| single_to_half(a)),
            Conversion::BrainToSingle => self.map_words(op, mask, |[a, ..]| brain_to_single(a)),
            Conversion::SingleToBrain => self.map_words(op, mask, |[a, ..]| single_to_brain(a)),
            Conversion::DoubleToSingle { signed: true } => {
                self.word_of_double(op, mask, |a| (a as i64 as f32).to_bits());
            }
            Conversion::DoubleToSingle { signed: false } => {
                self.word_of_double(op, mask, |a| (a as f32).to_bits());
            }
            Conversion::DoubleToLong { signed: true } => {
                self.map_doubles(op, mask, |[a, ..]| (a as i64 as f64).to_bits());
            }
            Conversion::DoubleToLong { signed: false } => {
                self.map_doubles(op, mask, |[a, ..]| (a as f64).to_bits());
            }
            Conversion::LongToDouble { signed, rounding } => with_constant!(
                rounding: Rounding { Nearest, Zero, Down, Up },
                self.map_doubles(op, mask, |[a, ..]| {
                    let number = float::rounded(f64::from_bits(a), rounding);
                    if signed { number as i64 as u64 } else { number as u64 }
                })
            ),
        }
    }

    #[inline(always)]
    fn double_of_word(&mut self, op: &LaneOp, mask: u32, function: impl Fn(u32) -> u64) {
        let a = self.word(op.a);
        let values = each(|i| function(a[i]));
        self.set_doubles(op.to, mask, &values);
    }

    #[inline(always)]
    fn word_of_double(&mut self, op: &LaneOp, mask: u32, function: impl Fn(u64) -> u32) {
        let a = self.double(op.a);
        let values = each(|i| function(a[i]));
        self.set_words(op.to, mask, &values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::{FloatComparison, Place};

    /// Registers with one word, double and predicate for each source and one for the result. Half of them contain only numbers of moderate magnitude, since a
    /// single NaN or subnormal number lets an operation handle all lanes in another way.
    fn registers(random: &mut fastrand::Rng) -> Registers {
        let mut registers = Registers::default();
        let is_moderate = random.bool();
        let moderate = |bits: u32| bits & 0x83ff_ffff | 0x3c00_0000;
        for _ in 0..4 {
            registers.predicates.push(random.u32(..));
            registers.words.push([0; LANES].map(|_: u32| {
                let bits = random.u32(..);
                if is_moderate {
                    moderate(bits)
                } else {
                    word_of(bits)
                }
            }));
            registers.doubles.push([0; LANES].map(|_: u64| {
                let bits = random.u64(..);
                if is_moderate {
                    f64::from(f32::from_bits(moderate(bits as u32))).to_bits()
                } else {
                    double_of(bits)
                }
            }));
        }
        registers
    }

    /// A word from random bits: any bits, a small integer, or a number that is special, subnormal or close to one.
    fn word_of(bits: u32) -> u32 {
        let special = [
            0,
            1,
            f32::MIN_POSITIVE.to_bits(),
            0x007f_ffff,
            f32::MAX.to_bits(),
            0x7f80_0000,
            0x7fc0_0001,
            0x3f80_0001,
        ];
        match bits >> 29 {
            0 => bits & 31,
            1 => special[bits as usize % 8] | bits & 0x8000_0000,
            2 => 0x3f80_0000 | bits & 0xfff,
            3 => bits & 0x8fff_ffff,
            4 => 0x3f00_0000 | bits & 0x00c0_0003,
            _ => bits.rotate_left(3),
        }
    }

    fn double_of(bits: u64) -> u64 {
        let number = f64::from(f32::from_bits(word_of(bits as u32))).to_bits();
        match bits >> 61 {
            0 => bits & 63,
            1..=3 => number,
            4 => 0xfff8_0000_0000_0000 | bits & 0xff,
            _ => bits.rotate_left(3),
        }
    }

    fn integers() -> Vec<Integer> {
        let mut integers = vec![
            Integer::Copy,
            Integer::Add,
            Integer::Sub,
            Integer::Mul,
            Integer::And,
            Integer::Or,
            Integer::Xor,
            Integer::Not,
            Integer::Negate,
            Integer::Abs,
            Integer::ShiftLeft,
            Integer::Popcount,
            Integer::BitLength,
            Integer::Reverse,
            Integer::Lookup,
        ];
        for signed in [false, true] {
            integers.extend([
                Integer::MulHigh { signed },
                Integer::Div { signed },
                Integer::Rem { signed },
                Integer::Min { signed },
                Integer::Max { signed },
                Integer::ShiftRight { signed },
            ]);
        }
        integers
    }

    fn floats() -> Vec<Float> {
        vec![
            Float::Add,
            Float::Sub,
            Float::Mul,
            Float::MulAdd,
            Float::Div,
            Float::Sqrt,
            Float::Abs,
            Float::Negate,
            Float::Flush,
            Float::Saturate,
            Float::Relu,
            Float::Min { nan: false },
            Float::Min { nan: true },
            Float::Max { nan: false },
            Float::Max { nan: true },
        ]
    }

    fn conversions() -> Vec<Conversion> {
        let mut conversions = vec![
            Conversion::SingleToLong,
            Conversion::LongToSingle,
            Conversion::HalfToSingle,
            Conversion::SingleToHalf,
            Conversion::BrainToSingle,
            Conversion::SingleToBrain,
        ];
        for signed in [false, true] {
            conversions.extend([
                Conversion::DoubleToSingle { signed },
                Conversion::DoubleToLong { signed },
            ]);
            for rounding in [
                Rounding::Nearest,
                Rounding::Zero,
                Rounding::Down,
                Rounding::Up,
            ] {
                conversions.push(Conversion::LongToDouble { signed, rounding });
            }
        }
        conversions
    }

    /// All kinds of operations.
    fn kinds() -> Vec<Kind> {
        let mut kinds = vec![
            Kind::SelectWord,
            Kind::SelectDouble,
            Kind::WordOfPredicate,
            Kind::Extend,
            Kind::Widen,
            Kind::Narrow,
        ];
        for operation in integers() {
            kinds.extend([Kind::Word(operation), Kind::Double(operation)]);
        }
        for operation in floats() {
            kinds.extend([Kind::Single(operation), Kind::Long(operation)]);
        }
        kinds.extend(conversions().into_iter().map(Kind::Convert));
        for comparison in [
            Comparison::Equal,
            Comparison::NotEqual,
            Comparison::Less { signed: false },
            Comparison::Less { signed: true },
            Comparison::LessEqual { signed: false },
            Comparison::LessEqual { signed: true },
        ] {
            kinds.extend([
                Kind::CompareWord(comparison),
                Kind::CompareDouble(comparison),
            ]);
        }
        for bits in 0..16 {
            let [less, equal, greater, unordered] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
            let test = FloatComparison {
                less,
                equal,
                greater,
                unordered,
            };
            kinds.extend([Kind::CompareSingle(test), Kind::CompareLong(test)]);
        }
        kinds
    }

    /// The result of an operation in a lane, computed alone where that is possible, without vector instructions.
    fn expected(registers: &Registers, op: &LaneOp, lane: usize) -> Option<u128> {
        let [a, b, c] = [op.a, op.b, op.c].map(|index| index as usize % 4);
        let words = [a, b, c].map(|index| registers.words[index][lane]);
        let doubles = [a, b, c].map(|index| registers.doubles[index][lane]);
        Some(match op.kind {
            Kind::Word(operation) => word(operation, words, op.imm).into(),
            Kind::Double(operation) => double(operation, doubles, op.imm).into(),
            Kind::CompareWord(comparison) => comparison.holds_for_words(words[0], words[1]).into(),
            Kind::CompareDouble(comparison) => {
                comparison.holds_for_doubles(doubles[0], doubles[1]).into()
            }
            Kind::Single(Float::MulAdd) if op.imm != FLUSH => {
                let [x, y, z] = words.map(f32::from_bits);
                canonical(x.mul_add(y, z)).into()
            }
            Kind::Single(operation) if op.imm != FLUSH => single(operation, words).into(),
            Kind::Single(operation) => float::flushed_result(operation, words).into(),
            Kind::Long(operation) => float::long(operation, doubles).into(),
            Kind::Convert(Conversion::SingleToLong) => single_to_long(words[0]).into(),
            _ => return None,
        })
    }

    #[test]
    fn operations_give_the_same_with_and_without_vector_instructions() {
        let mut random = fastrand::Rng::with_seed(1);
        for round in 0..100 {
            let before = registers(&mut random);
            let mask = if round % 2 == 0 {
                u32::MAX
            } else {
                random.u32(..)
            };
            for kind in kinds() {
                let imm = match kind {
                    Kind::Single(Float::Mul | Float::MulAdd | Float::Div) => random.u8(..) & FLUSH,
                    Kind::Single(_) => 0,
                    _ => random.u8(..),
                };
                let (b, c) = match kind {
                    Kind::Extend => (random.u32(1..32), random.u32(..2)),
                    Kind::Widen | Kind::Narrow => (0, random.u32(..2)),
                    _ => (1, 2),
                };
                let op = LaneOp {
                    kind,
                    masked: true,
                    to: 3,
                    a: 0,
                    b,
                    c,
                    imm,
                };
                let (mut vector, mut plain) = (before.clone(), before.clone());
                vector.execute_all(&[op], mask);
                plain.execute_each::<false>(&[op], mask);
                let place = op.written();
                for lane in 0..LANES {
                    let result = vector.get(place, lane);
                    let changed = mask >> lane & 1 == 1;
                    assert_eq!(result, plain.get(place, lane), "{kind:?} {imm}");
                    if !changed {
                        assert_eq!(result, before.get(place, lane), "{kind:?}");
                    } else if let (
                        Place::Word(_) | Place::Double(_) | Place::Predicate(_),
                        Some(expected),
                    ) = (place, expected(&before, &op, lane))
                    {
                        assert_eq!(result, expected, "{kind:?} {imm}");
                    }
                }
            }
        }
    }

    #[test]
    fn sums_of_products_are_rounded_once() {
        let mut random = fastrand::Rng::with_seed(2);
        for _ in 0..3000 {
            let mut number = || [0u32; LANES].map(|_| word_of(random.u32(..)));
            let (a, b, mut c) = (number(), number(), number());
            // Sums that are halfway between two numbers, or nearly.
            for lane in 0..8 {
                let product = f32::from_bits(a[lane]) * f32::from_bits(b[lane]);
                c[lane] = (product * f32::from_bits(0x4b80_0000 + c[lane] % 2)).to_bits();
            }
            let fused = float::mul_adds::<true>(&a, &b, &c);
            assert_eq!(
                float::mul_adds::<false>(&a, &b, &c),
                fused,
                "{a:x?} {b:x?} {c:x?}"
            );
        }
    }
}
