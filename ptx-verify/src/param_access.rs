//! Parameters of a function are read, its results are written, those of a call are not touched under a guard. Manual 7.1, 9.7.9.8, 9.7.9.11.

use alloc::format;
use alloc::vec::Vec;
use ptx_ir::{
    Binding, Body, Code, EntityId, FuncId, FunctionKind, Inst, Module, Operand, StmtId, Var,
};
use ptx_isa::{Access, Form, StateSpace};

use crate::context::Context;
use crate::inst_spans::Layout;

/// What a parameter is to its function.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Direction {
    Input,
    Output,
}

/// What instructions do to the memory they address.
#[derive(Copy, Clone, Default, Debug)]
pub(crate) struct Effects {
    reads: bool,
    writes: bool,
}

impl Effects {
    /// What the forms of an instruction have in common.
    pub(crate) fn of(forms: &[&Form]) -> Self {
        let access = |wanted: &[Access]| {
            let mut operands = forms.iter().flat_map(|f| f.operands());
            operands.any(|o| wanted.contains(&o.access))
        };
        Self {
            reads: access(&[Access::Read, Access::ReadWrite]),
            writes: access(&[Access::Write, Access::ReadWrite]),
        }
    }
}

/// The parameters of the function at hand.
#[derive(Default, Debug)]
pub(crate) struct Parameters {
    directions: Vec<Option<Direction>>,
}

impl Parameters {
    /// Looks through the interface of a function; a kernel has nothing to look for.
    pub(crate) fn fill(&mut self, module: &Module, id: FuncId, body: &Body) {
        self.directions.clear();
        let function = module.functions().get(id);
        let Some(function) = function.filter(|f| f.kind == FunctionKind::Func) else {
            return;
        };
        let sides = [
            (function.interface.params, Direction::Input),
            (function.interface.returns, Direction::Output),
        ];
        for (range, direction) in sides {
            for param in range.of(module.params()) {
                if let Binding::Var(var) = param.binding {
                    self.directions.resize(body.vars().len(), None);
                    if let Some(entry) = self.directions.get_mut(var.index()) {
                        *entry = Some(direction);
                    }
                }
            }
        }
    }

    /// Reports what is read of the results, or written to the parameters, or done under a guard to those of a call.
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
        let guarded = inst.guard().is_some();
        if self.directions.is_empty() && !guarded || !(effects.reads || effects.writes) {
            return;
        }
        for (nth, &operand) in operands.iter().enumerate() {
            let Operand::Address(id) = operand else {
                continue;
            };
            let base = body.pool().address(id).map(|a| a.base);
            let Some(Operand::Var(var)) = base else {
                continue;
            };
            let direction = self.directions.get(var.index()).copied().flatten();
            let passed = |v: &Var| v.stmt.is_some() && v.space.base() == StateSpace::Param;
            let (what, cannot) = match direction {
                Some(Direction::Input) if effects.writes => {
                    ("a parameter of the function", "written")
                }
                Some(Direction::Output) if effects.reads => ("the result of the function", "read"),
                None if guarded && body.vars().get(var).is_some_and(passed) => {
                    ("a parameter of a call", "read or written under a guard")
                }
                _ => continue,
            };
            let layout = Layout::new(context.module, body.source_span(stmt));
            let span = layout.operands.get(nth).copied().unwrap_or(layout.mnemonic);
            let name = body
                .vars()
                .get(var)
                .map_or("", |v| context.module.name(v.name));
            let message = format!("`{name}` is {what} and cannot be {cannot}");
            context.error(Code::ParameterAccess, span, message);
        }
    }
}
