//! The elements of tensors: their types, their layout in memory, and what copies make of their bits.

use core::fmt;
use core::str::FromStr;

/// The type of the elements of a tensor.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum TensorElement {
    /// Integers of 8 bits, and any other elements of a byte.
    U8,
    /// Integers of 16 bits.
    U16,
    /// Integers of 32 bits.
    U32,
    /// Signed integers of 32 bits.
    S32,
    /// Integers of 64 bits.
    U64,
    /// Signed integers of 64 bits.
    S64,
    /// binary16.
    F16,
    /// binary32.
    F32,
    /// binary32; reductions flush subnormal numbers to zero.
    F32Ftz,
    /// binary64.
    F64,
    /// bfloat16.
    Bf16,
    /// binary32 in global memory. Copies to shared memory round to ten fraction bits.
    Tf32,
    /// As [`Self::Tf32`].
    Tf32Ftz,
    /// Elements of 4 bits, without gaps.
    B4x16,
    /// Elements of 4 bits, without gaps in global memory. In shared memory, there is a gap of 8 bytes after each 16 elements.
    B4x16P64,
    /// Elements of 6 bits, without gaps in global memory. Copies to shared memory leave a gap of 4 bytes after each 16 elements; copies from shared
    /// memory read a byte for each element.
    B6x16P32,
}

/// The layout of elements in memory, in units of one element, or of 16 elements if these have gaps.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Unit {
    /// The number of elements.
    pub(crate) elements: u32,
    /// The number of bytes in global memory.
    pub(crate) global_bytes: u32,
    /// The number of bytes in shared memory, with the gap.
    pub(crate) shared_bytes: u32,
}

impl TensorElement {
    /// All types, in the order of their numbers in `tensormap.replace`.
    pub const ALL: [Self; 16] = [
        Self::U8,
        Self::U16,
        Self::U32,
        Self::S32,
        Self::U64,
        Self::S64,
        Self::F16,
        Self::F32,
        Self::F32Ftz,
        Self::F64,
        Self::Bf16,
        Self::Tf32,
        Self::Tf32Ftz,
        Self::B4x16,
        Self::B4x16P64,
        Self::B6x16P32,
    ];

    /// Returns the name that the PTX ISA manual gives to the type, without the dot.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::S32 => "s32",
            Self::U64 => "u64",
            Self::S64 => "s64",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F32Ftz => "f32.ftz",
            Self::F64 => "f64",
            Self::Bf16 => "bf16",
            Self::Tf32 => "tf32",
            Self::Tf32Ftz => "tf32.ftz",
            Self::B4x16 => "b4x16",
            Self::B4x16P64 => "b4x16_p64",
            Self::B6x16P32 => "b6x16_p32",
        }
    }

    /// Returns the number of bits of an element in global memory.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::U8 => 8,
            Self::U16 | Self::F16 | Self::Bf16 => 16,
            Self::U32 | Self::S32 | Self::F32 | Self::F32Ftz | Self::Tf32 | Self::Tf32Ftz => 32,
            Self::U64 | Self::S64 | Self::F64 => 64,
            Self::B4x16 | Self::B4x16P64 => 4,
            Self::B6x16P32 => 6,
        }
    }

    pub(crate) const fn is_float(self) -> bool {
        matches!(
            self,
            Self::F16
                | Self::F32
                | Self::F32Ftz
                | Self::F64
                | Self::Bf16
                | Self::Tf32
                | Self::Tf32Ftz
        )
    }

    /// Whether elements have less than a byte.
    pub(crate) const fn is_packed(self) -> bool {
        self.bits() < 8
    }

    /// Whether elements have gaps in shared memory.
    pub(crate) const fn is_padded(self) -> bool {
        matches!(self, Self::B4x16P64 | Self::B6x16P32)
    }

    pub(crate) const fn unit(self) -> Unit {
        let (elements, global_bytes, shared_bytes) = match self {
            Self::B4x16 => (2, 1, 1),
            Self::B4x16P64 => (16, 8, 16),
            Self::B6x16P32 => (16, 12, 16),
            _ => (1, self.bits() / 8, self.bits() / 8),
        };
        Unit {
            elements,
            global_bytes,
            shared_bytes,
        }
    }

    /// Whether copies to shared memory change elements.
    pub(crate) const fn is_rounded(self) -> bool {
        matches!(self, Self::Tf32 | Self::Tf32Ftz)
    }

    /// Returns at most 16 bytes of elements as copies to shared memory write them.
    pub(crate) fn rounded(self, bits: u128) -> u128 {
        if !self.is_rounded() {
            return bits;
        }
        (0..4).fold(0, |rounded, word| {
            let shift = 32 * word;
            rounded | u128::from(round_to_tf32((bits >> shift) as u32)) << shift
        })
    }
}

/// Rounds binary32 to ten fraction bits, to nearest, ties away from zero.
const fn round_to_tf32(bits: u32) -> u32 {
    const LOW_BITS: u32 = 0x1fff;
    const INFINITY: u32 = 0x7f80_0000;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > INFINITY {
        0x7fff_ffff & !LOW_BITS
    } else if magnitude == INFINITY {
        bits
    } else {
        // An overflow of the fraction increments the exponent, up to infinity.
        (bits + 0x1000) & !LOW_BITS
    }
}

impl fmt::Display for TensorElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.name())
    }
}

impl FromStr for TensorElement {
    type Err = super::TensorMapError;

    /// Finds a type by its name, with or without the dot. `b6p2x16` is the name of `b6x16_p32` for copies from shared memory.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let bare = name.strip_prefix('.').unwrap_or(name);
        let bare = if bare == "b6p2x16" { "b6x16_p32" } else { bare };
        Self::ALL
            .into_iter()
            .find(|element| element.name() == bare)
            .ok_or_else(|| {
                let names: Vec<&str> = Self::ALL.iter().map(|element| element.name()).collect();
                super::TensorMapError::new("element type", format!("`{name}`"), names.join(", "))
            })
    }
}

/// The interleave layout of a tensor.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum TensorInterleave {
    /// The channels of a pixel are adjacent: NDHWC.
    #[default]
    None,
    /// Channels are divided into slices of 16 bytes per pixel: NC/8DHWC8 for elements of two bytes.
    Bytes16,
    /// Channels are divided into slices of 32 bytes per pixel.
    Bytes32,
}

impl TensorInterleave {
    /// The bytes of a slice; 0 without slices.
    pub(crate) const fn slice_bytes(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Bytes16 => 16,
            Self::Bytes32 => 32,
        }
    }
}

/// The elements that a copy to shared memory writes for elements outside of the tensor.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum TensorFill {
    /// Zeros.
    #[default]
    Zeros,
    /// A special NaN: each two bytes are 0x7ff7.
    Nan,
}

impl TensorFill {
    /// The bits of 16 bytes.
    pub(crate) const fn bits(self) -> u128 {
        match self {
            Self::Zeros => 0,
            Self::Nan => 0x7ff7_7ff7_7ff7_7ff7_7ff7_7ff7_7ff7_7ff7,
        }
    }
}
