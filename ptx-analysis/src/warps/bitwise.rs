//! Bitwise functions of the integers of the lanes of a warp.

use super::number::{Lanes, Number, ones};
use crate::memory_access::requests::LANES;

/// The maximum number of operands of a bitwise function.
const MAX_OPERANDS: usize = 3;

/// The truth tables of functions of two bits: the row of the bits a and b is 2a + b.
pub(super) const AND: u8 = 0b1000;
pub(super) const OR: u8 = 0b1110;
pub(super) const XOR: u8 = 0b0110;

/// An operand: the bits of each lane, and the bits that are not known.
#[derive(Copy, Clone)]
struct Bits {
    offsets: Lanes,
    /// The bits that may be inverted in all lanes.
    inverted: u128,
    /// The bits of which nothing is known.
    unknown: u128,
    number: Number,
}

impl Bits {
    fn new(number: Number) -> Self {
        if let Some(exact) = number.without_carries() {
            return Self {
                offsets: exact.offsets,
                inverted: exact.unknown(),
                // Beyond these bits, the integer depends on the assumption that nothing wraps around.
                unknown: 0,
                number: exact,
            };
        }
        // The bits below the lowest one of the base are those of the offsets.
        let low = ones(number.base.trailing_zeros());
        Self {
            offsets: number.offsets,
            inverted: number.inverted & low,
            unknown: !low,
            number,
        }
    }
}

/// The function with a truth table of two or three integers: in the number of a row, the bit of the first operand is the highest one. `None` if a bit of the
/// result is not known, and not the same in all lanes either.
pub(super) fn bitwise(table: u8, operands: &[Number]) -> Option<Number> {
    let count = operands.len().min(MAX_OPERANDS);
    let mut bits = [Bits::new(Number::constant(0)); MAX_OPERANDS];
    for (slot, number) in bits.iter_mut().zip(operands) {
        *slot = Bits::new(*number);
    }
    let bits = &bits[..count];
    let result = combine(table, bits, 0, 0);
    let mut inverted = 0;
    let mut varying = 0;
    // Each operand may have its unknown bits or others; those that are the same in all lanes are inverted together.
    for choice in 1..1u32 << (2 * count) {
        let (unknown, inversions) = (choice >> count, choice & ((1 << count) - 1));
        let is_possible = |choice: u32, mask: fn(&Bits) -> u128| {
            (0..count).all(|index| choice >> index & 1 == 0 || mask(&bits[index]) != 0)
        };
        if !is_possible(inversions, |bits| bits.inverted)
            || !is_possible(unknown, |bits| bits.unknown)
        {
            continue;
        }
        let other = combine(table, bits, inversions, unknown);
        let (mut any, mut all) = (0, u128::MAX);
        for (a, b) in result.iter().zip(&other) {
            let difference = (a ^ b) as u128;
            any |= difference;
            all &= difference;
        }
        // What changes in some lanes only, or with bits that differ between lanes, is not known.
        varying |= any & !all;
        if unknown != 0 {
            varying |= any;
        }
        inverted |= all;
    }
    if varying != 0 {
        return None;
    }
    let mut number = Number {
        inverted,
        ..Number::known(result)
    };
    for operand in bits {
        number.assumed = number.assumed.and(operand.number.assumed);
    }
    // The integers are exact unless a bit depends on whether a sum wraps around.
    let wrapping = bits.iter().map(|operand| operand.number.bits).min();
    number.bits = wrapping.unwrap_or(128).min(128);
    if number.bits < 128 && depends_on_high_bits(table, bits, number.bits) {
        number = number.exact();
    } else {
        number.bits = 128;
    }
    Some(number.simplified())
}

/// The result in each lane if operands of a set are inverted where they may be in all lanes, and those of another set are others where nothing is known.
fn combine(table: u8, operands: &[Bits], inverted: u32, unknown: u32) -> Lanes {
    let mut changes = [0u128; MAX_OPERANDS];
    for (index, (change, operand)) in changes.iter_mut().zip(operands).enumerate() {
        if inverted >> index & 1 == 1 {
            *change ^= operand.inverted;
        }
        if unknown >> index & 1 == 1 {
            *change ^= operand.unknown;
        }
    }
    let mut result = [0; LANES];
    for row in 0..1u8 << operands.len() {
        if table >> row & 1 == 0 {
            continue;
        }
        for (lane, bits) in result.iter_mut().enumerate() {
            let mut matching = u128::MAX;
            for (index, operand) in operands.iter().enumerate() {
                let value = operand.offsets[lane] as u128 ^ changes[index];
                let is_one = row >> (operands.len() - 1 - index) & 1 == 1;
                matching &= if is_one { value } else { !value };
            }
            *bits |= matching as i128;
        }
    }
    result
}

/// Returns whether the bits of the result from a position on depend on operands that are only known below it.
fn depends_on_high_bits(table: u8, operands: &[Bits], position: u32) -> bool {
    let changed: alloc::vec::Vec<Bits> = operands
        .iter()
        .map(|operand| Bits {
            unknown: if operand.number.bits < 128 {
                !ones(position)
            } else {
                0
            },
            ..*operand
        })
        .collect();
    let result = combine(table, &changed, 0, 0);
    (1..1u32 << changed.len()).any(|unknown| combine(table, &changed, 0, unknown) != result)
}
