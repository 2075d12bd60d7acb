//! Comparison and selection: sections 9.7.6 and 9.7.7.

use super::float_format::Format;
use super::integer::Int;
use super::modifiers::{FTZ, Words};
use super::{Folded, element, mask};
use core::cmp::Ordering;
use ptx_isa::{Modifier, Opcode, ScalarType, TypeKind};

pub(super) fn compare(opcode: Opcode, words: &Words, operands: &[u128]) -> Option<Folded> {
    words.only(FTZ)?;
    let [Some(test), None] = words.choice else {
        return None;
    };
    let (target, ty) = match opcode {
        Opcode::Set => (words.ty(0)?, words.ty(1)?),
        _ if words.ty(1).is_none() => (ScalarType::Pred, words.ty(0)?),
        _ => return None,
    };
    let (&[a, b], rest) = operands.split_first_chunk()?;
    let width = element(ty).bits();
    let lane = |i: u16| holds(test, words, element(ty), a >> (i * width), b >> (i * width));
    let with = |value: bool| match (words.logic, rest) {
        (None, []) => Some(value),
        (Some(Modifier::And), &[c]) => Some(value && c & 1 == 1),
        (Some(Modifier::Or), &[c]) => Some(value || c & 1 == 1),
        (Some(Modifier::Xor), &[c]) => Some(value != (c & 1 == 1)),
        _ => None,
    };
    let first = with(lane(0)?)?;
    let bits = if ty.lanes() == 2 && opcode == Opcode::Set {
        // The result for each half in a half, whatever the type of the destination.
        let one = truth(match target {
            ScalarType::U32 | ScalarType::S32 => ScalarType::U16,
            packed => packed.element()?,
        })?;
        u128::from(first) * one + ((u128::from(with(lane(1)?)?) * one) << 16)
    } else {
        u128::from(first) * truth(target)?
    };
    let second = match (opcode, ty.lanes()) {
        (Opcode::Setp, 2) => Some(with(lane(1)?)?),
        (Opcode::Setp, _) => Some(with(!lane(0)?)?),
        _ => None,
    };
    Some(Folded {
        second,
        ..Folded::new(bits, target)?
    })
}

/// How a type writes that something is true.
/// For comparisons of `.bf16` the pseudocode of the PTX ISA manual has 1.0 in every type; its text, followed here, goes by the
/// type of the destination.
fn truth(ty: ScalarType) -> Option<u128> {
    Some(match ty {
        ScalarType::Pred => 1,
        ScalarType::U32 | ScalarType::S32 => mask(32),
        ScalarType::U16 | ScalarType::S16 => mask(16),
        ScalarType::F32 => 0x3f80_0000,
        ScalarType::F16 => 0x3c00,
        ScalarType::Bf16 => 0x3f80,
        _ => return None,
    })
}

fn holds(test: Modifier, words: &Words, ty: ScalarType, a: u128, b: u128) -> Option<bool> {
    if let Some(format) = Format::of(ty) {
        let read = |x: u128| {
            let x = x & mask(ty.bits());
            format.decode(if words.has(FTZ) { format.flush(x) } else { x })
        };
        let order = match (read(a), read(b)) {
            (Some(a), Some(b)) => Some(a.compare(b)),
            _ => None,
        };
        // What each says about two numbers, and about a NaN.
        let (test, of_nan) = match test {
            Modifier::Num => return Some(order.is_some()),
            Modifier::Nan => return Some(order.is_none()),
            Modifier::Equ => (Modifier::Eq, true),
            Modifier::Neu => (Modifier::Ne, true),
            Modifier::Ltu => (Modifier::Lt, true),
            Modifier::Leu => (Modifier::Le, true),
            Modifier::Gtu => (Modifier::Gt, true),
            Modifier::Geu => (Modifier::Ge, true),
            test => (test, false),
        };
        let of_numbers = ordered(test, order.unwrap_or(Ordering::Equal))?;
        return Some(order.map_or(of_nan, |_| of_numbers));
    }
    words.only(0)?;
    let order = match ty.kind() {
        TypeKind::Bits if ty.bits() <= 64 => {
            let equal = (a ^ b) & mask(ty.bits()) == 0;
            return match test {
                Modifier::Eq => Some(equal),
                Modifier::Ne => Some(!equal),
                _ => None,
            };
        }
        _ => {
            let int = Int::of(ty)?;
            int.value(a).cmp(&int.value(b))
        }
    };
    let unsigned = ty.kind() == TypeKind::Unsigned;
    let test = match test {
        Modifier::Lo if unsigned => Modifier::Lt,
        Modifier::Ls if unsigned => Modifier::Le,
        Modifier::Hi if unsigned => Modifier::Gt,
        Modifier::Hs if unsigned => Modifier::Ge,
        test => test,
    };
    ordered(test, order)
}

/// Whether a comparison of two numbers holds; `None` for a modifier that is not a comparison.
pub(super) fn ordered(test: Modifier, order: Ordering) -> Option<bool> {
    Some(match test {
        Modifier::Eq => order.is_eq(),
        Modifier::Ne => order.is_ne(),
        Modifier::Lt => order.is_lt(),
        Modifier::Le => order.is_le(),
        Modifier::Gt => order.is_gt(),
        Modifier::Ge => order.is_ge(),
        _ => return None,
    })
}

pub(super) fn select(opcode: Opcode, words: &Words, operands: &[u128]) -> Option<Folded> {
    words.only(FTZ)?;
    let &[a, b, c] = operands else { return None };
    let first = match (opcode, words.ty(1)) {
        (Opcode::Selp, None) => c & 1 == 1,
        (Opcode::Slct, Some(ScalarType::S32)) => c as i32 >= 0,
        (Opcode::Slct, Some(ScalarType::F32)) => {
            let format = Format::of(ScalarType::F32)?;
            let c = c & mask(32);
            let number = format.decode(if words.has(FTZ) { format.flush(c) } else { c });
            // A NaN selects the second; -0 counts as zero.
            number.is_some_and(|n| !n.negative || n.is_zero())
        }
        _ => return None,
    };
    Folded::new(if first { a } else { b }, words.ty(0)?)
}
