//! What has no answer.

use crate::common::run;

#[test]
fn what_is_open_or_unknown_is_refused() {
    for (text, operands) in [
        ("div.s32", vec![0x8000_0000, 0xffff_ffff]),
        ("rem.u64", vec![5, 0]),
        ("add.f32", vec![0x7fc0_0000, 0]),
        ("sqrt.approx.f32", vec![0x3f80_0000]),
        ("div.full.f32", vec![0x3f80_0000, 0x3f80_0000]),
        ("div.approx.f32", vec![0x3f80_0000, 0x3f80_0000]),
        ("rcp.approx.f32", vec![0x3f80_0000]),
        ("rcp.approx.ftz.f64", vec![0x3ff0_0000_0000_0000]),
        ("rsqrt.approx.f64", vec![0x3ff0_0000_0000_0000]),
        ("ex2.approx.f16", vec![0]),
        ("tanh.approx.f32", vec![0]),
        ("sin.approx.f32", vec![0]),
        ("add.ftz.f16x2.f32x2.f32x2", vec![0, 0]),
        ("add.sat.u64", vec![1, 1]),
        ("add.s32", vec![1]),
        ("setp.lo.s32", vec![1, 1]),
        ("cvt.rn.f16.f32", vec![0x7fc0_0000]),
        ("ld.u32", vec![1]),
    ] {
        assert_eq!(run(text, &operands, None), None, "{text}");
    }
}
