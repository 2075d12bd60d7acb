//! Determines whether results depend on the values of registers.

use super::grid::Grid;
use super::groups::{CallFrame, LaneStep};
use super::warp::execute;
use crate::lanes::{Kind, LaneOp, Place, Registers, lanes};
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

/// The values that unknown registers are assumed to have: zero, all ones, numbers between them, and large and small signed numbers of each width.
pub(super) const PATTERNS: [u128; 6] = [
    0,
    u128::MAX,
    u128::MAX / 3,
    u128::MAX / 5 * 2,
    u128::MAX / 0xffff * 0x8000,
    u128::MAX / 0xff * 0xf5,
];

/// The lanes and the bits in which an instruction has the same results for each of the assumed values of the unknown registers. A byte with an unknown bit
/// is unknown. A comparison of unknown values has both results, since few values may be those for which it holds.
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
    let mut assumed = PATTERNS.map(|pattern| {
        let mut registers = call.registers.clone();
        for register in unknown {
            for lane in lanes(register.lanes) {
                let known = registers.get(register.place, lane) & !register.bits;
                registers.set(register.place, lane, known | pattern & register.bits);
            }
        }
        registers
    });
    let (first_operand, end_of_operands) = target.operand_ops;
    for op in (first_operand..end_of_operands).chain(first..end) {
        for registers in &mut assumed {
            execute(function, registers, (op, op + 1), step.active);
        }
        if let Some(op) = function.code.ops.get(op as usize) {
            assume_both_results(op, &mut assumed, step.active);
        }
    }
    let mut unchanged = step.active;
    let mut changed_bits = vec![0; results.len()];
    for (place, changed) in results.iter().zip(&mut changed_bits) {
        for lane in lanes(step.active) {
            let differing = differing_bits(&assumed, *place, lane);
            *changed |= differing;
            unchanged &= !(u32::from(differing != 0) << lane);
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

/// The bits of a register of a lane that depend on the assumed values.
fn differing_bits(assumed: &[Registers], place: Place, lane: usize) -> u128 {
    let mut values = assumed.iter().map(|registers| registers.get(place, lane));
    let first = values.next().unwrap_or(0);
    values.fold(0, |bits, value| bits | value ^ first)
}

/// After a comparison of values that depend on the assumed ones: lets it hold for every second assumption.
fn assume_both_results(op: &LaneOp, assumed: &mut [Registers], active: u32) {
    let place = match op.kind {
        Kind::CompareWord(_) | Kind::CompareSingle(_) => Place::Word,
        Kind::CompareDouble(_) | Kind::CompareLong(_) => Place::Double,
        _ => return,
    };
    for lane in lanes(active) {
        if differing_bits(assumed, place(op.a), lane) | differing_bits(assumed, place(op.b), lane)
            == 0
        {
            continue;
        }
        for (number, registers) in (0u128..).zip(assumed.iter_mut()) {
            registers.set(Place::Predicate(op.to), lane, number & 1);
        }
    }
}

/// The bytes with some bit of a mask.
pub(crate) fn whole_bytes(bits: u128) -> u128 {
    let bytes = bits.to_le_bytes();
    u128::from_le_bytes(bytes.map(|byte| if byte == 0 { 0 } else { u8::MAX }))
}
