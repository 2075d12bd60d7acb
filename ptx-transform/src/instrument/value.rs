//! The values that an access reads or writes.

use alloc::vec::Vec;

use ptx_ir::ConstKind;
use ptx_ir::{Component, Operand};
use ptx_isa::{Access, ScalarType, TypeKind};

use super::error::Error;
use super::mnemonics;
use super::plan::Timing;
use super::probe::Probe;

/// A part of the value that an access reads or writes, of at most 8 bytes.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Value {
    /// The offset of the part from the address of the access, in bytes.
    pub offset: u64,
    /// The size of the part in bytes.
    pub bytes: u64,
    /// The bits of the part: a 64-bit register or a constant. Bits above the size are undefined.
    pub bits: Operand,
}

/// The size of a 64-bit register in bytes.
const REGISTER_BYTES: u64 = 8;

impl Probe<'_, '_> {
    /// The elements that an access reads or writes, without discarded ones (`_`). Empty before a load, and if the layout of the
    /// registers in memory is unknown. For an atomic operation that returns the old value, it is the old value, otherwise the
    /// operand.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if there is no such access; an [edit](Error::Edit) was refused.
    pub fn values(&mut self, nth: usize) -> Result<Vec<Value>, Error> {
        let access = *self.access(nth)?;
        let (Some((mut data, usage)), Some(bytes)) = (access.data, access.bytes) else {
            return Ok(Vec::new());
        };
        let is_executed = self.site().when == Timing::After;
        let mut is_result = usage.writes() || usage.may_write();
        if access.access == Access::ReadModifyWrite
            && is_executed
            && let Some(old) = self.site().result.filter(|r| *r != Operand::Sink)
        {
            (data, is_result) = (old, true);
        }
        if is_result && !is_executed && !usage.reads() {
            return Ok(Vec::new());
        }
        let elements = self.elements(data)?;
        let size = bytes / (elements.len() as u64).max(1);
        let mut values = Vec::new();
        for (element, n) in elements.into_iter().zip(0..) {
            let offset = n * size;
            if !is_result && self.mentions_overwritten(element) {
                self.before(|probe| probe.add_values(element, offset, size, &mut values))?;
            } else {
                self.add_values(element, offset, size, &mut values)?;
            }
        }
        Ok(values)
    }

    /// The elements of a vector or a vector register.
    fn elements(&mut self, data: Operand) -> Result<Vec<Operand>, Error> {
        let body = self.body();
        let length = match data {
            Operand::Vector(id) => return Ok(body.pool().list(id).to_vec()),
            Operand::Reg(id) => body.reg_decl_of(id).map_or(1, |d| d.vector),
            _ => 1,
        };
        if length < 2 {
            return Ok(vec![data]);
        }
        Component::of_vector(length)
            .map(|component| Ok(self.editor().component(data, component.into())?))
            .collect()
    }

    /// Adds the values of one element: two if it has more than 64 bits, none if it is discarded or a predicate.
    fn add_values(
        &mut self,
        element: Operand,
        offset: u64,
        bytes: u64,
        values: &mut Vec<Value>,
    ) -> Result<(), Error> {
        let Some(ty) = self.register_type(element) else {
            let bits = self.constant_bits(element, bytes)?;
            values.extend(bits.map(|bits| Value {
                offset,
                bytes,
                bits,
            }));
            return Ok(());
        };
        if ty.bits() > 64 {
            let halves = [
                self.register(ScalarType::B64)?,
                self.register(ScalarType::B64)?,
            ];
            let pair = self.editor().vector(&halves.map(Operand::Reg))?;
            self.emit_always(&mnemonics::copy_untyped(ty.bits()), &[pair, element])?;
            for (half, n) in halves.into_iter().zip(0..) {
                values.push(Value {
                    offset: offset + n * REGISTER_BYTES,
                    bytes: REGISTER_BYTES,
                    bits: Operand::Reg(half),
                });
            }
            return Ok(());
        }
        let bits = match ty {
            ScalarType::Pred => return Ok(()),
            _ => self.bits_of_register(element, ty)?,
        };
        // A register can be wider than the element of the access.
        values.push(Value {
            offset,
            bytes: bytes.min(REGISTER_BYTES),
            bits,
        });
        Ok(())
    }

    /// The bits of a register in an untyped 64-bit register.
    fn bits_of_register(&mut self, register: Operand, ty: ScalarType) -> Result<Operand, Error> {
        let untyped = match ty.bits() {
            8 => None,
            16 => Some(ScalarType::B16),
            32 => Some(ScalarType::B32),
            _ => Some(ScalarType::B64),
        };
        let converts = ty.is_integer() || ty.kind() == TypeKind::Bits;
        let mut source = register;
        // Conversions require a register of their type, moves do not.
        if let Some(untyped) = untyped.filter(|_| !converts || !matches!(register, Operand::Reg(_)))
        {
            source = Operand::Reg(self.register(untyped)?);
            self.emit_always(&mnemonics::copy(untyped), &[source, register])?;
        }
        if ty.bits() == 64 {
            return Ok(source);
        }
        let wide = Operand::Reg(self.register(ScalarType::B64)?);
        self.emit_always(&mnemonics::zero_extend(ty.bits()), &[wide, source])?;
        Ok(wide)
    }

    /// The bits of an operand that is not a register; `None` if it is discarded.
    fn constant_bits(&mut self, operand: Operand, bytes: u64) -> Result<Option<Operand>, Error> {
        let value = match operand {
            Operand::Small(n) => i64::from(n) as u64,
            Operand::Imm(id) => match self.body().pool().immediate(id).map(|i| i.value) {
                Some(v) if v.kind() == ConstKind::Double && bytes == 4 => {
                    u64::from((f64::from_bits(v.bits()) as f32).to_bits())
                }
                Some(v) if v.kind() != ConstKind::Invalid => v.bits(),
                _ => return Ok(None),
            },
            Operand::Symbol(_) | Operand::Var(_) | Operand::Address(_) | Operand::Special(_) => {
                return self.moved(operand, bytes);
            }
            Operand::Component(_, vector)
                if matches!(self.body().pool().get(vector), Operand::Special(_)) =>
            {
                return self.moved(operand, bytes);
            }
            _ => return Ok(None),
        };
        let truncated = match bytes {
            1..8 => value & ((1 << (8 * bytes)) - 1),
            _ => value,
        };
        let bits = match i64::try_from(truncated) {
            Ok(n) => self.editor().integer(n),
            Err(_) => self.editor().constant(&format!("{truncated:#x}"))?,
        };
        Ok(Some(bits))
    }

    /// The address of a name, or a special register, in 64 bits.
    fn moved(&mut self, operand: Operand, bytes: u64) -> Result<Option<Operand>, Error> {
        let ty = match bytes {
            4 => ScalarType::B32,
            8 => ScalarType::B64,
            _ => return Ok(None),
        };
        let register = Operand::Reg(self.register(ty)?);
        self.emit_always(&mnemonics::copy(ty), &[register, operand])?;
        self.widened(register).map(Some)
    }
}
