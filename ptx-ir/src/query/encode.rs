//! The key of the operands of an instruction.

use ptx_isa::{ScalarType, Selector, SpecialReg, TypeKind};

use super::names::{UNKNOWN, VECTOR, vector_register};
use super::{NameKind, NameTypes, ShapeKey, tag};
use crate::constant::{ConstKind, ConstValue};
use crate::{AddrId, Address, AddressForm, Body, ImmId, Operand, OperandRef, RegId};

/// The part of an immediate that the legality of its instruction depends on.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub(super) enum Immediates {
    /// Whether it is an integer or a floating-point number.
    #[default]
    Kinds,
    /// Its value as well.
    Values,
}

/// An operand has no shape: it is an undeclared name, or its type is unknown. The parser reports both.
pub(super) struct Unknown;

/// The deepest nesting of operands that some instruction takes.
const DEPTH: u8 = 3;

/// Encodes operands of one body.
pub(super) struct Encoder<'m> {
    pub(super) body: &'m Body,
    pub(super) names: &'m NameTypes,
    pub(super) immediates: Immediates,
}

impl Encoder<'_> {
    /// Encodes the first operands as far as they are simple: registers, small integers and addresses in registers, as most operands
    /// are. Returns the bytes of the key, the number of their bits, and the number of operands.
    #[inline]
    pub(super) fn simple_operands(&self, operands: &[Operand]) -> (u64, u32, usize) {
        let mut word = u64::from(self.names.place());
        let (mut bits, mut count) = (8, 0);
        for &operand in operands {
            let Some((bytes, len)) = self.simple(operand) else {
                break;
            };
            if bits + len > u64::BITS {
                break;
            }
            word |= u64::from(bytes) << bits;
            bits += len;
            count += 1;
        }
        (word, bits, count)
    }

    /// Encodes the operands of an instruction.
    pub(super) fn encode(&self, operands: &[Operand], key: &mut ShapeKey) -> Result<(), Unknown> {
        let (word, bits, encoded) = self.simple_operands(operands);
        key.start(word, (bits / 8) as u8);
        operands
            .get(encoded..)
            .unwrap_or_default()
            .iter()
            .try_for_each(|&operand| self.operand(operand, 0, key))
    }

    /// The bytes of a simple operand, and the number of their bits.
    #[inline]
    fn simple(&self, operand: Operand) -> Option<(u32, u32)> {
        match operand {
            Operand::Reg(id) => {
                let tag = self.names.register_tag(id);
                (tag < tag::REGISTER_END).then_some((tag.into(), 8))
            }
            Operand::Small(_) if self.immediates == Immediates::Kinds => {
                Some((tag::INTEGER.into(), 8))
            }
            Operand::Address(id) => match *self.body.pool.address(id)? {
                Address {
                    base: Operand::Reg(base),
                    form: AddressForm::Bracketed,
                    offset: offset @ (Operand::Absent | Operand::Small(_)),
                } => {
                    let base = self.names.register_tag(base);
                    let (bytes, len) = match offset {
                        Operand::Absent => ([tag::BRACKET, base, tag::END, 0], 24),
                        _ => ([tag::BRACKET, tag::OFFSET, base, tag::END], 32),
                    };
                    (base < tag::REGISTER_END).then_some((u32::from_le_bytes(bytes), len))
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn operand(&self, operand: Operand, depth: u8, key: &mut ShapeKey) -> Result<(), Unknown> {
        let pool = &self.body.pool;
        match operand {
            Operand::Reg(id) => self.register(id, key)?,
            Operand::Special(register) => special(register, key),
            Operand::Small(value) => self.integer(value.into(), key),
            Operand::Imm(id) => self.immediate(id, key)?,
            Operand::Symbol(id) => name(self.names.symbol(id), key)?,
            Operand::Var(id) => name(self.names.var(id), key)?,
            Operand::Label(id) => match self.names.label_tag(id) {
                UNKNOWN => return Err(Unknown),
                tag => key.push(tag),
            },
            Operand::Name(_) => return Err(Unknown),
            Operand::Sink => key.push(tag::DISCARD),
            Operand::Address(id) => self.address(id, depth, key)?,
            Operand::Bracket(_) | Operand::Vector(_) | Operand::Pair(_) if depth + 1 >= DEPTH => {
                key.push(tag::LIST);
            }
            Operand::Bracket(id) => self.parts(tag::BRACKET, pool.list(id), depth, key)?,
            Operand::Vector(id) => self.parts(tag::VECTOR, pool.list(id), depth, key)?,
            Operand::Pair(position) => {
                key.push(tag::PAIR);
                let (first, second) = pool.pair(position);
                self.operand(first, depth + 1, key)?;
                self.operand(second, depth + 1, key)?;
            }
            Operand::Not(part) => self.signed(tag::INVERTED, part, depth, key)?,
            Operand::Neg(part) => self.signed(tag::NEGATED, part, depth, key)?,
            Operand::Component(selector, part) => {
                self.lanes(selector, pool.get(part), depth, key)?
            }
            _ => key.push(tag::LIST),
        }
        Ok(())
    }

    fn register(&self, id: RegId, key: &mut ShapeKey) -> Result<(), Unknown> {
        match self.names.register_tag(id) {
            UNKNOWN => return Err(Unknown),
            VECTOR => {
                let (ty, len) = vector_register(self.body, id).ok_or(Unknown)?;
                key.extend(&[tag::REGISTER_VECTOR, ty.index() as u8, len]);
            }
            scalar => key.push(scalar),
        }
        Ok(())
    }

    fn integer(&self, value: i64, key: &mut ShapeKey) {
        match self.immediates {
            Immediates::Kinds => key.push(tag::INTEGER),
            Immediates::Values => {
                key.push(tag::VALUE);
                key.extend(&value.to_le_bytes());
            }
        }
    }

    fn float(&self, tag: u8, value: ConstValue, key: &mut ShapeKey) {
        let value = match self.immediates {
            Immediates::Kinds => 0.0,
            Immediates::Values => value.as_float().unwrap_or(0.0) as f32,
        };
        key.push(tag);
        key.extend(&value.to_le_bytes());
    }

    fn immediate(&self, id: ImmId, key: &mut ShapeKey) -> Result<(), Unknown> {
        let value = self.body.pool.immediate(id).ok_or(Unknown)?.value;
        match value.kind() {
            ConstKind::Signed | ConstKind::Unsigned => self.integer(value.bits() as i64, key),
            ConstKind::Double => self.float(tag::FLOAT, value, key),
            ConstKind::Single => self.float(tag::F32_BITS, value, key),
            ConstKind::Invalid => return Err(Unknown),
        }
        Ok(())
    }

    fn address(&self, id: AddrId, depth: u8, key: &mut ShapeKey) -> Result<(), Unknown> {
        let address = *self.body.pool.address(id).ok_or(Unknown)?;
        if !self.is_offset(address.offset)? {
            key.push(tag::LIST);
            return Ok(());
        }
        // The offset from another variable is not encoded: the sum is an address of that variable again.
        let has_encoded_offset =
            matches!(address.base, Operand::Reg(_)) || self.is_handle(address.base);
        match address.form {
            AddressForm::Bracketed | AddressForm::Unified => {
                if address.form == AddressForm::Unified && !self.is_unified(address.base) {
                    key.push(tag::UNIFIED);
                }
                key.push(tag::BRACKET);
                if has_encoded_offset && !matches!(address.offset, Operand::Absent) {
                    key.push(tag::OFFSET);
                }
                self.operand(address.base, depth + 1, key)?;
                key.push(tag::END);
            }
            AddressForm::Bare => {
                key.push(tag::OFFSET);
                self.operand(address.base, depth, key)?;
            }
            AddressForm::Indexed if self.is_array(address.base) => {
                key.push(tag::INDEXED);
                self.operand(address.base, depth, key)?;
            }
            AddressForm::Indexed => key.push(tag::LIST),
        }
        Ok(())
    }

    fn parts(
        &self,
        tag: u8,
        parts: &[Operand],
        depth: u8,
        key: &mut ShapeKey,
    ) -> Result<(), Unknown> {
        key.push(tag);
        for &part in parts {
            self.operand(part, depth + 1, key)?;
        }
        key.push(tag::END);
        Ok(())
    }

    fn signed(
        &self,
        tag: u8,
        part: OperandRef,
        depth: u8,
        key: &mut ShapeKey,
    ) -> Result<(), Unknown> {
        key.push(tag);
        match self.body.pool.get(part) {
            // No instruction takes two signs.
            Operand::Not(_) | Operand::Neg(_) => key.push(tag::LIST),
            operand => self.operand(operand, depth, key)?,
        }
        Ok(())
    }

    fn lanes(
        &self,
        selector: Selector,
        base: Operand,
        depth: u8,
        key: &mut ShapeKey,
    ) -> Result<(), Unknown> {
        match (base, selector.element()) {
            (Operand::Special(register), Some(_)) if register.is_vector() => {
                key.extend(&[tag::SPECIAL, register.index() as u8]);
            }
            (Operand::Reg(id), Some(_)) if self.names.register_tag(id) == VECTOR => {
                let (ty, _) = vector_register(self.body, id).ok_or(Unknown)?;
                key.extend(&[tag::COMPONENT, tag::REGISTER + ty.index() as u8]);
            }
            (Operand::Reg(id), None) if self.names.register_tag(id) != VECTOR => {
                key.push(tag::LANES);
                key.extend(&selector.bits().to_le_bytes());
                self.operand(base, depth, key)?;
            }
            (Operand::Name(_), _) => return Err(Unknown),
            _ => key.push(tag::LIST),
        }
        Ok(())
    }

    fn kind(&self, base: Operand) -> Option<NameKind> {
        Some(match base {
            Operand::Symbol(id) => self.names.symbol(id),
            Operand::Var(id) => self.names.var(id),
            Operand::Name(_) => NameKind::Unknown,
            _ => return None,
        })
    }

    fn is_handle(&self, base: Operand) -> bool {
        matches!(
            self.kind(base),
            Some(NameKind::Variable { ty, .. }) if ty.kind() == TypeKind::Opaque
        )
    }

    fn is_array(&self, base: Operand) -> bool {
        matches!(
            self.kind(base),
            Some(NameKind::Variable { array: true, .. } | NameKind::Unknown)
        )
    }

    /// Whether it is a variable that is declared `.unified`.
    fn is_unified(&self, base: Operand) -> bool {
        let Operand::Symbol(id) = base else {
            return false;
        };
        matches!(
            self.names.symbol(id),
            NameKind::Variable { unified: true, .. } | NameKind::Unknown
        )
    }

    /// Whether an operand may be an offset: floating-point numbers may not.
    fn is_offset(&self, offset: Operand) -> Result<bool, Unknown> {
        match offset {
            Operand::Name(_) => Err(Unknown),
            Operand::Imm(id) => {
                let kind = self.body.pool.immediate(id).ok_or(Unknown)?.value.kind();
                Ok(!matches!(kind, ConstKind::Double | ConstKind::Single))
            }
            _ => Ok(true),
        }
    }
}

fn special(register: SpecialReg, key: &mut ShapeKey) {
    let tag = if register.is_vector() {
        tag::SPECIAL_VECTOR
    } else {
        tag::SPECIAL
    };
    key.extend(&[tag, register.index() as u8]);
}

fn name(kind: NameKind, key: &mut ShapeKey) -> Result<(), Unknown> {
    match kind {
        // An array of handles is not a handle.
        NameKind::Variable {
            space,
            ty,
            array: true,
            ..
        } if ty.kind() == TypeKind::Opaque => {
            key.extend(&[
                tag::VARIABLE,
                space.index() as u8,
                ScalarType::B8.index() as u8,
            ]);
        }
        NameKind::Variable { space, ty, .. } => {
            key.extend(&[tag::VARIABLE, space.index() as u8, ty.index() as u8]);
        }
        NameKind::Function => key.push(tag::FUNCTION),
        NameKind::Kernel => key.push(tag::KERNEL),
        NameKind::Unknown => return Err(Unknown),
    }
    Ok(())
}
