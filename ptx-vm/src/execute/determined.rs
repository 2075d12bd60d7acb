//! Determines whether results depend on the values of registers.

use super::grid::Grid;
use super::groups::{CallFrame, LaneStep};
use super::warp::execute;
use crate::lanes::{Place, lanes};
use crate::program::Step;

/// A register whose value is unknown in some lanes.
pub(crate) struct Unknown {
    pub(crate) place: Place,
    /// The width of the register.
    pub(crate) bits: u32,
    pub(crate) lanes: u32,
}

/// The values that unknown registers are assumed to have: zero, all ones, and numbers between them.
const PATTERNS: [u128; 4] = [0, u128::MAX, u128::MAX / 3, u128::MAX / 5 * 2];

/// The active lanes in which an instruction has the same results for each of the assumed values of the unknown registers.
pub(crate) fn determined(
    grid: &Grid<'_>,
    step: LaneStep,
    call: &CallFrame,
    unknown: &[Unknown],
    results: &[Place],
) -> u32 {
    let Some(function) = grid.program.function(step.function) else {
        return 0;
    };
    let Some(target) = function.steps.get(step.index as usize) else {
        return 0;
    };
    let Step::Lanes(first, end) = target.step else {
        return 0;
    };
    let mut first_results: Option<Vec<_>> = None;
    let mut unchanged = step.active;
    for pattern in PATTERNS {
        let mut registers = call.registers.clone();
        for register in unknown {
            let ones = u128::MAX >> (128 - register.bits.clamp(1, 128));
            for lane in lanes(register.lanes) {
                registers.set(register.place, lane, pattern & ones);
            }
        }
        execute(function, &mut registers, target.operand_ops, step.active);
        execute(function, &mut registers, (first, end), step.active);
        let values: Vec<[u128; crate::lanes::LANES]> = results
            .iter()
            .map(|place| core::array::from_fn(|lane| registers.get(*place, lane)))
            .collect();
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
