//! Determines whether results depend on the values of registers.

use super::grid::Grid;
use super::groups::{CallFrame, Stepped};
use super::warp::execute;
use crate::lanes::{Place, lanes};
use crate::program::Step;

/// A register whose value is not known in some lanes.
pub(crate) struct Unknown {
    pub(crate) place: Place,
    /// Its width.
    pub(crate) bits: u32,
    pub(crate) lanes: u32,
}

/// The values of registers that are tried: zero, all ones, and numbers between them.
const PATTERNS: [u128; 4] = [0, u128::MAX, u128::MAX / 3, u128::MAX / 5 * 2];

/// The active lanes in which the instruction has the same results for several values of registers.
pub(crate) fn determined(
    grid: &Grid<'_>,
    (step, call): (Stepped, &CallFrame),
    unknown: &[Unknown],
    results: &[Place],
) -> u32 {
    let Some(function) = grid.program.function(step.function) else {
        return 0;
    };
    let Some(target) = function.steps.get(step.at as usize) else {
        return 0;
    };
    let Step::Lanes(first, end) = target.step else {
        return 0;
    };
    let mut first_results: Option<Vec<_>> = None;
    let mut unchanged = step.active;
    for pattern in PATTERNS {
        let mut registers = call.registers.clone();
        for one in unknown {
            let ones = u128::MAX >> (128 - one.bits.clamp(1, 128));
            for lane in lanes(one.lanes) {
                registers.set(one.place, lane, pattern & ones);
            }
        }
        execute(function, &mut registers, target.before, step.active);
        execute(function, &mut registers, (first, end), step.active);
        let value = |place: &Place| core::array::from_fn(|lane| registers.get(*place, lane));
        let values: Vec<[u128; crate::lanes::LANES]> = results.iter().map(value).collect();
        let expected = first_results.get_or_insert_with(|| values.clone());
        for lane in lanes(unchanged) {
            let differs = expected
                .iter()
                .zip(&values)
                .any(|(a, b)| a[lane] != b[lane]);
            unchanged &= !(u32::from(differs) << lane);
        }
    }
    unchanged
}
