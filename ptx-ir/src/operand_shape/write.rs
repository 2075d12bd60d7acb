//! From the operands of an instruction to its key.

use super::types::{UNKNOWN, VECTOR, vector_register};
use super::{BodyTypes, Named, ShapeKey, SymbolTypes, code};
use crate::constant::{ConstKind, ConstValue};
use crate::{Address, AddressForm, Body, InstId, Operand, OperandRef, RegId};

/// Reads the shapes of the instructions of one body.
#[derive(Copy, Clone, Debug)]
pub struct Shapes<'m> {
    body: &'m Body,
    symbols: &'m SymbolTypes,
    types: &'m BodyTypes,
}

/// An operand of which nothing can be said: a name that nothing declares, a type that is none. It was reported.
struct Unknown;

/// Nothing that is legal lies deeper.
const DEPTH: u8 = 3;

impl<'m> Shapes<'m> {
    /// For a body and what its names stand for.
    pub fn new(body: &'m Body, symbols: &'m SymbolTypes, types: &'m BodyTypes) -> Self {
        Self {
            body,
            symbols,
            types,
        }
    }

    /// Writes what the operands of an instruction are to `key`, with the values of integers or without. False where an
    /// operand is unknown.
    #[inline]
    pub fn write(&self, inst: InstId, values: bool, key: &mut ShapeKey) -> bool {
        self.write_operands(self.body.operands(inst), values, key)
    }

    /// The same for operands that an instruction might have.
    #[inline]
    pub fn write_operands(&self, operands: &[Operand], values: bool, key: &mut ShapeKey) -> bool {
        // Most instructions have a few registers, small numbers and an address in a register: these are gathered in
        // one word.
        let mut word = u64::from(self.types.in_entry());
        let (mut bits, mut done) = (8, 0);
        for &operand in operands {
            let (bytes, len) = match operand {
                Operand::Reg(id) => (self.types.register_code(id).into(), 8),
                Operand::Small(_) if !values => (code::INTEGER.into(), 8),
                Operand::Address(id) => match self.body.pool.address(id) {
                    Some(Address {
                        base: Operand::Reg(base),
                        form: AddressForm::Bracketed,
                        offset: offset @ (Operand::Absent | Operand::Small(_)),
                    }) => {
                        let base = self.types.register_code(*base);
                        if base > code::INTEGER {
                            break;
                        }
                        let (whole, len) = match offset {
                            Operand::Absent => ([code::BRACKET, base, code::END, 0], 24),
                            _ => ([code::BRACKET, code::OFFSET, base, code::END], 32),
                        };
                        (u32::from_le_bytes(whole), len)
                    }
                    _ => break,
                },
                _ => break,
            };
            if bits + len > u64::BITS || len == 8 && bytes > u32::from(code::INTEGER) {
                break;
            }
            word |= u64::from(bytes) << bits;
            bits += len;
            done += 1;
        }
        key.start(word, (bits / 8) as u8);
        let rest = operands.get(done..).unwrap_or_default();
        rest.is_empty() || self.write_rest(rest, values, key)
    }

    fn write_rest(&self, operands: &[Operand], values: bool, key: &mut ShapeKey) -> bool {
        let mut operands = operands.iter();
        operands.all(|&operand| self.operand(operand, values, 0, key).is_ok())
    }

    #[inline]
    fn register(&self, id: RegId, key: &mut ShapeKey) -> Result<(), Unknown> {
        match self.types.register_code(id) {
            UNKNOWN => return Err(Unknown),
            VECTOR => {
                let (ty, len) = vector_register(self.body, id).ok_or(Unknown)?;
                key.push(code::REGISTER_VECTOR);
                key.push(ty.index() as u8);
                key.push(len);
            }
            scalar => key.push(scalar),
        }
        Ok(())
    }

