//! Minimum and maximum of two or three numbers: sections 9.7.3.11, 9.7.3.12, 9.7.4.7 and 9.7.4.8.

use super::float_format::Format;
use super::modifiers::{FTZ, NAN, Words};
use core::cmp::Ordering;
use ptx_isa::{Modifier, Opcode};

/// Without `.NaN`, NaNs are ignored; -0 is less than +0.
pub(super) fn extreme(
    opcode: Opcode,
    words: &Words,
    format: Format,
    operands: &[u128],
) -> Option<u128> {
    words.only(FTZ | NAN)?;
    let (absolute, crossed) = match (words.choice, operands) {
        ([None, None], [_, _] | [_, _, _]) => (false, false),
        ([Some(Modifier::Abs), None], [_, _, _]) => (true, false),
        ([Some(Modifier::Xorsign), Some(Modifier::Abs)], [_, _]) => (true, true),
        _ => return None,
    };
    let mut sign = 0;
    let mut best: Option<u128> = None;
    for &raw in operands {
        sign ^= raw & format.sign();
        let bits = if words.has(FTZ) {
            format.flush(raw)
        } else {
            raw
        };
        let bits = if absolute {
            bits & !format.sign()
        } else {
            bits
        };
        let Some(new) = format.decode(bits) else {
            // The bits of the canonical NaN are not defined.
            if words.has(NAN) {
                return None;
            }
            continue;
        };
        let better = best.and_then(|b| format.decode(b)).is_none_or(|old| {
            let order = new.compare(old).then(old.negative.cmp(&new.negative));
            let wanted = if opcode == Opcode::Min {
                Ordering::Less
            } else {
                Ordering::Greater
            };
            order == wanted
        });
        if better {
            best = Some(bits);
        }
    }
    let best = best?;
    Some(if crossed {
        (best & !format.sign()) | sign
    } else {
        best
    })
}
