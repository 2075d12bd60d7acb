//! Operations on integers in rows compared with the same operations on the integers of single lanes.

use super::{Random, may_be};
use crate::memory_access::requests::LANES;
use crate::values::AffineSymbolId;
use crate::warps::number::{Lanes, Number, ones, zip};
use crate::warps::rows::Rows;

/// What is known of an integer, and the integers of the lanes. Their magnitude is less than 2^31 after all operations.
#[derive(Copy, Clone, Debug)]
struct Example {
    rows: Rows,
    lanes: Lanes,
}

/// A number of each lane times a number that is a multiple of the value of a symbol in all lanes; or a number of each lane.
fn example(random: &mut Random, symbol: i128) -> Example {
    let (mut number, mut lanes) = random.number();
    if random.below(4) == 0 {
        return Example {
            rows: Rows::single(number),
            lanes,
        };
    }
    number.inverted = 0;
    number.offsets = number.offsets.map(|offset| offset & 0x3ff);
    number.base &= 0x3ff;
    lanes = random.example(&number);
    let multiple = 1 << random.below(4);
    let factor = symbol * i128::from(multiple);
    let known_bits = Number::uniform(factor as u128 | random.mask(2));
    let name = (AffineSymbolId::new(0), multiple);
    Example {
        rows: Rows::strided(&number, &known_bits, Some(name)).unwrap(),
        lanes: lanes.map(|lane| lane * factor),
    }
}

/// Returns whether integers of lanes may be in rows, and have the strides that are known.
fn may_be_rows(rows: &Rows, lanes: &Lanes, symbol: i128) -> bool {
    if let Some(stride) = rows.stride {
        let factors = stride.factors.map(i128::from);
        let without_rows = zip(lanes, &factors, |lane, factor| lane - factor * symbol);
        if !may_be(&rows.number, &without_rows) {
            return false;
        }
    }
    let width = ones(rows.number.bits.min(64));
    let common = ones(rows.bits.trailing_zeros().min(127)) & width;
    let mut inverted = 0u128;
    loop {
        let sums: [u128; LANES] = core::array::from_fn(|lane| {
            let part = rows.number.offsets[lane] ^ inverted as i128;
            lanes[lane].wrapping_sub(part) as u128 & width
        });
        let is_in_row = |lane: usize| sums[lane] == sums[usize::from(rows.rows[lane])];
        let is_possible = |sum: &u128| {
            let is_common = (sum ^ sums[0]) & common == 0 && sum & common & !rows.number.base == 0;
            is_common && (rows.number.base != 0 || sum & !rows.bits & width == 0)
        };
        if (0..LANES).all(is_in_row) && sums.iter().all(is_possible) {
            return true;
        }
        inverted = inverted.wrapping_sub(rows.number.inverted) & rows.number.inverted;
        if inverted == 0 {
            return false;
        }
    }
}

#[test]
fn operations_on_rows() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    // The results with several rows, and those with strides.
    let mut counts = [(0, 0); 7];
    for _ in 0..4_000 {
        let symbol = i128::from(random.below(512));
        let (a, b) = (example(&mut random, symbol), example(&mut random, symbol));
        let factor = i128::from(random.below(15)) - 7;
        let length = [8, 16, 32, 64][random.below(4) as usize];
        let mut moved = a.rows;
        moved.number.offsets = moved.number.offsets.map(|offset| offset.wrapping_add(64));
        let exclusive = zip(&a.lanes, &b.lanes, |a, b| a ^ b);
        let results = [
            (Some(a.rows), a.lanes),
            (a.rows.sum(b.rows), zip(&a.lanes, &b.lanes, |a, b| a + b)),
            (a.rows.times(factor), a.lanes.map(|lane| lane * factor)),
            (
                Some(a.rows.truncated(length)),
                a.lanes.map(|lane| lane & ones(length) as i128),
            ),
            (
                Some(a.rows.stored(32)),
                a.lanes.map(|lane| lane & ones(32) as i128),
            ),
            (a.rows.joined(moved), a.lanes),
            (
                Some(Rows::equal_where([a.rows, b.rows].into_iter())),
                exclusive,
            ),
        ];
        for (operation, (result, lanes)) in results.into_iter().enumerate() {
            let results = [result, result.map(Rows::widened)];
            for result in results.into_iter().flatten() {
                if result.number.inverted.count_ones() >= 12 {
                    continue;
                }
                counts[operation].0 += usize::from(result.rows != [0; LANES]);
                counts[operation].1 += usize::from(result.stride.is_some());
                assert!(
                    may_be_rows(&result, &lanes, symbol),
                    "operation {operation} by {factor} or of {length} bits: {result:?} of {a:?} and {b:?} is not {lanes:?}"
                );
            }
        }
    }
    assert!(counts.iter().all(|(rows, _)| *rows > 500), "{counts:?}");
    assert!(
        counts[..6].iter().all(|(_, strides)| *strides > 500),
        "{counts:?}"
    );
}
