//! The 128 bytes of a tensor map. The layout is that of the machine, since the one of GPUs is not public:
//!
//! ```text
//!    0  8      address
//!    8  5 × 8  number of elements of each dimension
//!   48  4 × 8  stride in bytes of dimensions 1 to 4
//!   80  5 × 4  size of the box in each dimension; channels and pixels in im2col modes
//!  100  5 × 1  traversal stride of each dimension
//!  105  1      number of dimensions - 1
//!  106  1      mode: 0 tile, 1 im2col, 2 im2col::w and im2col::w::128
//!  107  1      element type     ⎫
//!  108  1      interleave       ⎪
//!  109  1      swizzle mode     ⎬ with the numbers of `tensormap.replace`
//!  110  1      atomicity        ⎪
//!  111  1      fill mode        ⎭
//!  112  3 × 2  lower corner
//!  118  3 × 2  upper corner
//!  124  4      0
//! ```
//!
//! Numbers are little-endian. Bytes of unused dimensions are ignored. A map of zeros has the default of each field that has one, so kernels may start
//! with it and replace the other fields.

use super::element::{TensorElement, TensorFill, TensorInterleave};
use super::map::{Column, MAX_RANK, Mode, TensorMap, TensorMapError};
use crate::memory::Swizzle;

/// The number of bytes of a map.
pub(crate) const MAP_BYTES: usize = 128;

/// The field that an instruction replaces.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Field {
    Address,
    Rank,
    Box,
    Dim,
    Stride,
    Step,
    Element,
    Interleave,
    SwizzleMode,
    SwizzleAtomicity,
    Fill,
}

impl Field {
    /// The offset, the number of elements, and the bytes of an element.
    const fn place(self) -> (usize, usize, usize) {
        match self {
            Self::Address => (0, 1, 8),
            Self::Dim => (8, 5, 8),
            Self::Stride => (48, 4, 8),
            Self::Box => (80, 5, 4),
            Self::Step => (100, 5, 1),
            Self::Rank => (105, 1, 1),
            Self::Element => (107, 1, 1),
            Self::Interleave => (108, 1, 1),
            Self::SwizzleMode => (109, 1, 1),
            Self::SwizzleAtomicity => (110, 1, 1),
            Self::Fill => (111, 1, 1),
        }
    }
}

const MODE: usize = 106;
const LOWER: usize = 112;
const UPPER: usize = 118;
const UNUSED: usize = 124;

/// Replaces an element of a field. A value that has too many bits becomes the greatest one that fits, which is invalid. The error is the number of elements
/// that the field has.
pub(crate) fn replace(
    bytes: &mut [u8; MAP_BYTES],
    field: Field,
    index: usize,
    value: u64,
) -> Result<(), usize> {
    let (start, count, size) = field.place();
    if index >= count {
        return Err(count);
    }
    let greatest = u64::MAX >> (64 - 8 * size as u32);
    let value = value.min(greatest).to_le_bytes();
    bytes[start + index * size..][..size].copy_from_slice(&value[..size]);
    Ok(())
}

/// An element of a field.
fn get(bytes: &[u8; MAP_BYTES], field: Field, index: usize) -> u64 {
    let (start, _, size) = field.place();
    let mut value = [0; 8];
    value[..size].copy_from_slice(&bytes[start + index * size..][..size]);
    u64::from_le_bytes(value)
}

/// The swizzle mode and the atomicity of each swizzle.
const fn swizzle_numbers(swizzle: Swizzle) -> (u64, u64) {
    match swizzle {
        Swizzle::None => (0, 0),
        Swizzle::Bytes32 => (1, 0),
        Swizzle::Bytes64 => (2, 0),
        Swizzle::Bytes128 => (3, 0),
        Swizzle::Bytes128Atom32 => (3, 1),
        Swizzle::Bytes128Atom32Flip8 => (3, 2),
        Swizzle::Bytes128Atom64 => (3, 3),
        Swizzle::Bytes96 => (4, 0),
    }
}

