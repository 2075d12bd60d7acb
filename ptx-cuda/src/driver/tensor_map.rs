//! Tensor maps, in the encoding of the machine.

use ptx_vm::{Swizzle, TensorElement, TensorFill, TensorInterleave, TensorMap};

use crate::call::in_context;
use crate::caller::{self, slice};
use crate::state::Driver;
use crate::status::{Outcome, Status};

/// The bytes of a map.
const BYTES: usize = 128;
/// Maps are at multiples of these bytes.
const ALIGNMENT: usize = 64;
const MAX_RANK: u32 = 5;

/// The types of elements, in the order of `CUtensorMapDataType`.
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

/// The layouts, in the order of `CUtensorMapInterleave`.
const INTERLEAVES: [TensorInterleave; 3] = [
    TensorInterleave::None,
    TensorInterleave::Bytes16,
    TensorInterleave::Bytes32,
];

/// The permutations of shared memory, in the order of `CUtensorMapSwizzle`.
const SWIZZLES: [Swizzle; 7] = [
    Swizzle::None,
    Swizzle::Bytes32,
    Swizzle::Bytes64,
    Swizzle::Bytes128,
    Swizzle::Bytes128Atom32,
    Swizzle::Bytes128Atom32Flip8,
    Swizzle::Bytes128Atom64,
];

const FILLS: [TensorFill; 2] = [TensorFill::Zeros, TensorFill::Nan];

/// One more than the greatest number of `CUtensorMapL2promotion`, which has no effect.
const PROMOTIONS: u32 = 4;

/// The element of a list with a number of the program.
fn listed<T: Copy>(list: &[T], number: u32) -> Outcome<T> {
    let element = list.get(number as usize);
    element.copied().ok_or(Status::INVALID_VALUE)
}

/// The tensor that a map describes, as all functions describe it.
struct Tensor<'a> {
    element: TensorElement,
    address: u64,
    sizes: &'a [u64],
    strides: &'a [u64],
    steps: &'a [u32],
}

impl<'a> Tensor<'a> {
    fn new(
        element: u32,
        rank: u32,
        address: usize,
        sizes: *const u64,
        strides: *const u64,
        steps: *const u32,
    ) -> Outcome<Self> {
        if !(1..=MAX_RANK).contains(&rank) {
            return Err(Status::INVALID_VALUE);
        }
        let rank = rank as usize;
        Ok(Self {
            element: listed(&ELEMENTS, element)?,
            address: address as u64,
            sizes: slice(sizes, rank)?,
            strides: slice(strides, rank - 1)?,
            steps: slice(steps, rank)?,
        })
    }
}

/// The properties of a map that all functions have.
#[derive(Copy, Clone)]
struct Options {
    interleave: u32,
    swizzle: u32,
    promotion: u32,
    fill: u32,
}

/// Encodes a map in memory of the program. The reason why a map is not valid is printed.
fn encode(memory: *mut u8, map: TensorMap, tensor: &Tensor<'_>, options: Options) -> Outcome<()> {
    if options.promotion >= PROMOTIONS {
        return Err(Status::INVALID_VALUE);
    }
    let map = map
        .strides(tensor.strides)
        .element_strides(tensor.steps)
        .interleave(listed(&INTERLEAVES, options.interleave)?)
        // The layout changes strides that are those of a dense tensor.
        .strides(tensor.strides)
        .swizzle(listed(&SWIZZLES, options.swizzle)?)
        .fill(listed(&FILLS, options.fill)?);
    write(memory, &map)
}

fn write(memory: *mut u8, map: &TensorMap) -> Outcome<()> {
    let bytes = map.to_bytes().map_err(|error| {
        eprintln!("ptxkit: {error}");
        Status::INVALID_VALUE
    })?;
    for (place, byte) in caller::slice_mut(memory, BYTES)?.iter_mut().zip(bytes) {
        place.write(byte);
    }
    Ok(())
}

