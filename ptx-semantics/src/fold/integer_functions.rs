//! Evaluation of the functions of expressions ([`ptx_isa::ExprFunction`]) on integers.

use super::value::{Exact, exact, low, ones};
use bnum::cast::CastFrom;

/// The integer whose bits are the `length` bits of `a` from a position on, in two's complement if it is `signed`.
pub(super) fn field(signed: bool, a: Exact, position: u32, length: u32) -> Exact {
    let field = a.wrapping_shr(position.min(255)) & ones(length);
    let is_negative = signed && length > 0 && bit(field, length.min(256) - 1);
    if is_negative {
        field | !ones(length)
    } else {
        field
    }
}

/// Whether the bit at a position is one.
fn bit(a: Exact, position: u32) -> bool {
    low(a.wrapping_shr(position)) & 1 != 0
}

/// The position of the `offset`-th one bit of a mask of 32 bits, counted from `base` upwards, or downwards for a negative offset; -1 without
/// such a bit. For the offset 0, the bit at `base` itself is tested.
pub(super) fn find_nth(mask: Exact, base: Exact, offset: Exact) -> Exact {
    let bits = low(mask) as u32;
    let (mut position, offset) = (i64::cast_from(base), i64::cast_from(offset));
    let mut remaining = offset.unsigned_abs().saturating_sub(1);
    while (0..32).contains(&position) {
        if bits >> position & 1 == 1 {
            if remaining == 0 {
                return Exact::cast_from(position);
            }
            remaining -= 1;
        }
        if offset == 0 {
            break;
        }
        position += offset.signum();
    }
    exact(-1)
}

/// The product of `a`, of which the lowest 128 bits count, and `b` without carries.
pub(super) fn carryless(a: Exact, b: Exact) -> Exact {
    (0..128)
        .filter(|&position| bit(a, position))
        .fold(exact(0), |sum, position| sum ^ b.wrapping_shl(position))
}

/// A function of three bits, whose truth table has eight bits, applied to each bit position of three integers.
pub(super) fn lookup(table: Exact, [a, b, c]: [Exact; 3]) -> Exact {
    let mut result = exact(0);
    for row in (0..8u32).filter(|&row| bit(table, row)) {
        let equal_to = |row_bit: u32, x: Exact| if row & row_bit != 0 { x } else { !x };
        result |= equal_to(4, a) & equal_to(2, b) & equal_to(1, c);
    }
    result
}

/// The byte that the low three bits of a selector give the index of, or eight copies of its highest bit if the fourth bit is set.
pub(super) fn byte(a: Exact, selector: Exact) -> Exact {
    let selector = low(selector) as u32;
    let byte = field(false, a, (selector & 7) * 8, 8);
    if selector & 8 == 0 {
        byte
    } else if bit(byte, 7) {
        ones(8)
    } else {
        exact(0)
    }
}

pub(super) fn shift_left(a: Exact, n: Exact) -> Exact {
    match amount(n) {
        n @ ..256 => a.wrapping_shl(n),
        _ => exact(0),
    }
}

pub(super) fn shift_right(a: Exact, n: Exact) -> Exact {
    a.wrapping_shr(amount(n).min(255))
}

/// The number of bits of a shift, between 0 and 256.
fn amount(n: Exact) -> u32 {
    u32::cast_from(n.clamp(exact(0), Exact::cast_from(256u32)))
}
