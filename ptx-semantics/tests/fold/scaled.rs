//! Conversions with scale factors, and those of the fixed-point format.

use crate::common::{Asked, codes, edges, stride};
use crate::formats::{Values, Way};
use crate::short::part;

/// The scale factor of a code; 255 is a NaN.
fn scale(code: u128) -> f64 {
    match code {
        255 => f64::NAN,
        _ => 2f64.powi(code as i32 - 127),
    }
}

/// The fixed-point number of a code.
fn fixed(code: u128) -> f64 {
    f64::from(code as u8 as i8) / 64.0
}

/// The code next to a number. Beyond the negative end it is open which one that is.
fn to_fixed(x: f64, way: &str, relu: bool) -> Option<u128> {
    let units = x * 64.0;
    let units = match way {
        "rn" => units.round_ties_even(),
        _ => units.trunc(),
    };
    match units {
        _ if x.is_nan() => Some(127),
        ..0.0 if relu => Some(0),
        ..-127.0 => None,
        _ => Some((units.min(127.0) as i8 as u8).into()),
    }
}

const WORDS: [(&str, bool, bool); 4] = [
    ("", false, false),
    (".relu", true, false),
    (".satfinite", false, true),
    (".satfinite.relu", true, true),
];

/// All codes of all formats with all scale factors.
#[test]
fn multiplied_by_scale_factors() {
    let bf16 = Values::of("bf16");
    for (name, width) in [
        ("e5m2", 8),
        ("e4m3", 8),
        ("e3m2", 8),
        ("e2m3", 8),
        ("e2m1", 4),
        ("s2f6", 8),
    ] {
        let from = (name != "s2f6").then(|| Values::of(name));
        let value = |code| from.as_ref().map_or(fixed(code), |f| f.decode(code));
        for (word, relu, finite) in WORDS {
            let text = format!("cvt.rn{word}.scaled::n2::ue8m0.bf16x2.{name}x2");
            let scaled = Asked::new(&text);
            let plain = Asked::new(&format!("cvt.rn{word}.bf16x2.{name}x2"));
            let round = |x| part(&bf16, x, Way::Nearest, relu, finite);
            for code in 0..1u128 << width {
                // The other element has another code and another scale factor.
                let other = code * 5 % (1 << width);
                for factor in (0..=255).step_by(stride()) {
                    let both = round(value(code) * scale(factor))
                        .zip(round(value(other) * scale(255 - factor)));
                    let operands = [code << width | other, factor << 8 | (255 - factor)];
                    scaled.is(&operands, both.map(|(a, b)| a << 16 | b));
                }
                let both = round(value(code)).zip(round(value(other)));
                plain.is(&[code << width | other], both.map(|(a, b)| a << 16 | b));
            }
        }
    }
}

#[test]
fn halves_to_fixed_point() {
    let bf16 = Values::of("bf16");
    for way in ["rn", "rz"] {
        for (word, relu) in [("", false), (".relu", true)] {
            let plain = Asked::new(&format!("cvt.{way}.satfinite{word}.s2f6x2.bf16x2"));
            let text = format!("cvt.{way}.satfinite{word}.scaled::n2::ue8m0.s2f6x2.bf16x2");
            let scaled = Asked::new(&text);
            for code in codes() {
                let x = bf16.decode(code);
                let one = |x| to_fixed(x, way, relu);
                plain.is(&[0x3f80 << 16 | code], one(x).map(|c| 64 << 8 | c));
                plain.is(&[code << 16 | 0x3f80], one(x).map(|c| c << 8 | 64));
                for factor in [0, 126, 133, 255] {
                    let both = one(x / scale(factor)).map(|c| c << 8 | 32);
                    scaled.is(&[code << 16 | 0x3f80, factor << 8 | 128], both);
                }
            }
        }
    }
}

#[test]
fn single_precision_to_fixed_point() {
    for way in ["rn", "rz"] {
        for (word, relu) in [("", false), (".relu", true)] {
            let plain = Asked::new(&format!("cvt.{way}.satfinite{word}.s2f6x2.f32"));
            let text = format!("cvt.{way}.satfinite{word}.scaled::n2::ue8m0.s2f6x2.f32");
            let scaled = Asked::new(&text);
            let one = 1f32.to_bits().into();
            let mut singles: Vec<f32> = edges(32)
                .into_iter()
                .map(|b| f32::from_bits(b as u32))
                .collect();
            for units in -260..=260 {
                let middle = units as f32 / 128.0;
                singles.extend([middle, middle.next_up(), middle.next_down()]);
            }
            for x in singles {
                let raw = x.to_bits().into();
                let code = |x: f64| to_fixed(x, way, relu);
                plain.is(&[raw, one], code(x.into()).map(|c| c << 8 | 64));
                plain.is(&[one, raw], code(x.into()).map(|c| 64 << 8 | c));
                for factor in (0..=255).step_by(5 * stride()) {
                    let both = code(f64::from(x) / scale(factor)).map(|c| c << 8 | 32);
                    scaled.is(&[raw, one, factor << 8 | 128], both);
                }
            }
        }
    }
}
