//! Addresses and sizes of accesses, as registers.

use ptx_ir::facts::Space;
use ptx_ir::{Binding, Operand, RegId, SymbolKind, Var, VarId};
use ptx_isa::{ScalarType, StateSpace};

use super::error::Error;
use super::probe::Probe;

impl Probe<'_, '_> {
    /// The address of an access as the instruction has it: in its [space](Self::space), in 64 bits, with the offset added;
    /// an address of 32 bits is extended with zeros. It is the value from before the instruction, also where that overwrites
    /// the register.
    ///
    /// `None` where there is no address: for textures and surfaces, parameters of calls, results of functions, and what no operand
    /// addresses.
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
        let (base, offset) = match operand {
            Operand::Address(id) => match self.body().pool().address(id) {
                Some(address) => (address.base, address.offset),
                None => return Ok(None),
            },
            plain => (plain, Operand::Absent),
        };
        // `var[r+4]`: two offsets.
        let (offset, more) = match offset {
            Operand::Address(id) => match self.body().pool().address(id) {
                Some(inner) => (inner.base, inner.offset),
                None => return Ok(None),
            },
            other => (other, Operand::Absent),
        };
        let parts = [base, offset, more];
        if parts.iter().any(|p| self.mentions_overwritten(*p)) {
            return self.before(|p| p.copy_of_sum(parts)).map(Some);
        }
        self.sum(parts).map(Some)
    }

    /// The same in a register of its own.
    fn copy_of_sum(&mut self, parts: [Operand; 3]) -> Result<Operand, Error> {
        let sum = self.sum(parts)?;
        if !self.mentions_overwritten(sum) {
            return Ok(sum);
        }
        let copy = Operand::Reg(self.register(ScalarType::B64)?);
        self.emit_always("mov.b64", &[copy, sum])?;
        Ok(copy)
    }

    /// A base with offsets, in 64 bits.
    fn sum(&mut self, [base, offset, more]: [Operand; 3]) -> Result<Operand, Error> {
        let mut sum = match self.register_type(base) {
            Some(_) => base,
            None => self.name(base)?,
        };
        for part in [offset, more] {
            sum = match part {
                Operand::Absent | Operand::Small(0) => continue,
                // The register decides how wide the addition is.
                _ if self.bits(sum) == 64 && self.bits(part) == 32 => {
                    let part = self.widened(part)?;
                    self.added(sum, part)?
                }
                _ => self.added(sum, part)?,
            };
        }
        self.widened(sum)
    }

    fn added(&mut self, a: Operand, b: Operand) -> Result<Operand, Error> {
        let (mnemonic, ty) = match self.bits(a) {
            32 => ("add.s32", ScalarType::B32),
            _ => ("add.s64", ScalarType::B64),
        };
        let sum = Operand::Reg(self.register(ty)?);
        self.emit_always(mnemonic, &[sum, a, b])?;
        Ok(sum)
    }

    /// A register of 64 bits plus a number.
    pub fn plus(&mut self, register: Operand, number: i64) -> Result<Operand, Error> {
        let number = self.editor().integer(number);
        self.added(register, number)
    }

    /// The address of a name, or a number, in a register.
    fn name(&mut self, name: Operand) -> Result<Operand, Error> {
        let wide = self.module().header().address_size == Some(64);
        let (mnemonic, ty) = match wide || matches!(name, Operand::Small(_) | Operand::Imm(_)) {
            true => ("mov.u64", ScalarType::B64),
            false => ("mov.u32", ScalarType::B32),
        };
        let register = Operand::Reg(self.register(ty)?);
        self.emit_always(mnemonic, &[register, name])?;
        Ok(register)
    }

    /// A register of at most 32 bits in 64, with zeros.
    pub fn widened(&mut self, register: Operand) -> Result<Operand, Error> {
        if self.bits(register) != 32 {
            return Ok(register);
        }
        let wide = Operand::Reg(self.register(ScalarType::B64)?);
        self.emit_always("cvt.u64.u32", &[wide, register])?;
        Ok(wide)
    }

    /// The low half of a register of 64 bits.
    pub(super) fn narrowed(&mut self, register: Operand) -> Result<Operand, Error> {
        if self.bits(register) != 64 {
            return Ok(register);
        }
        let low = Operand::Reg(self.register(ScalarType::B32)?);
        self.emit_always("cvt.u32.u64", &[low, register])?;
        Ok(low)
    }

    /// How many bytes an access reaches at most: a number, or a register of 32 or 64 bits; `None` where the instruction does not say.
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
        let (mnemonic, ty) = match self.bits(size) {
            64 => ("mov.b64", ScalarType::B64),
            _ => ("mov.b32", ScalarType::B32),
        };
        let copy = Operand::Reg(self.register(ty)?);
        self.before(|p| p.emit_always(mnemonic, &[copy, size]))?;
        Ok(Some(copy))
    }

    /// The space of an access. Where the instruction names none, but a variable, it is that of the variable.
    pub fn space(&self, nth: usize) -> Result<Space, Error> {
        let access = self.access(nth)?;
        Ok(match access.space {
            Space::Generic => match access.base.and_then(|b| self.declared_space(b)) {
                Some(space) => Space::State(space),
                None => Space::Generic,
            },
            other => other,
        })
    }

    /// The address of an access in one space. `None` where it certainly lies in another one; else the address and, for generic
    /// addresses, the predicate that says whether it lies there.
    pub fn address_in(
        &mut self,
        nth: usize,
        space: StateSpace,
    ) -> Result<Option<(Operand, Option<RegId>)>, Error> {
        let generic = match self.space(nth)? {
            Space::State(s) if s.base() == space.base() => false,
            Space::Generic => true,
            _ => return Ok(None),
        };
        let Some(address) = self.address(nth)? else {
            return Ok(None);
        };
        if !generic {
            return Ok(Some((address, None)));
        }
        let within = self.register(ScalarType::Pred)?;
        let text = space.base().text();
        let mnemonic = alloc::format!("isspacep{text}");
        self.emit_always(&mnemonic, &[Operand::Reg(within), address])?;
        if space.base() == StateSpace::Global {
            return Ok(Some((address, Some(within))));
        }
        let there = Operand::Reg(self.register(ScalarType::B64)?);
        let mnemonic = alloc::format!("cvta.to{text}.u64");
        self.emit_always(&mnemonic, &[there, address])?;
        Ok(Some((there, Some(within))))
    }

    // --- operands ---

    /// The state space of the variable that an operand is.
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

    /// Parameters of calls and results have no address.
    fn has_address(&self, base: Option<Operand>) -> bool {
        match base {
            Some(Operand::Var(id)) => {
                let var = self.body().vars().get(id);
                let is_call = |v: &Var| v.space == StateSpace::Param && v.stmt.is_some();
                var.is_some_and(|v| !is_call(v)) && !self.is_result(id)
            }
            Some(
                Operand::Reg(_)
                | Operand::Lane(..)
                | Operand::Symbol(_)
                | Operand::Small(_)
                | Operand::Imm(_),
            ) => true,
            _ => false,
        }
    }

    fn is_result(&self, var: VarId) -> bool {
        let module = self.module();
        let function = module.functions().get(self.site().function);
        let returns = function.map_or(&[][..], |f| f.interface.returns.of(module.params()));
        returns.iter().any(|p| p.binding == Binding::Var(var))
    }

    pub(super) fn mentions_overwritten(&self, operand: Operand) -> bool {
        match operand {
            Operand::Reg(id) => self.is_overwritten(id),
            Operand::Lane(_, at) => self.mentions_overwritten_at(at),
            _ => false,
        }
    }

    fn mentions_overwritten_at(&self, at: ptx_ir::OperandRef) -> bool {
        matches!(self.body().pool().get(at), Operand::Reg(id) if self.is_overwritten(id))
    }

    /// The declared type of a register, or of the elements of one.
    pub(super) fn register_type(&self, operand: Operand) -> Option<ScalarType> {
        let body = self.body();
        let register = match operand {
            Operand::Reg(id) => id,
            Operand::Lane(_, at) => match body.pool().get(at) {
                Operand::Reg(id) => id,
                _ => return None,
            },
            _ => return None,
        };
        let decl = body.registers().get(register)?.decl;
        body.reg_decls().get(decl)?.ty.known()
    }

    pub(super) fn bits(&self, operand: Operand) -> u16 {
        self.register_type(operand).map_or(0, ScalarType::bits)
    }
}
