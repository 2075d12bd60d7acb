//! The floating-point formats of the factors of matrix products: from bits to exact numbers.

use ptx_isa::ScalarType;

/// A number `significand · 2^(exponent - fraction)`, where `fraction` is that of its format.
///
/// Its exponent is the one that its bits state, so the significand of a subnormal number is below 1.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Number {
    /// With the sign. Of [`Number::SPECIAL`] it is the sign of an infinity, or 0 for NaN.
    pub(crate) significand: i32,
    pub(crate) exponent: i32,
}

impl Number {
    /// The exponent of zero: products with it are below all others.
    pub(crate) const ZERO: i32 = -(1 << 12);
    /// The exponent of infinities and NaN.
    pub(crate) const SPECIAL: i32 = 1 << 12;

    pub(crate) const fn is_special(self) -> bool {
        self.exponent == Self::SPECIAL
    }

    /// The number in binary32, which is exact for formats of 8 bits.
    pub(crate) fn to_single(self, format: Format) -> f32 {
        if self.is_special() {
            return match self.significand {
                0 => f32::NAN,
                sign => sign as f32 * f32::INFINITY,
            };
        }
        if self.exponent == Self::ZERO {
            return 0.0;
        }
        self.significand as f32 * 2f32.powi(self.exponent - format.fraction as i32)
    }
}

/// The meaning of the greatest codes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Top {
    /// Infinity and NaN have the greatest exponent.
    Infinity,
    /// The greatest code is NaN.
    Nan,
    /// All are numbers.
    Number,
}

/// A format.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Format {
    /// Bits of the exponent.
    exponent: u32,
    /// Bits of the fraction.
    pub(crate) fraction: u32,
    top: Top,
    signed: bool,
    /// The lowest bit in the container.
    shift: u32,
}

impl Format {
    const fn new(exponent: u32, fraction: u32, top: Top) -> Self {
        Self {
            exponent,
            fraction,
            top,
            signed: true,
            shift: 0,
        }
    }

    pub(crate) const SINGLE: Self = Self::new(8, 23, Top::Infinity);

    /// The format of a type. `padded`: the elements of less than 8 bits have a byte each.
    pub(crate) const fn of(ty: ScalarType, padded: bool) -> Option<Self> {
        Some(match ty {
            ScalarType::F16 => Self::new(5, 10, Top::Infinity),
            ScalarType::Bf16 => Self::new(8, 7, Top::Infinity),
            // The lowest bits of the register have no effect.
            ScalarType::Tf32 => Self {
                shift: 13,
                ..Self::new(8, 10, Top::Infinity)
            },
            ScalarType::E5m2 => Self::new(5, 2, Top::Infinity),
            ScalarType::E4m3 => Self::new(4, 3, Top::Nan),
            ScalarType::Ue4m3 => Self {
                signed: false,
                ..Self::new(4, 3, Top::Nan)
            },
            ScalarType::E3m2 => Self::new(3, 2, Top::Number),
            ScalarType::E2m3 => Self::new(2, 3, Top::Number),
            ScalarType::E2m1 => Self {
                shift: if padded { 2 } else { 0 },
                ..Self::new(2, 1, Top::Number)
            },
            _ => return None,
        })
    }

    /// The number in the bits of a container.
    #[inline]
    pub(crate) const fn decode(self, bits: u32) -> Number {
        let code = bits >> self.shift;
        let magnitude = code & ((1 << (self.exponent + self.fraction)) - 1);
        let negative = self.signed && code >> (self.exponent + self.fraction) & 1 == 1;
        let field = magnitude >> self.fraction;
        let fraction = magnitude & ((1 << self.fraction) - 1);
        let sign = if negative { -1 } else { 1 };
        let greatest = (1 << self.exponent) - 1;
        let special = match self.top {
            Top::Infinity => field == greatest,
            Top::Nan => magnitude == (1 << (self.exponent + self.fraction)) - 1,
            Top::Number => false,
        };
        if special {
            let infinite = fraction == 0 && matches!(self.top, Top::Infinity);
            return Number {
                significand: if infinite { sign } else { 0 },
                exponent: Number::SPECIAL,
            };
        }
        if magnitude == 0 {
            return Number {
                significand: 0,
                exponent: Number::ZERO,
            };
        }
        let bias = (1 << (self.exponent - 1)) - 1;
        let (hidden, stated) = match field {
            0 => (0, 1),
            field => (1 << self.fraction, field as i32),
        };
        Number {
            significand: sign * (fraction | hidden) as i32,
            exponent: stated - bias,
        }
    }
}
