//! Bits of numbers.

use ptx_isa::ScalarType;
use ptx_semantics::fold::number_bits;

#[test]
fn numbers_of_all_formats() {
    let cases = [
        (ScalarType::F64, -0.1, Some((-0.1f64).to_bits())),
        (ScalarType::F32, 0.1, Some(u64::from(0.1f32.to_bits()))),
        (ScalarType::F32, f64::NAN, Some(0x7fc0_0000)),
        (ScalarType::F16, 65504.0, Some(0x7bff)),
        (ScalarType::F16, 65520.0, Some(0x7c00)),
        (ScalarType::F16, -0.0, Some(0x8000)),
        (ScalarType::Bf16, 1.0, Some(0x3f80)),
        (ScalarType::Tf32, 1.0 + 1.0 / 2048.0, Some(0x3f80_0000)),
        (ScalarType::E5m2, f64::INFINITY, Some(0x7c)),
        (ScalarType::E4m3, 448.0, Some(0x7e)),
        (ScalarType::E4m3, 1e9, None),
        (ScalarType::E4m3, f64::NAN, Some(0x7f)),
        (ScalarType::E2m1, 6.0, Some(7)),
        (ScalarType::E2m1, f64::NAN, None),
        (ScalarType::Ue8m0, 4.0, Some(129)),
        (ScalarType::Ue8m0, -1.0, None),
        (ScalarType::S2f6, -2.0, Some(0x80)),
        (ScalarType::S2f6, 0.75, Some(48)),
        (ScalarType::S2f6, 2.0, None),
        (ScalarType::S32, 1.0, None),
    ];
    for (ty, number, bits) in cases {
        assert_eq!(number_bits(ty, number), bits, "{ty:?} {number}");
    }
}
