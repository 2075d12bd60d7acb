//! Sums of products as computed by tensor cores.
//!
//! A tensor core adds a block of products and the addend at once. Products are exact. All terms are aligned to the greatest exponent and
//! truncated to a number of fractional bits; what remains is added exactly, and the sum is rounded once.

use super::formats::{Format, Number};

/// The additions of a unit, and its results.
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

/// The most products of a block.
const PRODUCTS: usize = 32;

/// Numbers of one format.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Numbers {
    significands: Vec<i32>,
    exponents: Vec<i32>,
    /// Whether an infinity or NaN is among them.
    special: bool,
}

/// Some of the numbers of a row or a column.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Line<'a> {
    significands: &'a [i32],
    exponents: &'a [i32],
    /// The fractional bits of the significands.
    pub(crate) fraction: u32,
    /// Whether an infinity or NaN may be among them.
    special: bool,
}

impl Numbers {
    pub(crate) fn push(&mut self, number: Number) {
        self.significands.push(number.significand);
        self.exponents.push(number.exponent);
        self.special |= number.is_special();
    }

    pub(crate) fn clear(&mut self) {
        self.significands.clear();
        self.exponents.clear();
        self.special = false;
    }

    pub(crate) fn line(&self, range: core::ops::Range<usize>, format: Format) -> Line<'_> {
        Line {
            significands: &self.significands[range.clone()],
            exponents: &self.exponents[range],
            fraction: format.fraction,
            special: self.special,
        }
    }
}

impl<'a> Line<'a> {
    pub(crate) const fn len(self) -> usize {
        self.significands.len()
    }

    pub(crate) const fn number(self, index: usize) -> Number {
        Number {
            significand: self.significands[index],
            exponent: self.exponents[index],
        }
    }

    pub(crate) fn numbers(self) -> impl Iterator<Item = Number> + 'a {
        (0..self.len()).map(move |index| self.number(index))
    }

    pub(crate) fn part(self, range: core::ops::Range<usize>) -> Self {
        Self {
            significands: &self.significands[range.clone()],
            exponents: &self.exponents[range],
            ..self
        }
    }
}

/// The sum of the products of two lists of the same length and of an addend in binary32, in blocks from the first on. `scale` is added
/// to the exponents of all products. The result is the bits of a binary32.
pub(crate) fn dot(a: Line<'_>, b: Line<'_>, scale: i32, c: u32, rule: Rule) -> u32 {
    let length = a.len().min(b.len());
    let block = rule.block.clamp(1, PRODUCTS);
    let mut sum = c;
    for start in (0..length).step_by(block) {
        let range = start..(start + block).min(length);
        let addend = Format::SINGLE.decode(sum);
        sum = if a.special || b.special || addend.is_special() {
            let (a, b) = (a.part(range.clone()), b.part(range.clone()));
            let products = a.numbers().zip(b.numbers());
            match special_sum(products, addend) {
                Some(sum) => sum,
                None => add_products(a, b, scale, addend, rule),
            }
        } else {
            add_products(a.part(range.clone()), b.part(range), scale, addend, rule)
        };
    }
    sum
}

/// The sum of one block. Both lists have the same length.
fn add_products(a: Line<'_>, b: Line<'_>, scale: i32, addend: Number, rule: Rule) -> u32 {
    // Loops over a known number of products are faster.
    match a.len() {
        4 => add_block::<4>(a, b, scale, addend, rule),
        8 => add_block::<8>(a, b, scale, addend, rule),
        16 => add_block::<16>(a, b, scale, addend, rule),
        _ => add_block::<PRODUCTS>(a, b, scale, addend, rule),
    }
}

/// The numbers of a list of at most `N`, followed by `padding`.
#[inline]
fn filled<const N: usize>(list: &[i32], padding: i32) -> [i32; N] {
    list.try_into().unwrap_or_else(|_| {
        let mut numbers = [padding; N];
        for (element, number) in numbers.iter_mut().zip(list) {
            *element = *number;
        }
        numbers
    })
}

