//! Operations on integers of lanes compared with the same operations on the integers of single lanes.

mod rows;

use super::bitwise::bitwise;
use super::expression::joined;
use super::number::{Lanes, Number, ones, zip};
use crate::memory_access::requests::LANES;

/// Random numbers.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        self.bits() % end
    }

    /// A mask of few bits.
    fn mask(&mut self, most_bits: u64) -> u128 {
        let count = self.below(most_bits + 1);
        (0..count).fold(0, |mask, _| mask | 1 << self.below(16))
    }

    /// Some bits of a mask.
    fn part(&mut self, mask: u128) -> u128 {
        mask & (u128::from(self.bits()) | u128::from(self.bits()) << 64)
    }

    /// An integer of lanes as they occur: sums of masked and shifted indices.
    fn offsets(&mut self) -> Lanes {
        let (mask, shift, other) = (self.below(32), self.below(8), self.below(32));
        let start = self.below(3) * self.below(1 << 12);
        core::array::from_fn(|lane| {
            let lane = lane as u64;
            let value = ((lane & mask) << shift) ^ (lane & other) ^ start;
            i128::from(value)
        })
    }

    /// A number, and integers of lanes that it may be.
    fn number(&mut self) -> (Number, Lanes) {
        let number = Number {
            base: self.mask(4),
            inverted: if self.below(2) == 0 { 0 } else { self.mask(3) },
            ..Number::known(self.offsets())
        };
        (number, self.example(&number))
    }

    fn example(&mut self, number: &Number) -> Lanes {
        let (base, inverted) = (
            self.part(number.base) as i128,
            self.part(number.inverted) as i128,
        );
        number
            .offsets
            .map(|offset| base.wrapping_add(offset ^ inverted))
    }
}

/// Returns whether integers of lanes may be a number.
fn may_be(number: &Number, lanes: &Lanes) -> bool {
    let mut inverted = 0u128;
    loop {
        let base = |lane: usize| {
            let part = number.offsets[lane] ^ inverted as i128;
            lanes[lane].wrapping_sub(part) as u128 & ones(number.bits)
        };
        let common = base(0);
        if common & !number.base & ones(number.bits) == 0
            && (1..LANES).all(|lane| base(lane) == common)
        {
            return true;
        }
        inverted = inverted.wrapping_sub(number.inverted) & number.inverted;
        if inverted == 0 {
            return false;
        }
    }
}

/// The counts of results that are known, for each operation.
#[derive(Default)]
struct Known([u32; 9]);

impl Known {
    fn check(&mut self, operation: usize, result: Option<Number>, lanes: &Lanes, of: &[Number]) {
        if let Some(result) =
            result.filter(|result| !result.assumed.no_wrap && result.inverted.count_ones() < 12)
        {
            self.0[operation] += 1;
            assert!(
                may_be(&result, lanes),
                "operation {operation}: {result:?} of {of:?} is not {lanes:?}"
            );
        }
    }
}

#[test]
fn operations_on_lanes() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut known = Known::default();
    for _ in 0..6_000 {
        let ((a, x), (b, y)) = (random.number(), random.number());
        let both = [a, b];
        known.check(0, a.sum(b), &zip(&x, &y, i128::wrapping_add), &both);
        let difference = b.negated().and_then(|b| a.sum(b));
        known.check(1, difference, &zip(&x, &y, i128::wrapping_sub), &both);
        known.check(2, a.product(b), &zip(&x, &y, i128::wrapping_mul), &both);
        let factor = i128::from(random.below(40)) - 8;
        let product = a.product(Number::constant(factor));
        known.check(2, product, &x.map(|x| x.wrapping_mul(factor)), &[a]);
        let by = random.below(8) as u32;
        known.check(3, Some(a.shifted_left(by)), &x.map(|x| x << by), &[a]);
        known.check(4, a.shifted_right(by), &x.map(|x| x >> by), &[a]);
        let table = random.below(16) as u8;
        let function = |a: i128, b: i128| {
            let row = |row: u8, bits: i128| if table >> row & 1 == 1 { bits } else { 0 };
            row(3, a & b) | row(2, a & !b) | row(1, !a & b) | row(0, !a & !b)
        };
        known.check(5, bitwise(table, &both), &zip(&x, &y, function), &both);
        let length = 1 + random.below(20) as u32;
        let mask = ones(length) as i128;
        known.check(
            6,
            Some(a.truncated(length, false)),
            &x.map(|x| x & mask),
            &[a],
        );
        let above = 128 - length;
        let extended = x.map(|x| x << above >> above);
        known.check(7, Some(a.truncated(length, true)), &extended, &[a]);
        let moved = Number {
            offsets: a.offsets.map(|offset| offset.wrapping_add(64) ^ 3),
            ..a
        };
        let joined = joined(&a, &moved);
        known.check(8, joined, &x, &[a, moved]);
        known.check(8, joined, &random.example(&moved), &[a, moved]);
    }
    assert!(known.0.iter().all(|count| *count > 500), "{:?}", known.0);
}
