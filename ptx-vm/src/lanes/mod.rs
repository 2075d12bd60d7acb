//! The registers of a warp and operations on all its lanes.

mod float;
mod host;
mod integer;
mod places;
mod registers;
mod vector;

pub(crate) use float::{
    brain_to_single, canonical_long, half_to_single, nan_of, single_to_brain, single_to_half,
};
pub(crate) use host::vectorized;
pub(crate) use integer::{sign_extend, word};
pub(crate) use registers::{Double, Registers};
pub(crate) use vector::{with_constant, with_integer};

/// The number of lanes of a warp.
pub(crate) const LANES: usize = 32;

/// An array of the values for all indices. The closure of `core::array::from_fn` is not always inlined without link-time optimization, so that its loop
/// is not vectorized.
#[inline(always)]
pub(crate) fn each<T: Copy + Default, const N: usize>(value: impl Fn(usize) -> T) -> [T; N] {
    let mut array = [T::default(); N];
    for (index, element) in array.iter_mut().enumerate() {
        *element = value(index);
    }
    array
}

/// The results of a function of each of three sources. `array::map` is not always inlined either.
#[inline(always)]
pub(crate) fn each_source<T, R>([a, b, c]: [T; 3], function: impl Fn(T) -> R) -> [R; 3] {
    [function(a), function(b), function(c)]
}

/// The lanes of a mask.
#[inline]
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut remaining = mask;
    core::iter::from_fn(move || {
        let lane = remaining.trailing_zeros() as usize;
        remaining &= remaining.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}

/// The lanes of a mask for which a condition holds, as a mask.
pub(crate) fn lanes_where(mask: u32, holds: impl Fn(usize) -> bool) -> u32 {
    let chosen = lanes(mask).filter(|&lane| holds(lane));
    chosen.fold(0, |chosen, lane| chosen | 1 << lane)
}

/// The place of the value of a register, a constant or an intermediate result, in the file of its kind.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Place {
    /// One bit per lane.
    Predicate(u32),
    /// At most 32 bits per lane; the bits above the width of the value are zero.
    Word(u32),
    /// 64 bits per lane.
    Double(u32),
    /// 128 bits per lane: the low half in this double, the high half in the next one.
    Quad(u32),
}

/// An operation on the sources `a`, `b` and `c`.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    /// An operation on 32-bit integers.
    Word(Integer),
    /// An operation on 64-bit integers.
    Double(Integer),
    /// A comparison of 32-bit integers, which gives a predicate.
    CompareWord(Comparison),
    /// A comparison of 64-bit integers, which gives a predicate.
    CompareDouble(Comparison),
    /// A predicate of predicates.
    Predicate(Logic),
    /// `b` where the predicate `a` holds, `c` elsewhere.
    SelectWord,
    /// `b` where the predicate `a` holds, `c` elsewhere.
    SelectDouble,
    /// 1 where the predicate `a` holds, else 0.
    WordOfPredicate,
    /// The lowest bits of a word, as many as `b` says, with zeros or, if `c` is not 0, with copies of the sign above them.
    Extend,
    /// A double of a word, with zeros or, if `c` is not 0, with copies of the sign above it.
    Widen,
    /// The low half of a double, or if `c` is not 0, the high half.
    Narrow,
    /// An operation on numbers of 32 bits.
    Single(Float),
    /// An operation on numbers of 64 bits.
    Long(Float),
    /// A comparison of numbers of 32 bits.
    CompareSingle(FloatComparison),
    /// A comparison of numbers of 64 bits.
    CompareLong(FloatComparison),
    /// A conversion to or from a number.
    Convert(Conversion),
}

/// An operation on integers of one width; results are truncated to it.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Integer {
    Copy,
    Add,
    Sub,
    Mul,
    /// The high half of the product.
    MulHigh {
        signed: bool,
    },
    /// The quotient; all ones if the divisor is zero.
    Div {
        signed: bool,
    },
    /// The remainder; the dividend if the divisor is zero.
    Rem {
        signed: bool,
    },
    And,
    Or,
    Xor,
    Not,
    Negate,
    /// The magnitude of a signed integer.
    Abs,
    Min {
        signed: bool,
    },
    Max {
        signed: bool,
    },
    /// A shift by a number of bits of any size.
    ShiftLeft,
    /// A shift by a number of bits of any size.
    ShiftRight {
        signed: bool,
    },
    Popcount,
    /// The number of bits without leading zeros.
    BitLength,
    Reverse,
    /// The function of three bits whose table is `imm`.
    Lookup,
}

/// A comparison of integers.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less { signed: bool },
    LessEqual { signed: bool },
}

/// A logical operation.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Logic {
    Copy,
    And,
    Or,
    Xor,
    Not,
    /// `b` where `a` holds, `c` elsewhere.
    Select,
}

/// An operation on numbers, rounded to nearest.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Float {
    Add,
    Sub,
    Mul,
    MulAdd,
    Div,
    Sqrt,
    Abs,
    Negate,
    Min {
        nan: bool,
    },
    Max {
        nan: bool,
    },
    /// Subnormal numbers become zero.
    Flush,
    /// The nearest number from 0 to 1; 0 for NaN.
    Saturate,
    /// 0 for negative numbers.
    Relu,
    /// Two to the power of a number. This function and the next ones are for numbers of 64 bits.
    Exp2,
    Log2,
    /// The sine of a number of turns.
    Sin,
    /// The cosine of a number of turns.
    Cos,
    Tanh,
}

/// A comparison of numbers.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct FloatComparison {
    pub(crate) less: bool,
    pub(crate) equal: bool,
    pub(crate) greater: bool,
    /// Whether the comparison holds if one of the numbers is NaN.
    pub(crate) unordered: bool,
}

/// The rounding of a number to an integer.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Rounding {
    /// To the nearest integer, and to the even one of two.
    Nearest,
    Zero,
    Down,
    Up,
}

/// A conversion between formats of numbers; results are rounded to nearest.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Conversion {
    SingleToLong,
    LongToSingle,
    HalfToSingle,
    SingleToHalf,
    BrainToSingle,
    SingleToBrain,
    /// To the nearest 64-bit integer of the range; 0 for NaN.
    LongToDouble {
        signed: bool,
        rounding: Rounding,
    },
    /// From a 64-bit integer.
    DoubleToSingle {
        signed: bool,
    },
    /// From a 64-bit integer.
    DoubleToLong {
        signed: bool,
    },
}

impl Conversion {
    /// Whether the result has 64 bits.
    pub(crate) const fn is_long(self) -> bool {
        matches!(
            self,
            Self::SingleToLong | Self::DoubleToLong { .. } | Self::LongToDouble { .. }
        )
    }
}

/// An operation on all lanes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct LaneOp {
    pub(crate) kind: Kind,
    /// Whether only the lanes that execute the instruction are written; intermediate results are computed for all.
    pub(crate) masked: bool,
    /// The destination, in the file that the kind implies.
    pub(crate) to: u32,
    pub(crate) a: u32,
    pub(crate) b: u32,
    pub(crate) c: u32,
    /// A constant of the operation: the table of a function of three bits, or [`FLUSH`].
    pub(crate) imm: u8,
}

/// Says of a product, a sum with a product or a quotient of 32 bits that results below the normal numbers are zero.
pub(crate) const FLUSH: u8 = 1;
