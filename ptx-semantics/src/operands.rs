//! The values that an instruction reads and writes: conversion of registers, constants, signs and selectors to the operands of a computation,
//! and of its results to the contents of registers.

use ptx_ir::ConstKind;
use ptx_ir::facts::{Facts, RegAccess, RegisterComponent};
use ptx_ir::{Body, Operand};
use ptx_isa::{RegisterClass, ScalarType, SpecialReg, TypeKind};

use crate::fold::{Folded, Video};

/// A part of the state of a thread that instructions read and write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Place {
    /// A register that is a scalar, or a component of a vector register.
    Register(RegisterComponent),
    /// A special register, or a component of one.
    Special(SpecialReg, Option<u8>),
    /// The carry flag.
    Carry,
}

impl Place {
    /// The place that a register in an instruction denotes; `None` for a whole vector register, which has several places.
    #[must_use]
    pub fn of_register(body: &Body, register: RegisterComponent) -> Option<Self> {
        let declaration = body.registers().get(register.register)?.decl;
        let components = body.reg_decls().get(declaration)?.vector.max(1);
        match register.component {
            // A selector of a scalar register is an error. The register is the place.
            _ if components == 1 => Some(Self::Register(register.register.into())),
            Some(component) if component < components => Some(Self::Register(register)),
            _ => None,
        }
    }

    /// The class of the register at this place; `None` if it is not a register, or if its type is unknown.
    #[must_use]
    pub fn class(self, body: &Body) -> Option<RegisterClass> {
        let Self::Register(register) = self else {
            return None;
        };
        let declaration = body.registers().get(register.register)?.decl;
        let ty = body.reg_decls().get(declaration)?.ty.known()?;
        ty.register_class()
    }
}

/// A source of an instruction. Signs and selectors of video instructions are not part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SourceOperand {
    /// A constant, whose lowest bits are the operand.
    Bits(u128),
    /// The value of a place.
    Place(Place),
    /// The inverse of a predicate, written with `!`.
    Not(Place),
    /// The address of a variable, or another operand whose value is not part of the state of a thread.
    Unknown,
}

/// Calls `add` for each source of an instruction, with the number of its operand among the sources: the elements of a vector have the same
/// number. The constants are converted to the types of the instruction. Returns the selectors and signs of a video instruction; `None` if
/// an operand is neither a source nor a result.
pub fn visit_sources(
    facts: &Facts<'_>,
    types: &[ScalarType],
    mut add: impl FnMut(usize, SourceOperand),
) -> Option<Video> {
    let pool = facts.body().pool();
    let mut video = Video::default();
    let mut count = 0;
    for (operand, access) in facts.parts() {
        match (access, operand) {
            (RegAccess::Write, Operand::Component(selector, _)) if selector.element().is_none() => {
                video.into = Some(selector);
            }
            (RegAccess::Write, _) => {}
            (RegAccess::Read, Operand::Vector(list)) => {
                for &element in pool.list(list) {
                    add(count, source(facts.body(), element, types));
                }
                count += 1;
            }
            (RegAccess::Read, operand) => {
                let operand = without_marks(facts.body(), operand, count, &mut video);
                add(count, source(facts.body(), operand, types));
                count += 1;
            }
            _ => return None,
        }
    }
    Some(video)
}

/// Removes the sign and the selector of bytes or half words from the source with this number, and adds them to `video`.
fn without_marks(body: &Body, operand: Operand, number: usize, video: &mut Video) -> Operand {
    let pool = body.pool();
    let unsigned = match (operand, video.negative.get_mut(number)) {
        (Operand::Neg(inner), Some(negative)) => {
            *negative = true;
            pool.get(inner)
        }
        _ => operand,
    };
    match (unsigned, video.parts.get_mut(number)) {
        (Operand::Component(selector, inner), Some(part)) if selector.element().is_none() => {
            *part = Some(selector);
            pool.get(inner)
        }
        _ => unsigned,
    }
}

