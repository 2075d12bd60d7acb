//! Sums of products as tensor cores make them.
//!
//! A tensor core adds a block of products and the addend at once. Products are exact. All terms are aligned to the greatest exponent and
//! truncated to a number of fractional bits; what remains is added exactly, and the sum is rounded once.

use super::formats::{Format, Number};

/// How a unit adds and what its results are.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Rule {
    /// The products that are added at once.
    pub(crate) block: usize,
    /// The fractional bits of the aligned terms.
    pub(crate) bits: u32,
    /// The least exponent that terms are aligned to.
    pub(crate) floor: i32,
    pub(crate) result: Rounding,
}

/// The rounding of a sum.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Rounding {
    /// To binary32, toward zero.
    Single,
    /// To binary32 with 13 bits of the fraction, toward zero.
    Short,
    /// To binary16, to nearest.
    Half,
}

/// The bits of NaN as results.
pub(crate) const NAN: u32 = 0x7fff_ffff;
const INFINITY: u32 = 0x7f80_0000;

/// The most terms of a sum.
const TERMS: usize = 32;

/// The terms of a sum: each is `significand · 2^(exponent - fraction)`.
struct Terms {
    significands: [i64; TERMS],
    exponents: [i32; TERMS],
    count: usize,
    fraction: u32,
}

/// The sum of the products of two lists of the same length and of an addend in binary32, in blocks from the first on. `scale` is added
/// to the exponents of all products. The result is the bits of a binary32.
pub(crate) fn dot(
    (a, first): (&[Number], Format),
    (b, second): (&[Number], Format),
    scale: i32,
    c: u32,
    rule: Rule,
) -> u32 {
    let mut sum = c;
    let blocks = a.chunks(rule.block).zip(b.chunks(rule.block));
    for (a, b) in blocks {
        let addend = Format::SINGLE.decode(sum);
        let special = |numbers: &[Number]| numbers.iter().any(|n| n.is_special());
        if addend.is_special() || special(a) || special(b) {
            sum = special_sum(a.iter().copied().zip(b.iter().copied()), addend);
            continue;
        }
        let fraction = first.fraction + second.fraction;
        let mut terms = Terms::new(fraction);
        for (a, b) in a.iter().zip(b) {
            let product = i64::from(a.significand) * i64::from(b.significand);
            terms.push(product, a.exponent + b.exponent + scale);
        }
        sum = terms.sum(addend, rule);
    }
    sum
}

/// The sum of products of groups, each with its exponent, and of an addend in binary32. The significands have `fraction` fractional bits.
pub(crate) fn add_groups(groups: &[(i64, i32)], fraction: u32, c: u32, rule: Rule) -> u32 {
    let addend = Format::SINGLE.decode(c);
    if addend.is_special() {
        return special_sum(core::iter::empty(), addend);
    }
    let mut terms = Terms::new(fraction);
    groups.iter().for_each(|&(s, e)| terms.push(s, e));
    terms.sum(addend, rule)
}

/// The sum where an infinity or NaN takes part.
fn special_sum(products: impl Iterator<Item = (Number, Number)>, addend: Number) -> u32 {
    let mut infinite = [false; 2];
    let mut note = |sign: i32| infinite[usize::from(sign < 0)] = true;
    if addend.is_special() {
        match addend.significand {
            0 => return NAN,
            sign => note(sign),
        }
    }
    for (a, b) in products {
        if a.is_special() || b.is_special() {
            // Zero times infinity, and NaN.
            match a.significand.signum() * b.significand.signum() {
                0 => return NAN,
                sign => note(sign),
            }
        }
    }
    match infinite {
        [true, true] => NAN,
        [false, true] => INFINITY | 1 << 31,
        _ => INFINITY,
    }
}

impl Terms {
    const fn new(fraction: u32) -> Self {
        Self {
            significands: [0; TERMS],
            exponents: [Number::ZERO; TERMS],
            count: 0,
            fraction,
        }
    }

    fn push(&mut self, significand: i64, exponent: i32) {
        if self.count < TERMS {
            self.significands[self.count] = significand;
            self.exponents[self.count] = exponent;
            self.count += 1;
        }
    }

    fn sum(&self, addend: Number, rule: Rule) -> u32 {
        let exponents = &self.exponents[..self.count];
        let greatest = exponents.iter().fold(addend.exponent, |m, &e| m.max(e));
        let greatest = greatest.max(rule.floor);
        let mut sum = aligned(
            addend.significand.into(),
            23,
            greatest - addend.exponent,
            rule,
        );
        for (&significand, &exponent) in self.significands.iter().zip(exponents) {
            sum += aligned(significand, self.fraction, greatest - exponent, rule);
        }
        round(sum, greatest - rule.bits as i32, rule.result)
    }
}

/// A significand with the fractional bits of the rule, divided by a power of two and truncated toward zero.
#[inline]
fn aligned(significand: i64, fraction: u32, down: i32, rule: Rule) -> i64 {
    let shift = rule.bits as i32 - fraction as i32 - down;
    let magnitude = significand.unsigned_abs();
    let magnitude = match shift {
        0.. => magnitude << (shift & 63),
        _ => magnitude >> (-shift).min(63),
    };
    match significand < 0 {
        true => -(magnitude as i64),
        false => magnitude as i64,
    }
}

/// The bits of binary32 for `sum · 2^unit`, after rounding.
fn round(sum: i64, unit: i32, rounding: Rounding) -> u32 {
    if sum == 0 {
        return 0;
    }
    let sign = u32::from(sum < 0) << 31;
    let magnitude = sum.unsigned_abs();
    let exponent = magnitude.ilog2() as i32 + unit;
    let (digits, least, limit) = match rounding {
        Rounding::Single => (23, -126, 128),
        Rounding::Short => (13, -126, 128),
        Rounding::Half => (10, -14, 16),
    };
    // The exponent of the lowest bit that is kept.
    let last = exponent.max(least) - digits;
    let kept = match last - unit {
        ..=0 => magnitude << (unit - last).min(63),
        drop if rounding == Rounding::Half => to_nearest(magnitude, drop as u32),
        drop => magnitude >> drop.min(63),
    };
    if kept == 0 {
        return sign;
    }
    let exponent = kept.ilog2() as i32 + last;
    if exponent >= limit {
        return sign | INFINITY;
    }
    sign | number(kept, last)
}

/// A magnitude without its lowest bits, rounded to nearest, ties to even.
fn to_nearest(magnitude: u64, drop: u32) -> u64 {
    if drop > 63 {
        return 0;
    }
    let (kept, lost) = (magnitude >> drop, magnitude & ((1 << drop) - 1));
    let half = 1 << (drop - 1);
    kept + u64::from(lost > half || lost == half && kept & 1 == 1)
}

/// The bits of the number `significand · 2^unit`, which is one of binary32.
fn number(significand: u64, unit: i32) -> u32 {
    let exponent = significand.ilog2() as i32 + unit;
    if exponent < -126 {
        return (significand << (unit + 149).max(0)) as u32;
    }
    let up = 23 - significand.ilog2() as i32;
    let significand = match up {
        0.. => significand << up,
        _ => significand >> -up,
    };
    ((exponent + 127) as u32) << 23 | significand as u32 & 0x7f_ffff
}
