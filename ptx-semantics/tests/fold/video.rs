//! Scalar video instructions by the pseudocode of the PTX ISA manual, on whole numbers and bytes.

use crate::common::{Dice, with};
use ptx_isa::Selector;
use ptx_semantics::fold::Video;

const PARTS: [&str; 7] = ["", "b0", "b1", "b2", "b3", "h0", "h1"];

fn selector(text: &str) -> Option<Selector> {
    (!text.is_empty()).then(|| Selector::from_text(text.as_bytes()).unwrap())
}

/// The part of a register by its name, as the type has it.
fn part(word: u32, name: &str, signed: bool) -> i128 {
    let bytes = word.to_le_bytes();
    let half = |i: usize| u16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]]);
    let at = || usize::from(name.as_bytes()[1] - b'0');
    match (name.as_bytes().first(), signed) {
        (None, false) => word.into(),
        (None, true) => (word as i32).into(),
        (Some(b'b'), false) => bytes[at()].into(),
        (Some(b'b'), true) => (bytes[at()] as i8).into(),
        (_, false) => half(at()).into(),
        (_, true) => (half(at()) as i16).into(),
    }
}

fn limits(name: &str, signed: bool) -> (i128, i128) {
    match (name.as_bytes().first(), signed) {
        (None, false) => (0, u32::MAX.into()),
        (None, true) => (i32::MIN.into(), i32::MAX.into()),
        (Some(b'b'), false) => (0, 255),
        (Some(b'b'), true) => (-128, 127),
        (_, false) => (0, 65535),
        (_, true) => (-32768, 32767),
    }
}

/// The part of `c` replaced.
fn merge(c: u32, name: &str, value: i128) -> u32 {
    let mut bytes = c.to_le_bytes();
    let at = usize::from(name.as_bytes()[1] - b'0');
    if name.starts_with('b') {
        bytes[at] = value as u8;
    } else {
        bytes[2 * at..2 * at + 2].copy_from_slice(&(value as u16).to_le_bytes());
    }
    u32::from_le_bytes(bytes)
}

/// What the primary operation gives.
fn primary(op: &str, mode: &str, a: i128, b: i128) -> i128 {
    let amount = if mode == ".wrap" {
        b % 32
    } else if b > 32 {
        32
    } else {
        b
    };
    let power = || 1i128 << amount;
    match op {
        "vadd" => a + b,
        "vsub" => a - b,
        "vabsdiff" if a < b => b - a,
        "vabsdiff" => a - b,
        "vmin" if b < a => b,
        "vmax" if b > a => b,
        "vmin" | "vmax" => a,
        "vshl" => a * power(),
        "vshr" => a.div_euclid(power()),
        _ => i128::from(match mode {
            ".eq" => a == b,
            ".ne" => a != b,
            ".lt" => a < b,
            ".le" => a <= b,
            ".gt" => a > b,
            _ => a >= b,
        }),
    }
}

#[test]
fn scalar_video_instructions() {
    let mut dice = Dice(1);
    let (mut known, mut open) = (0, 0);
    let arithmetic = ["vadd", "vsub", "vabsdiff", "vmin", "vmax"];
    let shifts = ["vshl", "vshr"];
    for op in arithmetic.into_iter().chain(shifts).chain(["vset"]) {
        for _ in 0..12_000 {
            let [d, x, y] = [(); 3].map(|()| dice.of(&["u32", "s32"]));
            let (sat, mode) = (dice.of(&["", ".sat"]), dice.of(&[".clamp", ".wrap"]));
            let test = dice.of(&[".eq", ".ne", ".lt", ".le", ".gt", ".ge"]);
            let second = dice.of(&["", "", ".add", ".min", ".max"]);
            let into = if second.is_empty() {
                dice.of(&PARTS)
            } else {
                ""
            };
            let (text, d, y, mode, sat) = match op {
                "vset" => (format!("{op}.{x}.{y}{test}{second}"), "u32", y, test, ""),
                "vshl" | "vshr" => (
                    format!("{op}.{d}.{x}.u32{sat}{mode}{second}"),
                    d,
                    "u32",
                    mode,
                    sat,
                ),
                _ => (format!("{op}.{d}.{x}.{y}{sat}{second}"), d, y, "", sat),
            };
            let (from_a, from_b) = (dice.of(&PARTS), dice.of(&PARTS));
            let (a, b, c) = (dice.word(), dice.word(), dice.word());
            let exact = primary(
                op,
                mode,
                part(a, from_a, x == "s32"),
                part(b, from_b, y == "s32"),
            );
            let (least, most) = limits(into, d == "s32");
            let value = match sat {
                "" => exact,
                _ if exact < least => least,
                _ if exact > most => most,
                _ => exact,
            };
            let addend = part(c, "", d == "s32");
            let (least, most) = limits("", d == "s32");
            let narrow = (-(1i128 << 33)..1 << 33).contains(&exact);
            let expected = match second {
                // Wider than the intermediate result, or with the sign of another type.
                _ if !sat.is_empty() && !narrow => None,
                ".min" | ".max" if value < least || value > most => None,
                ".add" => Some((value + addend) as u32),
                ".min" => Some(value.min(addend) as u32),
                ".max" => Some(value.max(addend) as u32),
                _ if into.is_empty() => Some(value as u32),
                _ => Some(merge(c, into, value)),
            };
            let three = !second.is_empty() || !into.is_empty();
            let operands = [a.into(), b.into(), c.into()];
            let video = Video {
                into: selector(into),
                parts: [selector(from_a), selector(from_b)],
                ..Video::default()
            };
            let found = with(&text, &operands[..2 + usize::from(three)], None, video);
            let found = found.map(|f| f.value);
            assert_eq!(
                found,
                expected.map(u128::from),
                "{text} .{into} {a:#x}.{from_a} {b:#x}.{from_b} {c:#x}"
            );
            *(if found.is_some() {
                &mut known
            } else {
                &mut open
            }) += 1;
        }
    }
    assert!(known > 80_000 && open > 1000, "{known} {open}");
}

