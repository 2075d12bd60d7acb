//! Operations on the integers in all lanes.

use super::registers::{Double, Registers, Word};
use super::{Comparison, Integer, Kind, LANES, LaneOp, Logic, each};

/// Extends the lowest bits with copies of the sign, or with zeros.
pub(crate) const fn sign_extend(value: u32, bits: u32, signed: bool) -> u32 {
    let unused = 32 - if bits < 32 { bits } else { 32 };
    if signed {
        ((value << unused) as i32 >> unused) as u32
    } else {
        value << unused >> unused
    }
}

macro_rules! integers {
    ($name:ident, $u:ty, $s:ty, $wide:ty, $swide:ty) => {
        /// The results of an operation on integers.
        #[inline(always)]
        fn $name<const N: usize>(operation: Integer, [a, b, c]: [&[$u; N]; 3], imm: u8) -> [$u; N] {
            let binary = |f: fn($u, $u) -> $u| -> [$u; N] { each(|i| f(a[i], b[i])) };
            let unary = |f: fn($u) -> $u| -> [$u; N] { each(|i| f(a[i])) };
            const BITS: $u = <$u>::BITS as $u;
            match operation {
                Integer::Copy => *a,
                Integer::Add => each(|i| a[i].wrapping_add(b[i])),
                Integer::Sub => each(|i| a[i].wrapping_sub(b[i])),
                Integer::Mul => each(|i| a[i].wrapping_mul(b[i])),
                Integer::MulHigh { signed: false } => {
                    binary(|a, b| ((a as $wide * b as $wide) >> <$u>::BITS) as $u)
                }
                Integer::MulHigh { signed: true } => {
                    binary(|a, b| ((a as $s as $swide * b as $s as $swide) >> <$u>::BITS) as $u)
                }
                Integer::Div { signed: false } => {
                    binary(|a, b| a.checked_div(b).unwrap_or(<$u>::MAX))
                }
                Integer::Div { signed: true } => binary(|a, b| match b {
                    0 => <$u>::MAX,
                    b => (a as $s).wrapping_div(b as $s) as $u,
                }),
                Integer::Rem { signed: false } => binary(|a, b| a.checked_rem(b).unwrap_or(a)),
                Integer::Rem { signed: true } => binary(|a, b| match b {
                    0 => a,
                    b => (a as $s).wrapping_rem(b as $s) as $u,
                }),
                Integer::And => each(|i| a[i] & b[i]),
                Integer::Or => each(|i| a[i] | b[i]),
                Integer::Xor => each(|i| a[i] ^ b[i]),
                Integer::Not => each(|i| !a[i]),
                Integer::Negate => each(|i| a[i].wrapping_neg()),
                Integer::Abs => unary(|a| (a as $s).wrapping_abs() as $u),
                Integer::Min { signed: false } => binary(|a, b| a.min(b)),
                Integer::Min { signed: true } => binary(|a, b| (a as $s).min(b as $s) as $u),
                Integer::Max { signed: false } => binary(|a, b| a.max(b)),
                Integer::Max { signed: true } => binary(|a, b| (a as $s).max(b as $s) as $u),
                Integer::ShiftLeft => {
                    binary(|a, n| if n < BITS { a << (n & (BITS - 1)) } else { 0 })
                }
                Integer::ShiftRight { signed: false } => {
                    binary(|a, n| if n < BITS { a >> (n & (BITS - 1)) } else { 0 })
                }
                Integer::ShiftRight { signed: true } => {
                    binary(|a, n| (a as $s >> n.min(BITS - 1)) as $u)
                }
                Integer::Popcount => unary(|a| a.count_ones() as $u),
                Integer::BitLength => unary(|a| (<$u>::BITS - a.leading_zeros()) as $u),
                Integer::Reverse => unary(<$u>::reverse_bits),
                Integer::Lookup => {
                    let rows: [$u; 8] = each(|n| if imm >> n & 1 == 1 { <$u>::MAX } else { 0 });
                    each(|i| {
                        let (a, b, c) = (a[i], b[i], c[i]);
                        let pick = |low: $u, high: $u, mask: $u| low & !mask | high & mask;
                        let upper = pick(pick(rows[4], rows[5], c), pick(rows[6], rows[7], c), b);
                        let lower = pick(pick(rows[0], rows[1], c), pick(rows[2], rows[3], c), b);
                        pick(lower, upper, a)
                    })
                }
            }
        }
    };
}