/// The source that an operand of an instruction with these types is.
#[must_use]
pub fn source(body: &Body, operand: Operand, types: &[ScalarType]) -> SourceOperand {
    let pool = body.pool();
    let has_float = types.iter().any(|ty| ty.is_float());
    let have_width = |bits: u16| types.iter().all(|ty| ty.bits() == bits);
    let register = |register: RegisterComponent| {
        Place::of_register(body, register).map_or(SourceOperand::Unknown, SourceOperand::Place)
    };
    match operand {
        Operand::Reg(id) => register(id.into()),
        Operand::Component(selector, inner) => match (selector.element(), pool.get(inner)) {
            (component @ Some(_), Operand::Reg(id)) => register(RegisterComponent {
                register: id,
                component,
            }),
            (component @ Some(_), Operand::Special(special)) => {
                SourceOperand::Place(Place::Special(special, component))
            }
            _ => SourceOperand::Unknown,
        },
        Operand::Special(special) => SourceOperand::Place(Place::Special(special, None)),
        Operand::Not(inner) => match pool.get(inner) {
            Operand::Reg(id) => match register(id.into()) {
                SourceOperand::Place(place) => SourceOperand::Not(place),
                _ => SourceOperand::Unknown,
            },
            _ => SourceOperand::Unknown,
        },
        Operand::Small(value) if !has_float => SourceOperand::Bits(i128::from(value) as u128),
        Operand::Imm(id) => match pool.immediate(id).map(|i| (i.value, i.value.kind())) {
            Some((value, ConstKind::Signed)) if !has_float => {
                SourceOperand::Bits(value.bits() as i64 as u128)
            }
            Some((value, ConstKind::Unsigned)) if !has_float => {
                SourceOperand::Bits(value.bits().into())
            }
            Some((value, ConstKind::Single)) if have_width(32) => {
                SourceOperand::Bits(value.bits().into())
            }
            Some((value, ConstKind::Double)) if have_width(64) => {
                SourceOperand::Bits(value.bits().into())
            }
            _ => SourceOperand::Unknown,
        },
        _ => SourceOperand::Unknown,
    }
}

/// Calls `add` for each place that an instruction without a guard writes, with the bits of the place afterwards, or `None` if the results do
/// not determine them. A place that is written twice is passed twice.
pub fn visit_results(facts: &Facts<'_>, folded: &Folded, mut add: impl FnMut(Place, Option<u128>)) {
    let body = facts.body();
    let written = facts
        .parts()
        .filter(|(_, access)| *access == RegAccess::Write);
    for (number, (operand, _)) in written.enumerate() {
        match operand {
            // The vector consists of the elements of the result, the lowest first.
            Operand::Vector(list) if number == 0 => {
                let elements = body.pool().list(list);
                let width = usize::from(folded.ty.bits()) / elements.len().max(1);
                for (index, &element) in elements.iter().enumerate() {
                    if let Some(place) = written_place(facts, element) {
                        let bits = (folded.value >> (index * width)) & ones(width as u16);
                        add(place, Some(bits));
                    }
                }
            }
            operand => {
                let Some(place) = written_place(facts, operand) else {
                    continue;
                };
                match number {
                    0 => add(
                        place,
                        place
                            .class(body)
                            .and_then(|class| extended(folded, class.bits())),
                    ),
                    1 => add(place, folded.second.map(u128::from)),
                    _ => add(place, None),
                }
            }
        }
    }
    if facts.writes_carry() {
        add(Place::Carry, folded.carry.map(u128::from));
    }
}

/// The place that an operand writes; `None` for `_`.
pub(crate) fn written_place(facts: &Facts<'_>, operand: Operand) -> Option<Place> {
    Place::of_register(facts.body(), facts.place(operand)?)
}

/// The extension of a result to the width of its register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Extension {
    /// The register is as wide as the result.
    None,
    /// The bits above the result are copies of the sign bit.
    Sign,
    /// The bits above the result are zeros.
    Zero,
}

impl Extension {
    /// The extension of a result in a register of `width` bits; `None` if it is not specified.
    pub(crate) fn new(ty: ScalarType, width: u16) -> Option<Self> {
        match ty.kind() {
            _ if width == ty.bits() => Some(Self::None),
            _ if width < ty.bits() => None,
            // ptxas does not set the high half of a register of 128 bits to copies of the sign.
            TypeKind::Signed if width > 64 => None,
            TypeKind::Signed => Some(Self::Sign),
            TypeKind::Unsigned | TypeKind::Bits => Some(Self::Zero),
            _ => None,
        }
    }
}

/// The first result in a register of `width` bits, which may be wider than the type of the result; `None` if the bits above are not specified.
#[must_use]
pub fn extended(folded: &Folded, width: u16) -> Option<u128> {
    let bits = folded.ty.bits();
    match Extension::new(folded.ty, width)? {
        Extension::Sign if (folded.value >> (bits.max(1) - 1)) & 1 == 1 => {
            Some(folded.value | (ones(width) & !ones(bits)))
        }
        _ => Some(folded.value),
    }
}

/// A mask of the lowest `width` bits.
fn ones(width: u16) -> u128 {
    match width {
        128.. => u128::MAX,
        _ => (1 << width) - 1,
    }
}
