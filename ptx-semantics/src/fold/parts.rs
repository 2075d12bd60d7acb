//! Selected parts, lanes and signs of operands of video instructions: section 9.7.18 of the PTX ISA manual. A lane is a byte or half word of an
//! operand of a SIMD video instruction.

use super::computation::{Inputs, is_source};
use super::value::Exact;
use super::{integer_functions, mask};
use alloc::vec::Vec;
use bnum::cast::CastFrom;
use ptx_isa::internals::{FormOperand, RuleKind};
use ptx_isa::{Marks, Role, Selector, TypeKind};

/// The selected parts and signs of the operands of a video instruction: section 9.7.18 of the PTX ISA manual.
///
/// ```
/// use ptx_semantics::fold::{Operation, Video, fold};
/// use ptx_isa::{Modifier, Opcode};
///
/// // vadd.s32.s32.u32 d, 0x1280.b0, 5
/// let folded = fold(&Operation {
///     opcode: Opcode::Vadd,
///     modifiers: &[Modifier::S32, Modifier::S32, Modifier::U32],
///     operands: &[0x1280, 5],
///     carry: None,
///     video: Video {
///         parts: ["b0".parse().ok(), None],
///         ..Video::default()
///     },
/// });
/// assert_eq!(folded.map(|f| f.value as u32 as i32), Some(-123));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Video {
    /// The part of the destination that is written: `d.h0`, `d.b3210`.
    pub into: Option<Selector>,
    /// The selected parts of the first and the second source.
    pub parts: [Option<Selector>; 2],
    /// Whether there is a minus sign before each source, as in `-a`.
    pub negative: [bool; 3],
}

/// The marks of operands of which parts may be selected, or that have lanes.
pub(super) const PARTS: Marks = Marks::LANES.union(Marks::LANES16).union(Marks::LANES8);

/// Consecutive bits of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) position: u32,
    pub(crate) length: u16,
}

impl Part {
    /// `whole` with this part replaced by the lowest bits of `replacement`.
    pub(super) fn replaced(self, whole: Exact, replacement: Exact) -> Exact {
        let ones = Exact::cast_from(mask(self.length));
        let cleared = whole & !ones.wrapping_shl(self.position);
        cleared | (replacement & ones).wrapping_shl(self.position)
    }
}

/// The number of bits of each lane of an operand; `None` if it has no lanes.
fn lane_length(operand: &FormOperand) -> Option<u16> {
    let marks = operand.marks();
    if marks.contains(Marks::LANES16) {
        Some(16)
    } else if marks.contains(Marks::LANES8) {
        Some(8)
    } else {
        None
    }
}

/// Whether an operand accepts a selector.
fn accepts(operand: &FormOperand, selector: Option<Selector>) -> bool {
    let Some(selector) = selector else {
        return true;
    };
    let Some(parts) = selector.parts() else {
        return false;
    };
    let count = parts.iter().len();
    let length: u16 = if selector.is_half() { 16 } else { 8 };
    let part_count = 32 / length;
    let are_in_register = parts.iter().all(|part| u16::from(part) < part_count);
    match lane_length(operand) {
        None => operand.marks().contains(Marks::LANES) && count == 1 && are_in_register,
        Some(lane_length) if lane_length != length => false,
        // The selector of a result lists the lanes that are written.
        Some(_) if operand.role() == Role::Def => are_in_register,
        // The selector of a source has a part of one of the two source registers for each lane.
        Some(_) => count == usize::from(part_count),
    }
}

