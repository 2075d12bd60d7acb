//! Selected parts, lanes and signs of operands: section 9.7.18.

use super::computation::{Inputs, is_source};
use super::value::{Exact, exact};
use super::{integers, mask};
use alloc::vec::Vec;
use bnum::cast::CastFrom;
use ptx_isa::{FormOperand, Marks, Role, RuleKind, Selector, TypeKind};

/// What the operands of a video instruction carry beside their registers: manual 9.7.18.
///
/// ```
/// use ptx_semantics::fold::{Operation, Video, fold};
/// use ptx_isa::{Modifier, Opcode};
///
/// // vadd.s32.s32.u32 d, 0x1280.b0, 5
/// let found = fold(&Operation {
///     opcode: Opcode::Vadd,
///     modifiers: &[Modifier::S32, Modifier::S32, Modifier::U32],
///     operands: &[0x1280, 5],
///     carry: None,
///     video: Video {
///         parts: ["b0".parse().ok(), None],
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

/// The marks of operands of which parts may be selected, or that have lanes.
pub(super) const PARTS: Marks = Marks::LANES.union(Marks::LANES16).union(Marks::LANES8);

/// Bits of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) position: u32,
    pub(crate) length: u16,
}

impl Part {
    /// The part of `c` replaced by the lowest bits of `a`.
    pub(super) fn replaced(self, c: Exact, a: Exact) -> Exact {
        let bits = |value: Exact| value & Exact::cast_from(mask(self.length));
        let cleared = c & !bits(exact(-1)).wrapping_shl(self.position);
        cleared | bits(a).wrapping_shl(self.position)
    }
}

/// The number of bits of a lane of an operand with several.
fn lane_length(operand: &FormOperand) -> Option<u16> {
    let marks = operand.marks();
    match () {
        () if marks.contains(Marks::LANES16) => Some(16),
        () if marks.contains(Marks::LANES8) => Some(8),
        () => None,
    }
}

