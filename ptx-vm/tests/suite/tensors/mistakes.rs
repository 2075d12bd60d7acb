//! Invalid maps and operands end a launch with an error that says what was expected and found.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_vm::{StopReason, Swizzle, TensorElement, TensorFill, TensorInterleave, TensorMap};

use super::launch::{Copy, Memory, run_bytes};

const LOAD: &str = ".async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes";
const GATHER: &str =
    ".async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes";
const COLUMN: &str = ".async.bulk.tensor.3d.shared::cta.global.im2col.mbarrier::complete_tx::bytes";
const STORE: &str = ".async.bulk.tensor.2d.global.shared::cta.tile.bulk_group";

fn tiled(address: u64) -> TensorMap {
    TensorMap::tiled(TensorElement::F32, address, &[64, 64], &[32, 2])
}

fn columns(address: u64) -> TensorMap {
    let corners: [&[i32]; 2] = [&[-1], &[1]];
    TensorMap::im2col(TensorElement::F32, address, &[64, 8, 8], corners, 16, 4)
}

/// The reason why a copy is refused.
fn reason(
    form: &str,
    coordinates: &[i32],
    offsets: &[u16],
    shift: u32,
    map: impl FnOnce(u64) -> [u8; 128],
) -> String {
    let memory = Memory::random(&mut fastrand::Rng::with_seed(1));
    let copy = Copy {
        form,
        coordinates,
        offsets,
        shift,
        completes: form.contains("mbarrier").then_some(16),
    };
    match run_bytes(&copy, &memory, map) {
        Ok(_) => "no error".into(),
        Err(error) => match error.reason {
            StopReason::Invalid(reason) => reason,
            other => format!("{other:?}"),
        },
    }
}

#[expect(
    clippy::too_many_lines,
    clippy::type_complexity,
    reason = "a table of mistakes"
)]
#[test]
fn operands_that_do_not_fit_the_map_are_refused() {
    let bytes = |map: TensorMap| map.to_bytes().unwrap();
    let cases: &[(&str, &[i32], &[u16], u32, &dyn Fn(u64) -> [u8; 128], &str)] = &[
        (
            LOAD,
            &[0, 0],
            &[],
            0,
            &|_| [0; 128],
            "each of its 128 bytes is 0, expected a map",
        ),
        (
            LOAD,
            &[0, 0],
            &[],
            0,
            &|_| [0xff; 128],
            "these are not the bytes of a map",
        ),
        (
            LOAD,
            &[0, 0],
            &[],
            64,
            &|a| bytes(tiled(a)),
            "0x440, but a multiple of 128 is expected",
        ),
        (
            LOAD,
            &[0, 0],
            &[],
            0,
            &|a| {
                bytes(TensorMap::tiled(
                    TensorElement::F32,
                    a,
                    &[64, 8, 8],
                    &[32, 2, 1],
                ))
            },
            "has 3 dimensions, but the instruction expects 2",
        ),
        (
            COLUMN,
            &[0, 0, 0],
            &[0],
            0,
            &|a| {
                bytes(TensorMap::tiled(
                    TensorElement::F32,
                    a,
                    &[64, 8, 8],
                    &[32, 2, 1],
                ))
            },
            "is one for tiles, but one for im2col is expected",
        ),
        (
            COLUMN,
            &[0, 9, 0],
            &[0],
            0,
            &|a| bytes(columns(a)),
            "coordinate 1 is 9, but -1 to 8 is expected",
        ),
        (
            GATHER,
            &[0, 1, 2, 3, 4],
            &[],
            0,
            &|a| bytes(tiled(a)),
            "box_dim[1] of the tensor map is 2, but 1 is expected",
        ),
        (
            STORE,
            &[0, -1],
            &[],
            0,
            &|a| bytes(tiled(a)),
            "a coordinate is -1, but copies from shared memory expect at least 0",
        ),
        (
            STORE,
            &[0, 0],
            &[],
            0,
            &|a| {
                bytes(TensorMap::tiled(
                    TensorElement::B4x16P64,
                    a,
                    &[128, 8],
                    &[128, 2],
                ))
            },
            "are .b4x16_p64, but copies from shared memory expect another type",
        ),
        (
            LOAD,
            &[64, 0],
            &[],
            0,
            &|a| {
                bytes(TensorMap::tiled(
                    TensorElement::B4x16P64,
                    a,
                    &[128, 8],
                    &[128, 2],
                ))
            },
            "coordinate 0 is 64, but a multiple of 128 is expected",
        ),
        (
            ".reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group",
            &[0, 0],
            &[],
            0,
            &|a| bytes(TensorMap::tiled(TensorElement::F64, a, &[64, 8], &[8, 2])),
            "are .f64, but the reduction expects .u32, .s32, .u64, .f32, .f16 or .bf16",
        ),
        (
            ".async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group",
            &[0, 0, 0],
            &[],
            0,
            &|a| bytes(columns(a)),
            "the box of the tensor map is not within the images",
        ),
    ];
    for (form, coordinates, offsets, shift, map, expected) in cases {
        let found = reason(form, coordinates, offsets, *shift, map);
        assert!(found.contains(expected), "{form}: {found}");
    }
}

