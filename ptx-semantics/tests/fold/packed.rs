//! Packed integers.

use crate::common::{Cases, bit, edges};

#[test]
fn packed_integers() {
    let cases = &mut Cases::default();
    for &x in &edges(32) {
        for &y in &edges(32) {
            let two = [x.into(), y.into()];
            let halves = |v: u64| [v as u16, (v >> 16) as u16];
            let each = |f: fn(u16, u16) -> u16| {
                let (a, b) = (halves(x), halves(y));
                Some(u128::from(f(a[0], b[0])) | u128::from(f(a[1], b[1])) << 16)
            };
            cases.is("add.u16x2", &two, each(u16::wrapping_add));
            cases.is("sub.s16x2", &two, each(u16::wrapping_sub));
            cases.is("add.sat.u16x2", &two, each(u16::saturating_add));
            cases.is(
                "add.sat.s16x2",
                &two,
                each(|a, b| (a as i16).saturating_add(b as i16) as u16),
            );
            cases.is("min.u16x2", &two, each(u16::min));
            cases.is(
                "max.s16x2",
                &two,
                each(|a, b| (a as i16).max(b as i16) as u16),
            );
            cases.is(
                "min.relu.s16x2",
                &two,
                each(|a, b| (a as i16).min(b as i16).max(0) as u16),
            );
            let bytes = (x as u32)
                .to_le_bytes()
                .into_iter()
                .zip((y as u32).to_le_bytes());
            let sums: Vec<u8> = bytes.map(|(a, b)| a.wrapping_add(b)).collect();
            cases.is(
                "add.u8x4",
                &two,
                Some(u32::from_le_bytes(sums.try_into().unwrap()).into()),
            );
        }
    }
}

#[test]
fn packing() {
    let cases = &mut Cases::default();
    for &x in &edges(32) {
        for &y in &edges(32) {
            for (suffix, bits, signed) in [
                ("u2", 2, false),
                ("s2", 2, true),
                ("u4", 4, false),
                ("s4", 4, true),
                ("u8", 8, false),
                ("s8", 8, true),
                ("u16", 16, false),
                ("s16", 16, true),
            ] {
                let (least, most) = if signed {
                    (-(1i64 << (bits - 1)), (1 << (bits - 1)) - 1)
                } else {
                    (0, (1 << bits) - 1)
                };
                let part = |v: u64| {
                    let v = i64::from(v as u32 as i32);
                    let v = if v < least {
                        least
                    } else if v > most {
                        most
                    } else {
                        v
                    };
                    (0..bits).map(|i| bit(v as u64, i) << i).sum::<u64>()
                };
                let both = part(x) << bits | part(y);
                if bits == 16 {
                    cases.is(
                        &format!("cvt.pack.sat.{suffix}.s32"),
                        &[x.into(), y.into()],
                        Some(both.into()),
                    );
                } else {
                    let c = 0xdead_beefu64;
                    let expected = (0..32)
                        .map(|i| {
                            if i < 2 * bits {
                                bit(both, i) << i
                            } else {
                                bit(c, i - 2 * bits) << i
                            }
                        })
                        .sum::<u64>();
                    cases.is(
                        &format!("cvt.pack.sat.{suffix}.s32.b32"),
                        &[x.into(), y.into(), c.into()],
                        Some(expected.into()),
                    );
                }
            }
        }
    }
}
