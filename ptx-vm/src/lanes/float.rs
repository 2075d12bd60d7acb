//! Operations on numbers. A NaN that an operation on 32 bits makes is 0x7fffffff, as on the hardware; one of 64 bits is
//! the quiet NaN that a source is, else 0xfff8000000000000.

use super::registers::{Double, Word};
use super::{Float, FloatComparison, Rounding, each, each_source};

/// The NaN that operations on 32 bits give.
const NAN: u32 = 0x7fff_ffff;
/// The NaN that operations on 64 bits give if no source is NaN.
const LONG_NAN: u64 = 0xfff8_0000_0000_0000;
const QUIET: u64 = 0x0008_0000_0000_0000;

#[inline(always)]
pub(super) fn canonical(value: f32) -> u32 {
    if value.is_nan() { NAN } else { value.to_bits() }
}

pub(crate) fn canonical_long(value: f64, sources: [u64; 3]) -> u64 {
    if value.is_nan() {
        nan_of(sources)
    } else {
        value.to_bits()
    }
}

/// The NaN that an operation on numbers of 64 bits gives.
pub(crate) fn nan_of(sources: [u64; 3]) -> u64 {
    let nan = sources.into_iter().find(|&s| f64::from_bits(s).is_nan());
    nan.map_or(LONG_NAN, |s| s | QUIET)
}

/// The sums of products and numbers, rounded once. `FUSED`: the host has an instruction for it.
#[inline(always)]
pub(super) fn mul_adds<const FUSED: bool>(a: &Word, b: &Word, c: &Word) -> Word {
    if FUSED {
        return each(|i| {
            let [x, y, z] = each_source([a[i], b[i], c[i]], f32::from_bits);
            canonical(x.mul_add(y, z))
        });
    }
    let sums: Double = each(|i| {
        let [x, y, z] = each_source([a[i], b[i], c[i]], |bits| f64::from(f32::from_bits(bits)));
        (x * y + z).to_bits()
    });
    // Rounding a sum of 64 bits again gives another result only if it is halfway between two numbers of 32 bits, or if the result is subnormal.
    let is_any_inexact = sums.iter().fold(false, |any, &sum| {
        let magnitude = f64::from_bits(sum).abs();
        let is_small = magnitude < f64::from(f32::MIN_POSITIVE) && magnitude != 0.0;
        any | (sum & 0x1fff_ffff == 0x1000_0000) | is_small
    });
    if is_any_inexact {
        each(|i| {
            let [x, y, z] = each_source([a[i], b[i], c[i]], f32::from_bits);
            canonical(odd_mul_add(x, y, z) as f32)
        })
    } else {
        each(|i| canonical(f64::from_bits(sums[i]) as f32))
    }
}

/// The sum of a product and a number. The product is exact in 64 bits; the sum there is rounded to odd, so that rounding it again is correct.
fn odd_mul_add(a: f32, b: f32, c: f32) -> f64 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    // The rounding error of the sum, exact.
    let rounded_c = sum - product;
    let error = (product - (sum - rounded_c)) + (c - rounded_c);
    let bits = sum.to_bits();
    // Towards the error: away from zero if it has the sign of the sum.
    let inexact = error != 0.0 && error.is_finite();
    let odd = if inexact && bits & 1 == 0 {
        if (error > 0.0) == (sum > 0.0) {
            bits + 1
        } else {
            bits - 1
        }
    } else {
        bits
    };
    f64::from_bits(odd)
}

/// A result with `.ftz`, from its value in 64 bits: zero if it is below the normal numbers when it is rounded to as many digits as those have.
pub(super) fn flushed_result(operation: Float, [a, b, c]: [u32; 3]) -> u32 {
    let [x, y, z] = each_source([a, b, c], f32::from_bits);
    let exact = match operation {
        Float::Mul => f64::from(x) * f64::from(y),
        Float::MulAdd => odd_mul_add(x, y, z),
        _ => f64::from(x) / f64::from(y),
    };
    let least = f64::from(f32::MIN_POSITIVE);
    let scale = 18_446_744_073_709_551_616.0;
    let is_tiny = exact.abs() < least && f64::from((exact * scale) as f32).abs() < least * scale;
    let rounded = canonical(exact as f32);
    if is_tiny {
        rounded & 0x8000_0000
    } else {
        rounded
    }
}

