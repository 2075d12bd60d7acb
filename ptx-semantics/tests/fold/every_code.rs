//! Conversions from short formats, for all codes of 16 bits and for all pairs of shorter ones.

use crate::common::{Asked, codes, stride};
use crate::formats::{Values, Way};
use crate::short::part;

const HALVES: [&str; 2] = ["f16", "bf16"];
const SHORT: [(&str, u32); 5] = [
    ("e5m2", 8),
    ("e4m3", 8),
    ("e3m2", 8),
    ("e2m3", 8),
    ("e2m1", 4),
];
type Round = fn(f64) -> f64;

const INTEGRAL: [(&str, Round); 4] = [
    ("rni", f64::round_ties_even),
    ("rzi", f64::trunc),
    ("rmi", f64::floor),
    ("rpi", f64::ceil),
];

/// `x` as an integer of this width, clamped; a NaN is zero, or in 64 bits the highest bit alone.
fn integer(x: f64, bits: u32, signed: bool) -> u128 {
    let value = match (bits, signed) {
        (64, _) if x.is_nan() => 1 << 63,
        (8, true) => (x as i8 as u8).into(),
        (8, false) => (x as u8).into(),
        (16, true) => (x as i16 as u16).into(),
        (16, false) => (x as u16).into(),
        (32, true) => (x as i32 as u32).into(),
        (32, false) => (x as u32).into(),
        (_, true) => x as i64 as u64,
        (_, false) => x as u64,
    };
    value.into()
}

#[test]
fn halves_to_integers() {
    for source in HALVES {
        let from = Values::of(source);
        for (name, round) in INTEGRAL {
            for bits in [8, 16, 32, 64] {
                for signed in [false, true] {
                    if source == "bf16" && bits == 8 {
                        continue;
                    }
                    let letter = if signed { 's' } else { 'u' };
                    let asked = Asked::new(&format!("cvt.{name}.{letter}{bits}.{source}"));
                    for code in codes() {
                        let x = round(from.decode(code));
                        asked.is(&[code], Some(integer(x, bits, signed)));
                    }
                }
            }
        }
    }
}

#[test]
fn halves_to_numbers() {
    for source in HALVES {
        let from = Values::of(source);
        let known = |x: f64, bits: u128| (!x.is_nan()).then_some(bits);
        let single = Asked::new(&format!("cvt.f32.{source}"));
        let double = Asked::new(&format!("cvt.f64.{source}"));
        for code in codes() {
            let x = from.decode(code);
            single.is(&[code], known(x, (x as f32).to_bits().into()));
            double.is(&[code], known(x, x.to_bits().into()));
        }
        for (name, round) in INTEGRAL {
            let asked = Asked::new(&format!("cvt.{name}.{source}.{source}"));
            for code in codes() {
                let x = round(from.decode(code));
                let bits = known(x, 0).and_then(|_| from.round(x, Way::Zero));
                asked.is(&[code], bits);
            }
        }
    }
    for (source, target) in [("f16", "bf16"), ("bf16", "f16")] {
        let (from, to) = (Values::of(source), Values::of(target));
        // Without a modifier as with the first one, as in ptxas.
        for (word, way) in [
            ("", Way::Nearest),
            (".rn", Way::Nearest),
            (".rz", Way::Zero),
            (".rm", Way::Down),
            (".rp", Way::Up),
        ] {
            let asked = Asked::new(&format!("cvt{word}.{target}.{source}"));
            for code in codes() {
                asked.is(&[code], part(&to, from.decode(code), way, false, false));
            }
        }
    }
    let (half, saturated) = (Values::of("f16"), Asked::new("cvt.sat.f16.f16"));
    for code in codes() {
        let x = half.decode(code);
        let expected = match x {
            _ if x.is_nan() => Some(0),
            _ => half.round(x.clamp(0.0, 1.0), Way::Zero),
        };
        saturated.is(&[code], expected.map(|bits| bits & 0x7fff));
    }
}

#[test]
fn halves_to_short_formats() {
    for source in HALVES {
        let from = Values::of(source);
        for (name, width) in SHORT {
            let to = Values::of(name);
            for relu in [false, true] {
                let word = if relu { ".relu" } else { "" };
                let text = format!("cvt.rn.satfinite{word}.{name}x2.{source}x2");
                let asked = Asked::new(&text);
                let one = |code| part(&to, from.decode(code), Way::Nearest, relu, true);
                let all: Vec<_> = (0..=0xffff).map(one).collect();
                for code in codes() {
                    let other = code * 31 % 0x10000;
                    let both = all[code as usize].zip(all[other as usize]);
                    asked.is(&[code << 16 | other], both.map(|(a, b)| a << width | b));
                }
            }
        }
    }
}

/// The two highest bits of a byte with a number of six bits are ignored.
#[test]
fn pairs_of_short_numbers() {
    // Only what is converted to `.bf16` can be saturated to finite numbers.
    let words = [
        ("f16", "", false, false),
        ("f16", ".relu", true, false),
        ("bf16", "", false, false),
        ("bf16", ".relu.satfinite", true, true),
    ];
    for (name, width) in SHORT {
        let from = Values::of(name);
        for (target, word, relu, finite) in words {
            let to = Values::of(target);
            let asked = Asked::new(&format!("cvt.rn{word}.{target}x2.{name}x2"));
            let one = |code| part(&to, from.decode(code), Way::Zero, relu, finite);
            let all: Vec<_> = (0..1 << width).map(one).collect();
            let step = stride().min((1 << width) / 4);
            for high in (0..1usize << width).step_by(step) {
                for low in 0..1usize << width {
                    let both = all[high].zip(all[low]).map(|(a, b)| a << 16 | b);
                    asked.is(&[(high << width | low) as u128], both);
                }
            }
        }
    }
}
