//! Operations on integers.

use super::{Comparison, Integer, LANES};

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
        /// The result of an operation on integers.
        #[inline(always)]
        pub(crate) fn $name(operation: Integer, [a, b, c]: [$u; 3], imm: u8) -> $u {
            const BITS: $u = <$u>::BITS as $u;
            match operation {
                Integer::Copy => a,
                Integer::Add => a.wrapping_add(b),
                Integer::Sub => a.wrapping_sub(b),
                Integer::Mul => a.wrapping_mul(b),
                Integer::MulHigh { signed: false } => {
                    ((a as $wide * b as $wide) >> <$u>::BITS) as $u
                }
                Integer::MulHigh { signed: true } => {
                    ((a as $s as $swide * b as $s as $swide) >> <$u>::BITS) as $u
                }
                Integer::Div { signed: false } => a.checked_div(b).unwrap_or(<$u>::MAX),
                Integer::Div { signed: true } => match b {
                    0 => <$u>::MAX,
                    b => (a as $s).wrapping_div(b as $s) as $u,
                },
                Integer::Rem { signed: false } => a.checked_rem(b).unwrap_or(a),
                Integer::Rem { signed: true } => match b {
                    0 => a,
                    b => (a as $s).wrapping_rem(b as $s) as $u,
                },
                Integer::And => a & b,
                Integer::Or => a | b,
                Integer::Xor => a ^ b,
                Integer::Not => !a,
                Integer::Negate => a.wrapping_neg(),
                Integer::Abs => (a as $s).wrapping_abs() as $u,
                Integer::Min { signed: false } => a.min(b),
                Integer::Min { signed: true } => (a as $s).min(b as $s) as $u,
                Integer::Max { signed: false } => a.max(b),
                Integer::Max { signed: true } => (a as $s).max(b as $s) as $u,
                Integer::ShiftLeft => {
                    if b < BITS {
                        a << (b & (BITS - 1))
                    } else {
                        0
                    }
                }
                Integer::ShiftRight { signed: false } => {
                    if b < BITS {
                        a >> (b & (BITS - 1))
                    } else {
                        0
                    }
                }
                Integer::ShiftRight { signed: true } => (a as $s >> b.min(BITS - 1)) as $u,
                Integer::Popcount => a.count_ones() as $u,
                Integer::BitLength => (<$u>::BITS - a.leading_zeros()) as $u,
                Integer::Reverse => a.reverse_bits(),
                Integer::Lookup => {
                    let row = |n: u32| if imm >> n & 1 == 1 { <$u>::MAX } else { 0 };
                    let pick = |low: $u, high: $u, mask: $u| low & !mask | high & mask;
                    let upper = pick(pick(row(4), row(5), c), pick(row(6), row(7), c), b);
                    let lower = pick(pick(row(0), row(1), c), pick(row(2), row(3), c), b);
                    pick(lower, upper, a)
                }
            }
        }
    };
}

integers!(word, u32, i32, u64, i64);
integers!(double, u64, i64, u128, i128);

/// The bits of a predicate: bit `i` is the condition of lane `i`.
#[inline(always)]
pub(super) fn predicate_bits(holds: impl Fn(usize) -> bool) -> u32 {
    let mut bits = 0;
    for lane in 0..LANES {
        bits |= u32::from(holds(lane)) << lane;
    }
    bits
}

macro_rules! comparisons {
    ($name:ident, $u:ty, $s:ty) => {
        /// Whether the comparison holds for two integers.
        #[inline(always)]
        pub(super) const fn $name(self, a: $u, b: $u) -> bool {
            match self {
                Self::Equal => a == b,
                Self::NotEqual => a != b,
                Self::Less { signed: false } => a < b,
                Self::Less { signed: true } => (a as $s) < (b as $s),
                Self::LessEqual { signed: false } => a <= b,
                Self::LessEqual { signed: true } => (a as $s) <= (b as $s),
            }
        }
    };
}

impl Comparison {
    comparisons!(holds_for_words, u32, i32);
    comparisons!(holds_for_doubles, u64, i64);
}