/// Whether a result may be below the normal numbers before it is rounded.
#[inline(always)]
pub(super) fn is_any_tiny(results: &Word) -> bool {
    let least = f32::MIN_POSITIVE.to_bits();
    results.iter().fold(false, |any, &bits| {
        any | ((bits & 0x7fff_ffff).wrapping_sub(1) < least)
    })
}

/// The results of an operation with `.ftz`.
#[inline(never)]
pub(super) fn flushed_results(operation: Float, a: &Word, b: &Word, c: &Word) -> Word {
    each(|i| flushed_result(operation, [a[i], b[i], c[i]]))
}

/// The results of an operation on 64 bits that one instruction of the host computes except for the NaN that it gives.
#[inline(always)]
pub(super) fn long_results(operation: Float, a: &Double, b: &Double, c: &Double) -> Double {
    let values: Double = each(|i| {
        let [x, y, z] = each_source([a[i], b[i], c[i]], f64::from_bits);
        let value = match operation {
            Float::Add => x + y,
            Float::Sub => x - y,
            Float::Mul => x * y,
            Float::MulAdd => x.mul_add(y, z),
            Float::Div => x / y,
            _ => x.sqrt(),
        };
        value.to_bits()
    });
    let is_any_nan = values
        .iter()
        .fold(false, |any, &bits| any | f64::from_bits(bits).is_nan());
    if is_any_nan {
        exact_results(operation, a, b, c)
    } else {
        values
    }
}

#[inline(never)]
fn exact_results(operation: Float, a: &Double, b: &Double, c: &Double) -> Double {
    each(|i| long(operation, [a[i], b[i], c[i]]))
}

/// A number rounded to an integer.
#[inline(always)]
pub(super) fn rounded(number: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Nearest => number.round_ties_even(),
        Rounding::Zero => number.trunc(),
        Rounding::Down => number.floor(),
        Rounding::Up => number.ceil(),
    }
}

macro_rules! extremes {
    ($name:ident, $f:ty) => {
        #[inline(always)]
        fn $name(a: $f, b: $f, greater: bool, nan: bool) -> $f {
            if a.is_nan() || b.is_nan() {
                return match (nan, a.is_nan()) {
                    (true, _) => <$f>::NAN,
                    (false, true) => b,
                    (false, false) => a,
                };
            }
            let less = a < b || a == b && a.is_sign_negative();
            if less != greater { a } else { b }
        }
    };
}

extremes!(extreme, f32);
extremes!(extreme_long, f64);

impl FloatComparison {
    /// Whether the comparison holds for two numbers.
    #[inline(always)]
    pub(super) fn holds<T: PartialOrd>(self, a: T, b: T) -> bool {
        let (less, equal, greater) = (a < b, a == b, a > b);
        let is_unordered = !(less | equal | greater);
        less & self.less
            | equal & self.equal
            | greater & self.greater
            | is_unordered & self.unordered
    }
}

#[inline(always)]
pub(super) fn single(operation: Float, [a, b, c]: [u32; 3]) -> u32 {
    let [x, y, z] = each_source([a, b, c], f32::from_bits);
    match operation {
        Float::Add => canonical(x + y),
        Float::Sub => canonical(x - y),
        Float::Mul => canonical(x * y),
        Float::MulAdd => canonical(odd_mul_add(x, y, z) as f32),
        Float::Div => canonical(x / y),
        Float::Sqrt => canonical(x.sqrt()),
        Float::Abs => canonical(x.abs()),
        Float::Negate => canonical(-x),
        Float::Min { nan } => canonical(extreme(x, y, false, nan)),
        Float::Max { nan } => canonical(extreme(x, y, true, nan)),
        Float::Flush => {
            if x.is_subnormal() {
                a & 0x8000_0000
            } else {
                a
            }
        }
        Float::Saturate => match x {
            _ if x.is_nan() || x <= 0.0 => 0,
            _ => x.min(1.0).to_bits(),
        },
        Float::Relu => {
            if x < 0.0 || a == 0x8000_0000 {
                0
            } else {
                canonical(x)
            }
        }
        Float::Exp2 | Float::Log2 | Float::Sin | Float::Cos | Float::Tanh => {
            (f64::from_bits(long(operation, [f64::from(x).to_bits(); 3])) as f32).to_bits()
        }
    }
}

