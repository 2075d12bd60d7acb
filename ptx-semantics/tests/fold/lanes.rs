//! Selection by sign, lanes of floats.

use crate::common::{Cases, floats, run};

#[test]
fn selection_by_sign_and_lanes_of_floats() {
    let cases = &mut Cases::default();
    for c in floats().into_iter().map(|v| v as f32) {
        let operands = [7, 9, c.to_bits().into()];
        cases.is(
            "slct.u32.f32",
            &operands,
            Some(if c >= 0.0 { 7 } else { 9 }),
        );
        let flushed = if c.is_subnormal() { 0.0 } else { c };
        cases.is(
            "slct.ftz.u32.f32",
            &operands,
            Some(if flushed >= 0.0 { 7 } else { 9 }),
        );
        for d in floats().into_iter().map(|v| v as f32) {
            let wide =
                |low: f32, high: f32| u128::from(high.to_bits()) << 32 | u128::from(low.to_bits());
            let (sum, difference) = (c + d, d - c);
            let expected = (!sum.is_nan() && !difference.is_nan() && !(d + -c).is_nan())
                .then(|| wide(sum, difference));
            cases.is("add.rn.f32x2", &[wide(c, d), wide(d, -c)], expected);
            let half = |v: f32| run("cvt.rn.f16.f32", &[v.to_bits().into()], None).map(|f| f.value);
            if let (Some(x), Some(y)) = (half(c), half(d)) {
                let single = |bits: u128| {
                    f32::from_bits(run("cvt.f32.f16", &[bits], None).unwrap().value as u32)
                };
                cases.is("setp.lt.f16", &[x, y], Some((single(x) < single(y)).into()));
                if single(x) != single(y) {
                    cases.is(
                        "max.f16",
                        &[x, y],
                        Some(if single(x) < single(y) { y } else { x }),
                    );
                }
            }
        }
    }
}
