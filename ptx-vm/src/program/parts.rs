//! The places of the operands of a form, and values whose parts are in several registers.

use ptx_ir::Operand;
use ptx_isa::internals::Length;
use ptx_isa::{Role, ScalarType, TypeKind};

use super::operands::Context;
use super::selected_form::SelectedForm;
use crate::lanes::{Integer, Kind, Place};
use crate::lower::Source;

/// A value that is divided among several registers.
struct Split {
    /// The places of the registers; `None` for dropped parts.
    parts: Vec<Option<Place>>,
    whole: Place,
}

/// The places of the operands of a form.
pub(super) struct Places {
    /// The places of the operands, in the order of the form; `None` for absent and dropped operands.
    pub(super) operands: Vec<Option<Source>>,
    /// The results of one value that are written to several registers.
    split: Vec<Split>,
}

impl Places {
    /// The places of the operands. Several registers in the place of one value are put together, and results are taken apart by
    /// [`take_apart`](Self::take_apart).
    pub(super) fn new(context: &mut Context<'_>, selected: &SelectedForm) -> Option<Self> {
        let mut places = Self {
            operands: Vec::new(),
            split: Vec::new(),
        };
        for (index, form_operand) in selected.form.operands().iter().enumerate() {
            let Some(operand) = selected.operands[index].filter(|o| *o != Operand::Sink) else {
                places.operands.push(None);
                continue;
            };
            let ty = selected.types[index];
            let scalar = form_operand.length() == Length::Scalar;
            let source = match form_operand.role() {
                Role::Def | Role::ReadWrite => Some(places.result(context, operand, ty, scalar)?),
                Role::Use | Role::Imm | Role::Sreg | Role::Symbol | Role::Func => {
                    Some(source(context, operand, ty, scalar)?)
                }
                _ => None,
            };
            places.operands.push(source);
        }
        Some(places)
    }

    /// The place of a result: elements that are dropped have a separate place.
    fn result(
        &mut self,
        context: &mut Context<'_>,
        operand: Operand,
        ty: Option<ScalarType>,
        scalar: bool,
    ) -> Option<Source> {
        let elements = context.destinations(operand)?;
        if scalar && (elements.len() > 1 || matches!(operand, Operand::Vector(_))) {
            let joined = context.code.new_register(ty?.bits());
            self.split.push(Split {
                parts: elements,
                whole: joined,
            });
            return Some(vec![joined]);
        }
        let bits = ty.map_or(32, ScalarType::bits);
        let places = elements
            .into_iter()
            .map(|place| place.unwrap_or_else(|| context.code.temporary(bits)));
        Some(places.collect())
    }

    /// Writes the parts of results to their registers.
    pub(super) fn take_apart(&self, context: &mut Context<'_>) -> Option<()> {
        for split in &self.split {
            take_apart(context, &split.parts, split.whole)?;
        }
        Some(())
    }
}

/// The places of a value that is read. Parts of one value are put together.
fn source(
    context: &mut Context<'_>,
    operand: Operand,
    ty: Option<ScalarType>,
    scalar: bool,
) -> Option<Source> {
    let Some(ty) = ty.filter(|_| scalar) else {
        return context.source(operand, ty);
    };
    let elements = match operand {
        Operand::Vector(list) => {
            let parts = context.facts.body().pool().list(list).to_vec();
            let bits = ty.bits() / (parts.len().max(1) as u16);
            let mut types = ScalarType::ALL.iter().copied();
            let part_type = types.find(|t| t.bits() == bits && t.kind() == TypeKind::Bits)?;
            let mut elements = Vec::new();
            for part in parts {
                elements.extend(context.source(part, Some(part_type))?);
            }
            elements
        }
        other => match context.source(other, Some(ty))? {
            whole if whole.len() == 1 => return Some(whole),
            elements => elements,
        },
    };
    let part_bits = ty.bits() / (elements.len().max(1) as u16);
    Some(vec![joined(context, &elements, ty.bits(), part_bits)?])
}

