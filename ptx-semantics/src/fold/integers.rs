//! The functions of expressions on integers.

use super::value::{Exact, exact, low, ones};
use bnum::cast::CastFrom;

/// The bits from a position on, with or without a sign.
pub(super) fn field(signed: bool, a: Exact, position: u32, length: u32) -> Exact {
    let field = a.wrapping_shr(position.min(255)) & ones(length);
    let negative = signed && length > 0 && bit(field, length.min(256) - 1);
    if negative {
        field | !ones(length)
    } else {
        field
    }
}

fn bit(a: Exact, at: u32) -> bool {
    low(a.wrapping_shr(at)) & 1 != 0
}

/// The position of a one bit of a mask of 32 bits, or -1.
pub(super) fn find_nth(mask: Exact, base: Exact, offset: Exact) -> Exact {
    let bits = low(mask) as u32;
    let (mut at, offset) = (i64::cast_from(base), i64::cast_from(offset));
    let mut left = offset.unsigned_abs().saturating_sub(1);
    while (0..32).contains(&at) {
        if bits >> at & 1 == 1 {
            if left == 0 {
                return Exact::cast_from(at);
            }
            left -= 1;
        }
        if offset == 0 {
            break;
        }
        at += offset.signum();
    }
    exact(-1)
}

/// The product without carries.
pub(super) fn carryless(a: Exact, b: Exact) -> Exact {
    let bits = (0..128).filter(|&i| bit(a, i));
    bits.fold(exact(0), |sum, i| sum ^ b.wrapping_shl(i))
}

/// A function of three bits, given by its table, for all bits.
pub(super) fn lookup(table: Exact, [a, b, c]: [Exact; 3]) -> Exact {
    let mut result = exact(0);
    for row in (0..8u32).filter(|&row| bit(table, row)) {
        let take = |on: bool, x: Exact| if on { x } else { !x };
        result |= take(row & 4 != 0, a) & take(row & 2 != 0, b) & take(row & 1 != 0, c);
    }
    result
}

/// A byte, or eight copies of its highest bit.
pub(super) fn byte(a: Exact, selector: Exact) -> Exact {
    let selector = low(selector) as u32;
    let byte = field(false, a, (selector & 7) * 8, 8);
    match selector & 8 != 0 {
        false => byte,
        true if bit(byte, 7) => ones(8),
        true => exact(0),
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

/// A number of bits; 256 means all greater ones.
fn amount(n: Exact) -> u32 {
    u32::cast_from(n.clamp(exact(0), Exact::cast_from(256u32)))
}
