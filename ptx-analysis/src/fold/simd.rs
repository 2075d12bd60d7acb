//! SIMD video instructions: section 9.7.18.2.

use super::floats::ordered;
use super::video::{Video, int, types};
use super::{Folded, mask};
use ptx_isa::{Modifier, Opcode, Selector};

/// The lanes a selector names, the lowest first, or as many from `first` on.
fn chosen(selector: Option<Selector>, count: u16, first: u8) -> Option<[u8; 4]> {
    let mut lanes = [first, first + 1, first + 2, first + 3];
    let Some(selector) = selector else {
        return Some(lanes);
    };
    if selector.is_half() != (count == 2) || selector.lanes().len() != usize::from(count) {
        return None;
    }
    let named = lanes.iter_mut().take(count.into()).rev();
    for (place, lane) in named.zip(selector.lanes()) {
        *place = lane;
    }
    Some(lanes)
}

/// How many lanes of 32 bits an instruction has.
fn lanes(opcode: Opcode) -> Option<u16> {
    match opcode.text().as_bytes().last()? {
        b'2' => Some(2),
        b'4' => Some(4),
        _ => None,
    }
}

/// Two half words or four bytes at a time.
pub(super) fn evaluate(
    opcode: Opcode,
    modifiers: &[Modifier],
    operands: &[u128],
    video: &Video,
) -> Option<Folded> {
    let count = lanes(opcode)?;
    let [to, x, y] = types(opcode, modifiers)?;
    let &[a, b, c] = operands else { return None };
    let has = |m| modifiers.contains(&m);
    if video.negative != [false; 3] {
        return None;
    }
    let width = 32 / count;
    let written = match video.into {
        None => [true; 4],
        Some(selector) if selector.is_half() == (count == 2) => {
            let mut written = [false; 4];
            for lane in selector.lanes() {
                *written
                    .get_mut(usize::from(lane))
                    .filter(|_| u16::from(lane) < count)? = true;
            }
            written
        }
        Some(_) => return None,
    };
    // Either source may take its lanes from both registers.
    let pool = (b & mask(32)) << 32 | (a & mask(32));
    let first = chosen(video.parts[0], count, 0)?;
    let second = chosen(video.parts[1], count, count as u8)?;
    let (mut sum, mut merged) = (int(to, 32).value(c), c & mask(32));
    let lanes = first.into_iter().zip(second).zip(written);
    for (lane, ((from_a, from_b), written)) in (0..count).zip(lanes) {
        let a = int(x, width).value(pool >> (u16::from(from_a) * width));
        let b = int(y, width).value(pool >> (u16::from(from_b) * width));
        let exact = match opcode {
            Opcode::Vadd2 | Opcode::Vadd4 => a + b,
            Opcode::Vsub2 | Opcode::Vsub4 => a - b,
            // Half of a unit is rounded away from zero.
            Opcode::Vavrg2 | Opcode::Vavrg4 => (a + b + i128::from(a + b >= 0)) >> 1,
            Opcode::Vabsdiff2 | Opcode::Vabsdiff4 => (a - b).abs(),
            Opcode::Vmin2 | Opcode::Vmin4 => a.min(b),
            Opcode::Vmax2 | Opcode::Vmax4 => a.max(b),
            Opcode::Vset2 | Opcode::Vset4 => {
                let mut tests = modifiers.iter().filter_map(|&m| ordered(m, a.cmp(&b)));
                tests.next()?.into()
            }
            _ => return None,
        };
        if !written {
            continue;
        }
        let value = if has(Modifier::Sat) {
            int(to, width).clamp(exact)
        } else {
            exact
        };
        sum += value;
        let field = mask(width) << (lane * width);
        merged = (merged & !field) | (((value as u128) << (lane * width)) & field);
    }
    let result = if has(Modifier::Add) {
        sum as u128
    } else {
        merged
    };
    Folded::new(result, to)
}
