//! The least and the greatest of two and three numbers, by the order of their bits.

use crate::common::{Cases, floats, stride};

/// A format as far as order goes.
struct Order {
    name: &'static str,
    sign: u64,
    infinity: u64,
    least_normal: u64,
}

impl Order {
    /// Ascending with the number, -0 below +0; `None` of a NaN.
    fn key(&self, bits: u64) -> Option<i64> {
        let magnitude = (bits & (self.sign - 1)) as i64;
        let key = if bits & self.sign != 0 {
            -1 - magnitude
        } else {
            magnitude
        };
        (magnitude as u64 <= self.infinity).then_some(key)
    }

    fn flush(&self, bits: u64) -> u64 {
        if bits & (self.sign - 1) < self.least_normal {
            bits & self.sign
        } else {
            bits
        }
    }

    /// Of a list, by the words of the instruction.
    fn expected(&self, op: &str, words: &str, list: &[u64]) -> Option<u128> {
        let cross = list.iter().fold(0, |s, b| s ^ b & self.sign);
        let list: Vec<u64> = (list.iter())
            .map(|&b| {
                if words.contains("ftz") {
                    self.flush(b)
                } else {
                    b
                }
            })
            .map(|b| {
                if words.contains("abs") {
                    b & !self.sign
                } else {
                    b
                }
            })
            .collect();
        let numbers: Vec<u64> = list
            .iter()
            .copied()
            .filter(|&b| self.key(b).is_some())
            .collect();
        if words.contains("NaN") && numbers.len() < list.len() {
            return None;
        }
        let best = if op == "min" {
            numbers.into_iter().min_by_key(|&b| self.key(b))?
        } else {
            numbers.into_iter().max_by_key(|&b| self.key(b))?
        };
        let best = if words.contains("xorsign") {
            best & !self.sign | cross
        } else {
            best
        };
        Some(best.into())
    }
}

const SINGLE: Order = Order {
    name: "f32",
    sign: 1 << 31,
    infinity: 0x7f80_0000,
    least_normal: 0x80_0000,
};
const HALF: Order = Order {
    name: "f16",
    sign: 1 << 15,
    infinity: 0x7c00,
    least_normal: 0x400,
};
const BRAIN: Order = Order {
    name: "bf16",
    sign: 1 << 15,
    infinity: 0x7f80,
    least_normal: 0x80,
};

#[test]
fn of_single_precision() {
    let cases = &mut Cases::default();
    let all: Vec<u64> = floats()
        .into_iter()
        .map(|v| (v as f32).to_bits().into())
        .collect();
    for op in ["min", "max"] {
        for ftz in ["", ".ftz"] {
            for nan in ["", ".NaN"] {
                for &a in all.iter().step_by(stride().min(5)) {
                    for &b in all.iter().step_by(3) {
                        for sign in ["", ".xorsign.abs"] {
                            let words = format!("{ftz}{nan}{sign}");
                            let expected = SINGLE.expected(op, &words, &[a, b]);
                            cases.is(&format!("{op}{words}.f32"), &[a.into(), b.into()], expected);
                        }
                        for &c in all.iter().step_by(5) {
                            for sign in ["", ".abs"] {
                                let words = format!("{ftz}{nan}{sign}");
                                let expected = SINGLE.expected(op, &words, &[a, b, c]);
                                let three = [a.into(), b.into(), c.into()];
                                cases.is(&format!("{op}{words}.f32"), &three, expected);
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn of_halves() {
    let cases = &mut Cases::default();
    for order in [HALF, BRAIN] {
        let top = order.infinity;
        let least = order.least_normal;
        let mut all = vec![
            0,
            1,
            least - 1,
            least,
            0x3c00,
            0x3f80,
            top - 1,
            top,
            top + 1,
            0x7fff,
        ];
        all.extend(all.clone().into_iter().map(|b| b | order.sign));
        for op in ["min", "max"] {
            for ftz in ["", ".ftz"]
                .into_iter()
                .filter(|f| f.is_empty() || order.name == "f16")
            {
                for nan in ["", ".NaN"] {
                    for sign in ["", ".xorsign.abs"] {
                        let words = format!("{ftz}{nan}{sign}");
                        for &a in &all {
                            for &b in &all {
                                let one = order.expected(op, &words, &[a, b]);
                                let text = format!("{op}{words}.{}", order.name);
                                cases.is(&text, &[a.into(), b.into()], one);
                                // The other half is 1 and 2 of some format.
                                let other = order.expected(op, &words, &[0x3c00, 0x4000]);
                                let both = one.zip(other).map(|(a, b)| b << 16 | a);
                                let two = [a | 0x3c00 << 16, b | 0x4000 << 16].map(u128::from);
                                cases.is(&format!("{text}x2"), &two, both);
                            }
                        }
                    }
                }
            }
        }
    }
}
