//! Results that do not depend on all operands.

use super::{Folded, Operation, Video, fold};
use alloc::vec::Vec;
use ptx_isa::{Modifier, Opcode};

/// The result of an instruction some operands of which are unknown (`None`), if those do not matter: a selection whose
/// predicate is known, a product with zero, a conjunction with a false predicate. With all operands known it is
/// [`fold`]. The first result alone is given where the unknown operands may change the others.
pub fn fold_partial(
    opcode: Opcode,
    modifiers: &[Modifier],
    operands: &[Option<u128>],
    carry: Option<bool>,
) -> Option<Folded> {
    let with = |free: u128| {
        let operands: Vec<u128> = operands.iter().map(|o| o.unwrap_or(free)).collect();
        fold(&Operation {
            opcode,
            modifiers,
            operands: &operands,
            carry,
            video: Video::default(),
        })
    };
    if operands.iter().all(Option::is_some) {
        return with(0);
    }
    let zero = |i: usize| operands.get(i) == Some(&Some(0));
    let settled = match (opcode, operands) {
        (Opcode::Selp, [Some(_), None, Some(p)]) => p & 1 == 1,
        (Opcode::Selp, [None, Some(_), Some(p)]) => p & 1 == 0,
        // Both are the same.
        (Opcode::Selp, [Some(a), Some(b), None]) => a == b,
        (Opcode::And | Opcode::Mul, [_, _]) => {
            let float = modifiers
                .iter()
                .filter_map(|m| m.scalar_type())
                .any(|ty| super::element(ty).is_float());
            !float && (zero(0) || zero(1))
        }
        _ => false,
    };
    if !settled {
        return None;
    }
    Some(Folded {
        second: None,
        carry: None,
        ..with(0)?
    })
}
