//! Determines whether results depend on the values of registers.

use super::grid::Grid;
use super::groups::{CallFrame, LaneStep};
use super::warp::execute;
use crate::lanes::{Place, lanes};
use crate::program::Step;

/// A register whose value is unknown in some lanes.
pub(crate) struct Unknown {
    pub(crate) place: Place,
    /// The bits that are unknown.
    pub(crate) bits: u128,
    pub(crate) lanes: u32,
}

/// What is known about the results of an instruction.
#[derive(Debug, Default)]
pub(crate) struct Determined {
    /// The active lanes in which all results are known.
    pub(crate) lanes: u32,
    /// For each result, the bits that are known in all active lanes.
    pub(crate) bits: Vec<u128>,
}

/// The values that unknown registers are assumed to have: zero, all ones, and numbers between them.
const PATTERNS: [u128; 4] = [0, u128::MAX, u128::MAX / 3, u128::MAX / 5 * 2];

/// The lanes and the bits in which an instruction has the same results for each of the assumed values of the unknown registers. A byte with an unknown bit
/// is unknown.
pub(crate) fn determined(
    grid: &Grid<'_>,
    step: LaneStep,
    call: &CallFrame,
    unknown: &[Unknown],
    results: &[Place],
) -> Determined {
    let nothing = Determined {
        lanes: 0,
        bits: vec![0; results.len()],
    };
    let Some(function) = grid.program.function(step.function) else {
        return nothing;
    };
    let Some(target) = function.steps.get(step.index as usize) else {
        return nothing;
    };
    let Step::Lanes(first, end) = target.step else {
        return nothing;
    };
    let mut first_results: Option<Vec<_>> = None;
    let mut unchanged = step.active;
    let mut changed_bits = vec![0; results.len()];
    for pattern in PATTERNS {
        let mut registers = call.registers.clone();
        for register in unknown {
            for lane in lanes(register.lanes) {
                let known = registers.get(register.place, lane) & !register.bits;
                registers.set(register.place, lane, known | pattern & register.bits);
            }
        }
        execute(function, &mut registers, target.operand_ops, step.active);
        execute(function, &mut registers, (first, end), step.active);
        let values: Vec<[u128; crate::lanes::LANES]> = results
            .iter()
            .map(|place| core::array::from_fn(|lane| registers.get(*place, lane)))
            .collect();
        let expected = first_results.get_or_insert_with(|| values.clone());
        for ((a, b), changed) in expected.iter().zip(&values).zip(&mut changed_bits) {
            for lane in lanes(step.active) {
                let differing = a[lane] ^ b[lane];
                *changed |= differing;
                unchanged &= !(u32::from(differing != 0) << lane);
            }
        }
    }
    Determined {
        lanes: unchanged,
        bits: changed_bits
            .into_iter()
            .map(|bits| !whole_bytes(bits))
            .collect(),
    }
}

/// The bytes with some bit of a mask.
fn whole_bytes(bits: u128) -> u128 {
    let bytes = bits.to_le_bytes();
    u128::from_le_bytes(bytes.map(|byte| if byte == 0 { 0 } else { u8::MAX }))
}
