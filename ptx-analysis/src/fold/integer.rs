//! Integer arithmetic: sections 9.7.1 and 9.7.2.

use super::modifiers::{CC, RELU, SAT, Words};
use super::{Folded, element, mask, signed};
use ptx_isa::{Modifier, Opcode, ScalarType, TypeKind};

/// An integer type: values are taken from bits by it and put back.
#[derive(Clone, Copy)]
pub(super) struct Int {
    pub(super) bits: u16,
    pub(super) signed: bool,
}

impl Int {
    pub(super) fn of(ty: ScalarType) -> Option<Self> {
        let known = matches!(ty.kind(), TypeKind::Signed | TypeKind::Unsigned);
        (known && ty.bits() <= 64).then_some(Self {
            bits: ty.bits(),
            signed: ty.kind() == TypeKind::Signed,
        })
    }

    /// The value of the lowest bits. It holds unsigned values of 64 bits too.
    pub(super) fn value(self, raw: u128) -> i128 {
        let raw = raw & mask(self.bits);
        if self.signed {
            signed(raw, self.bits)
        } else {
            raw as i128
        }
    }

    pub(super) fn min(self) -> i128 {
        if self.signed {
            -(1 << (self.bits - 1))
        } else {
            0
        }
    }

    pub(super) fn max(self) -> i128 {
        mask(self.bits - u16::from(self.signed)) as i128
    }

    pub(super) fn clamp(self, value: i128) -> i128 {
        value.clamp(self.min(), self.max())
    }
}

fn doubled(ty: ScalarType) -> Option<ScalarType> {
    match ty {
        ScalarType::U16 => Some(ScalarType::U32),
        ScalarType::U32 => Some(ScalarType::U64),
        ScalarType::S16 => Some(ScalarType::S32),
        ScalarType::S32 => Some(ScalarType::S64),
        _ => None,
    }
}

pub(super) fn arithmetic(opcode: Opcode, words: &Words, operands: &[u128]) -> Option<Folded> {
    words.only(SAT | RELU)?;
    let ty = words.ty(0)?;
    if words.ty(1).is_some() || words.logic.is_some() {
        return None;
    }
    let [half, None] = words.choice else {
        return None;
    };
    if matches!(
        opcode,
        Opcode::Mul | Opcode::Mad | Opcode::Mul24 | Opcode::Mad24
    ) {
        return multiply(opcode, words, half?, ty, operands);
    }
    if half.is_some() {
        return None;
    }
    // Packed types: each lane for itself.
    let int = Int::of(element(ty))?;
    let mut result = 0;
    for lane in 0..u16::from(ty.lanes().max(1)) {
        let shift = lane * int.bits;
        let at = |i: usize| operands.get(i).map(|&raw| int.value(raw >> shift));
        let value = one(opcode, words, int, at(0)?, at(1), at(2))?;
        result |= (value as u128 & mask(int.bits)) << shift;
    }
    Folded::new(result, ty)
}

/// One result without multiplication; wraps when it is put back.
fn one(
    opcode: Opcode,
    words: &Words,
    int: Int,
    a: i128,
    b: Option<i128>,
    c: Option<i128>,
) -> Option<i128> {
    let exact = match opcode {
        Opcode::Add => a + b?,
        Opcode::Sub => a - b?,
        Opcode::Sad => c? + (a - b?).abs(),
        Opcode::Div | Opcode::Rem => {
            let b = b?;
            // A quotient that does not fit is not defined.
            if b == 0 || (int.signed && a == int.min() && b == -1) {
                return None;
            }
            if opcode == Opcode::Div { a / b } else { a % b }
        }
        // Nor of the absolute value of the least number.
        Opcode::Abs if a != int.min() => a.abs(),
        Opcode::Neg => -a,
        Opcode::Min => a.min(b?),
        Opcode::Max => a.max(b?),
        _ => return None,
    };
    let exact = match (words.has(RELU), opcode) {
        (false, _) => exact,
        (true, Opcode::Min | Opcode::Max) => exact.max(0),
        _ => return None,
    };
    match (words.has(SAT), opcode) {
        (false, _) => Some(exact),
        (true, Opcode::Add | Opcode::Sub) => Some(int.clamp(exact)),
        _ => None,
    }
}

