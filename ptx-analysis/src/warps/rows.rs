//! Rows: integers of which only the offsets within groups of lanes are known, such as addresses in a matrix whose rows are a parameter apart.

use super::Assumed;
use super::expression::{Term, joined};
use super::number::{Lanes, Number, extended, from_lowest, ones, sum_bits};
use crate::memory_access::requests::LANES;
use crate::values::AffineSymbolId;

/// The least width of integers that are assumed not to wrap around.
const LEAST_WIDTH: u32 = 32;

/// The row of each lane: the number of its first lane.
pub(crate) type RowOfLanes = [u8; LANES];

/// The distances between rows: multiples of a number that is the same in all lanes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct RowStride {
    pub(crate) symbol: AffineSymbolId,
    /// The factor of each lane.
    pub(crate) factors: [i32; LANES],
}

/// An integer of each lane of a warp: the sum of a known offset, of a number that is the same in all lanes, and of a number that is the same in a row.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Rows {
    pub(super) number: Number,
    pub(super) rows: RowOfLanes,
    /// The bits that may be one in the numbers of rows.
    pub(super) bits: u128,
    /// What the numbers of rows are, if it is known.
    pub(super) stride: Option<RowStride>,
}

impl Rows {
    /// An integer as a single row.
    pub(super) const fn single(number: Number) -> Self {
        Self {
            number,
            rows: [0; LANES],
            bits: 0,
            stride: None,
        }
    }

    /// The rows of a term; `None` for a predicate that is not the same in all lanes for each of its sets.
    pub(super) fn of_term(term: &Term) -> Option<Self> {
        match term {
            Term::Number(number) => Some(Self::single(*number)),
            Term::Rows(rows) => Some(*rows),
            Term::Masks(_) => None,
        }
    }

    /// The product of a known offset of each lane and of a number that is the same in all lanes.
    pub(super) fn strided(
        lanes: &Number,
        factor: &Number,
        symbol: Option<(AffineSymbolId, i64)>,
    ) -> Option<Self> {
        if lanes.inverted != 0 {
            return None;
        }
        let common = Number {
            offsets: [lanes.offsets[0]; LANES],
            ..*lanes
        };
        let number = common.product(*factor)?;
        let distances: Lanes =
            core::array::from_fn(|lane| lanes.offsets[lane].wrapping_sub(lanes.offsets[0]));
        let stride = symbol.and_then(|(symbol, multiple)| {
            let mut factors = [0; LANES];
            for (slot, distance) in factors.iter_mut().zip(&distances) {
                *slot = i32::try_from(distance.checked_mul(multiple.into())?).ok()?;
            }
            Some(RowStride { symbol, factors })
        });
        let zeros = |bits: u128| bits.trailing_zeros().min(64);
        let distance_bits = distances
            .iter()
            .fold(0, |bits, distance| bits | *distance as u128);
        let factor_bits = factor.base | factor.offsets[0] as u128 | factor.inverted;
        Some(Self {
            number,
            rows: row_of_lanes(&[0; LANES], &distances),
            bits: !ones(zeros(distance_bits) + zeros(factor_bits)),
            stride,
        })
    }

    /// An integer of which it is only known in which lanes it is the same: those in which all of some integers are.
    pub(super) fn equal_where(operands: impl Iterator<Item = Self>) -> Self {
        let mut result = Self::single(Number::uniform(u128::MAX));
        result.bits = u128::MAX;
        for operand in operands {
            let rows = refined(&result.rows, &operand.rows);
            result.rows = row_of_lanes(&rows, &operand.number.offsets);
            result.number = result.number.assuming(operand.number.assumed);
        }
        result
    }

    /// The integer as a term; `None` if each lane is a row.
    pub(super) fn term(self) -> Option<Term> {
        if self.rows == [0; LANES] {
            let number = Number {
                base: sum_bits(self.number.base, self.bits),
                ..self.number
            };
            return (number.inverted == 0 || self.bits == 0).then_some(Term::Number(number));
        }
        let is_each_alone = (0..).zip(&self.rows).all(|(lane, row)| lane == *row);
        (!is_each_alone || self.stride.is_some()).then_some(Term::Rows(self))
    }