integers!(words, u32, i32, u64, i64);
integers!(doubles, u64, i64, u128, i128);

/// The bits of a predicate: bit `i` is the condition of lane `i`.
pub(super) fn predicate_bits(holds: impl Fn(usize) -> bool) -> u32 {
    (0..LANES).fold(0, |bits, lane| bits | u32::from(holds(lane)) << lane)
}

macro_rules! comparisons {
    ($name:ident, $s:ty, $lanes:ty) => {
        fn $name(comparison: Comparison, a: &$lanes, b: &$lanes) -> u32 {
            match comparison {
                Comparison::Equal => predicate_bits(|i| a[i] == b[i]),
                Comparison::NotEqual => predicate_bits(|i| a[i] != b[i]),
                Comparison::Less { signed: false } => predicate_bits(|i| a[i] < b[i]),
                Comparison::Less { signed: true } => {
                    predicate_bits(|i| (a[i] as $s) < (b[i] as $s))
                }
                Comparison::LessEqual { signed: false } => predicate_bits(|i| a[i] <= b[i]),
                Comparison::LessEqual { signed: true } => {
                    predicate_bits(|i| (a[i] as $s) <= (b[i] as $s))
                }
            }
        }
    };
}

comparisons!(compare_words, i32, Word);
comparisons!(compare_doubles, i64, Double);

impl Registers {
    /// Executes an operation for the lanes of a mask.
    #[inline]
    pub(crate) fn execute(&mut self, op: &LaneOp, mask: u32) {
        let mask = if op.masked { mask } else { u32::MAX };
        match op.kind {
            Kind::Word(operation) => {
                let (a, b, c) = (self.word(op.a), self.word(op.b), self.word(op.c));
                let values = words(operation, [&a, &b, &c], op.imm);
                self.set_words(op.to, mask, &values);
            }
            Kind::Double(operation) => {
                let (a, b, c) = (self.double(op.a), self.double(op.b), self.double(op.c));
                let values = doubles(operation, [&a, &b, &c], op.imm);
                self.set_doubles(op.to, mask, &values);
            }
            Kind::CompareWord(comparison) => {
                let bits = compare_words(comparison, &self.word(op.a), &self.word(op.b));
                self.set_predicate(op.to, mask, bits);
            }
            Kind::CompareDouble(comparison) => {
                let bits = compare_doubles(comparison, &self.double(op.a), &self.double(op.b));
                self.set_predicate(op.to, mask, bits);
            }
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
            Kind::Widen => {
                let a = self.word(op.a);
                let values: Double = match op.c {
                    0 => each(|i| a[i].into()),
                    _ => each(|i| a[i] as i32 as i64 as u64),
                };
                self.set_doubles(op.to, mask, &values);
            }
            Kind::Narrow => {
                let a = self.double(op.a);
                let shift = if op.c == 0 { 0 } else { 32 };
                self.set_words(op.to, mask, &each(|i| (a[i] >> shift) as u32));
            }
            Kind::Single(_)
            | Kind::Long(_)
            | Kind::CompareSingle(_)
            | Kind::CompareLong(_)
            | Kind::Convert(_) => self.execute_float(op, mask),
        }
    }

    /// Executes an operation for one lane.
    #[inline]
    pub(crate) fn execute_in(&mut self, lane: usize, op: &LaneOp) {
        let lane = lane % LANES;
        match op.kind {
            Kind::Word(operation) => {
                let [a, b, c] = [op.a, op.b, op.c].map(|index| [self.words[index as usize][lane]]);
                let [value] = words(operation, [&a, &b, &c], op.imm);
                self.words[op.to as usize][lane] = value;
            }
            Kind::Double(operation) => {
                let [a, b, c] =
                    [op.a, op.b, op.c].map(|index| [self.doubles[index as usize][lane]]);
                let [value] = doubles(operation, [&a, &b, &c], op.imm);
                self.doubles[op.to as usize][lane] = value;
            }
            _ => self.execute(op, 1 << lane),
        }
    }

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
}