#[test]
fn multiplication_and_addition() {
    let mut dice = Dice(2);
    let mut open = 0;
    for _ in 0..60_000 {
        let [d, x, y] = [(); 3].map(|()| dice.of(&["u32", "s32"]));
        let sat = dice.of(&["", ".sat"]);
        let (scale, shift) = dice.of(&[("", 1i128), (".shr7", 1 << 7), (".shr15", 1 << 15)]);
        let [minus_a, minus_b, minus_c] = [(); 3].map(|()| dice.below(3) == 0);
        let po = !(minus_a || minus_b || minus_c) && dice.below(2) == 0;
        let text = format!(
            "vmad.{d}.{x}.{y}{}{sat}{scale}",
            if po { ".po" } else { "" }
        );
        let (from_a, from_b) = (dice.of(&PARTS), dice.of(&PARTS));
        let (a, b, c) = (dice.word(), dice.word(), dice.word());
        let (ta, tb) = (part(a, from_a, x == "s32"), part(b, from_b, y == "s32"));
        let minus = minus_a ^ minus_b;
        let signed = x == "s32" || y == "s32" || minus || minus_c;
        let end = |tmp: i128| {
            let (least, most) = limits("", signed);
            let result = tmp.div_euclid(shift);
            if sat.is_empty() {
                result as u32
            } else {
                result.clamp(least, most) as u32
            }
        };
        let (mut tmp, mut third, mut lsb) = (ta * tb, c, 0);
        if po {
            lsb = 1;
        } else if minus {
            (tmp, lsb) = (!tmp, 1);
        } else if minus_c {
            (third, lsb) = (!c, 1);
        }
        let by_code = end(tmp + part(third, "", signed) + lsb);
        // The text negates an addend without a sign where both factors have none.
        let by_text = if minus_c && x == "u32" && y == "u32" && !minus {
            end(ta * tb - i128::from(c))
        } else {
            by_code
        };
        let legal = !(minus && minus_c);
        let expected = (legal && by_code == by_text).then_some(u128::from(by_code));
        open += u32::from(expected.is_none());
        let video = Video {
            into: None,
            parts: [selector(from_a), selector(from_b)],
            negative: [minus_a, minus_b, minus_c],
        };
        let found = with(&text, &[a.into(), b.into(), c.into()], None, video);
        assert_eq!(
            found.map(|f| f.value),
            expected,
            "{text} {minus_a}{a:#x}.{from_a} {minus_b}{b:#x}.{from_b} {minus_c}{c:#x}"
        );
    }
    assert!((1..20_000).contains(&open), "{open}");
}

/// Selected parts that there are not, and parts where no instruction takes any.
#[test]
fn wrong_parts() {
    let into = |into: &str| Video {
        into: selector(into),
        ..Video::default()
    };
    let from = |part: &str| Video {
        parts: [selector(part), None],
        ..Video::default()
    };
    let add = "vadd.u32.u32.u32";
    let one = with(add, &[1, 2, 3], None, into("b1")).unwrap();
    assert_eq!(one.value, 0x303);
    for (text, operands, video) in [
        (add, &[1, 2][..], into("b1")),
        ("vadd.u32.u32.u32.add", &[1, 2, 3], into("b1")),
        (add, &[1, 2], from("b4")),
        (add, &[1, 2], from("h2")),
        (add, &[1, 2], from("b10")),
        (add, &[1, 2], from("x")),
        ("vadd2.u32.u32.u32", &[1, 2, 3], from("h1")),
        ("vadd2.u32.u32.u32", &[1, 2, 3], from("b10")),
        ("vadd2.u32.u32.u32", &[1, 2, 3], into("h2")),
        ("vadd4.u32.u32.u32", &[1, 2, 3], into("b4")),
        ("add.u32", &[1, 2], from("b0")),
    ] {
        assert_eq!(with(text, operands, None, video), None, "{text} {video:?}");
    }
}
