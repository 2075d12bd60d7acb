//! Logic, shifts and bit fields: sections 9.7.1.14 to 9.7.1.22, 9.7.8 and 9.7.9.7.

use super::modifiers::Words;
use super::{Folded, mask, signed};
use ptx_isa::{Modifier, Opcode, ScalarType, TypeKind};

pub(super) fn evaluate(opcode: Opcode, words: &Words, operands: &[u128]) -> Option<Folded> {
    words.only(0)?;
    let ty = words.ty(0)?;
    if words.ty(1).is_some() {
        return None;
    }
    let bits = ty.bits();
    let sign = ty.kind() == TypeKind::Signed;
    let all = mask(bits);
    let value = |i: usize| operands.get(i).map(|&raw| raw & all);
    // Positions, lengths and amounts have 32 bits whatever the type is.
    let amount = |i: usize| operands.get(i).map(|&raw| raw as u32);
    if opcode == Opcode::Lop3 {
        return lop3(words, ty, operands);
    }
    if words.logic.is_some() {
        return None;
    }
    match (opcode, words.choice) {
        (Opcode::Shf, [Some(side), Some(mode)]) => return funnel(side, mode, operands),
        (Opcode::Szext | Opcode::Bmsk, [Some(mode), None]) => {
            return extend(opcode, mode, ty, operands);
        }
        (Opcode::Prmt, [mode, None]) => return permute(mode, operands),
        (Opcode::Bfind, [mode, None]) => return find_leading(mode, ty, value(0)?),
        (_, [None, None]) => {}
        _ => return None,
    }
    let result = match opcode {
        Opcode::And => value(0)? & value(1)?,
        Opcode::Or => value(0)? | value(1)?,
        Opcode::Xor => value(0)? ^ value(1)?,
        Opcode::Not => !value(0)?,
        Opcode::Cnot => u128::from(value(0)? == 0),
        Opcode::Shl => value(0)? << amount(1)?.min(bits.into()),
        Opcode::Shr if sign => (signed(value(0)?, bits) >> amount(1)?.min(bits.into())) as u128,
        Opcode::Shr => value(0)? >> amount(1)?.min(bits.into()),
        Opcode::Popc => return Folded::new(value(0)?.count_ones().into(), ScalarType::U32),
        Opcode::Clz => {
            let zeros = value(0)?.leading_zeros() - (128 - u32::from(bits));
            return Folded::new(zeros.into(), ScalarType::U32);
        }
        Opcode::Brev => value(0)?.reverse_bits() >> (128 - bits),
        Opcode::Bfe => {
            let (a, from, len) = (value(0)?, amount(1)? & 0xff, amount(2)? & 0xff);
            let field = a.checked_shr(from).unwrap_or(0) & mask(len as u16);
            // A field that reaches past the top is filled with the bit at its end, or at the top.
            let end = (from + len).saturating_sub(1).min(u32::from(bits) - 1);
            let negative = sign && len > 0 && a >> end & 1 == 1;
            let present = (u32::from(bits).saturating_sub(from)).min(len);
            if negative {
                field | !mask(present as u16)
            } else {
                field
            }
        }
        Opcode::Bfi => {
            let (a, b, from, len) = (value(0)?, value(1)?, amount(2)? & 0xff, amount(3)? & 0xff);
            let field = mask(len as u16).checked_shl(from).unwrap_or(0);
            (b & !field) | (a.checked_shl(from).unwrap_or(0) & field)
        }
        Opcode::Fns => return find_nth(value(0)? as u32, amount(1)?, amount(2)? as i32),
        _ => return None,
    };
    Folded::new(result, ty)
}

/// The position of the highest bit that differs from the sign, or its distance from the top.
fn find_leading(mode: Option<Modifier>, ty: ScalarType, value: u128) -> Option<Folded> {
    let bits = ty.bits();
    let negative = ty.kind() == TypeKind::Signed && signed(value, bits) < 0;
    let found = match negative {
        true => (!value & mask(bits)).checked_ilog2(),
        false => value.checked_ilog2(),
    };
    let result = match mode {
        None => found,
        Some(Modifier::Shiftamt) => found.map(|at| u32::from(bits) - 1 - at),
        _ => return None,
    };
    Folded::new(result.unwrap_or(u32::MAX).into(), ScalarType::U32)
}