impl Inputs<'_> {
    /// Whether parts are selected, and signs written, only where the form accepts them.
    pub(super) fn parts_fit(&self) -> bool {
        if self.video == Video::default() {
            return true;
        }
        let fits = |operand: &FormOperand, selector: Option<Selector>| {
            let Some(selector) = selector else {
                return true;
            };
            let Some(parts) = selector.parts() else {
                return false;
            };
            let count = parts.iter().len();
            let length: u16 = if selector.is_half() { 16 } else { 8 };
            let most = 32 / length;
            let within = |limit: u16| parts.iter().all(|part| u16::from(part) < limit);
            match lane_length(operand) {
                None => operand.marks().contains(Marks::LANES) && count == 1 && within(most),
                Some(own) if own != length => false,
                // Of a result those that are written, of a source all, in its register or in the other one.
                Some(_) if operand.role() == Role::Def => within(most),
                Some(_) => count == usize::from(most),
            }
        };
        let Video {
            into,
            parts,
            negative,
        } = self.video;
        let mut results = self.form.operands().iter();
        let result = results.find(|o| o.role() == Role::Def);
        let sources = || self.form.operands().iter().filter(|o| is_source(o));
        result.is_none_or(|d| fits(d, into))
            && sources().count() >= parts.iter().flatten().count()
            && sources().zip(parts).all(|(o, part)| fits(o, part))
            && (sources().zip(negative)).all(|(o, minus)| !minus || o.marks().contains(Marks::NEG))
            && self.signs_are_legal()
    }

    fn signs_are_legal(&self) -> bool {
        let mut rules = self.form.rules().iter();
        self.video.negative == [false; 3]
            || rules.all(|rule| match rule.kind() {
                RuleKind::Deny(when) => !when.holds(self),
                _ => true,
            })
    }

    /// Whether a minus sign is written before an operand.
    pub(crate) fn is_negated(&self, operand: usize) -> bool {
        let negated = self.video.negative.get(self.source_index(operand));
        negated.copied().unwrap_or(false)
            && self.form.operands().get(operand).is_some_and(is_source)
    }

    /// The selected parts of an operand, the one of the lowest lane first; `None` if it has neither part nor lanes.
    pub(crate) fn parts(&self, operand: usize) -> Option<Vec<Part>> {
        let definition = self.form.operands().get(operand)?;
        let is_result = definition.role() == Role::Def;
        let source = self.source_index(operand);
        let selector = match is_result {
            true => self.video.into,
            false => self.video.parts.get(source).copied().flatten(),
        };
        let part = |length: u16| {
            move |lane: u8| Part {
                position: u32::from(lane) * u32::from(length),
                length,
            }
        };
        let Some(length) = lane_length(definition) else {
            let selector = selector?;
            let length = if selector.is_half() { 16 } else { 8 };
            return Some(selector.parts()?.iter().map(part(length)).collect());
        };
        let count = if length == 16 { 2 } else { 4 };
        let mut lanes: Vec<u8> = match selector {
            Some(selector) => selector.parts()?.iter().collect(),
            // All lanes of the register.
            None if is_result || source == 0 => (0..count).rev().collect(),
            None => (count..2 * count).rev().collect(),
        };
        lanes.reverse();
        Some(lanes.into_iter().map(part(length)).collect())
    }

    /// The parts of a result that are written, each with its lane; all of it if it has no parts.
    pub(crate) fn written(&self, operand: usize) -> Option<Vec<(u16, Part)>> {
        let lanes = self.form.operands().get(operand).and_then(lane_length);
        let whole = || {
            let length = self.part_length(operand)?;
            let part = Part {
                position: 0,
                length,
            };
            Some([part].into())
        };
        let parts: Vec<Part> = self.parts(operand).or_else(whole)?;
        let number = |part: &Part| match lanes {
            Some(length) => part.position as u16 / length,
            None => 0,
        };
        Some(parts.into_iter().map(|p| (number(&p), p)).collect())
    }

    /// The number of bits of the selected part of an operand, or of each of its lanes.
    pub(crate) fn part_length(&self, operand: usize) -> Option<u16> {
        match self.parts(operand) {
            Some(parts) => parts.first().map(|p| p.length),
            None => Some(super::element(self.value_type(operand)?).bits()),
        }
    }

    /// The value of a source of which a part is selected, or that has lanes; `None` if it has neither.
    pub(super) fn part_value(&self, operand: usize, lane: u16) -> Option<Option<Exact>> {
        let definition = self.form.operands().get(operand)?;
        if !is_source(definition) || !definition.marks().intersects(PARTS) {
            return None;
        }
        let parts = self.parts(operand)?;
        let value = || {
            let part = parts.get(usize::from(lane))?;
            let bits = match lane_length(definition) {
                None => self.source(operand)?,
                // Lanes are numbered through the registers of both sources.
                Some(_) => match self.operands {
                    [Some(a), Some(b), ..] => (b & mask(32)) << 32 | (a & mask(32)),
                    _ => return None,
                },
            };
            let signed = self.operand_type(operand)?.kind() == TypeKind::Signed;
            let bits = Exact::cast_from(bits);
            Some(integers::field(
                signed,
                bits,
                part.position,
                part.length.into(),
            ))
        };
        Some(value())
    }

    /// Its index among the sources, if it is one.
    fn source_index(&self, operand: usize) -> usize {
        let before = self.form.operands().iter().take(operand);
        before.filter(|o| is_source(o)).count()
    }
}

/// Rules of forms whose operands may be negated test nothing else about operands.
impl ptx_isa::Context for Inputs<'_> {
    fn is_filled(&self, slot: usize) -> bool {
        self.slots.is_filled(slot)
    }

    fn holds(&self, slot: usize, words: ptx_isa::ModifierSet) -> bool {
        self.slots.holds(slot, words)
    }

    fn operand(&self, operand: usize, test: ptx_isa::OperandTest) -> bool {
        test == ptx_isa::OperandTest::Negated && self.is_negated(operand)
    }

    fn in_entry(&self) -> bool {
        false
    }
}