impl Inputs<'_> {
    /// Whether the form accepts the selected parts and the signs.
    pub(super) fn parts_fit(&self) -> bool {
        if self.video == Video::default() {
            return true;
        }
        let Video {
            into,
            parts,
            negative,
        } = self.video;
        let operands = self.form.operands();
        let result = operands.iter().find(|o| o.role() == Role::Def);
        let sources: Vec<&FormOperand> = operands.iter().filter(|o| is_source(o)).collect();
        result.is_none_or(|result| accepts(result, into))
            && sources.len() >= parts.iter().flatten().count()
            && sources
                .iter()
                .zip(parts)
                .all(|(source, part)| accepts(source, part))
            && sources
                .iter()
                .zip(negative)
                .all(|(source, negated)| !negated || source.marks().contains(Marks::NEG))
            && self.signs_are_legal()
    }

    /// Whether the rules of the form allow the signs.
    fn signs_are_legal(&self) -> bool {
        self.video.negative == [false; 3]
            || self.form.rules().iter().all(|rule| match rule.kind() {
                RuleKind::Deny(condition) => !condition.holds(self),
                _ => true,
            })
    }

    /// Whether a minus sign is written before an operand.
    pub(crate) fn is_negated(&self, operand: usize) -> bool {
        let negated = self.video.negative.get(self.source_index(operand));
        negated.copied().unwrap_or(false)
            && self.form.operands().get(operand).is_some_and(is_source)
    }

    /// The selected parts of an operand, that of the lowest lane first; `None` if no part is selected and it has no lanes.
    pub(crate) fn parts(&self, operand: usize) -> Option<Vec<Part>> {
        let definition = self.form.operands().get(operand)?;
        let is_result = definition.role() == Role::Def;
        let source = self.source_index(operand);
        let selector = if is_result {
            self.video.into
        } else {
            self.video.parts.get(source).copied().flatten()
        };
        let part = |length: u16, index: u8| Part {
            position: u32::from(index) * u32::from(length),
            length,
        };
        let Some(length) = lane_length(definition) else {
            let selector = selector?;
            let length = if selector.is_half() { 16 } else { 8 };
            let indices = selector.parts()?;
            return Some(indices.iter().map(|index| part(length, index)).collect());
        };
        let lane_count = if length == 16 { 2 } else { 4 };
        let mut indices: Vec<u8> = match selector {
            Some(selector) => selector.parts()?.iter().collect(),
            // Without a selector, these are the lanes of the result's or source's register. Lanes are numbered through both sources.
            None if is_result || source == 0 => (0..lane_count).rev().collect(),
            None => (lane_count..2 * lane_count).rev().collect(),
        };
        indices.reverse();
        Some(
            indices
                .into_iter()
                .map(|index| part(length, index))
                .collect(),
        )
    }

    /// The parts of a result that are written, each with the index of its lane. A result without parts is one part.
    pub(crate) fn written(&self, operand: usize) -> Option<Vec<(u16, Part)>> {
        let parts = match self.parts(operand) {
            Some(parts) => parts,
            None => Vec::from([Part {
                position: 0,
                length: self.part_length(operand)?,
            }]),
        };
        let lane_length = self.form.operands().get(operand).and_then(lane_length);
        Some(
            parts
                .into_iter()
                .map(|part| {
                    let lane = lane_length.map_or(0, |length| part.position as u16 / length);
                    (lane, part)
                })
                .collect(),
        )
    }

    /// The number of bits of the selected part of an operand, or of each lane.
    pub(crate) fn part_length(&self, operand: usize) -> Option<u16> {
        match self.parts(operand) {
            Some(parts) => parts.first().map(|p| p.length),
            None => Some(super::element(self.value_type(operand)?).bits()),
        }
    }

    /// The value of the selected part or of a lane of a source; `None` if no part is selected and it has no lanes. The value is `None` if the
    /// operand is unknown.
    pub(super) fn part_value(&self, operand: usize, lane: u16) -> Option<Option<Exact>> {
        let definition = self.form.operands().get(operand)?;
        if !is_source(definition) || !definition.marks().intersects(PARTS) {
            return None;
        }
        let part = self.parts(operand)?.get(usize::from(lane)).copied();
        Some(part.and_then(|part| self.bits_of_part(operand, part)))
    }

    /// The value of a part of a source.
    fn bits_of_part(&self, operand: usize, part: Part) -> Option<Exact> {
        let definition = self.form.operands().get(operand)?;
        let bits = match lane_length(definition) {
            None => self.source(operand)?,
            // Lanes are numbered through the registers of both sources.
            Some(_) => match self.operands {
                [Some(a), Some(b), ..] => (b & mask(32)) << 32 | (a & mask(32)),
                _ => return None,
            },
        };
        let is_signed = self.operand_type(operand)?.kind() == TypeKind::Signed;
        Some(integer_functions::field(
            is_signed,
            Exact::cast_from(bits),
            part.position,
            part.length.into(),
        ))
    }

    /// The number of sources before an operand, which is the index of a source among the sources.
    fn source_index(&self, operand: usize) -> usize {
        self.form
            .operands()
            .iter()
            .take(operand)
            .filter(|o| is_source(o))
            .count()
    }
}

/// The context of the rules about signs. Forms whose operands may be negated test nothing else about operands.
impl ptx_isa::internals::Context for Inputs<'_> {
    fn is_filled(&self, slot: usize) -> bool {
        self.slots.is_filled(slot)
    }

    fn holds(&self, slot: usize, words: ptx_isa::internals::ModifierSet) -> bool {
        self.slots.holds(slot, words)
    }

    fn operand(&self, operand: usize, test: ptx_isa::internals::OperandTest) -> bool {
        test == ptx_isa::internals::OperandTest::Negated && self.is_negated(operand)
    }

    fn in_entry(&self) -> bool {
        false
    }
}