fn lop3(words: &Words, ty: ScalarType, operands: &[u128]) -> Option<Folded> {
    let (&[a, b, c, table], rest) = operands.split_first_chunk()?;
    if words.choice != [None, None] {
        return None;
    }
    let mut result = 0;
    for row in 0..8u32 {
        if table >> row & 1 == 1 {
            let take = |on: bool, x: u128| if on { x } else { !x };
            result |= take(row & 4 != 0, a) & take(row & 2 != 0, b) & take(row & 1 != 0, c);
        }
    }
    let folded = Folded::new(result, ty)?;
    let nonzero = folded.value != 0;
    let second = match (words.logic, rest) {
        (None, []) => None,
        (Some(Modifier::And), &[q]) => Some(nonzero && q & 1 == 1),
        (Some(Modifier::Or), &[q]) => Some(nonzero || q & 1 == 1),
        _ => return None,
    };
    Some(Folded { second, ..folded })
}

fn funnel(side: Modifier, mode: Modifier, operands: &[u128]) -> Option<Folded> {
    let &[low, high, amount] = operands else {
        return None;
    };
    let n = match mode {
        Modifier::Clamp => (amount as u32).min(32),
        Modifier::Wrap => amount as u32 & 31,
        _ => return None,
    };
    let both = (high & mask(32)) << 32 | (low & mask(32));
    match side {
        Modifier::L => Folded::new((both << n) >> 32, ScalarType::B32),
        Modifier::R => Folded::new(both >> n, ScalarType::B32),
        _ => None,
    }
}

fn extend(opcode: Opcode, mode: Modifier, ty: ScalarType, operands: &[u128]) -> Option<Folded> {
    let &[a, b] = operands else { return None };
    let (a, b) = (a as u32, b as u32);
    let clamp = match mode {
        Modifier::Clamp => true,
        Modifier::Wrap => false,
        _ => return None,
    };
    let result = if opcode == Opcode::Bmsk {
        match clamp {
            true if a >= 32 => 0,
            true => mask(b.min(32) as u16) << a,
            false => mask((b & 31) as u16) << (a & 31),
        }
    } else {
        let width = if clamp { b.min(32) } else { b & 31 } as u16;
        let field = u128::from(a) & mask(width);
        match width {
            1.. if ty.kind() == TypeKind::Signed => signed(field, width) as u128,
            _ => field,
        }
    };
    Folded::new(result, ty)
}

fn permute(mode: Option<Modifier>, operands: &[u128]) -> Option<Folded> {
    let &[a, b, select] = operands else {
        return None;
    };
    let pool = (b & mask(32)) << 32 | (a & mask(32));
    let at = select as u32 & 3;
    let mut result = 0;
    for i in 0..4u32 {
        let (byte, sign) = match mode {
            None => (select as u32 >> (4 * i) & 7, select >> (4 * i + 3) & 1 == 1),
            Some(Modifier::F4e) => (at + i, false),
            Some(Modifier::B4e) => (at.wrapping_sub(i) & 7, false),
            Some(Modifier::Rc8) => (at, false),
            Some(Modifier::Ecl) => (i.max(at), false),
            Some(Modifier::Ecr) => (i.min(at), false),
            Some(Modifier::Rc16) => ((at & 1) * 2 + (i & 1), false),
            _ => return None,
        };
        let value = pool >> (byte * 8) & 0xff;
        let value = if sign { (value >> 7) * 0xff } else { value };
        result |= value << (8 * i);
    }
    Folded::new(result, ScalarType::B32)
}

fn find_nth(bits: u32, base: u32, offset: i32) -> Option<Folded> {
    if base > 31 {
        return None;
    }
    let step = if offset < 0 { -1 } else { 1 };
    let mut left = offset.unsigned_abs().saturating_sub(1);
    let mut at = base as i32;
    let mut found = u32::MAX;
    while (0..32).contains(&at) {
        if bits >> at & 1 == 1 {
            if left == 0 {
                found = at as u32;
                break;
            }
            left -= 1;
        }
        if offset == 0 {
            break;
        }
        at += step;
    }
    Folded::new(found.into(), ScalarType::B32)
}
