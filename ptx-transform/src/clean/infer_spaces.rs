//! Address-space inference: accesses through generic addresses name their state space.
//!
//! An access through a generic address that was converted from an address in a state space is an access to that space. It is
//! rewritten to use the original address, if that is still available. A global address is the same number as the generic one
//! (PTX ISA manual 9.7.9.20, 6.4.1: addresses outside of all windows map to global memory), so there the register stays, and the
//! address of a global variable is known to be global, too. Converting such a generic address back is a copy. Addresses that were
//! selected, computed with, passed to functions, or stored on the stack are in a space by their [provenance](ptx_analysis::provenance), with its
//! assumption that a sum stays in its object. Where no register holds the address in the space, the generic one is converted before the
//! first access to it of a block.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::ssa::{Value, ValueId};
use ptx_ir::facts::{Facts, RegAccess, Space};
use ptx_ir::{InstId, Operand, RegId, StmtId, SymbolKind};
use ptx_isa::StateSpace;
use ptx_semantics::internals::{Conversion, conversion, is_copy};

use super::copy_prop::Copies;
use super::definition::Definition;
use super::function_view::View;
use super::rewrite::{AddressOperand, Rewrite, Step};

pub(super) const DEFINITION: Definition = Definition {
    name: "spaces",
    term: "address-space inference",
    summary: "Add the state space to accesses through generic addresses if it is known",
    plan,
    finish: None,
};

/// The longest chain of copies through which an address is followed.
const MAX_COPIES: usize = 16;

/// The address that a generic address was converted from.
struct Origin {
    space: StateSpace,
    /// The address in the space and the statement that read it; `None` if the generic address is the same.
    source: Option<(Operand, StmtId)>,
}

pub(super) fn plan(view: &View<'_>) -> Vec<Step> {
    let plan = Plan {
        view,
        copies: Copies::new(view),
    };
    let (mut steps, mut computed) = (Vec::new(), ComputedAddresses::new());
    for (stmt, inst, facts) in view.reached().filter(|(_, _, facts)| facts.is_known()) {
        match plan.reverse_conversion(stmt, inst) {
            Some(step) => steps.push(step),
            None => steps.extend(plan.access_step(stmt, inst, &facts, &mut computed)),
        }
    }
    for (address, accesses) in computed {
        steps.extend(plan.conversion_step(address, accesses));
    }
    steps
}

/// A generic address in a block that no register holds in its state space.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ComputedAddress {
    block: BlockId,
    register: RegId,
    value: ValueId,
    space: StateSpace,
}

/// The accesses through computed addresses, in the order of the text.
type ComputedAddresses = BTreeMap<ComputedAddress, Vec<AddressOperand>>;

struct Plan<'a> {
    view: &'a View<'a>,
    copies: Copies<'a>,
}

