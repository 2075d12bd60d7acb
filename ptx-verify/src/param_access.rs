//! Accesses of parameters: those of a function are read, its results are written, and those of a call are not accessed
//! under a guard. Manual 7.1, 9.7.9.8, 9.7.9.11.

use alloc::vec::Vec;
use ptx_ir::{Binding, Body, EntityId, FuncId, FunctionKind, Inst, Module, Operand, StmtId, VarId};
use ptx_isa::{Access, Form, StateSpace};

use crate::context::Context;
use crate::location::{Location, Part};
use crate::problem::call::CallProblem;

/// The role of a parameter in its function.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// A parameter, which the function reads.
    Input,
    /// A result, which the function writes.
    Output,
}

/// The accesses of instructions to the memory that they address.
#[derive(Copy, Clone, Default, Debug)]
pub(crate) struct Effects {
    reads: bool,
    writes: bool,
}

impl Effects {
    /// Combines the accesses of all forms of an instruction.
    pub(crate) fn new(forms: &[&Form]) -> Self {
        let has_access = |accesses: &[Access]| {
            forms
                .iter()
                .flat_map(|form| form.operands())
                .any(|operand| accesses.contains(&operand.access()))
        };
        Self {
            reads: has_access(&[Access::Read, Access::ReadWrite]),
            writes: has_access(&[Access::Write, Access::ReadWrite]),
        }
    }
}

/// The parameters and results of one function; empty for a kernel.
#[derive(Clone, Default, Debug)]
pub(crate) struct Parameters {
    /// By variable.
    directions: Vec<Option<Direction>>,
}

impl Parameters {
    /// Reads the interface of a function.
    pub(crate) fn fill(&mut self, module: &Module, id: FuncId, body: &Body) {
        self.directions.clear();
        let function = module.functions().get(id);
        let Some(function) = function.filter(|f| f.kind == FunctionKind::Func) else {
            return;
        };
        let lists = [
            (function.interface.params, Direction::Input),
            (function.interface.returns, Direction::Output),
        ];
        for (range, direction) in lists {
            for param in range.of(module.params()) {
                if let Binding::Var(var) = param.binding {
                    self.directions.resize(body.vars().len(), None);
                    self.declare(var, direction);
                }
            }
        }
    }

    /// Adds a parameter or a result of a function that is not a kernel.
    pub(crate) fn declare(&mut self, var: VarId, direction: Direction) {
        if self.directions.len() <= var.index() {
            self.directions.resize(var.index() + 1, None);
        }
        if let Some(entry) = self.directions.get_mut(var.index()) {
            *entry = Some(direction);
        }
    }

    /// Returns `true` if there are rules about an instruction with these effects.
    #[inline]
    pub(crate) fn has_rules(&self, is_guarded: bool, effects: Effects) -> bool {
        (!self.directions.is_empty() || is_guarded) && (effects.reads || effects.writes)
    }

    /// Reports a result that is read, a parameter that is written, and a parameter of a call under a guard.
    #[inline]
    pub(crate) fn check(
        &self,
        context: &mut Context<'_>,
        body: &Body,
        stmt: StmtId,
        inst: &Inst,
        operands: &[Operand],
        effects: Effects,
    ) {
        let is_guarded = inst.guard().is_some();
        if !self.has_rules(is_guarded, effects) {
            return;
        }
        for (index, &operand) in (0..).zip(operands) {
            let Operand::Address(id) = operand else {
                continue;
            };
            let base = body.pool().address(id).map(|a| a.base);
            let Some(Operand::Var(id)) = base else {
                continue;
            };
            let Some(var) = body.vars().get(id) else {
                continue;
            };
            let direction = self.directions.get(id.index()).copied().flatten();
            let is_call_parameter = var.stmt.is_some() && var.space.base() == StateSpace::Param;
            let problem = match direction {
                Some(Direction::Input) if effects.writes => CallProblem::ParameterWritten(var.name),
                Some(Direction::Output) if effects.reads => CallProblem::ResultRead(var.name),
                None if is_guarded && is_call_parameter => CallProblem::GuardedParameter(var.name),
                _ => continue,
            };
            let location = Location::part(body.source_span(stmt), Part::Operand(index));
            context.report(location, problem);
        }
    }
}
