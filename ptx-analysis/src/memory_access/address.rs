//! The address of an access.

use ptx_ir::facts::{MemoryAccess, RegisterComponent, Space};
use ptx_ir::{InstId, Operand, StmtId};
use ptx_isa::Action;

use super::{Access, Context};
use crate::provenance::Pointer;
use crate::ssa::ValueId;
use crate::values::Affine;

impl Context<'_> {
    /// Analyzes the access with a number among the accesses of an instruction.
    pub(super) fn access(
        &self,
        stmt: StmtId,
        inst: InstId,
        number: usize,
        access: MemoryAccess,
    ) -> Access {
        let address = self.address(stmt, &access);
        let form = address.map(|(form, _)| form);
        let pointer = self.provenance.access(stmt, number);
        let alignment = form.map_or(1, |f| self.values.alignment_of(&f).divisor());
        Access {
            stmt,
            inst,
            space: self.space(&access, pointer),
            bytes: access.bytes.or_else(|| self.size(stmt, &access)),
            access,
            alignment,
            address: form,
            provenance: pointer.and_then(|p| p.object),
            mismatch: self.provenance.mismatch(stmt, number),
            is_tile: self.facts.inst(inst).action().is_some_and(accesses_tiles),
            request: None,
        }
    }

    /// The address and its number of bits.
    pub(super) fn address(&self, stmt: StmtId, access: &MemoryAccess) -> Option<(Affine, u16)> {
        let offset = Affine::number(access.offset?);
        let Some(place) = self.address_register(access) else {
            let symbol = self.values.address_symbol(access.base?)?;
            return Some((Affine::symbol(symbol).plus(&offset, 64)?, 64));
        };
        let value = self.address_value(stmt, place)?;
        let bits = self.values.width(value);
        let form = self.values.affine(value).plus(&offset, bits)?;
        Some((form, bits))
    }

    /// The register with the base of an address.
    pub(super) fn address_register(&self, access: &MemoryAccess) -> Option<RegisterComponent> {
        let pool = &self.facts.body().pool();
        match access.base? {
            Operand::Reg(register) => Some(RegisterComponent::from(register)),
            Operand::Component(selector, vector) => match pool.get(vector) {
                Operand::Reg(register) => Some(RegisterComponent {
                    register,
                    component: selector.element(),
                }),
                _ => None,
            },
            _ => None,
        }
    }

    /// The value that a statement reads from the register of an address.
    pub(super) fn address_value(&self, stmt: StmtId, place: RegisterComponent) -> Option<ValueId> {
        let variable = self.analysis.variables().of(place).single()?;
        self.ssa.read(stmt, variable)
    }

    /// The number of bytes of an access, if a register contains it and its value is known.
    fn size(&self, stmt: StmtId, access: &MemoryAccess) -> Option<u64> {
        let Operand::Reg(register) = access.size? else {
            return None;
        };
        let variable = self
            .analysis
            .variables()
            .of(RegisterComponent::from(register))
            .single()?;
        let value = self.ssa.read(stmt, variable)?;
        u64::try_from(self.values.interval(value).single()?).ok()
    }

    /// The state space of an access, also of one through a generic address.
    fn space(&self, access: &MemoryAccess, pointer: Option<Pointer>) -> Space {
        if access.space != Space::Generic {
            return access.space;
        }
        let space = pointer.filter(|p| p.is_generic).and_then(|p| p.space);
        space.map_or(Space::Generic, Space::State)
    }
}

/// Returns whether an action accesses tiles of matrices through descriptors or tensor maps.
const fn accesses_tiles(action: Action) -> bool {
    matches!(
        action,
        Action::TensorCopy
            | Action::TensorReduce
            | Action::TensorMultiply
            | Action::TensorMemoryCopy
            | Action::WarpgroupMultiply
    )
}
