//! Tensor maps: their bytes, their checks, and a kernel that copies with one.

use ptx_cuda::driver::tensor_map::*;
use ptx_cuda::status::Status;
use ptx_vm::{Swizzle, TensorElement, TensorFill, TensorInterleave, TensorMap};

use crate::common::{Random, kernel, load, session};
use crate::session::{argument, succeeds};

/// Memory for a map.
#[repr(align(128))]
#[derive(Clone, PartialEq, Debug)]
struct Bytes([u8; 128]);

/// The parameters of the function for tiles.
#[derive(Clone)]
struct Tiled {
    element: u32,
    address: usize,
    sizes: Vec<u64>,
    strides: Vec<u64>,
    box_sizes: Vec<u32>,
    steps: Vec<u32>,
    interleave: u32,
    swizzle: u32,
    promotion: u32,
    fill: u32,
}

impl Tiled {
    /// A matrix of 32-bit numbers, with 200 columns and 1000 rows, in tiles of 32 columns and 16 rows.
    fn matrix() -> Self {
        Self {
            element: 7,
            address: 0x1000_0000,
            sizes: vec![200, 1000],
            strides: vec![800],
            box_sizes: vec![32, 16],
            steps: vec![1, 1],
            interleave: 0,
            swizzle: 3,
            promotion: 2,
            fill: 0,
        }
    }

    fn encode(&self) -> Result<[u8; 128], Status> {
        let mut bytes = Bytes([0xee; 128]);
        let status = cuTensorMapEncodeTiled(
            bytes.0.as_mut_ptr(),
            self.element,
            self.sizes.len() as u32,
            self.address,
            self.sizes.as_ptr(),
            self.strides.as_ptr(),
            self.box_sizes.as_ptr(),
            self.steps.as_ptr(),
            self.interleave,
            self.swizzle,
            self.promotion,
            self.fill,
        );
        if status == Status::SUCCESS {
            Ok(bytes.0)
        } else {
            assert_eq!(bytes.0, [0xee; 128]);
            Err(status)
        }
    }
}

/// The types in the order of the header.
const ELEMENTS: [TensorElement; 16] = [
    TensorElement::U8,
    TensorElement::U16,
    TensorElement::U32,
    TensorElement::S32,
    TensorElement::U64,
    TensorElement::S64,
    TensorElement::F16,
    TensorElement::F32,
    TensorElement::F64,
    TensorElement::Bf16,
    TensorElement::F32Ftz,
    TensorElement::Tf32,
    TensorElement::Tf32Ftz,
    TensorElement::B4x16,
    TensorElement::B4x16P64,
    TensorElement::B6x16P32,
];

#[test]
fn maps_have_the_encoding_of_the_machine() {
    let _session = session();
    let mut random = Random(9);
    for (number, element) in (0..).zip(ELEMENTS) {
        for rank in 1..=5usize {
            let padded = number >= 14;
            let inner = if padded { 128 } else { 256 / element.bits() };
            let mut tiled = Tiled::matrix();
            tiled.element = number;
            tiled.address = 32 * random.below(1 << 30);
            tiled.sizes = (0..rank)
                .map(|_| 128 * (1 + random.below(9) as u64))
                .collect();
            tiled.strides = (1..rank)
                .map(|_| 32 * random.below(1 << 20) as u64)
                .collect();
            tiled.box_sizes = (0..rank).map(|_| 1 + random.below(256) as u32).collect();
            tiled.box_sizes[0] = inner;
            tiled.steps = (0..rank).map(|_| 1 + random.below(8) as u32).collect();
            let swizzle = match random.below(2) {
                0 => Swizzle::None,
                _ => Swizzle::Bytes128,
            };
            tiled.swizzle = if swizzle == Swizzle::None { 0 } else { 3 };
            tiled.fill = u32::from((6..13).contains(&number) && random.below(2) == 0);
            let fill = [TensorFill::Zeros, TensorFill::Nan][tiled.fill as usize];
            let expected = TensorMap::tiled(
                element,
                tiled.address as u64,
                &tiled.sizes,
                &tiled.box_sizes,
            )
            .strides(&tiled.strides)
            .element_strides(&tiled.steps)
            .swizzle(swizzle)
            .fill(fill);
            let bytes = tiled.encode().unwrap();
            assert_eq!(TensorMap::from_bytes(&bytes).unwrap(), expected);
            // Another address.
            let mut changed = Bytes(bytes);
            succeeds(cuTensorMapReplaceAddress(changed.0.as_mut_ptr(), 0x4000));
            let moved = TensorMap::from_bytes(&changed.0).unwrap();
            assert_eq!(moved, expected.address(0x4000));
            let refused = cuTensorMapReplaceAddress(changed.0.as_mut_ptr(), 0x4008);
            assert_eq!(refused, Status::INVALID_VALUE);
        }
    }
    let swizzles = [
        Swizzle::None,
        Swizzle::Bytes32,
        Swizzle::Bytes64,
        Swizzle::Bytes128,
        Swizzle::Bytes128Atom32,
        Swizzle::Bytes128Atom32Flip8,
        Swizzle::Bytes128Atom64,
    ];
    for (number, swizzle) in (0..).zip(swizzles) {
        let mut tiled = Tiled::matrix();
        tiled.swizzle = number;
        tiled.box_sizes[0] = 8;
        let expected = TensorMap::tiled(TensorElement::F32, 0x1000_0000, &[200, 1000], &[8, 16]);
        let found = TensorMap::from_bytes(&tiled.encode().unwrap()).unwrap();
        assert_eq!(found, expected.swizzle(swizzle));
    }
    // An interleaved layout, whose strides are those of the program, also if they are dense.
    let mut tiled = Tiled::matrix();
    tiled.sizes = vec![32, 8, 4, 2];
    tiled.strides = vec![128, 1024, 4096];
    tiled.box_sizes = vec![8, 4, 2, 1];
    tiled.steps = vec![1; 4];
    (tiled.interleave, tiled.swizzle) = (2, 1);
    let expected = TensorMap::tiled(TensorElement::F32, 0x1000_0000, &tiled.sizes, &[8, 4, 2, 1])
        .interleave(TensorInterleave::Bytes32)
        .swizzle(Swizzle::Bytes32)
        .strides(&tiled.strides);
    let found = TensorMap::from_bytes(&tiled.encode().unwrap()).unwrap();
    assert_eq!(found, expected);
}

