//! Bits that the PTX ISA manual leaves open.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use crate::common::{kernel, run};

/// What a body leaves that begins with a NaN in `%f1`, 1 in `%f2`, -0 in `%f3`, and a NaN in `%fd1`.
fn found(body: &str) -> Vec<u32> {
    let start = ".reg .f64 %fd<4>;\n.reg .b32 %w;\n\
                 ld.global.f32 %f1, [%out];\nld.global.f32 %f2, [%out+4];\nld.global.f32 %f3, [%out+8];\nld.global.f64 %fd1, [%out+16];\n";
    let words = [
        0x7fc1_2345,
        0x3f80_0000,
        0x8000_0000,
        0,
        0x1234_5678,
        0xfff0_0001,
    ];
    run(&kernel("", &format!("{start}{body}")), 1, 1, &words).unwrap()
}

#[test]
fn an_element_that_is_nan_leaves_others_alone() {
    let body = "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;\nst.global.b16 [%out], %h1;\n\
                cvt.rn.satfinite.e5m2x2.f32 %h1, %f2, %f1;\nst.global.b16 [%out+2], %h1;\n\
                cvt.rz.f16x2.f32 %w, %f1, %f2;\nst.global.b32 [%out+4], %w;\n\
                cvt.rz.bf16x2.f32 %w, %f2, %f1;\nst.global.b32 [%out+8], %w;";
    assert_eq!(found(body)[..3], [0x3c7f_7f38, 0x7fff_3c00, 0x3f80_7fff]);
}

#[test]
fn relu_makes_zero_of_negative_zero() {
    let body = "cvt.rn.satfinite.relu.e4m3x2.f32 %h1, %f3, %f2;\nst.global.b16 [%out], %h1;\n\
                cvt.rz.relu.f16x2.f32 %w, %f2, %f3;\nst.global.b32 [%out+4], %w;";
    let found = found(body);
    assert_eq!((found[0] & 0xffff, found[1]), (0x0038, 0x3c00_0000));
}

#[test]
fn a_nan_of_64_bits_is_that_of_a_source() {
    let body = "cvt.f64.f32 %fd2, %f1;\nst.global.f64 [%out], %fd2;\n\
                add.rm.f64 %fd2, %fd1, 0d3FF0000000000000;\nst.global.f64 [%out+8], %fd2;\n\
                mul.rz.f64 %fd2, 0d7FF0000000000000, 0d0000000000000000;\nst.global.f64 [%out+16], %fd2;";
    let expected = [
        0xa000_0000,
        0x7ff8_2468,
        0x1234_5678,
        0xfff8_0001,
        0,
        0xfff8_0000,
    ];
    assert_eq!(found(body), expected);
}
