//! Conversions of single precision to its shorter form for tensor cores, and with random bits to four elements.

use crate::common::{Asked, edges, floats};
use crate::formats::{Values, Way};
use crate::short::part;

/// The unit of a fraction of ten bits.
const UNIT: u32 = 1 << 13;

fn singles() -> Vec<f32> {
    let mut all: Vec<f32> = floats().into_iter().map(|v| v as f32).collect();
    all.extend(edges(32).into_iter().map(|b| f32::from_bits(b as u32)));
    for bits in (0..=u32::MAX - UNIT).step_by(37 * UNIT as usize) {
        let near = [0, 1, UNIT / 2 - 1, UNIT / 2, UNIT / 2 + 1, UNIT - 1];
        all.extend(near.map(|low| f32::from_bits(bits | low)));
        all.extend(near.map(|low| f32::from_bits((bits ^ UNIT) | low)));
    }
    all
}

/// The value of bits; of infinity, that of the number that would follow the greatest one.
fn size(bits: u32) -> f64 {
    match f32::from_bits(bits) {
        f32::INFINITY => 2f64.powi(128),
        x => x.into(),
    }
}

/// The nearest number of 19 bits, of the two that enclose the magnitude.
fn shortened(x: f32, way: &str) -> u32 {
    let magnitude = x.abs().to_bits();
    let below = magnitude / UNIT * UNIT;
    let above = below + UNIT;
    let (down, up) = (size(magnitude) - size(below), size(above) - size(magnitude));
    let odd = below / UNIT % 2 == 1;
    let nearest = match way {
        _ if magnitude == below => below,
        "rz" => below,
        "rn" if down > up || down == up && odd => above,
        "rna" if down >= up => above,
        _ => below,
    };
    nearest | x.to_bits() & 0x8000_0000
}

#[test]
fn nineteen_bits() {
    const MOST: u32 = 0x7f7f_e000;
    let singles = singles();
    for way in ["rna", "rn", "rz"] {
        for (word, relu, finite) in [
            ("", false, false),
            (".relu", true, false),
            (".satfinite", false, true),
            (".satfinite.relu", true, true),
        ] {
            if way == "rna" && relu {
                continue;
            }
            let asked = Asked::new(&format!("cvt.{way}{word}.tf32.f32"));
            for &x in &singles {
                let sign = x.to_bits() & 0x8000_0000;
                let bits = match shortened(x, way) {
                    _ if finite && f64::from(x.abs()) > size(MOST) => MOST | sign,
                    bits => bits,
                };
                let expected = match bits {
                    _ if x.is_nan() => None,
                    0x8000_0000 if relu => None,
                    _ if relu && sign != 0 => Some(0),
                    bits => Some(bits.into()),
                };
                asked.is(&[x.to_bits().into()], expected);
            }
        }
    }
}

/// Which random bits decide is only drawn in the PTX ISA manual: what has no bits to cut off does not depend on them.
#[test]
fn four_elements() {
    for (name, width) in [
        ("e5m2", 8),
        ("e4m3", 8),
        ("e3m2", 8),
        ("e2m3", 8),
        ("e2m1", 4),
    ] {
        let to = Values::of(name);
        for (word, relu) in [("", false), (".relu", true)] {
            let asked = Asked::new(&format!("cvt.rs{word}.satfinite.{name}x4.f32"));
            for x in to.singles() {
                let size = f64::from(x.abs());
                let exact = x.is_nan() || to.all.contains(&size) || size > to.most();
                let known = exact.then(|| part(&to, x.into(), Way::Zero, relu, true));
                for place in 0..4 {
                    let ones = to.round(1.0, Way::Zero).unwrap();
                    let mut operands = [u128::from(1f32.to_bits()); 5];
                    operands[3 - place] = x.to_bits().into();
                    operands[4] = 0x1234_5678;
                    let all = known.flatten().map(|code| {
                        (0..4).fold(0, |sum, at| {
                            sum | if at == place { code } else { ones } << (at * width)
                        })
                    });
                    asked.is(&operands, all);
                }
            }
        }
    }
}