fn multiply(
    opcode: Opcode,
    words: &Words,
    half: Modifier,
    ty: ScalarType,
    operands: &[u128],
) -> Option<Folded> {
    let int = Int::of(ty)?;
    let short = matches!(opcode, Opcode::Mul24 | Opcode::Mad24);
    let factor = if short { Int { bits: 24, ..int } } else { int };
    let read = |i: usize| operands.get(i).map(|&raw| factor.value(raw));
    // The product of two factors of 64 bits has 128: exact in two's complement, also without a sign.
    let product = (read(0)? as u128).wrapping_mul(read(1)? as u128);
    let (result, part) = match half {
        Modifier::Lo => (ty, product),
        // The upper half of 48 bits begins 16 bits up.
        Modifier::Hi if short => (ty, product >> 16),
        Modifier::Hi => (ty, product >> int.bits),
        Modifier::Wide if !short => (doubled(ty)?, product),
        _ => return None,
    };
    if words.has(RELU) {
        return None;
    }
    let sum = match opcode {
        Opcode::Mul | Opcode::Mul24 if !words.has(SAT) => return Folded::new(part, result),
        Opcode::Mad | Opcode::Mad24 => *operands.get(2)?,
        _ => return None,
    };
    let wide = Int::of(result)?;
    if words.has(SAT) {
        if half != Modifier::Hi {
            return None;
        }
        return Folded::new(
            wide.clamp(wide.value(part) + wide.value(sum)) as u128,
            result,
        );
    }
    Folded::new(part.wrapping_add(sum), result)
}

/// Additions that read or write the carry register: a carry out of the highest bit, a borrow for subtractions.
pub(super) fn carried(
    opcode: Opcode,
    words: &Words,
    operands: &[u128],
    carry: Option<bool>,
) -> Option<Folded> {
    words.only(CC)?;
    let ty = words.ty(0)?;
    let int = Int::of(ty)?;
    let read = |i: usize| operands.get(i).map(|&raw| raw & mask(int.bits));
    let carry = match opcode {
        Opcode::Addc | Opcode::Subc | Opcode::Madc => u128::from(carry?),
        _ => 0,
    };
    let (wide, out) = match opcode {
        Opcode::Sub | Opcode::Subc => {
            let (a, b) = (read(0)?, read(1)? + carry);
            (a.wrapping_sub(b), a < b)
        }
        Opcode::Add | Opcode::Addc => {
            let sum = read(0)? + read(1)? + carry;
            (sum, sum > mask(int.bits))
        }
        Opcode::Mad | Opcode::Madc => {
            let product = (int.value(read(0)?) as u128).wrapping_mul(int.value(read(1)?) as u128);
            let part = match words.choice {
                [Some(Modifier::Lo), None] => product,
                [Some(Modifier::Hi), None] => product >> int.bits,
                _ => return None,
            };
            let sum = (part & mask(int.bits)) + read(2)? + carry;
            (sum, sum > mask(int.bits))
        }
        _ => return None,
    };
    let folded = Folded::new(wide, ty)?;
    Some(Folded {
        carry: words.has(CC).then_some(out),
        ..folded
    })
}

/// Dot products of four bytes with four bytes, or of two half words with two of four bytes.
pub(super) fn dot(opcode: Opcode, words: &Words, operands: &[u128]) -> Option<Folded> {
    words.only(0)?;
    let (a, b) = (Int::of(words.ty(0)?)?, Int::of(words.ty(1)?)?);
    let &[x, y, sum] = operands else { return None };
    let (width, count, y) = match (opcode, words.choice) {
        (Opcode::Dp4a, [None, None]) => (8, 4, y),
        (Opcode::Dp2a, [Some(Modifier::Lo), None]) => (16, 2, y),
        (Opcode::Dp2a, [Some(Modifier::Hi), None]) => (16, 2, y >> 16),
        _ => return None,
    };
    let result = if a.signed || b.signed {
        ScalarType::S32
    } else {
        ScalarType::U32
    };
    let mut total = Int::of(result)?.value(sum);
    for i in 0..count {
        total += Int { bits: width, ..a }.value(x >> (i * width))
            * Int { bits: 8, ..b }.value(y >> (i * 8));
    }
    Folded::new(total as u128, result)
}
