//! Computes the addresses and sizes of accesses.

use ptx_ir::facts::Space;
use ptx_ir::{AddressForm, Binding, Operand, Param, RegId, Statement, SymbolKind, Var, VarId};
use ptx_isa::{ScalarType, StateSpace};

use super::error::Error;
use super::mnemonics;
use super::probe::Probe;

/// The parts of an address.
#[derive(Copy, Clone, Debug)]
struct Parts {
    base: Operand,
    offset: Operand,
    /// The constant after a register in `var[r+4]`.
    second_offset: Operand,
    /// For `var[index]`, the bytes of an element: the offsets count elements.
    element_bytes: Option<i64>,
    /// Whether an address with a 32-bit index has 32 bits, so that the sum wraps around.
    wraps: bool,
}

impl Probe<'_, '_> {
    /// The address of an access in its [space](Self::space), including the offset, as a 64-bit register; a 32-bit address is
    /// zero-extended. It is the value from before the instruction, even if the instruction overwrites the register.
    ///
    /// `None` if there is no address: for textures and surfaces, parameters of calls, results of functions, and accesses without
    /// an address operand.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if there is no such access; an [edit](Error::Edit) was refused.
    pub fn address(&mut self, nth: usize) -> Result<Option<Operand>, Error> {
        let access = self.access(nth)?;
        let (Some(operand), false) = (
            access.operand,
            matches!(access.space, Space::Texture | Space::Surface),
        ) else {
            return Ok(None);
        };
        if !self.has_address(access.base) {
            return Ok(None);
        }
        let wraps = !matches!(
            self.space(nth)?,
            Space::Generic | Space::State(StateSpace::Global | StateSpace::Const)
        );
        let Some(parts) = self.parts(operand, wraps) else {
            return Ok(None);
        };
        let sources = [parts.base, parts.offset, parts.second_offset];
        if sources
            .iter()
            .any(|source| self.mentions_overwritten(*source))
        {
            return self.before(|p| p.copy_of_sum(parts)).map(Some);
        }
        self.sum(parts).map(Some)
    }

    /// The parts of an address operand.
    fn parts(&self, operand: Operand, wraps: bool) -> Option<Parts> {
        let pool = self.body().pool();
        let Operand::Address(id) = operand else {
            return Some(Parts {
                base: operand,
                offset: Operand::Absent,
                second_offset: Operand::Absent,
                element_bytes: None,
                wraps,
            });
        };
        let address = *pool.address(id)?;
        // `var[r+4]`: two offsets.
        let (offset, second_offset) = match address.offset {
            Operand::Address(id) => pool.address(id).map(|inner| (inner.base, inner.offset))?,
            offset => (offset, Operand::Absent),
        };
        let element_bytes = match address.form {
            AddressForm::Indexed => Some(self.element_bytes(address.base)?),
            _ => None,
        };
        Some(Parts {
            base: address.base,
            offset,
            second_offset,
            element_bytes,
            wraps,
        })
    }

    /// The bytes of an element of an array. The elements of an array of vectors are scalars, for `ptxas` as well.
    fn element_bytes(&self, array: Operand) -> Option<i64> {
        let (body, module) = (self.body(), self.module());
        let ty = match array {
            Operand::Symbol(id) => match module.symbols().get(id)?.kind {
                SymbolKind::Variable(_, decl) => module.declarations().decls.get(decl)?.ty,
                _ => return None,
            },
            Operand::Var(id) => match body.vars().get(id)?.stmt {
                Some(stmt) => match body.statement(stmt)? {
                    Statement::Decl(decl) => body.declarations().decls.get(decl)?.ty,
                    _ => return None,
                },
                None => self.param(id)?.ty,
            },
            _ => return None,
        };
        Some(i64::from(ty.known()?.bits() / 8))
    }

    /// The sum of the parts in a register that the instruction does not overwrite.
    fn copy_of_sum(&mut self, parts: Parts) -> Result<Operand, Error> {
        let sum = self.sum(parts)?;
        if !self.mentions_overwritten(sum) {
            return Ok(sum);
        }
        let copy = Operand::Reg(self.register(ScalarType::B64)?);
        self.emit_always(&mnemonics::copy(ScalarType::B64), &[copy, sum])?;
        Ok(copy)
    }