/// Elements of a width side by side, the first one lowest.
fn joined(
    context: &mut Context<'_>,
    elements: &[Place],
    bits: u16,
    part_bits: u16,
) -> Option<Place> {
    if bits == 128 {
        let (low, high) = elements.split_at_checked(elements.len() / 2)?;
        let joined_register = context.code.new_register(128);
        for (half, elements) in (0..).zip([low, high]) {
            let place = match (part_bits, elements) {
                (64, [only]) => *only,
                _ => joined(context, elements, 64, part_bits)?,
            };
            let Place::Double(source) = place else {
                return None;
            };
            let code = &mut context.code;
            let destination = joined_register.index() + half;
            code.push(Kind::Double(Integer::Copy), destination, [source; 3]);
        }
        return Some(joined_register);
    }
    let code = &mut context.code;
    let mut packed: Option<Place> = None;
    for (position, element) in elements.iter().enumerate() {
        let shift = position as u16 * part_bits;
        let part = match (bits, *element) {
            (64, Place::Word(word)) => Place::Double(code.double(Kind::Widen, [word, 0, 0])),
            (_, other) => other,
        };
        let part = match (part, shift) {
            (part, 0) => part,
            (Place::Double(double), _) => {
                let amount = code.constant_double(shift.into());
                Place::Double(
                    code.double(Kind::Double(Integer::ShiftLeft), [double, amount, amount]),
                )
            }
            (Place::Word(word), _) => {
                let amount = code.constant_word(shift.into());
                Place::Word(code.word(Kind::Word(Integer::ShiftLeft), [word, amount, amount]))
            }
            _ => return None,
        };
        packed = Some(match (packed, part) {
            (None, part) => part,
            (Some(Place::Double(a)), Place::Double(b)) => {
                Place::Double(code.double(Kind::Double(Integer::Or), [a, b, b]))
            }
            (Some(Place::Word(a)), Place::Word(b)) => {
                Place::Word(code.word(Kind::Word(Integer::Or), [a, b, b]))
            }
            _ => return None,
        });
    }
    packed
}

/// Writes the parts of a value to registers.
fn take_apart(context: &mut Context<'_>, elements: &[Option<Place>], whole: Place) -> Option<()> {
    let code = &mut context.code;
    let total = code.width(whole);
    let part_bits = total / (elements.len().max(1) as u16);
    for (position, element) in elements.iter().enumerate() {
        let Some(destination) = *element else {
            continue;
        };
        let shift = position as u32 * u32::from(part_bits);
        let part = part(context, whole, shift, part_bits)?;
        context.code.copy(destination, part);
    }
    Some(())
}

/// The part of a value that begins at a bit and has `part_bits` bits.
fn part(context: &mut Context<'_>, whole: Place, shift: u32, part_bits: u16) -> Option<Place> {
    let code = &mut context.code;
    let shift_right = Kind::Word(Integer::ShiftRight { signed: false });
    Some(match whole {
        Place::Quad(low) if part_bits == 64 => Place::Double(low + shift / 64),
        Place::Quad(low) => part(
            context,
            Place::Double(low + shift / 64),
            shift % 64,
            part_bits,
        )?,
        Place::Double(shifted) if part_bits == 32 => {
            Place::Word(code.word(Kind::Narrow, [shifted, 0, shift / 32]))
        }
        Place::Double(shifted) => {
            let half = code.word(Kind::Narrow, [shifted, 0, shift / 32]);
            let amount = code.constant_word(shift % 32);
            let shifted = code.word(shift_right, [half, amount, amount]);
            code.extend(Place::Word(shifted), part_bits, false)
        }
        Place::Word(shifted) => {
            let amount = code.constant_word(shift);
            let shifted = code.word(shift_right, [shifted, amount, amount]);
            code.extend(Place::Word(shifted), part_bits, false)
        }
        Place::Predicate(_) => return None,
    })
}
