//! Conversions to and from short formats, by search among all their values.

use crate::common::{Asked, Cases, edges, stride};
use crate::formats::{Values, Way};

/// The result for a number; `None` where the PTX ISA manual leaves it undefined.
pub(crate) fn part(to: &Values, x: f64, way: Way, relu: bool, finite: bool) -> Option<u128> {
    let most = to.all.len() as u128 - 1;
    let bits = if x.is_nan() {
        // Formats of numbers alone.
        let none = ["e2m1", "e2m3", "e3m2"].contains(&to.name);
        return (finite && none).then_some(most);
    } else if finite && x.abs() > to.most() {
        most | if x < 0.0 { to.sign } else { 0 }
    } else {
        to.round(x, way)?
    };
    match relu && bits & to.sign != 0 {
        true if bits == to.sign => None,
        true => Some(0),
        false => Some(bits),
    }
}

const WORDS: [(&str, bool, bool); 4] = [
    ("", false, false),
    (".relu", true, false),
    (".satfinite", false, true),
    (".relu.satfinite", true, true),
];

#[test]
fn from_single_precision() {
    let cases = &mut Cases::default();
    for (name, width) in [
        ("f16", 16),
        ("bf16", 16),
        ("e5m2", 8),
        ("e4m3", 8),
        ("e3m2", 8),
        ("e2m3", 8),
        ("e2m1", 4),
    ] {
        let to = Values::of(name);
        let singles = to.singles();
        for (word, relu, finite) in WORDS {
            for (way, round) in [("rn", Way::Nearest), ("rz", Way::Zero)] {
                if width < 16 && (round == Way::Zero || !finite) {
                    continue;
                }
                for (i, &a) in singles.iter().enumerate() {
                    let b = singles[(i * 7 + 3) % singles.len()];
                    let one = |x: f32| part(&to, x.into(), round, relu, finite);
                    let both = one(a).zip(one(b)).map(|(a, b)| a << width | b);
                    let bits = |x: f32| u128::from(x.to_bits());
                    cases.is(
                        &format!("cvt.{way}{word}.{name}x2.f32"),
                        &[bits(a), bits(b)],
                        both,
                    );
                    if width == 16 && !word.is_empty() {
                        cases.is(&format!("cvt.{way}{word}.{name}.f32"), &[bits(a)], one(a));
                    }
                }
            }
        }
    }
}

#[test]
fn powers_of_two() {
    let cases = &mut Cases::default();
    let power = |code: u128| 2f64.powi(code as i32 - 127);
    let bf16 = Values::of("bf16");
    let asked = Asked::new("cvt.rn.bf16x2.ue8m0x2");
    let wide = |c: u128| (c < 255).then(|| bf16.round(power(c), Way::Zero)).flatten();
    let all: Vec<_> = (0..=255).map(wide).collect();
    for code in 0..=0xffff_u128 {
        let halves = [code >> 8, code & 0xff].map(|c| all[c as usize]);
        let both = halves[0].zip(halves[1]).map(|(a, b)| a << 16 | b);
        asked.is(&[code], both);
    }
    let down = |x: f64| (0..255).rev().find(|&c| power(c) <= x);
    let up = |x: f64| (0..255).find(|&c| power(c) >= x);
    let code = |x: f64, way: &str, finite: bool| match x {
        _ if x.is_nan() => Some(255),
        // As in the functions of CUDA for the host: no sign, no zero.
        _ if x.abs() < power(0) => Some(0),
        _ if x.abs() > power(254) && finite => Some(254),
        _ if x.is_infinite() => Some(255),
        _ if way == "rz" => down(x.abs()),
        _ => up(x.abs()).or(Some(255)),
    };
    for (way, finite) in [("rz", false), ("rz", true), ("rp", false), ("rp", true)] {
        let word = if finite { ".satfinite" } else { "" };
        let asked = Asked::new(&format!("cvt.{way}{word}.ue8m0x2.bf16x2"));
        for bits in 0..=0xffffu128 {
            let one = code(bf16.decode(bits), way, finite);
            asked.is(&[bits << 16 | 0x3f80], one.map(|c| c << 8 | 127));
        }
        for bits in edges(32) {
            let one = code(f32::from_bits(bits as u32).into(), way, finite);
            let expected = one.map(|c| 127 << 8 | c);
            cases.is(
                &format!("cvt.{way}{word}.ue8m0x2.f32"),
                &[0x3f80_0000, bits.into()],
                expected,
            );
        }
    }
}

/// Away from zero if the part that is lost and the random one make a whole unit together.
#[test]
fn random_bits() {
    let cases = &mut Cases::default();
    for (name, cut, least) in [("f16", 13, 2f64.powi(-14)), ("bf16", 16, 0.0)] {
        let to = Values::of(name);
        for (word, relu, finite) in WORDS {
            for x in to.singles().into_iter().step_by(stride()) {
                for random in [
                    0u32, 1, 0xfff, 0x1000, 0x1fff, 0x7fff, 0x8000, 0xffff, 0xe000,
                ] {
                    let size = f64::from(x.abs());
                    let below = to.all.partition_point(|&v| v <= size).saturating_sub(1);
                    let expected = if finite && size > to.most() || size == f64::INFINITY {
                        part(&to, x.into(), Way::Zero, relu, finite)
                    } else if x.is_nan() {
                        None
                    } else if size != 0.0 && size < least && size != to.all[below] {
                        // How many bits are cut off of a number that becomes subnormal is not defined.
                        None
                    } else {
                        let end = to.all.get(below + 1).copied();
                        let unit = end.unwrap_or(2.0 * 2f64.powi(127)) - to.all[below];
                        let unit = if end.is_none() {
                            to.all[below] - to.all[below - 1]
                        } else {
                            unit
                        };
                        let whole = f64::from(1u32 << cut);
                        let lost = (size - to.all[below]) / unit * whole;
                        let carry = lost + f64::from(random % (1 << cut)) >= whole;
                        let code = below + usize::from(carry);
                        let sign = if x.is_sign_negative() { to.sign } else { 0 };
                        let bits = (code < to.all.len()).then_some(code as u128 | sign);
                        bits.and_then(|b| match relu && sign != 0 {
                            true => (code != 0).then_some(0),
                            false => Some(b),
                        })
                    };
                    // The other part is one, whatever its random bits are.
                    let one = to.round(1.0, Way::Zero).unwrap();
                    let text = format!("cvt.rs{word}.{name}x2.f32");
                    let (raw, unit) = (x.to_bits().into(), 1f32.to_bits().into());
                    let high = u128::from(random) << 16 | 0xffff;
                    cases.is(&text, &[raw, unit, high], expected.map(|b| b << 16 | one));
                    let low = 0xffff_0000 | u128::from(random);
                    cases.is(&text, &[unit, raw, low], expected.map(|b| one << 16 | b));
                }
            }
        }
    }
}
