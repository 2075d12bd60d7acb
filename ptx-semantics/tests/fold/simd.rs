//! SIMD video instructions by the pseudocode of the PTX ISA manual, on lists of numbers.

use crate::common::{Dice, with};
use ptx_isa::Selector;
use ptx_semantics::fold::Video;

/// All half words or bytes of two registers, the lowest first, as a type has them.
fn lanes(words: &[u32], bytes: bool, signed: bool) -> Vec<i64> {
    let all: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let half = |pair: &[u8]| u16::from_le_bytes([pair[0], pair[1]]);
    match (bytes, signed) {
        (true, false) => all.iter().map(|&b| b.into()).collect(),
        (true, true) => all.iter().map(|&b| (b as i8).into()).collect(),
        (false, false) => all.chunks(2).map(|p| half(p).into()).collect(),
        (false, true) => all.chunks(2).map(|p| (half(p) as i16).into()).collect(),
    }
}

#[test]
fn simd_video_instructions() {
    let mut dice = Dice(3);
    for op in ["vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset"] {
        for _ in 0..12_000 {
            let bytes = dice.below(2) == 0;
            let (count, letter) = if bytes { (4, 'b') } else { (2, 'h') };
            let [d, x, y] = [(); 3].map(|()| dice.of(&["u32", "s32"]));
            let end = dice.of(&["", ".sat", ".add"]);
            let test = dice.of(&["eq", "ne", "lt", "le", "gt", "ge"]);
            let (text, d, end) = if op == "vset" {
                let end = if end == ".add" { end } else { "" };
                (format!("{op}{count}.{x}.{y}.{test}{end}"), "u32", end)
            } else {
                (format!("{op}{count}.{d}.{x}.{y}{end}"), d, end)
            };
            // The places from which each lane is taken, the highest first as written.
            let mut choose = |default: usize| {
                if dice.below(3) == 0 {
                    (
                        None,
                        (default..default + count).rev().collect::<Vec<usize>>(),
                    )
                } else {
                    let picked: Vec<usize> = (0..count).map(|_| dice.below(2 * count)).collect();
                    let digits: String = picked.iter().map(usize::to_string).collect();
                    let text = format!("{letter}{digits}");
                    (Selector::from_text(text.as_bytes()), picked)
                }
            };
            let ((asel, from_a), (bsel, from_b)) = (choose(0), choose(count));
            let set = 1 + dice.below((1 << count) - 1);
            let digits: String = (0..count)
                .rev()
                .filter(|i| set >> i & 1 == 1)
                .map(|i| i.to_string())
                .collect();
            let full = set == (1 << count) - 1;
            let mask = Selector::from_text(format!("{letter}{digits}").as_bytes());
            let mask = mask.filter(|_| !full || dice.below(2) == 0);
            let (a, b, c) = (dice.word(), dice.word(), dice.word());

            let (va, vb) = (
                lanes(&[a, b], bytes, x == "s32"),
                lanes(&[a, b], bytes, y == "s32"),
            );
            let (mut sum, mut out) = (c, lanes(&[c], bytes, false));
            for i in (0..count).filter(|i| set >> i & 1 == 1) {
                let (p, q) = (va[from_a[count - 1 - i]], vb[from_b[count - 1 - i]]);
                let t = match op {
                    "vadd" => p + q,
                    "vsub" => p - q,
                    "vavrg" if p + q >= 0 => (p + q + 1).div_euclid(2),
                    "vavrg" => (p + q).div_euclid(2),
                    "vabsdiff" => {
                        if p > q {
                            p - q
                        } else {
                            q - p
                        }
                    }
                    "vmin" => {
                        if p < q {
                            p
                        } else {
                            q
                        }
                    }
                    "vmax" => {
                        if p > q {
                            p
                        } else {
                            q
                        }
                    }
                    _ => i64::from(match test {
                        "eq" => p == q,
                        "ne" => p != q,
                        "lt" => p < q,
                        "le" => p <= q,
                        "gt" => p > q,
                        _ => p >= q,
                    }),
                };
                let (least, most) = match (bytes, d) {
                    (true, "s32") => (-128, 127),
                    (true, _) => (0, 255),
                    (false, "s32") => (-32768, 32767),
                    (false, _) => (0, 65535),
                };
                let t = if end == ".sat" {
                    t.clamp(least, most)
                } else {
                    t
                };
                sum = sum.wrapping_add(t as u32);
                out[i] = t;
            }
            let merged: Vec<u8> = if bytes {
                out.iter().map(|&t| t as u8).collect()
            } else {
                out.iter().flat_map(|&t| (t as u16).to_le_bytes()).collect()
            };
            let merged = u32::from_le_bytes(merged.try_into().unwrap());
            let expected = if end == ".add" { sum } else { merged };
            let video = Video {
                into: mask,
                parts: [asel, bsel],
                ..Video::default()
            };
            let found = with(&text, &[a.into(), b.into(), c.into()], None, video);
            assert_eq!(
                found.map(|f| f.value),
                Some(expected.into()),
                "{text} {a:#x} {b:#x} {c:#x} {mask:?} {asel:?} {bsel:?}"
            );
        }
    }
}
