//! Number formats: what their bits mean, computed slowly.

/// A format of numbers.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// A sign, and that many bits of the exponent and of the fraction. No code is special below the limit of [`Format::random`].
    Float {
        exponent: u32,
        fraction: u32,
    },
    /// A power of two: the exponent plus 127.
    Ue8m0,
    /// As e4m3, without a sign.
    Ue4m3,
    /// Integers of that many bits.
    Signed(u32),
    Unsigned(u32),
}

pub(crate) const F32: Format = float(8, 23);
pub(crate) const TF32: Format = F32;
pub(crate) const F16: Format = float(5, 10);
pub(crate) const BF16: Format = float(8, 7);
pub(crate) const E5M2: Format = float(5, 2);
pub(crate) const E4M3: Format = float(4, 3);
pub(crate) const E3M2: Format = float(3, 2);
pub(crate) const E2M3: Format = float(2, 3);
pub(crate) const E2M1: Format = float(2, 1);

const fn float(exponent: u32, fraction: u32) -> Format {
    Format::Float { exponent, fraction }
}

impl Format {
    /// The bits of a number.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Self::Float { exponent, fraction } => 1 + exponent + fraction,
            Self::Ue8m0 | Self::Ue4m3 => 8,
            Self::Signed(bits) | Self::Unsigned(bits) => bits,
        }
    }

    /// The number that a code means.
    pub(crate) fn value(self, code: u32) -> f64 {
        match self {
            Self::Unsigned(_) => f64::from(code),
            Self::Signed(bits) => f64::from((code << (32 - bits)) as i32 >> (32 - bits)),
            Self::Ue8m0 => 2f64.powi(code as i32 - 127),
            Self::Ue4m3 => E4M3.value(code & 0x7f),
            Self::Float { exponent, fraction } => {
                let bias = (1 << (exponent - 1)) - 1;
                let power = (code >> fraction & ((1 << exponent) - 1)) as i32;
                let low = f64::from(code & ((1 << fraction) - 1)) / f64::from(1u32 << fraction);
                let magnitude = match power {
                    0 => low * 2f64.powi(1 - bias),
                    _ => (1.0 + low) * 2f64.powi(power - bias),
                };
                match code >> (exponent + fraction) & 1 {
                    0 => magnitude,
                    _ => -magnitude,
                }
            }
        }
    }

    /// The code of a number, which the format has.
    pub(crate) fn code(self, value: f64) -> u32 {
        match self {
            Self::Float {
                exponent: 8,
                fraction,
            } => (value as f32).to_bits() >> (23 - fraction),
            Self::Signed(bits) => value as i32 as u32 & (u32::MAX >> (32 - bits)),
            Self::Unsigned(_) => value as u32,
            Self::Float { exponent, fraction } => {
                let magnitude = self.search(value.abs(), exponent + fraction);
                magnitude | u32::from(value < 0.0) << (exponent + fraction)
            }
            Self::Ue8m0 => self.search(value, 8),
            Self::Ue4m3 => self.search(value, 7),
        }
    }

    /// The code of a number among those of some bits, whose numbers ascend.
    fn search(self, value: f64, bits: u32) -> u32 {
        let (mut low, mut high) = (0, 1 << bits);
        while high - low > 1 {
            let middle = u32::midpoint(low, high);
            if self.value(middle) <= value {
                low = middle;
            } else {
                high = middle;
            }
        }
        assert_eq!(self.value(low), value, "a number of {self:?}");
        low
    }

    /// A random code, the magnitude of whose number is at most a limit, and a multiple of a number.
    pub(crate) fn random(self, random: &mut fastrand::Rng, limit: f64, multiple: f64) -> u32 {
        if self.bits() > 8 {
            let steps = (limit / multiple) as i32;
            return self.code(f64::from(random.i32(-steps..=steps)) * multiple);
        }
        loop {
            let code = random.u32(0..1 << self.bits());
            let value = self.value(code);
            if value.abs() <= limit && value % multiple == 0.0 {
                return code;
            }
        }
    }
}