    /// The 64-bit sum of a base and an offset, or the address of an element.
    fn sum(&mut self, parts: Parts) -> Result<Operand, Error> {
        let base = match self.register_type(parts.base) {
            Some(_) => parts.base,
            None => self.name(parts.base)?,
        };
        let offset = match parts.element_bytes {
            Some(bytes) => self.element_offset(parts, bytes)?,
            None => parts.offset,
        };
        let sum = match offset {
            Operand::Absent | Operand::Small(0) => base,
            // The address is computed with 32 bits where the index has 32 and the space fewer than 4 GiB.
            _ if parts.wraps && self.bits(offset) == 32 => {
                let base = self.narrowed(base)?;
                self.added(base, offset)?
            }
            // The base determines the width of the addition.
            _ if self.bits(base) == 64 => {
                let offset = self.widened(offset)?;
                self.added(base, offset)?
            }
            _ => {
                let offset = self.narrowed(offset)?;
                self.added(base, offset)?
            }
        };
        self.widened(sum)
    }

    /// The bytes before the element of an index; they have as many bits as the index, or 32.
    fn element_offset(&mut self, parts: Parts, bytes: i64) -> Result<Operand, Error> {
        let pool = self.body().pool();
        let Some(ty) = self.register_type(parts.offset) else {
            let index = pool.integer(parts.offset).unwrap_or(0);
            return Ok(self.editor().integer(index.wrapping_mul(bytes)));
        };
        let second_offset = pool
            .integer(parts.second_offset)
            .unwrap_or(0)
            .wrapping_mul(bytes);
        let index = match ty.bits() {
            8 | 16 => {
                let wide = Operand::Reg(self.register(ScalarType::B32)?);
                let mnemonic = mnemonics::zero_extend_to_word(ty.bits());
                self.emit_always(&mnemonic, &[wide, parts.offset])?;
                wide
            }
            _ => parts.offset,
        };
        let (ty, second_offset) = match self.bits(index) {
            32 => (ScalarType::B32, i64::from(second_offset as i32)),
            _ => (ScalarType::B64, second_offset),
        };
        let offset = Operand::Reg(self.register(ty)?);
        let [bytes, second_offset] =
            [bytes, second_offset].map(|number| self.editor().integer(number));
        let mnemonic = mnemonics::multiply_add(ty.bits());
        self.emit_always(mnemonic, &[offset, index, bytes, second_offset])?;
        Ok(offset)
    }

    fn added(&mut self, a: Operand, b: Operand) -> Result<Operand, Error> {
        let bits = self.bits(a);
        let ty = match bits {
            32 => ScalarType::B32,
            _ => ScalarType::B64,
        };
        let sum = Operand::Reg(self.register(ty)?);
        self.emit_always(mnemonics::add(bits), &[sum, a, b])?;
        Ok(sum)
    }

    /// A 64-bit register plus a constant.
    ///
    /// # Errors
    ///
    /// An [edit](Error::Edit) was refused.
    pub fn plus(&mut self, register: Operand, number: i64) -> Result<Operand, Error> {
        let number = self.editor().integer(number);
        self.added(register, number)
    }

    /// The address of a name, or a constant, in a register.
    fn name(&mut self, name: Operand) -> Result<Operand, Error> {
        let has_wide_addresses = self.module().header().address_size == Some(64);
        let is_constant = matches!(name, Operand::Small(_) | Operand::Imm(_));
        let (ty, source) = if has_wide_addresses || is_constant {
            (ScalarType::B64, ScalarType::U64)
        } else {
            (ScalarType::B32, ScalarType::U32)
        };
        let register = Operand::Reg(self.register(ty)?);
        self.emit_always(&mnemonics::copy(source), &[register, name])?;
        Ok(register)
    }

    /// A 32-bit register zero-extended to 64 bits; a 64-bit register is returned unchanged.
    ///
    /// # Errors
    ///
    /// An [edit](Error::Edit) was refused.
    pub fn widened(&mut self, register: Operand) -> Result<Operand, Error> {
        if self.bits(register) != 32 {
            return Ok(register);
        }
        let wide = Operand::Reg(self.register(ScalarType::B64)?);
        self.emit_always(&mnemonics::zero_extend(32), &[wide, register])?;
        Ok(wide)
    }

    /// The low half of a 64-bit register.
    pub(super) fn narrowed(&mut self, register: Operand) -> Result<Operand, Error> {
        if self.bits(register) != 64 {
            return Ok(register);
        }
        let low = Operand::Reg(self.register(ScalarType::B32)?);
        self.emit_always(mnemonics::TRUNCATE, &[low, register])?;
        Ok(low)
    }

    /// The largest size of an access in bytes: a constant, or a register of 32 or 64 bits; `None` if it is unknown.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if there is no such access; an [edit](Error::Edit) was refused.
    pub fn size(&mut self, nth: usize) -> Result<Option<Operand>, Error> {
        let access = self.access(nth)?;
        if let Some(bytes) = access.bytes.and_then(|b| i64::try_from(b).ok()) {
            return Ok(Some(self.editor().integer(bytes)));
        }
        let Some(size) = access.size else {
            return Ok(None);
        };
        if !self.mentions_overwritten(size) {
            return Ok(Some(size));
        }
        let ty = match self.bits(size) {
            64 => ScalarType::B64,
            _ => ScalarType::B32,
        };
        let copy = Operand::Reg(self.register(ty)?);
        self.before(|p| p.emit_always(&mnemonics::copy(ty), &[copy, size]))?;
        Ok(Some(copy))
    }