    pub(super) fn sum(self, other: Self) -> Option<Self> {
        let stride = match (self.stride, other.stride) {
            (Some(a), Some(b)) if a.symbol == b.symbol => {
                let mut factors = a.factors;
                for (factor, added) in factors.iter_mut().zip(&b.factors) {
                    *factor = factor.checked_add(*added)?;
                }
                Some(RowStride { factors, ..a })
            }
            (Some(stride), None) if other.bits == 0 => Some(stride),
            (None, Some(stride)) if self.bits == 0 => Some(stride),
            _ => None,
        };
        Some(Self {
            number: self.number.sum(other.number)?,
            rows: refined(&self.rows, &other.rows),
            bits: sum_bits(self.bits, other.bits),
            stride,
        })
    }

    /// The product with a known number.
    pub(super) fn times(self, factor: i128) -> Option<Self> {
        let stride = self.stride.and_then(|stride| {
            let factor = i32::try_from(factor).ok()?;
            let mut factors = stride.factors;
            for slot in &mut factors {
                *slot = slot.checked_mul(factor)?;
            }
            Some(RowStride { factors, ..stride })
        });
        let zeros = self.bits.trailing_zeros().min(64) + factor.trailing_zeros().min(63);
        Some(Self {
            number: self.number.product(Number::constant(factor))?,
            bits: if self.bits == 0 { 0 } else { !ones(zeros) },
            stride,
            ..self
        })
    }

    /// The integer in a number of low bits. Wide integers are assumed not to wrap around before they are extended.
    pub(super) fn truncated(self, length: u32) -> Self {
        if length < LEAST_WIDTH {
            let mut equal = Self::equal_where(core::iter::once(self));
            equal.bits = ones(length);
            equal.number.base = 0;
            return equal;
        }
        let number = Number {
            offsets: self.number.offsets.map(|offset| extended(offset, length)),
            bits: self.number.bits.min(length),
            ..self.number
        };
        Self { number, ..self }
    }

    /// The integer in a register of a width.
    pub(super) fn stored(self, width: u32) -> Self {
        let assumed = Assumed {
            no_wrap: self.number.assumed.no_wrap || self.number.bits < width,
            ..self.number.assumed
        };
        let number = Number {
            base: self.number.base & ones(width),
            bits: width,
            assumed,
            ..self.number
        };
        Self { number, ..self }
    }

    /// Either of two integers; which one it is, is the same in all lanes.
    pub(super) fn joined(self, other: Self) -> Option<Self> {
        if self.rows != other.rows {
            return None;
        }
        Some(Self {
            number: joined(&self.number, &other.number)?,
            rows: self.rows,
            bits: self.bits | other.bits,
            stride: self.stride.filter(|_| self.stride == other.stride),
        })
    }

    /// The integer with all bits of unknown numbers from their lowest one on.
    pub(super) fn widened(mut self) -> Self {
        self.number.base = from_lowest(self.number.base);
        self.bits = from_lowest(self.bits);
        self
    }
}

/// The lanes that are in the same row, and in which an integer is the same.
fn row_of_lanes(rows: &RowOfLanes, lanes: &Lanes) -> RowOfLanes {
    first_lanes(|a, b| rows[a] == rows[b] && lanes[a] == lanes[b])
}

/// The lanes that are in the same row of both.
fn refined(a: &RowOfLanes, b: &RowOfLanes) -> RowOfLanes {
    first_lanes(|x, y| a[x] == a[y] && b[x] == b[y])
}

/// For each lane the first one that is equal.
fn first_lanes(is_equal: impl Fn(usize, usize) -> bool) -> RowOfLanes {
    core::array::from_fn(|lane| {
        let first = (0..lane).find(|first| is_equal(*first, lane));
        first.unwrap_or(lane) as u8
    })
}
