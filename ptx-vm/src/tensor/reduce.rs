//! Reductions of elements of tensors: manual 9.7.9.25.5.3.

use ptx_isa::Modifier;

use super::element::TensorElement;
use crate::lanes::{brain_to_single, half_to_single, single_to_brain, single_to_half};

/// An operation that combines two elements.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Reduction {
    Add,
    Min,
    Max,
    Increment,
    Decrement,
    And,
    Or,
    Xor,
}

impl Reduction {
    /// The operation that a modifier names.
    pub(crate) const fn of(modifier: Modifier) -> Option<Self> {
        Some(match modifier {
            Modifier::Add => Self::Add,
            Modifier::Min => Self::Min,
            Modifier::Max => Self::Max,
            Modifier::Inc => Self::Increment,
            Modifier::Dec => Self::Decrement,
            Modifier::And => Self::And,
            Modifier::Or => Self::Or,
            Modifier::Xor => Self::Xor,
            _ => return None,
        })
    }

    /// The types of elements that the operation combines, as text.
    pub(crate) const fn types(self) -> &'static str {
        match self {
            Self::Add => ".u32, .s32, .u64, .f32, .f16 or .bf16",
            Self::Min | Self::Max => ".u32, .s32, .u64, .s64, .f16 or .bf16",
            Self::Increment | Self::Decrement => ".u32",
            Self::And | Self::Or | Self::Xor => "integers of 32 or 64 bits",
        }
    }

    /// Combines the element in global memory with another one; `None` if the operation does not exist for the type.
    pub(crate) fn apply(self, element: TensorElement, old: u64, other: u64) -> Option<u64> {
        use TensorElement::{Bf16, F16, F32, F32Ftz, S32, S64, U32, U64};
        Some(match (self, element) {
            (Self::And, U32 | S32 | U64 | S64) => old & other,
            (Self::Or, U32 | S32 | U64 | S64) => old | other,
            (Self::Xor, U32 | S32 | U64 | S64) => old ^ other,
            (Self::Add, U32 | S32) => (old as u32).wrapping_add(other as u32).into(),
            (Self::Add, U64) => old.wrapping_add(other),
            (Self::Add, F32) => add(old as u32, other as u32).into(),
            (Self::Add, F32Ftz) => flush(add(flush(old as u32), flush(other as u32))).into(),
            (Self::Add, F16) => {
                let [old, other] = [old, other].map(|bits| half_to_single(bits as u32));
                single_to_half(add(old, other)).into()
            }
            (Self::Add, Bf16) => {
                let [old, other] = [old, other].map(|bits| brain_to_single(bits as u32));
                single_to_brain(add(old, other)).into()
            }
            (Self::Min, U32) => (old as u32).min(other as u32).into(),
            (Self::Max, U32) => (old as u32).max(other as u32).into(),
            (Self::Min, S32) => ((old as i32).min(other as i32) as u32).into(),
            (Self::Max, S32) => ((old as i32).max(other as i32) as u32).into(),
            (Self::Min, U64) => old.min(other),
            (Self::Max, U64) => old.max(other),
            (Self::Min, S64) => (old as i64).min(other as i64) as u64,
            (Self::Max, S64) => (old as i64).max(other as i64) as u64,
            (Self::Min | Self::Max, F16) => select(old, other, self == Self::Max, |bits| {
                half_to_single(bits as u32)
            }),
            (Self::Min | Self::Max, Bf16) => select(old, other, self == Self::Max, |bits| {
                brain_to_single(bits as u32)
            }),
            (Self::Increment, U32) if old >= other => 0,
            (Self::Increment, U32) => old + 1,
            (Self::Decrement, U32) if old == 0 || old > other => other,
            (Self::Decrement, U32) => old - 1,
            _ => return None,
        })
    }
}

/// A number of 16 bits in binary32; `None` for another type.
pub(crate) fn to_single(element: TensorElement, bits: u64) -> Option<u32> {
    match element {
        TensorElement::F16 => Some(half_to_single(bits as u32)),
        TensorElement::Bf16 => Some(brain_to_single(bits as u32)),
        _ => None,
    }
}

/// The number of 16 bits that is nearest to a binary32 number; `None` for another type.
pub(crate) fn from_single(element: TensorElement, bits: u32) -> Option<u64> {
    match element {
        TensorElement::F16 => Some(single_to_half(bits).into()),
        TensorElement::Bf16 => Some(single_to_brain(bits).into()),
        _ => None,
    }
}

/// The sum of two binary32 numbers, rounded to nearest. The sum of two numbers of 16 bits, rounded to 16 bits after that, is the same as if it were rounded
/// once: binary32 has more than twice as many digits.
pub(crate) fn add(a: u32, b: u32) -> u32 {
    let sum = f32::from_bits(a) + f32::from_bits(b);
    if sum.is_nan() {
        0x7fff_ffff
    } else {
        sum.to_bits()
    }
}

/// Zero with the same sign in the place of a subnormal number.
const fn flush(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 {
        bits & 0x8000_0000
    } else {
        bits
    }
}

/// The lesser or the greater one of two floating-point numbers of at most 16 bits; the other one if one is NaN, and the canonical NaN if both are. -0 is less than 0.
pub(crate) fn select(a: u64, b: u64, greater: bool, to_single: impl Fn(u64) -> u32) -> u64 {
    let [x, y] = [a, b].map(|bits| f32::from_bits(to_single(bits)));
    match (x.is_nan(), y.is_nan()) {
        (true, true) => 0x7fff,
        (true, false) => b,
        (false, true) => a,
        (false, false) if (x.total_cmp(&y) == core::cmp::Ordering::Greater) == greater => a,
        (false, false) => b,
    }
}
