//! The results of an instruction.

use alloc::vec::Vec;

use ptx_ir::facts::{Facts, MemoryAccess};
use ptx_ir::{InstId, Operand, Statement, StmtId};
use ptx_isa::{Action, Destination, Expr, Length, Modifier, Role, StateSpace};

use super::expression::Scope;
use super::origin::{Known, Origin};
use super::pass::Pass;
use crate::memory_access::Provenance;
use crate::reg_lanes::VariableId;
use crate::ssa::Value;

/// The variables that an instruction writes, with what is known of their values.
pub(super) type Results = Vec<(VariableId, Known)>;

/// The address that an action gives, whatever its operands are.
fn given(action: Action, stmt: StmtId, f: &Facts<'_>) -> Option<Origin> {
    let (object, space, offset) = match action {
        Action::StackAllocate => (
            Some(Provenance::Allocation(stmt)),
            StateSpace::Local,
            Some(0),
        ),
        // A variable of another CTA.
        Action::MapShared if f.has_modifier(Modifier::SharedCluster) => {
            (None, StateSpace::Shared, None)
        }
        _ => return None,
    };
    Some(Origin {
        object,
        space: Some(space),
        is_generic: false,
        is_certain: true,
        offset,
    })
}

impl Pass<'_> {
    pub(super) fn results(&mut self, stmt: StmtId, inst: InstId, f: &Facts<'_>) -> Results {
        let mut found = Results::new();
        if f.is_known() {
            self.known_results(stmt, inst, f, &mut found);
        }
        let uses = self.ssa.uses(stmt).iter();
        let all = uses.fold(Known::Number, |all, of| {
            all.computed_with(self.value(of.value))
        });
        let other = match all {
            Known::Number if f.is_known() => Known::Any,
            Known::Nothing => Known::Nothing,
            _ => Known::Unknown,
        };
        for def in self.ssa.defs(stmt) {
            if let Value::Def { variable, .. } = self.ssa.value(def)
                && !found.iter().any(|(v, _)| *v == variable)
            {
                found.push((variable, other));
            }
        }
        found
    }

    fn known_results(&mut self, stmt: StmtId, inst: InstId, f: &Facts<'_>, found: &mut Results) {
        let Some((form, slots)) = f.form() else {
            return;
        };
        let mut operands = [(Known::Unknown, 64); 12];
        for source in f.sources() {
            if let Some(entry) = operands.get_mut(source.index) {
                *entry = self.source(stmt, f, source.operand);
            }
        }
        match form.action() {
            Some(action @ (Action::ToGeneric | Action::FromGeneric)) => {
                self.converted(inst, f, action, &operands, found);
                return;
            }
            Some(action) if given(action, stmt, f).is_some() => {
                let Some(origin) = given(action, stmt, f) else {
                    return;
                };
                let result = form.operands().iter().position(|o| o.role() == Role::Def);
                let variable = result.and_then(|at| self.written(f, at, 0, 1));
                found.extend(variable.map(|v| (v, Known::Address(origin))));
                return;
            }
            _ => {}
        }
        let Some(computation) = form.computation().filter(|c| !c.is_approximate()) else {
            return;
        };
        let Some(signature) = self.facts.body().inst(inst).map(|i| i.sig) else {
            return;
        };
        let signature = self.facts.module().signature(signature);
        let modifiers: Vec<Modifier> = signature.modifiers().collect();
        let assignments = computation.assignments();
        let assigned: Vec<Expr> = assignments.iter().map(|a| a.value()).collect();
        let elements = self.count(f);
        for element in 0..elements {
            let loaded = self.loaded_element(stmt, f, element, elements);
            for assignment in assignments {
                let Destination::Operand(at) = assignment.target() else {
                    continue;
                };
                let Some(variable) = self.written(f, at.into(), element, elements) else {
                    continue;
                };
                let ty = form.operands().get(usize::from(at)).map(|o| o.ty());
                let ty = ty.and_then(|ty| ty.scalar_type(slots, form));
                let scope = Scope {
                    form,
                    slots,
                    modifiers: &modifiers,
                    operands: &operands,
                    loaded,
                    bits: ty.map_or(64, |ty| ty.bits()),
                    assigned: &assigned,
                };
                found.push((variable, scope.result(&assignment.value())));
            }
        }
    }

    /// What is known of an operand, and the bits of its register.
    fn source(&self, stmt: StmtId, f: &Facts<'_>, operand: Operand) -> (Known, u16) {
        let pool = self.facts.body().pool();
        match operand {
            Operand::Symbol(_) | Operand::Var(_) => (self.variable_address(Some(operand)), 64),
            Operand::Address(id) => {
                let Some(address) = pool.address(id) else {
                    return (Known::Unknown, 64);
                };
                let base = self.variable_address(Some(address.base));
                let offset = address.byte_offset(pool);
                let offset = offset.map_or(Known::Number, Known::Constant);
                (base.plus(offset), 64)
            }
            Operand::Special(_) => (Known::Number, 64),
            Operand::Lane(_, at) if matches!(pool.get(at), Operand::Special(_)) => {
                (Known::Number, 64)
            }
            Operand::Not(_) => (Known::Number, 1),
            _ => {
                let place = f.place(operand);
                let variable = place.and_then(|p| self.analysis.variables().of(p).next());
                let body = self.facts.body();
                let class = variable.and_then(|v| self.analysis.variables().class(body, v));
                let known = match (place, operand) {
                    (None, Operand::Imm(_)) if pool.integer(operand).is_none() => Known::Number,
                    _ => self.register(stmt, f, operand),
                };
                (known, class.map_or(64, |c| c.bits()))
            }
        }
    }

    /// An address that is converted to a generic one, or back.
    fn converted(
        &self,
        inst: InstId,
        f: &Facts<'_>,
        action: Action,
        operands: &[(Known, u16)],
        found: &mut Results,
    ) {
        let conversion = || {
            let signature = self.facts.body().inst(inst)?.sig;
            let signature = self.facts.module().signature(signature);
            // The windows of shared memory have the same addresses.
            let space = signature.state_spaces().next()?.base();
            let source = f
                .operands()
                .find(|o| matches!(o.role, Role::Use | Role::Symbol))?;
            let destination = f.operands().find(|o| o.role == Role::Def)?;
            Some((
                operands.get(source.index)?.0,
                space,
                self.written(f, destination.index, 0, 1)?,
            ))
        };
        let Some((source, space, variable)) = conversion() else {
            return;
        };
        let (object, offset) = match source {
            Known::Nothing => {
                found.push((variable, Known::Nothing));
                return;
            }
            // It is not an address in that space.
            Known::Address(origin)
                if action == Action::FromGeneric && self.is_elsewhere(origin, space) =>
            {
                found.push((variable, source));
                return;
            }
            Known::Address(origin) => (origin.object, origin.offset),
            _ => (None, None),
        };
        let address = Known::Address(Origin {
            object,
            space: Some(space),
            is_generic: action == Action::ToGeneric || space == StateSpace::Global,
            is_certain: true,
            offset,
        });
        found.push((variable, address));
    }

    /// Whether a generic address is certainly in another state space, in a function that does not ask for the state spaces of addresses.
    fn is_elsewhere(&self, origin: Origin, space: StateSpace) -> bool {
        let is_other = |of: StateSpace| of != space && of != StateSpace::Param;
        let asks = |statement| match statement {
            Statement::Inst(inst) => self.facts.inst(inst).action() == Some(Action::TestSpace),
            _ => false,
        };
        let is_known = origin.is_certain && origin.is_generic && origin.space.is_some_and(is_other);
        is_known && !self.facts.body().statements().any(|(_, s)| asks(s))
    }

    /// The number of elements of the first result.
    fn count(&self, f: &Facts<'_>) -> usize {
        let Some((form, _)) = f.form() else { return 1 };
        let first = form.operands().iter().position(|o| o.role() == Role::Def);
        let is_vector = |at: &usize| {
            let operand = form.operands().get(*at);
            operand.is_some_and(|o| o.length() != Length::Scalar)
        };
        match first
            .filter(is_vector)
            .and_then(|index| f.operand(index))
            .map(|o| o.operand)
        {
            Some(Operand::Vector(list)) => self.facts.body().pool().list(list).len(),
            _ => 1,
        }
    }

    /// The variable that holds a result, or an element of it.
    fn written(
        &self,
        f: &Facts<'_>,
        at: usize,
        element: usize,
        elements: usize,
    ) -> Option<VariableId> {
        let (form, _) = f.form()?;
        let operand = match f.operand(at)?.operand {
            // Parts of one result that is divided among registers are not known.
            Operand::Vector(list) if form.operands().get(at)?.length() != Length::Scalar => {
                *self.facts.body().pool().list(list).get(element)?
            }
            Operand::Vector(_) => return None,
            other if elements == 1 => other,
            _ => return None,
        };
        self.analysis.variables().of(f.place(operand)?).single()
    }

    fn loaded_element(
        &mut self,
        stmt: StmtId,
        f: &Facts<'_>,
        element: usize,
        elements: usize,
    ) -> Known {
        let mut reads = f.memory().filter(MemoryAccess::reads);
        let (Some(access), None) = (reads.next(), reads.next()) else {
            return Known::Any;
        };
        let Some(bytes) = access.bytes else {
            return Known::Any;
        };
        let address = self.address(stmt, f, &access);
        self.loaded(stmt, address, element, (elements, bytes))
    }
}