    /// The state space of an access; for a generic access to a named variable, that of the variable.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if there is no such access.
    pub fn space(&self, nth: usize) -> Result<Space, Error> {
        let access = self.access(nth)?;
        Ok(match access.space {
            Space::Generic => match access.base.and_then(|b| self.declared_space(b)) {
                Some(space) => Space::State(space),
                None => Space::Generic,
            },
            space => space,
        })
    }

    /// The address of an access in a state space; `None` if it is in another one. For a generic address, the predicate tells
    /// whether the address is in that space.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if there is no such access; an [edit](Error::Edit) was refused.
    pub fn address_in(
        &mut self,
        nth: usize,
        space: StateSpace,
    ) -> Result<Option<(Operand, Option<RegId>)>, Error> {
        let is_generic = match self.space(nth)? {
            Space::State(s) if s.base() == space.base() => false,
            Space::Generic => true,
            _ => return Ok(None),
        };
        let Some(address) = self.address(nth)? else {
            return Ok(None);
        };
        if !is_generic {
            return Ok(Some((address, None)));
        }
        let within = self.register(ScalarType::Pred)?;
        let mnemonic = mnemonics::is_in_space(space.base());
        self.emit_always(&mnemonic, &[Operand::Reg(within), address])?;
        if space.base() == StateSpace::Global {
            return Ok(Some((address, Some(within))));
        }
        let address_in_space = Operand::Reg(self.register(ScalarType::B64)?);
        let mnemonic = mnemonics::to_space(space.base());
        self.emit_always(&mnemonic, &[address_in_space, address])?;
        Ok(Some((address_in_space, Some(within))))
    }

    // --- operands ---

    /// The state space of a variable.
    fn declared_space(&self, operand: Operand) -> Option<StateSpace> {
        let (body, module) = (self.body(), self.module());
        match operand {
            Operand::Var(id) => body.vars().get(id).map(|v| v.space),
            Operand::Symbol(id) => match module.symbols().get(id)?.kind {
                SymbolKind::Variable(space, _) => Some(space),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether a base has an address: parameters of calls and results have none.
    fn has_address(&self, base: Option<Operand>) -> bool {
        match base {
            Some(Operand::Var(id)) => {
                let var = self.body().vars().get(id);
                var.is_some_and(|var| !is_call_parameter(var)) && !self.is_result(id)
            }
            Some(
                Operand::Reg(_)
                | Operand::Component(..)
                | Operand::Symbol(_)
                | Operand::Small(_)
                | Operand::Imm(_),
            ) => true,
            _ => false,
        }
    }

    fn is_result(&self, var: VarId) -> bool {
        let [returns, _] = self.params();
        returns.iter().any(|p| p.binding == Binding::Var(var))
    }

    /// The results and the parameters of the function.
    fn params(&self) -> [&[Param]; 2] {
        let module = self.module();
        let function = module.functions().get(self.site().function);
        function.map_or([&[], &[]], |f| {
            [f.interface.returns, f.interface.params].map(|list| list.of(module.params()))
        })
    }

    fn param(&self, var: VarId) -> Option<&Param> {
        self.params()
            .into_iter()
            .flatten()
            .find(|param| param.binding == Binding::Var(var))
    }

    pub(super) fn mentions_overwritten(&self, operand: Operand) -> bool {
        match operand {
            Operand::Reg(id) => self.is_overwritten(id),
            Operand::Component(_, vector) => {
                matches!(self.body().pool().get(vector), Operand::Reg(id) if self.is_overwritten(id))
            }
            _ => false,
        }
    }

    /// The declared type of a register, or of the elements of a vector register.
    pub(super) fn register_type(&self, operand: Operand) -> Option<ScalarType> {
        let body = self.body();
        let register = match operand {
            Operand::Reg(id) => id,
            Operand::Component(_, vector) => match body.pool().get(vector) {
                Operand::Reg(id) => id,
                _ => return None,
            },
            _ => return None,
        };
        body.reg_decl_of(register)?.ty.known()
    }

    pub(super) fn bits(&self, operand: Operand) -> u16 {
        self.register_type(operand).map_or(0, ScalarType::bits)
    }
}

/// Whether a variable is declared in a body to pass arguments to a call or results from it.
fn is_call_parameter(var: &Var) -> bool {
    var.space == StateSpace::Param && var.stmt.is_some()
}