#[test]
fn a_tensor_outside_of_memory_is_refused() {
    let map = |address: u64| tiled(address + (1 << 30)).to_bytes().unwrap();
    let found = reason(LOAD, &[0, 0], &[], 0, map);
    assert!(found.contains("OutOfBounds"), "{found}");
    let map = |address: u64| tiled(address + (1 << 30)).to_bytes().unwrap();
    let found = reason(STORE, &[0, 0], &[], 0, map);
    assert!(found.contains("OutOfBounds"), "{found}");
    // A box that is larger than shared memory.
    let map = |address: u64| {
        let map = TensorMap::tiled(TensorElement::F32, address, &[64; 4], &[32, 256, 256, 256]);
        map.to_bytes().unwrap()
    };
    let form = LOAD.replace(".2d", ".4d");
    let found = reason(&form, &[0; 4], &[], 0, map);
    assert!(found.contains("OutOfBounds"), "{found}");
    // A box that is outside of the tensor: nothing is stored, but the launch ends.
    let map = |address: u64| {
        let map = TensorMap::tiled(
            TensorElement::F32,
            address,
            &[64; 5],
            &[32, 256, 256, 256, 256],
        );
        map.to_bytes().unwrap()
    };
    let form = STORE.replace(".2d", ".5d");
    let found = reason(&form, &[64; 5], &[], 0, map);
    assert_eq!(found, "StepLimit");
}

#[expect(clippy::too_many_lines, reason = "a table of mistakes")]
#[test]
fn maps_that_the_driver_refuses_have_no_bytes() {
    let f32s =
        |dims: &[u64], sizes: &[u32]| TensorMap::tiled(TensorElement::F32, 0x1000, dims, sizes);
    let u8s = TensorMap::tiled(TensorElement::U8, 0x1000, &[64, 8, 8], &[64, 1, 1]);
    let b6 = TensorMap::tiled(TensorElement::B6x16P32, 0x1000, &[128, 8], &[128, 2]);
    let column = |corners: [&[i32]; 2], channels, pixels| {
        TensorMap::im2col(
            TensorElement::F32,
            0x1000,
            &[64, 8, 8, 8],
            corners,
            channels,
            pixels,
        )
    };
    let cases = [
        (
            f32s(&[], &[]),
            "the number of dimensions is 0, expected 1 to 5",
        ),
        (
            f32s(&[8; 6], &[8; 6]),
            "the number of dimensions is 6, expected 1 to 5",
        ),
        (
            f32s(&[8, 8], &[8]),
            "the number of sizes of the box is 1, expected 2",
        ),
        (
            f32s(&[8, 0], &[8, 1]),
            "global_dim[1] is 0, expected 1 to 2^32",
        ),
        (
            f32s(&[8, (1 << 32) + 1], &[8, 1]),
            "global_dim[1] is 4294967297, expected 1 to 2^32",
        ),
        (
            f32s(&[8, 8], &[8, 257]),
            "box_dim[1] is 257, expected 1 to 256",
        ),
        (f32s(&[8, 8], &[0, 1]), "box_dim[0] is 0, expected 1 to 256"),
        (
            f32s(&[8, 8], &[6, 1]),
            "box_dim[0] is 6 elements of .f32, expected a multiple of 16 bytes",
        ),
        (
            f32s(&[8, 8], &[8, 1]).strides(&[40]),
            "global_stride[0] is 40, expected a multiple of 16 less than 2^40",
        ),
        (f32s(&[8, 8], &[8, 1]).strides(&[1 << 40]), "less than 2^40"),
        (
            f32s(&[8, 8], &[8, 1]).strides(&[]),
            "the number of strides is 0, expected 1",
        ),
        (
            f32s(&[8, 8], &[8, 1]).element_strides(&[1, 9]),
            "element_stride[1] is 9, expected 1 to 8",
        ),
        (
            f32s(&[64, 8], &[32, 1]).swizzle(Swizzle::Bytes64),
            "box_dim[0] is 128 bytes, expected at most 64 bytes",
        ),
        (
            f32s(&[8, 8], &[8, 1]).interleave(TensorInterleave::Bytes16),
            "the number of dimensions is 2, expected 3 to 5",
        ),
        (
            TensorMap::tiled(TensorElement::F32, 0x1008, &[8], &[8]),
            "global_address is 0x1008, expected a multiple of 16",
        ),
        (
            u8s.clone().interleave(TensorInterleave::Bytes32),
            "swizzle_mode is None, expected 32 bytes",
        ),
        (
            u8s.fill(TensorFill::Nan),
            "fill_mode is NaN, expected zeros for .u8",
        ),
        (
            b6.clone().swizzle(Swizzle::Bytes32),
            "expected none, or 128 bytes without flip",
        ),
        (
            b6.strides(&[112]),
            "global_stride[0] is 112, expected a multiple of 32",
        ),
        (
            column([&[-1, -1], &[0]], 8, 8),
            "offsets of the upper corner is 1, expected 2",
        ),
        (
            column([&[-129, 0], &[0, 0]], 8, 8),
            "lower corner in dimension 1 is -129, expected -128 to 127",
        ),
        (
            column([&[4, 0], &[-4, 0]], 8, 8),
            "the box in dimension 1 is from 4 to 3, expected at least one pixel",
        ),
        (
            column([&[0, 0], &[0, 0]], 260, 8),
            "channels per pixel is 260, expected 1 to 256",
        ),
        (
            column([&[0, 0], &[0, 0]], 8, 1025),
            "pixels per column is 1025, expected 1 to 1024",
        ),
        (
            TensorMap::im2col_wide(TensorElement::F32, 0x1000, &[64, 8, 8], [0, 0], 8, 8),
            "swizzle_mode is None, expected 64, 96 or 128 bytes",
        ),
    ];
    for (map, expected) in cases {
        let error = map.to_bytes().unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with("invalid tensor map: "), "{message}");
        assert!(message.contains(expected), "{message}");
        assert!(message.contains(error.field()), "{message}");
    }
}