#[test]
fn parameters_are_checked_as_documented() {
    let _session = session();
    assert!(Tiled::matrix().encode().is_ok());
    let changes: &[&dyn Fn(&mut Tiled)] = &[
        &|map| map.element = 16,
        &|map| map.sizes.clear(),
        &|map| map.sizes = vec![16; 6],
        &|map| map.address += 8,
        &|map| map.sizes[1] = 0,
        &|map| map.sizes[1] = (1 << 32) + 1,
        &|map| map.strides[0] = 808,
        &|map| map.strides[0] = 1 << 40,
        &|map| map.box_sizes[1] = 257,
        &|map| map.box_sizes[1] = 0,
        // Not a multiple of 16 bytes, and more than the swizzle has.
        &|map| map.box_sizes[0] = 3,
        &|map| map.box_sizes[0] = 36,
        &|map| map.steps[1] = 9,
        &|map| map.steps[1] = 0,
        &|map| map.interleave = 3,
        // Interleaved layouts need three dimensions.
        &|map| map.interleave = 1,
        &|map| map.swizzle = 7,
        &|map| map.promotion = 4,
        &|map| map.fill = 2,
        &|map| {
            map.element = 2;
            map.fill = 1;
        },
        &|map| map.element = 14,
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut tiled = Tiled::matrix();
        change(&mut tiled);
        assert_eq!(tiled.encode(), Err(Status::INVALID_VALUE), "{number}");
    }
    // The memory for the map is null, or at no multiple of 64; the arrays are null.
    let tiled = Tiled::matrix();
    let mut bytes = Bytes([0; 128]);
    let encode = |map: *mut u8, sizes: *const u64, steps: *const u32| {
        let [strides, box_sizes] = [tiled.strides.as_ptr(), tiled.box_sizes.as_ptr().cast()];
        cuTensorMapEncodeTiled(
            map,
            7,
            2,
            0,
            sizes,
            strides,
            box_sizes.cast(),
            steps,
            0,
            0,
            0,
            0,
        )
    };
    let [sizes, steps] = [tiled.sizes.as_ptr(), tiled.steps.as_ptr().cast()];
    let map = bytes.0.as_mut_ptr();
    succeeds(encode(map, sizes, steps.cast()));
    for status in [
        encode(std::ptr::null_mut(), sizes, steps.cast()),
        encode(map.wrapping_add(32), sizes, steps.cast()),
        encode(map, std::ptr::null(), steps.cast()),
        encode(map, sizes, std::ptr::null()),
        cuTensorMapReplaceAddress(std::ptr::null_mut(), 0),
    ] {
        assert_eq!(status, Status::INVALID_VALUE);
    }
    bytes.0 = [0xff; 128];
    let status = cuTensorMapReplaceAddress(bytes.0.as_mut_ptr(), 0);
    assert_eq!(status, Status::INVALID_VALUE);
}

#[test]
fn columns_of_pixels_are_described() {
    let _session = session();
    let sizes = [64u64, 20, 12, 9, 3];
    let strides = [128u64, 2560, 30720, 276_480];
    let steps = [1u32, 2, 1, 1, 1];
    let [lower, upper] = [[-1, -2, -3], [1, 2, 3]];
    let encode = |rank: u32, channels, pixels| {
        let mut bytes = Bytes([0; 128]);
        let status = cuTensorMapEncodeIm2col(
            bytes.0.as_mut_ptr(),
            6,
            rank,
            0x2000,
            sizes.as_ptr(),
            strides.as_ptr(),
            lower.as_ptr(),
            upper.as_ptr(),
            channels,
            pixels,
            steps.as_ptr(),
            0,
            3,
            0,
            1,
        );
        (status, bytes.0)
    };
    for (refused, _) in [
        encode(2, 64, 8),
        encode(6, 64, 8),
        encode(5, 257, 8),
        encode(5, 64, 1025),
    ] {
        assert_eq!(refused, Status::INVALID_VALUE);
    }
    for rank in 3..=5usize {
        let (status, bytes) = encode(rank as u32, 64, 128);
        succeeds(status);
        let spatial = rank - 2;
        let expected = TensorMap::im2col(
            TensorElement::F16,
            0x2000,
            &sizes[..rank],
            [&lower[..spatial], &upper[..spatial]],
            64,
            128,
        )
        .strides(&strides[..rank - 1])
        .element_strides(&steps[..rank])
        .swizzle(Swizzle::Bytes128)
        .fill(TensorFill::Nan);
        assert_eq!(TensorMap::from_bytes(&bytes).unwrap(), expected);
    }
}