/// The sum of at most `N` products.
fn add_block<const N: usize>(
    a: Line<'_>,
    b: Line<'_>,
    scale: i32,
    addend: Number,
    rule: Rule,
) -> u32 {
    let significands: [[i32; N]; 2] = [a, b].map(|line| filled(line.significands, 0));
    let parts: [[i32; N]; 2] = [a, b].map(|line| filled(line.exponents, Number::ZERO));
    // At most 11 bits each.
    let products: [i32; N] = core::array::from_fn(|k| significands[0][k] * significands[1][k]);
    let exponents: [i32; N] = core::array::from_fn(|k| parts[0][k] + parts[1][k] + scale);
    let greatest = exponents
        .iter()
        .fold(addend.exponent.max(rule.floor), |m, &e| m.max(e));
    // A product is below 4, so that it takes two bits more than the fraction.
    let fraction = a.fraction + b.fraction;
    let (shift_up, shift_down) = match rule.bits.checked_sub(fraction) {
        Some(added_bits) => (added_bits, 0),
        None => (0, (fraction - rule.bits) as i32),
    };
    let mut sum = aligned(
        addend.significand.into(),
        Format::SINGLE.fraction,
        greatest - addend.exponent,
        rule,
    );
    for (&product, &exponent) in products.iter().zip(&exponents) {
        let magnitude =
            product.unsigned_abs() << shift_up >> (greatest - exponent + shift_down).min(31);
        let sign = product >> 31;
        sum += i64::from((magnitude as i32 ^ sign) - sign);
    }
    round(sum, greatest - rule.bits as i32, rule.result)
}

/// The sum of products of groups, each with its exponent, and of an addend in binary32. The significands have `fraction` fractional bits.
pub(crate) fn add_groups(groups: &[(i64, i32)], fraction: u32, c: u32, rule: Rule) -> u32 {
    let addend = Format::SINGLE.decode(c);
    if let Some(sum) = special_sum(core::iter::empty(), addend) {
        return sum;
    }
    let exponents = groups.iter().map(|&(_, exponent)| exponent);
    let greatest = exponents.fold(addend.exponent.max(rule.floor), i32::max);
    let aligned_addend = aligned(
        addend.significand.into(),
        Format::SINGLE.fraction,
        greatest - addend.exponent,
        rule,
    );
    let terms = groups
        .iter()
        .map(|&(s, e)| aligned(s, fraction, greatest - e, rule));
    round(
        aligned_addend + terms.sum::<i64>(),
        greatest - rule.bits as i32,
        rule.result,
    )
}

/// The sum if an infinity or NaN takes part.
fn special_sum(products: impl Iterator<Item = (Number, Number)>, addend: Number) -> Option<u32> {
    let (mut has_positive, mut has_negative) = (false, false);
    if addend.is_special() {
        match addend.significand {
            0 => return Some(NAN),
            1.. => has_positive = true,
            _ => has_negative = true,
        }
    }
    for (a, b) in products {
        if a.is_special() || b.is_special() {
            // Zero times infinity, and NaN.
            match a.significand.signum() * b.significand.signum() {
                0 => return Some(NAN),
                1.. => has_positive = true,
                _ => has_negative = true,
            }
        }
    }
    match (has_positive, has_negative) {
        (true, true) => Some(NAN),
        (true, false) => Some(INFINITY),
        (false, true) => Some(INFINITY | 1 << 31),
        (false, false) => None,
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
    if significand < 0 {
        -(magnitude as i64)
    } else {
        magnitude as i64
    }
}

/// The bits of binary32 for `sum · 2^unit`, after rounding.
#[inline]
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
    let significand = match last - unit {
        ..=0 => magnitude << (unit - last).min(63),
        drop if rounding == Rounding::Half => to_nearest(magnitude, drop as u32),
        drop => magnitude >> drop.min(63),
    };
    if significand == 0 {
        return sign;
    }
    let exponent = significand.ilog2() as i32 + last;
    if exponent >= limit {
        return sign | INFINITY;
    }
    sign | number(significand, last)
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