impl Plan<'_> {
    /// The change of an access through a generic address. If the address has to be converted first, adds the access to `computed`
    /// instead.
    fn access_step(
        &self,
        stmt: StmtId,
        inst: InstId,
        facts: &Facts<'_>,
        computed: &mut ComputedAddresses,
    ) -> Option<Step> {
        let mut accesses = facts.memory();
        let (access, None) = (accesses.next()?, accesses.next()) else {
            return None;
        };
        let (Space::Generic, Some(Operand::Reg(register))) = (access.space, access.base) else {
            return None;
        };
        let available_origin = self.origin(stmt, register).and_then(|origin| {
            let base = self.available_address(&origin, register, stmt)?;
            Some((origin.space, base))
        });
        let body = self.view.body();
        let mut operands = body.operands(inst).iter().enumerate();
        let index = operands.find_map(|(index, operand)| match operand {
            Operand::Address(id) => {
                (body.pool().address(*id)?.base == Operand::Reg(register)).then_some(index)
            }
            _ => None,
        })?;
        let (space, base) = match available_origin {
            Some(origin) => origin,
            None => (self.proven_space(stmt)?, Operand::Reg(register)),
        };
        if available_origin.is_none() && space != StateSpace::Global {
            let address = ComputedAddress {
                block: self.view.cfg.of_statement(stmt)?,
                register,
                value: self.view.read(stmt, register)?,
                space,
            };
            let accesses = computed.entry(address).or_default();
            accesses.push(AddressOperand { stmt, index });
            return None;
        }
        let name = self.view.name(register);
        Some(Step {
            stmt,
            rewrite: Rewrite::Space { index, base, space },
            why: format!("{name} is an address in {space}"),
        })
    }

    /// The insertion of a conversion for the accesses of a block, which are in the order of the text.
    fn conversion_step(
        &self,
        address: ComputedAddress,
        accesses: Vec<AddressOperand>,
    ) -> Option<Step> {
        let name = self.view.name(address.register);
        let space = address.space;
        Some(Step {
            stmt: accesses.first()?.stmt,
            rewrite: Rewrite::Convert {
                register: address.register,
                space,
                accesses,
            },
            why: format!("{name} is an address in {space}"),
        })
    }

    /// The state space of the only access of a statement, if its addresses are generic ones and can be converted to it.
    fn proven_space(&self, stmt: StmtId) -> Option<StateSpace> {
        use StateSpace::{Const, Global, Local, Shared};
        let pointer = self.view.provenance().ok()?.access(stmt, 0)?;
        pointer
            .space
            .filter(|space| matches!(space, Global | Shared | Local | Const))
            .filter(|_| pointer.is_generic)
    }

    /// A conversion of a generic address back to the space that it comes from.
    fn reverse_conversion(&self, stmt: StmtId, inst: InstId) -> Option<Step> {
        let (conversion, [target, Operand::Reg(register)]) = self.conversion(stmt, inst)? else {
            return None;
        };
        if conversion.to_generic {
            return None;
        }
        let origin = self.origin(stmt, register)?;
        if origin.space != conversion.space {
            return None;
        }
        let (source, since) = origin.source?;
        let is_available = match source {
            Operand::Reg(from) => self.copies.holds(from, since, stmt),
            _ => true,
        };
        let ty = self.signature(inst)?.types().next()?;
        let (name, space) = (self.view.name(register), conversion.space);
        let why = format!("{name} was converted from an address in {space}");
        let rewrite = Rewrite::Copy { target, source, ty };
        is_available.then_some(Step { stmt, rewrite, why })
    }

    /// The address to use in the space, if it is still available.
    fn available_address(&self, origin: &Origin, register: RegId, stmt: StmtId) -> Option<Operand> {
        match origin.source {
            _ if origin.space == StateSpace::Global => Some(Operand::Reg(register)),
            Some((Operand::Reg(from), since)) => self
                .copies
                .holds(from, since, stmt)
                .then_some(Operand::Reg(from)),
            Some((variable @ (Operand::Var(_) | Operand::Symbol(_)), _)) => Some(variable),
            _ => None,
        }
    }

    /// The address that the generic address in a register, which a statement reads, was converted from.
    fn origin(&self, mut stmt: StmtId, mut register: RegId) -> Option<Origin> {
        for _ in 0..MAX_COPIES {
            let value = self.view.read(stmt, register)?;
            let definition = match self.view.ssa.value(value) {
                Value::Def {
                    stmt, old: None, ..
                } => stmt,
                _ => return None,
            };
            if let Some(pair) = self.copies.pair(definition).filter(|p| p.to == register) {
                (stmt, register) = (definition, pair.from);
                continue;
            }
            let (inst, _) = self.view.inst(definition)?;
            if let Some((conversion, [_, source])) = self.conversion(definition, inst) {
                return conversion.to_generic.then_some(Origin {
                    space: conversion.space,
                    source: Some((source, definition)),
                });
            }
            return self.global_variable(inst);
        }
        None
    }

    /// The global variable whose address an instruction copies.
    fn global_variable(&self, inst: InstId) -> Option<Origin> {
        let signature = self.signature(inst)?;
        let body = self.view.body();
        let [_, source] = body.operands(inst) else {
            return None;
        };
        let source = match *source {
            Operand::Address(id) => body.pool().address(id)?.base,
            operand => operand,
        };
        let module = self.view.module();
        let space = match source {
            Operand::Var(id) => body.vars().get(id)?.space,
            Operand::Symbol(id) => match module.symbols().get(id)?.kind {
                SymbolKind::Variable(_, id) => module.declarations().decls.get(id)?.space,
                _ => return None,
            },
            _ => return None,
        };
        let is_global = space == StateSpace::Global && is_copy(signature.opcode()?);
        is_global.then_some(Origin {
            space,
            source: None,
        })
    }

    /// The conversion of an address that an instruction without a guard executes, with the result and the source of the instruction.
    fn conversion(&self, stmt: StmtId, inst: InstId) -> Option<(Conversion, [Operand; 2])> {
        let (_, facts) = self.view.inst(stmt)?;
        let signature = self.signature(inst)?;
        let modifiers: Vec<_> = signature.modifiers().collect();
        let conversion = conversion(signature.opcode()?, &modifiers)?;
        let mut parts = facts.parts();
        match (parts.next()?, parts.next()?, parts.next()) {
            ((to @ Operand::Reg(_), RegAccess::Write), (from, RegAccess::Read), None) => {
                facts.guard().is_none().then_some((conversion, [to, from]))
            }
            _ => None,
        }
    }

    fn signature(&self, inst: InstId) -> Option<ptx_ir::Signature<'_>> {
        let sig = self.view.body().inst(inst)?.sig;
        Some(self.view.module().signature(sig))
    }
}