#[inline(always)]
pub(super) fn long(operation: Float, [a, b, c]: [u64; 3]) -> u64 {
    let [x, y, z] = each_source([a, b, c], f64::from_bits);
    let binary = |value| canonical_long(value, [a, b, a]);
    let unary = |value| canonical_long(value, [a; 3]);
    match operation {
        Float::Add => binary(x + y),
        Float::Sub => binary(x - y),
        Float::Mul => binary(x * y),
        Float::MulAdd => canonical_long(x.mul_add(y, z), [a, b, c]),
        Float::Div => binary(x / y),
        Float::Sqrt => unary(x.sqrt()),
        Float::Abs => unary(x.abs()),
        Float::Negate => unary(-x),
        Float::Min { nan } => binary(extreme_long(x, y, false, nan)),
        Float::Max { nan } => binary(extreme_long(x, y, true, nan)),
        Float::Flush => {
            if x.is_subnormal() {
                a & 1 << 63
            } else {
                a
            }
        }
        Float::Saturate => match x {
            _ if x.is_nan() || x <= 0.0 => 0,
            _ => x.min(1.0).to_bits(),
        },
        Float::Relu => {
            if x < 0.0 || a == 1 << 63 {
                0
            } else {
                unary(x)
            }
        }
        // The same on every host, unlike those of the standard library.
        Float::Exp2 => unary(libm::exp2(x)),
        Float::Log2 => unary(libm::log2(x)),
        Float::Sin => unary(sine(x)),
        Float::Cos => unary(cosine(x)),
        Float::Tanh => unary(libm::tanh(x)),
    }
}

/// The sine of a number of turns; exactly zero for half ones.
fn sine(turns: f64) -> f64 {
    let fraction = turns % 1.0;
    // Half a turn and a quarter less are the same, and so are a turn and nothing.
    let small = match fraction.abs() {
        0.75.. => fraction - 1f64.copysign(fraction),
        0.25.. => 0.5f64.copysign(fraction) - fraction,
        _ => fraction,
    };
    if small == 0.0 {
        0f64.copysign(turns)
    } else {
        libm::sin(small * core::f64::consts::TAU)
    }
}

/// The cosine of a number of turns; exactly zero, and not negative, for odd quarters.
fn cosine(turns: f64) -> f64 {
    sine(0.25 - (turns % 1.0).abs()) + 0.0
}

/// The number in the 16 bits of a binary16.
pub(crate) fn half_to_single(bits: u32) -> u32 {
    let (sign, exponent, fraction) = (bits >> 15 & 1, bits >> 10 & 31, bits & 0x3ff);
    let magnitude = match exponent {
        31 if fraction != 0 => return NAN,
        31 => f32::INFINITY,
        0 => fraction as f32 * f32::from_bits(0x3380_0000),
        _ => f32::from_bits((exponent + 112) << 23 | fraction << 13),
    };
    magnitude.to_bits() | sign << 31
}

/// The nearest binary16.
pub(crate) fn single_to_half(bits: u32) -> u32 {
    let value = f32::from_bits(bits);
    if value.is_nan() {
        return 0x7fff;
    }
    let (sign, magnitude) = (bits >> 31 << 15, bits & 0x7fff_ffff);
    // Everything from halfway between the greatest number and the next power of two on is infinite.
    if magnitude >= 0x477f_f000 {
        return sign | 0x7c00;
    }
    if magnitude < 0x3880_0000 {
        // A multiple of 2^-24; the addition rounds.
        let scaled = f32::from_bits(magnitude) + 0.5;
        return sign | (scaled.to_bits() - 0x3f00_0000);
    }
    let rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    sign | ((rounded - 0x3800_0000) >> 13)
}

/// The number in the bits of a binary32; a NaN keeps its sign and its fraction.
#[inline(always)]
pub(super) fn single_to_long(bits: u32) -> u64 {
    let value = f32::from_bits(bits);
    if value.is_nan() {
        let (sign, fraction) = (u64::from(bits >> 31), u64::from(bits & 0x7f_ffff));
        sign << 63 | 0x7ff8_0000_0000_0000 | fraction << 29
    } else {
        f64::from(value).to_bits()
    }
}

/// The number in the 16 bits of a bfloat16.
pub(crate) const fn brain_to_single(bits: u32) -> u32 {
    bits << 16
}

/// The nearest bfloat16.
pub(crate) fn single_to_brain(bits: u32) -> u32 {
    if f32::from_bits(bits).is_nan() {
        return 0x7fff;
    }
    (bits + 0x7fff + (bits >> 16 & 1)) >> 16
}
