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
use ptx_semantics::fold::{Conversion, conversion, is_copy};

use super::copy_prop::Copies;
use super::definition::Definition;
use super::function_view::View;
use super::rewrite::{Rewrite, Step};

pub(super) const DEFINITION: Definition = Definition {
    name: "spaces",
    term: "address-space inference",
    summary: "Add the state space to accesses through generic addresses if it is known",
    plan,
    finish: None,
};

/// The longest chain of copies that an address is followed through.
const CHAIN: usize = 16;

/// What a generic address was converted from.
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
    let known = view.reached().filter(|(_, _, f)| f.is_known());
    let (mut steps, mut computed) = (Vec::new(), Computed::new());
    for (stmt, inst, f) in known {
        match plan.back(stmt, inst) {
            Some(step) => steps.push(step),
            None => steps.extend(plan.access(stmt, inst, &f, &mut computed)),
        }
    }
    steps.extend(
        computed
            .into_iter()
            .map(|(at, accesses)| plan.converted(at, accesses)),
    );
    steps
}

/// The accesses through computed addresses that no register holds in their space: by block, register, its value and the space.
type Computed = BTreeMap<(BlockId, RegId, ValueId, StateSpace), Vec<(StmtId, usize)>>;

struct Plan<'a> {
    view: &'a View<'a>,
    copies: Copies<'a>,
}

impl Plan<'_> {
    /// An access through a generic address.
    fn access(
        &self,
        stmt: StmtId,
        inst: InstId,
        f: &Facts<'_>,
        computed: &mut Computed,
    ) -> Option<Step> {
        let mut accesses = f.memory();
        let (access, None) = (accesses.next()?, accesses.next()) else {
            return None;
        };
        let (Space::Generic, Some(Operand::Reg(register))) = (access.space, access.base) else {
            return None;
        };
        let converted = self.origin(stmt, register);
        let converted =
            converted.and_then(|o| Some((o.space, self.available(&o, register, stmt)?)));
        let body = self.view.body();
        let mut operands = body.operands(inst).iter().enumerate();
        let index = operands.find_map(|(i, o)| match o {
            Operand::Address(id) => {
                (body.pool().address(*id)?.base == Operand::Reg(register)).then_some(i)
            }
            _ => None,
        })?;
        let (space, base) = match converted {
            Some(known) => known,
            None => (self.proven(stmt)?, Operand::Reg(register)),
        };
        if converted.is_none() && space != StateSpace::Global {
            let at = (
                self.view.cfg.of_statement(stmt)?,
                register,
                self.view.read(stmt, register)?,
                space,
            );
            computed.entry(at).or_default().push((stmt, index));
            return None;
        }
        let name = self.view.name(register);
        Some(Step {
            stmt,
            act: Rewrite::Space { index, base, space },
            why: format!("{name} is an address in {space}"),
        })
    }

    /// A conversion for the accesses of a block, which are in the order of the text.
    fn converted(
        &self,
        (_, register, _, space): (BlockId, RegId, ValueId, StateSpace),
        accesses: Vec<(StmtId, usize)>,
    ) -> Step {
        let name = self.view.name(register);
        Step {
            stmt: accesses[0].0,
            act: Rewrite::Convert {
                register,
                space,
                accesses,
            },
            why: format!("{name} is an address in {space}"),
        }
    }

    /// The state space of the only access of a statement, if its addresses are generic ones and can be converted to it.
    fn proven(&self, stmt: StmtId) -> Option<StateSpace> {
        use StateSpace::{Const, Global, Local, Shared};
        let pointer = self.view.provenance().ok()?.access(stmt, 0)?;
        let space = pointer
            .space
            .filter(|s| matches!(s, Global | Shared | Local | Const));
        space.filter(|_| pointer.is_generic)
    }

    /// A conversion of a generic address back to the space that it comes from.
    fn back(&self, stmt: StmtId, inst: InstId) -> Option<Step> {
        let (made, [target, Operand::Reg(register)]) = self.conversion(stmt, inst)? else {
            return None;
        };
        let origin = (!made.to_generic).then(|| self.origin(stmt, register))??;
        if origin.space != made.space || origin.source.is_none() {
            return None;
        }
        let (source, since) = origin.source?;
        let holds = match source {
            Operand::Reg(from) => self.copies.holds(from, since, stmt),
            _ => true,
        };
        let ty = self.signature(inst)?.types().next()?;
        let (name, space) = (self.view.name(register), made.space);
        let why = format!("{name} was converted from an address in {space}");
        let act = Rewrite::Copy { target, source, ty };
        holds.then_some(Step { stmt, act, why })
    }

    /// The address to use in the space, if it is still available.
    fn available(&self, origin: &Origin, register: RegId, stmt: StmtId) -> Option<Operand> {
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

    /// What the generic address that a statement reads in a register was converted from.
    fn origin(&self, mut stmt: StmtId, mut register: RegId) -> Option<Origin> {
        for _ in 0..CHAIN {
            let value = self.view.read(stmt, register)?;
            let made = match self.view.ssa.value(value) {
                Value::Def {
                    stmt, old: None, ..
                } => stmt,
                _ => return None,
            };
            if let Some(pair) = self.copies.pair(made).filter(|p| p.to == register) {
                (stmt, register) = (made, pair.from);
                continue;
            }
            let (inst, _) = self.view.inst(made)?;
            if let Some((conversion, [_, source])) = self.conversion(made, inst) {
                return conversion.to_generic.then_some(Origin {
                    space: conversion.space,
                    source: Some((source, made)),
                });
            }
            return self.global(inst);
        }
        None
    }

    /// A copy of the address of a global variable.
    fn global(&self, inst: InstId) -> Option<Origin> {
        let signature = self.signature(inst)?;
        let body = self.view.body();
        let [_, source] = body.operands(inst) else {
            return None;
        };
        let source = match *source {
            Operand::Address(id) => body.pool().address(id)?.base,
            other => other,
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
        let global = space == StateSpace::Global && is_copy(signature.opcode()?);
        global.then_some(Origin {
            space,
            source: None,
        })
    }

    /// What an instruction without a guard converts: its result and its source.
    fn conversion(&self, stmt: StmtId, inst: InstId) -> Option<(Conversion, [Operand; 2])> {
        let (_, f) = self.view.inst(stmt)?;
        let signature = self.signature(inst)?;
        let modifiers: Vec<_> = signature.modifiers().collect();
        let made = conversion(signature.opcode()?, &modifiers)?;
        let mut parts = f.parts();
        match (parts.next()?, parts.next()?, parts.next()) {
            ((to @ Operand::Reg(_), RegAccess::Write), (from, RegAccess::Read), None) => {
                f.guard().is_none().then_some((made, [to, from]))
            }
            _ => None,
        }
    }

    fn signature(&self, inst: InstId) -> Option<ptx_ir::Signature<'_>> {
        let sig = self.view.body().inst(inst)?.sig;
        Some(self.view.module().signature(sig))
    }
}
