//! The address of an access.

use ptx_ir::facts::{MemoryAccess, RegLane, Space};
use ptx_ir::{InstId, Operand, StmtId};
use ptx_isa::StateSpace;

use super::{Access, Context, Provenance};
use crate::ssa::{Ssa, Value, ValueId};
use crate::values::{Affine, Symbol};

/// How many phis are followed for what a pointer points into.
const FOLLOWED: u32 = 8;

impl Context<'_> {
    pub(super) fn access(&self, stmt: StmtId, inst: InstId, access: MemoryAccess) -> Access {
        let address = self.address(stmt, &access);
        let (form, bits) = match address {
            Some((form, bits)) => (Some(form), bits),
            None => (None, 64),
        };
        let provenance = form.and_then(|f| self.provenance(&f, FOLLOWED));
        let alignment = form.map_or(1, |f| self.values.alignment_of(&f).divisor());
        let request = match (form, access.bytes) {
            (Some(form), Some(bytes)) => self.request(&form, bits, bytes),
            _ => None,
        };
        Access {
            stmt,
            inst,
            space: self.space(&access, form.as_ref(), provenance),
            access,
            alignment,
            address: form,
            provenance,
            request,
        }
    }

    /// The address and its number of bits.
    fn address(&self, stmt: StmtId, access: &MemoryAccess) -> Option<(Affine, u16)> {
        let offset = Affine::number(access.offset?);
        let pool = &self.facts.body().pool();
        let place = match access.base? {
            Operand::Reg(register) => Some(RegLane::from(register)),
            Operand::Lane(selector, at) => match pool.get(at) {
                Operand::Reg(register) => Some(RegLane {
                    register,
                    lane: selector.element(),
                }),
                _ => None,
            },
            _ => None,
        };
        let Some(place) = place else {
            let symbol = self.values.address_symbol(access.base?)?;
            return Some((Affine::symbol(symbol).plus(&offset, 64)?, 64));
        };
        let mut variables = self.analysis.variables().of(place);
        let (variable, None) = (variables.next()?, variables.next()) else {
            return None;
        };
        let value = self.ssa.read(stmt, variable)?;
        let bits = self.values.width(value);
        let form = self.values.affine(value).plus(&offset, bits)?;
        Some((form, bits))
    }

    /// The state space of an access, also of one through a generic address.
    fn space(
        &self,
        access: &MemoryAccess,
        form: Option<&Affine>,
        provenance: Option<Provenance>,
    ) -> Space {
        if access.space != Space::Generic {
            return access.space;
        }
        let window = form.and_then(|form| {
            form.terms()
                .iter()
                .find_map(|term| match self.values.symbol(term.symbol) {
                    Some(Symbol::Window(space)) if term.factor == 1 => Some(space),
                    _ => None,
                })
        });
        let pointer = match provenance {
            Some(Provenance::Parameter {
                variable,
                offset: 0,
            }) => self.pointer_space(variable),
            _ => None,
        };
        window.or(pointer).map_or(Space::Generic, Space::State)
    }

    /// The state space that `.ptr` gives for a parameter.
    fn pointer_space(&self, variable: ptx_ir::VarId) -> Option<StateSpace> {
        let module = self.facts.module();
        let function = module.functions().get(self.facts.id())?;
        let mut params = function.interface.params.of(module.params()).iter();
        let of_variable = ptx_ir::Binding::Var(variable);
        params.find(|p| p.binding == of_variable)?.ptr?.space
    }

    /// What an address points into: the only pointer in the sum.
    fn provenance(&self, form: &Affine, follow: u32) -> Option<Provenance> {
        let mut found = None;
        for term in form.terms() {
            let pointer = match self.values.symbol(term.symbol)? {
                Symbol::Parameter {
                    variable,
                    offset,
                    bytes: 8,
                } if term.factor == 1 => Provenance::Parameter { variable, offset },
                Symbol::Variable(variable) if term.factor == 1 => Provenance::Variable(variable),
                // Values of fewer bits are not addresses.
                Symbol::Value { value, .. } if self.values.width(value) == 64 => {
                    self.merged(value, follow)?
                }
                _ => continue,
            };
            if found.is_some() {
                return None;
            }
            found = Some(pointer);
        }
        found
    }

    /// What different pointers that meet point into, if it is the same.
    fn merged(&self, value: ValueId, follow: u32) -> Option<Provenance> {
        let follow = follow.checked_sub(1)?;
        let Value::Phi { .. } = self.ssa.value(value) else {
            return None;
        };
        let mut found = None;
        for &arg in self.ssa.args(value) {
            let form = self.values.affine(arg);
            let repeats = form.terms().iter().any(|t| {
                let symbol = self.values.symbol(t.symbol);
                let is_same = matches!(symbol, Some(Symbol::Value { value: v, .. }) if v == value);
                is_same && t.factor == 1
            });
            if arg == Ssa::UNKNOWN || repeats {
                continue;
            }
            let pointer = self.provenance(&form, follow)?;
            if found.is_some_and(|f| f != pointer) {
                return None;
            }
            found = Some(pointer);
        }
        found
    }
}