#[test]
fn columns_along_the_width_are_described() {
    let _session = session();
    let sizes = [64u64, 20, 12, 3];
    let strides = [128u64, 2560, 30720];
    let steps = [1u32; 4];
    let encode = |mode, swizzle, pixels| {
        let mut bytes = Bytes([0; 128]);
        let status = cuTensorMapEncodeIm2colWide(
            bytes.0.as_mut_ptr(),
            9,
            4,
            0x2000,
            sizes.as_ptr(),
            strides.as_ptr(),
            -4,
            5,
            64,
            pixels,
            steps.as_ptr(),
            0,
            mode,
            swizzle,
            0,
            0,
        );
        (status, bytes.0)
    };
    for (mode, pixels, expected_pixels) in [(0, 100, 100), (1, 7, 0)] {
        let (status, bytes) = encode(mode, 3, pixels);
        succeeds(status);
        let expected = TensorMap::im2col_wide(
            TensorElement::Bf16,
            0x2000,
            &sizes,
            [-4, 5],
            64,
            expected_pixels,
        )
        .strides(&strides)
        .swizzle(Swizzle::Bytes128);
        assert_eq!(TensorMap::from_bytes(&bytes).unwrap(), expected);
    }
    for (mode, swizzle, pixels) in [
        (2, 3, 100),
        (0, 0, 100),
        (0, 1, 100),
        (0, 3, 1025),
        (0, 3, 0),
    ] {
        assert_eq!(encode(mode, swizzle, pixels).0, Status::INVALID_VALUE);
    }
}

/// Copies a tile of 8 rows of 16 numbers to shared memory, and from there to `out`.
const TILE: &str = ".version 8.6\n.target sm_100\n.address_size 64
.visible .entry tile(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 x, .param .u32 y)
{
.reg .pred %p; .reg .b32 %t, %x, %y, %box, %barrier, %r; .reg .b64 %map, %out, %state;
.shared .align 128 .b8 tile_box[512]; .shared .align 8 .b64 arrival;
mov.b64 %map, map; cvta.param.u64 %map, %map;
ld.param.u64 %out, [out]; ld.param.u32 %x, [x]; ld.param.u32 %y, [y];
mov.u32 %box, tile_box; mov.u32 %barrier, arrival; mov.u32 %t, %tid.x;
setp.ne.u32 %p, %t, 0;
@%p bra WAIT_FOR_INIT;
mbarrier.init.shared::cta.b64 [%barrier], 1;
mbarrier.arrive.expect_tx.shared::cta.b64 %state, [%barrier], 512;
cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%box], [%map, {%x, %y}], [%barrier];
WAIT_FOR_INIT:
bar.sync 0;
WAIT:
mbarrier.try_wait.parity.shared::cta.b64 %p, [%barrier], 0;
@!%p bra WAIT;
shl.b32 %r, %t, 2; add.u32 %box, %box, %r;
ld.shared.u32 %r, [%box];
mad.wide.u32 %out, %t, 4, %out;
st.global.u32 [%out], %r;
ret;
}
";

#[test]
fn a_kernel_copies_a_tile() {
    let session = session();
    let tensor: Vec<u32> = (0..40 * 20u32).collect();
    let mut map = Tiled::matrix();
    map.element = 2;
    map.address = session.buffer(&tensor) as usize;
    map.sizes = vec![40, 20];
    map.strides = vec![160];
    map.box_sizes = vec![16, 8];
    map.swizzle = 0;
    let map = Bytes(map.encode().unwrap());
    let kernel = kernel(load(TILE), "tile");
    for [x, y] in [[0i32, 0], [12, 7], [30, 15], [-3, -2]] {
        let out = session.buffer(&[0u32; 128]);
        let arguments = [argument(&map), argument(&out), argument(&x), argument(&y)];
        succeeds(session.launch(kernel, 128, &arguments));
        succeeds(session.synchronize());
        let expected: Vec<u32> = (0..128)
            .map(|n| {
                let [column, row] = [x + n % 16, y + n / 16];
                let exists = (0..40).contains(&column) && (0..20).contains(&row);
                if exists {
                    tensor[(row * 40 + column) as usize]
                } else {
                    0
                }
            })
            .collect();
        assert_eq!(session.numbers(out, 128), expected);
    }
}
