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
        ("add.sat.u64", vec![1, 1]),
        ("add.s32", vec![1]),
        ("setp.lo.s32", vec![1, 1]),
        ("cvt.rn.f16.f32", vec![0x7fc0_0000]),
        ("ld.u32", vec![1]),
    ] {
        assert_eq!(run(text, &operands, None), None, "{text}");
    }
    // Rounded up to the least normal number: open whether `.ftz` makes it zero.
    assert_eq!(run("mul.ftz.f32", &[0x00ff_ffff, 0x3f00_0000], None), None);
}
