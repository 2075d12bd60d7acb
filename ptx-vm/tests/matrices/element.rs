//! The bits of integers in the types of matrix elements.

use crate::Numbers;

/// A type of elements.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Element {
    /// Its name without the dot.
    pub(crate) name: &'static str,
    /// The bits that an element takes.
    pub(crate) bits: usize,
    /// The widths of exponent and fraction of a floating-point type.
    pub(crate) float: Option<(u32, u32)>,
    /// The lowest bit in its place.
    pub(crate) shift: u32,
    /// The greatest integer that tests use.
    pub(crate) most: i64,
    /// The least one.
    pub(crate) least: i64,
}

const fn float(
    name: &'static str,
    bits: usize,
    exponent: u32,
    fraction: u32,
    shift: u32,
) -> Element {
    Element {
        name,
        bits,
        float: Some((exponent, fraction)),
        shift,
        most: 4,
        least: -4,
    }
}

const fn integer(name: &'static str, bits: usize, least: i64, most: i64) -> Element {
    Element {
        name,
        bits,
        float: None,
        shift: 0,
        most,
        least,
    }
}

pub(crate) const F64: Element = float("f64", 64, 11, 52, 0);
pub(crate) const F32: Element = float("f32", 32, 8, 23, 0);
pub(crate) const TF32: Element = float("tf32", 32, 8, 10, 13);
pub(crate) const F16: Element = float("f16", 16, 5, 10, 0);
pub(crate) const BF16: Element = float("bf16", 16, 8, 7, 0);
pub(crate) const E4M3: Element = float("e4m3", 8, 4, 3, 0);
pub(crate) const E5M2: Element = float("e5m2", 8, 5, 2, 0);
pub(crate) const E3M2: Element = float("e3m2", 8, 3, 2, 0);
pub(crate) const E2M3: Element = float("e2m3", 8, 2, 3, 0);
/// In the middle of a byte.
pub(crate) const PADDED_E2M1: Element = float("e2m1", 8, 2, 1, 2);
pub(crate) const E2M1: Element = float("e2m1", 4, 2, 1, 0);
pub(crate) const S32: Element = integer("s32", 32, -1000, 1000);
pub(crate) const S8: Element = integer("s8", 8, -128, 127);
pub(crate) const U8: Element = integer("u8", 8, 0, 255);
pub(crate) const S4: Element = integer("s4", 4, -8, 7);
pub(crate) const U4: Element = integer("u4", 4, 0, 15);
pub(crate) const B1: Element = integer("b1", 1, 0, 1);

impl Element {
    /// The bits of an integer.
    pub(crate) fn encode(self, value: i64) -> u64 {
        let Some((exponent, fraction)) = self.float else {
            return value as u64 & (u64::MAX >> (64 - self.bits));
        };
        let sign = u64::from(value < 0) << (exponent + fraction);
        let magnitude = value.unsigned_abs();
        let bias = (1u64 << (exponent - 1)) - 1;
        let code = match magnitude {
            0 => 0,
            _ => {
                let power = magnitude.ilog2();
                let part = (magnitude ^ 1 << power) << (fraction - power.min(fraction));
                ((bias + u64::from(power)) << fraction) | part
            }
        };
        (sign | code) << self.shift
    }

    /// The integer of bits.
    pub(crate) fn decode(self, bits: u64) -> i64 {
        match self.name {
            "f64" => f64::from_bits(bits) as i64,
            "f32" => f32::from_bits(bits as u32) as i64,
            "f16" => {
                let (field, part) = (bits >> 10 & 31, bits & 0x3ff);
                assert!(field != 31, "{bits:#x}");
                let magnitude = match field {
                    0..15 => 0,
                    _ => (0x400 | part) << 15 >> (25 + 15 - field),
                };
                if bits >> 15 == 1 {
                    -(magnitude as i64)
                } else {
                    magnitude as i64
                }
            }
            _ => bits as i32 as i64,
        }
    }

    /// Any matrix of the type.
    pub(crate) fn any(self, random: &mut fastrand::Rng, rows: usize, columns: usize) -> Numbers {
        Numbers::new(rows, columns, |_, _| random.i64(self.least..=self.most))
    }

    /// The bytes of a matrix, rows one after the other.
    pub(crate) fn bytes(self, of: &Numbers) -> Vec<u8> {
        let mut bytes = vec![0; of.values.len() * self.bits / 8];
        for (n, &value) in of.values.iter().enumerate() {
            let code = self.encode(value);
            for bit in 0..self.bits {
                let at = n * self.bits + bit;
                bytes[at / 8] |= ((code >> bit & 1) as u8) << (at % 8);
            }
        }
        bytes
    }

    /// The matrix in bytes of whole elements.
    pub(crate) fn read(self, rows: usize, columns: usize, bytes: &[u8]) -> Numbers {
        Numbers::new(rows, columns, |row, column| {
            let size = self.bits / 8;
            let at = (row * columns + column) * size;
            let code = bytes[at..at + size]
                .iter()
                .rev()
                .fold(0, |n, &b| n << 8 | u64::from(b));
            self.decode(code)
        })
    }
}