    fn operand(
        &self,
        operand: Operand,
        values: bool,
        depth: u8,
        key: &mut ShapeKey,
    ) -> Result<(), Unknown> {
        let pool = &self.body.pool;
        match operand {
            Operand::Reg(id) => self.register(id, key)?,
            Operand::Special(r) if r.is_vector() => {
                key.push(code::SPECIAL_VECTOR);
                key.push(r.index() as u8);
            }
            Operand::Special(r) => {
                key.push(code::SPECIAL);
                key.push(r.index() as u8);
            }
            Operand::Small(value) => integer(value.into(), values, key),
            Operand::Imm(id) => {
                let value = pool.immediate(id).ok_or(Unknown)?.value;
                match value.kind() {
                    ConstKind::Signed | ConstKind::Unsigned => {
                        integer(value.bits() as i64, values, key);
                    }
                    ConstKind::Double => float(code::FLOAT, value, values, key),
                    ConstKind::Single => float(code::SINGLE, value, values, key),
                    ConstKind::Invalid => return Err(Unknown),
                }
            }
            Operand::Symbol(id) => named(self.symbols.get(id), key)?,
            Operand::Var(id) => named(self.types.var(id), key)?,
            Operand::Label(id) => match self.types.label_code(id) {
                UNKNOWN => return Err(Unknown),
                code => key.push(code),
            },
            Operand::Name(_) => return Err(Unknown),
            Operand::Sink => key.push(code::SINK),
            Operand::Address(id) => {
                let address = pool.address(id).ok_or(Unknown)?;
                if !self.offset(address.offset)? {
                    key.push(code::LIST);
                    return Ok(());
                }
                match address.form {
                    AddressForm::Bracketed | AddressForm::Unified => {
                        if address.form == AddressForm::Unified && !self.is_unified(address.base) {
                            key.push(code::UNIFIED);
                        }
                        key.push(code::BRACKET);
                        if matches!(address.base, Operand::Reg(_))
                            && !matches!(address.offset, Operand::Absent)
                        {
                            key.push(code::OFFSET);
                        }
                        self.operand(address.base, values, depth + 1, key)?;
                        key.push(code::END);
                    }
                    AddressForm::Bare => {
                        if matches!(address.base, Operand::Reg(_)) {
                            key.push(code::OFFSET);
                        }
                        self.operand(address.base, values, depth, key)?;
                    }
                    AddressForm::Indexed => {
                        if self.is_array(address.base) {
                            key.push(code::INDEXED);
                            self.operand(address.base, values, depth, key)?;
                        } else {
                            key.push(code::LIST);
                        }
                    }
                }
            }
            Operand::Bracket(_) | Operand::Vector(_) | Operand::Pair(_) if depth + 1 >= DEPTH => {
                key.push(code::LIST);
            }
            Operand::Bracket(id) => {
                key.push(code::BRACKET);
                self.parts(pool.list(id), values, depth, key)?;
            }
            Operand::Vector(id) => {
                key.push(code::VECTOR);
                self.parts(pool.list(id), values, depth, key)?;
            }
            Operand::Pair(at) => {
                key.push(code::PAIR);
                let (first, second) = pool.pair(at);
                self.operand(first, values, depth + 1, key)?;
                self.operand(second, values, depth + 1, key)?;
            }
            Operand::Not(at) => self.marked(code::INVERTED, at, values, depth, key)?,
            Operand::Neg(at) => self.marked(code::NEGATED, at, values, depth, key)?,
            Operand::Lane(selector, at) => {
                let base = pool.get(at);
                match (base, selector.element()) {
                    (Operand::Special(r), Some(_)) if r.is_vector() => {
                        key.push(code::SPECIAL);
                        key.push(r.index() as u8);
                    }
                    (Operand::Reg(id), Some(_)) if self.types.register_code(id) == VECTOR => {
                        let (ty, _) = vector_register(self.body, id).ok_or(Unknown)?;
                        key.push(ty.index() as u8);
                    }
                    (Operand::Reg(_), None) => {
                        key.push(code::LANES);
                        let [low, high] = selector.bits().to_le_bytes();
                        key.push(low);
                        key.push(high);
                        self.operand(base, values, depth, key)?;
                    }
                    (Operand::Name(_), _) => return Err(Unknown),
                    _ => key.push(code::LIST),
                }
            }
            _ => key.push(code::LIST),
        }
        Ok(())
    }

    fn parts(
        &self,
        parts: &[Operand],
        values: bool,
        depth: u8,
        key: &mut ShapeKey,
    ) -> Result<(), Unknown> {
        for &part in parts {
            self.operand(part, values, depth + 1, key)?;
        }
        key.push(code::END);
        Ok(())
    }

    fn marked(
        &self,
        mark: u8,
        at: OperandRef,
        values: bool,
        depth: u8,
        key: &mut ShapeKey,
    ) -> Result<(), Unknown> {
        key.push(mark);
        match self.body.pool.get(at) {
            // Two signs are one too many for every instruction.
            Operand::Not(_) | Operand::Neg(_) => key.push(code::LIST),
            inner => self.operand(inner, values, depth, key)?,
        }
        Ok(())
    }

    fn is_array(&self, base: Operand) -> bool {
        let named = match base {
            Operand::Symbol(id) => self.symbols.get(id),
            Operand::Var(id) => self.types.var(id),
            Operand::Name(_) => Named::Unknown,
            _ => return false,
        };
        matches!(named, Named::Variable { array: true, .. } | Named::Unknown)
    }

    /// Whether it is a variable that is declared `.unified`.
    fn is_unified(&self, base: Operand) -> bool {
        let Operand::Symbol(id) = base else {
            return false;
        };
        matches!(
            self.symbols.get(id),
            Named::Variable { unified: true, .. } | Named::Unknown
        )
    }

    /// Whether an offset is one: no number of floating point.
    fn offset(&self, offset: Operand) -> Result<bool, Unknown> {
        match offset {
            Operand::Name(_) => Err(Unknown),
            Operand::Imm(id) => {
                let value = self.body.pool.immediate(id).ok_or(Unknown)?.value;
                Ok(!matches!(
                    value.kind(),
                    ConstKind::Double | ConstKind::Single
                ))
            }
            _ => Ok(true),
        }
    }
}

fn integer(value: i64, values: bool, key: &mut ShapeKey) {
    if !values {
        key.push(code::INTEGER);
        return;
    }
    key.push(code::VALUE);
    value.to_le_bytes().into_iter().for_each(|b| key.push(b));
}

fn float(code: u8, value: ConstValue, values: bool, key: &mut ShapeKey) {
    let value = value.as_float().filter(|_| values).unwrap_or(0.0) as f32;
    key.push(code);
    value.to_le_bytes().into_iter().for_each(|b| key.push(b));
}

fn named(named: Named, key: &mut ShapeKey) -> Result<(), Unknown> {
    match named {
        Named::Variable { space, ty, .. } => {
            key.push(code::VARIABLE);
            key.push(space.index() as u8);
            key.push(ty.index() as u8);
        }
        Named::Function => key.push(code::FUNCTION),
        Named::Kernel => key.push(code::KERNEL),
        Named::Unknown => return Err(Unknown),
    }
    Ok(())
}