/// The bytes of a valid map.
pub(super) fn encode(map: &TensorMap) -> [u8; MAP_BYTES] {
    let mut bytes = [0; MAP_BYTES];
    let element = TensorElement::ALL.iter().position(|e| *e == map.element);
    let (swizzle, atomicity) = swizzle_numbers(map.swizzle);
    let (mode, box_dims, column) = match &map.mode {
        Mode::Tile(box_dims) => (0, box_dims.clone(), None),
        Mode::Im2col(column) => (1, vec![column.channels, column.pixels], Some(column)),
        Mode::Wide(column) => (2, vec![column.channels, column.pixels], Some(column)),
    };
    let mut set = |field, index, value| {
        // A valid map has as many elements in each field.
        let _ = replace(&mut bytes, field, index, value);
    };
    set(Field::Address, 0, map.address);
    set(Field::Rank, 0, map.rank().saturating_sub(1) as u64);
    set(Field::Element, 0, element.unwrap_or(0) as u64);
    set(Field::Interleave, 0, map.interleave as u64);
    set(Field::SwizzleMode, 0, swizzle);
    set(Field::SwizzleAtomicity, 0, atomicity);
    set(Field::Fill, 0, map.fill as u64);
    for (index, dim) in map.dims.iter().enumerate() {
        set(Field::Dim, index, *dim);
    }
    for (index, stride) in map.strides.iter().enumerate() {
        set(Field::Stride, index, *stride);
    }
    for (index, step) in map.steps.iter().enumerate() {
        set(Field::Step, index, (*step).into());
    }
    for (index, size) in box_dims.iter().enumerate() {
        set(Field::Box, index, (*size).into());
    }
    bytes[MODE] = mode;
    for (start, corner) in column
        .iter()
        .flat_map(|c| [(LOWER, &c.lower), (UPPER, &c.upper)])
    {
        for (index, offset) in corner.iter().enumerate().take(MAX_RANK - 2) {
            bytes[start + 2 * index..][..2].copy_from_slice(&(*offset as i16).to_le_bytes());
        }
    }
    bytes
}

/// The map that bytes describe. The values of the fields are not checked, other than numbers without a meaning.
pub(super) fn decode(bytes: &[u8; MAP_BYTES]) -> Result<TensorMap, TensorMapError> {
    if bytes.iter().all(|byte| *byte == 0) {
        return Err(TensorMapError::new(
            "each of its 128 bytes",
            0,
            "a map that was encoded for this machine or whose fields were replaced",
        ));
    }
    if bytes[UNUSED..].iter().any(|byte| *byte != 0) {
        let found = format!("{:02x?}", &bytes[UNUSED..]);
        return Err(TensorMapError::new(
            "bytes 124 to 127",
            found,
            "zeros: these are not the bytes of a map that was encoded for this machine",
        ));
    }
    let number = |field, name, greatest: u64| {
        let found = get(bytes, field, 0);
        if found <= greatest {
            Ok(found as usize)
        } else {
            Err(TensorMapError::new(
                name,
                found,
                format!("at most {greatest}"),
            ))
        }
    };
    let rank = 1 + number(Field::Rank, "rank - 1", 4)?;
    let interleave = [
        TensorInterleave::None,
        TensorInterleave::Bytes16,
        TensorInterleave::Bytes32,
    ][number(Field::Interleave, "interleave_layout", 2)?];
    let fill = [TensorFill::Zeros, TensorFill::Nan][number(Field::Fill, "fill_mode", 1)?];
    let element = TensorElement::ALL[number(Field::Element, "elemtype", 15)?];
    let numbers = (
        get(bytes, Field::SwizzleMode, 0),
        get(bytes, Field::SwizzleAtomicity, 0),
    );
    let swizzle = Swizzle::ALL
        .into_iter()
        .find(|swizzle| swizzle_numbers(*swizzle) == numbers)
        .ok_or_else(|| {
            let (mode, atomicity) = numbers;
            TensorMapError::new(
                "swizzle_mode",
                format!("{mode} with swizzle_atomicity {atomicity}"),
                "a mode of at most 4, and an atomicity of at most 3 in mode 3 and of 0 in other modes",
            )
        })?;
    let all = |field, count| (0..count).map(move |index| get(bytes, field, index));
    let column = || Column {
        lower: corner(bytes, LOWER, rank),
        upper: corner(bytes, UPPER, rank),
        channels: get(bytes, Field::Box, 0) as u32,
        pixels: get(bytes, Field::Box, 1) as u32,
    };
    let mode = match bytes[MODE] {
        0 => Mode::Tile(all(Field::Box, rank).map(|size| size as u32).collect()),
        1 => Mode::Im2col(column()),
        2 => {
            let mut column = column();
            column.lower.truncate(1);
            column.upper.truncate(1);
            Mode::Wide(column)
        }
        mode => return Err(TensorMapError::new("the mode", mode, "at most 2")),
    };
    Ok(TensorMap {
        element,
        address: get(bytes, Field::Address, 0),
        dims: all(Field::Dim, rank).collect(),
        strides: all(Field::Stride, rank - 1).collect(),
        steps: all(Field::Step, rank).map(|step| step as u32).collect(),
        mode,
        interleave,
        swizzle,
        fill,
    })
}

/// A corner of the box of an im2col mode.
fn corner(bytes: &[u8; MAP_BYTES], start: usize, rank: usize) -> Vec<i32> {
    (0..rank.saturating_sub(2))
        .map(|index| {
            let start = start + 2 * index;
            i16::from_le_bytes([bytes[start], bytes[start + 1]]).into()
        })
        .collect()
}
