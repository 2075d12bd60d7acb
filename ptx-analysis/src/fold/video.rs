//! Scalar video instructions: section 9.7.18.1.

use super::floats::ordered;
use super::integer::Int;
use super::{Folded, mask};
use ptx_isa::{Modifier, Opcode, ScalarType, Selector, TypeKind};

/// What the operands of a video instruction carry beside their registers: manual 9.7.18.
///
/// ```
/// use ptx_analysis::fold::{Operation, Video, fold};
/// use ptx_isa::{Modifier, Opcode, Selector};
///
/// // vadd.s32.s32.u32 d, 0x1280.b0, 5
/// let found = fold(&Operation {
///     opcode: Opcode::Vadd,
///     modifiers: &[Modifier::S32, Modifier::S32, Modifier::U32],
///     operands: &[0x1280, 5],
///     carry: None,
///     video: Video {
///         parts: [Selector::from_text(b"b0"), None],
///         ..Video::default()
///     },
/// });
/// assert_eq!(found.map(|f| f.value as u32 as i32), Some(-123));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Video {
    /// The part of the destination that is written: `d.h0`, `d.b3210`.
    pub into: Option<Selector>,
    /// The selected parts of the first and the second source.
    pub parts: [Option<Selector>; 2],
    /// Signs before the sources of `vmad`: `-a`, `-b`, `-c`.
    pub negative: [bool; 3],
}

/// A signed or unsigned integer of a width.
pub(super) fn int(ty: ScalarType, bits: u16) -> Int {
    Int {
        bits,
        signed: ty.kind() == TypeKind::Signed,
    }
}

/// Where the selected byte or half word begins, and how wide it is; all of the register without a selector.
fn place(selector: Option<Selector>) -> Option<(u32, u16)> {
    let Some(selector) = selector else {
        return Some((0, 32));
    };
    let width = if selector.is_half() { 16 } else { 8 };
    let mut lanes = selector.lanes();
    let (Some(lane), None) = (lanes.next(), lanes.next()) else {
        return None;
    };
    let from = u32::from(lane) * u32::from(width);
    (from < 32).then_some((from, width))
}

/// The selected part of a source by its type.
fn source(raw: u128, ty: ScalarType, selector: Option<Selector>) -> Option<i128> {
    let (from, width) = place(selector)?;
    Some(int(ty, width).value((raw & mask(32)) >> from))
}

/// The types among the words: of the result and of the two sources. Comparisons write without a sign.
pub(super) fn types(opcode: Opcode, modifiers: &[Modifier]) -> Option<[ScalarType; 3]> {
    let mut types = modifiers.iter().filter_map(|m| m.scalar_type());
    let first = match opcode {
        Opcode::Vset | Opcode::Vset2 | Opcode::Vset4 => ScalarType::U32,
        _ => types.next()?,
    };
    Some([first, types.next()?, types.next()?])
}

pub(super) fn scalar(
    opcode: Opcode,
    modifiers: &[Modifier],
    operands: &[u128],
    video: &Video,
) -> Option<Folded> {
    let [to, x, y] = types(opcode, modifiers)?;
    let (&[a, b], rest) = operands.split_first_chunk()?;
    let has = |m| modifiers.contains(&m);
    if video.negative != [false; 3] {
        return None;
    }
    let [a, b] = [source(a, x, video.parts[0])?, source(b, y, video.parts[1])?];
    let amount = if has(Modifier::Wrap) {
        b & 31
    } else {
        b.min(32)
    };
    let exact = match opcode {
        Opcode::Vadd => a + b,
        Opcode::Vsub => a - b,
        Opcode::Vabsdiff => (a - b).abs(),
        Opcode::Vmin => a.min(b),
        Opcode::Vmax => a.max(b),
        Opcode::Vshl => a << amount,
        Opcode::Vshr => a >> amount,
        Opcode::Vset => {
            let mut tests = modifiers.iter().filter_map(|&m| ordered(m, a.cmp(&b)));
            i128::from(tests.next()?)
        }
        _ => return None,
    };
    let (from, width) = place(video.into)?;
    // The intermediate result has 34 bits: what it becomes where more are needed is left open.
    let fits = Int {
        bits: 34,
        signed: true,
    }
    .clamp(exact)
        == exact;
    let value = match (has(Modifier::Sat), fits) {
        (false, _) => exact,
        (true, true) => int(to, width).clamp(exact),
        (true, false) => return None,
    };
    let second = [Modifier::Add, Modifier::Min, Modifier::Max]
        .into_iter()
        .find(|&m| has(m));
    let sum = |c: u128| int(to, 32).value(c);
    let result = match (second, rest, video.into) {
        (None, [], None) | (None, [_], None) => value,
        (None, &[c], Some(_)) => {
            let field = mask(width) << from;
            return Folded::new(
                (c & !field) | (((value as u128) << from) & field),
                ScalarType::U32,
            );
        }
        (Some(Modifier::Add), &[c], None) => value + sum(c),
        // Compared with the sign of the result: one that has another is left open.
        (Some(_), _, None) if int(to, 32).clamp(value) != value => return None,
        (Some(Modifier::Min), &[c], None) => value.min(sum(c)),
        (Some(Modifier::Max), &[c], None) => value.max(sum(c)),
        _ => return None,
    };
    Folded::new(result as u128, to)
}

pub(super) fn multiply(modifiers: &[Modifier], operands: &[u128], video: &Video) -> Option<Folded> {
    let [_, x, y] = types(Opcode::Vmad, modifiers)?;
    let &[a, b, c] = operands else { return None };
    let has = |m| modifiers.contains(&m);
    let [minus_a, minus_b, minus_c] = video.negative;
    let minus = minus_a != minus_b;
    let one_more = has(Modifier::Po);
    let signs = video.negative != [false; 3];
    if video.into.is_some() || (minus && minus_c) || (one_more && signs) {
        return None;
    }
    let product = source(a, x, video.parts[0])? * source(b, y, video.parts[1])?;
    let inner = minus || [x, y].iter().any(|t| t.kind() == TypeKind::Signed);
    let signed = inner || minus_c;
    let combine = |c: i128| {
        let product = if minus { -product } else { product };
        let sum = product + if minus_c { -c } else { c } + i128::from(one_more);
        let scaled = if has(Modifier::Shr7) {
            sum >> 7
        } else if has(Modifier::Shr15) {
            sum >> 15
        } else {
            sum
        };
        let bits = Int { bits: 32, signed };
        (if has(Modifier::Sat) {
            bits.clamp(scaled)
        } else {
            scaled
        }) as u128
            & mask(32)
    };
    // Before it is negated, an addend without a sign is one to the text and none to the pseudocode.
    let [by_text, by_code] =
        [inner, signed].map(|signed| combine(Int { bits: 32, signed }.value(c)));
    if by_text != by_code {
        return None;
    }
    let ty = if signed {
        ScalarType::S32
    } else {
        ScalarType::U32
    };
    Folded::new(by_code, ty)
}