/// Fails if the device has no tensor maps, or the memory for the map is misaligned.
fn check(driver: &Driver, memory: *mut u8, least_major: u32) -> Outcome<()> {
    if driver.config.capability.major < least_major {
        eprintln!("ptxkit: tensor maps need a device of compute capability {least_major}.0");
        return Err(Status::NOT_SUPPORTED);
    }
    if memory.is_null() || !memory.addr().is_multiple_of(ALIGNMENT) {
        return Err(Status::INVALID_VALUE);
    }
    Ok(())
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTensorMapEncodeTiled(
    map: *mut u8,
    element: u32,
    rank: u32,
    address: usize,
    sizes: *const u64,
    strides: *const u64,
    box_sizes: *const u32,
    steps: *const u32,
    interleave: u32,
    swizzle: u32,
    promotion: u32,
    fill: u32,
) -> Status {
    in_context("cuTensorMapEncodeTiled", |driver| {
        check(driver, map, 9)?;
        let tensor = Tensor::new(element, rank, address, sizes, strides, steps)?;
        let box_sizes = slice(box_sizes, rank as usize)?;
        let tiled = TensorMap::tiled(tensor.element, tensor.address, tensor.sizes, box_sizes);
        let options = Options {
            interleave,
            swizzle,
            promotion,
            fill,
        };
        encode(map, tiled, &tensor, options)
    })
}

/// A corner of a box: the offset in the width, then in the height and the depth if they exist. This is the order in which CUTLASS passes them.
fn corner<'a>(offsets: *const i32, rank: u32) -> Outcome<&'a [i32]> {
    slice(offsets, rank.saturating_sub(2) as usize)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTensorMapEncodeIm2col(
    map: *mut u8,
    element: u32,
    rank: u32,
    address: usize,
    sizes: *const u64,
    strides: *const u64,
    lower: *const i32,
    upper: *const i32,
    channels: u32,
    pixels: u32,
    steps: *const u32,
    interleave: u32,
    swizzle: u32,
    promotion: u32,
    fill: u32,
) -> Status {
    in_context("cuTensorMapEncodeIm2col", |driver| {
        check(driver, map, 9)?;
        let tensor = Tensor::new(element, rank, address, sizes, strides, steps)?;
        let [lower, upper] = [corner(lower, rank)?, corner(upper, rank)?];
        let columns = TensorMap::im2col(
            tensor.element,
            tensor.address,
            tensor.sizes,
            [lower, upper],
            channels,
            pixels,
        );
        let options = Options {
            interleave,
            swizzle,
            promotion,
            fill,
        };
        encode(map, columns, &tensor, options)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTensorMapEncodeIm2colWide(
    map: *mut u8,
    element: u32,
    rank: u32,
    address: usize,
    sizes: *const u64,
    strides: *const u64,
    lower: i32,
    upper: i32,
    channels: u32,
    pixels: u32,
    steps: *const u32,
    interleave: u32,
    mode: u32,
    swizzle: u32,
    promotion: u32,
    fill: u32,
) -> Status {
    in_context("cuTensorMapEncodeIm2colWide", |driver| {
        check(driver, map, 10)?;
        let tensor = Tensor::new(element, rank, address, sizes, strides, steps)?;
        // In the mode for 128 pixels, the number is ignored.
        let pixels = match mode {
            0 if pixels > 0 => pixels,
            1 => 0,
            _ => return Err(Status::INVALID_VALUE),
        };
        let columns = TensorMap::im2col_wide(
            tensor.element,
            tensor.address,
            tensor.sizes,
            [lower, upper],
            channels,
            pixels,
        );
        let options = Options {
            interleave,
            swizzle,
            promotion,
            fill,
        };
        encode(map, columns, &tensor, options)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTensorMapReplaceAddress(map: *mut u8, address: usize) -> Status {
    in_context("cuTensorMapReplaceAddress", |driver| {
        check(driver, map, 9)?;
        let bytes: [u8; BYTES] = caller::read(map.cast())?;
        let decoded = TensorMap::from_bytes(&bytes).map_err(|error| {
            eprintln!("ptxkit: {error}");
            Status::INVALID_VALUE
        })?;
        write(map, &decoded.address(address as u64))
    })
}
