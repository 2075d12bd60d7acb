//! A function with its analyses, for the clean-ups.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::OnceCell;

use ptx_analysis::AnalysisError;
use ptx_analysis::cfg::{BlockId, Cfg};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::graph::Dominators;
use ptx_analysis::provenance::{CallSummaries, FunctionProvenance};
use ptx_analysis::reg_lanes::{VariableId, Variables};
use ptx_analysis::ssa::{Ssa, ValueId};
use ptx_ir::facts::{Facts, Flow, FunctionFacts, ModuleFacts, RegisterComponent};
use ptx_ir::{Body, EntityId, FunctionKind, InstId, Module, RegId, Statement, StmtId};

/// A function with its control-flow graph and its values.
pub(super) struct View<'a> {
    pub(super) function: &'a FunctionAnalysis<'a>,
    pub(super) facts: FunctionFacts<'a>,
    pub(super) cfg: &'a Cfg,
    pub(super) dominators: &'a Dominators<BlockId>,
    pub(super) variables: &'a Variables,
    pub(super) ssa: &'a Ssa,
    /// The calls of the module, which are analyzed when a clean-up needs them.
    calls: &'a OnceCell<Arc<CallSummaries>>,
    /// The position of each statement in the text.
    positions: Vec<u32>,
    /// The provenance of a function that calls or is called.
    provenance: OnceCell<Result<FunctionProvenance, AnalysisError>>,
}

impl<'a> View<'a> {
    pub(super) fn new(
        function: &'a FunctionAnalysis<'a>,
        calls: &'a OnceCell<Arc<CallSummaries>>,
    ) -> Result<Self, AnalysisError> {
        let body = function.body();
        let mut positions = vec![u32::MAX; body.statement_table().len()];
        for (position, (stmt, _)) in (0..).zip(body.statements()) {
            if let Some(slot) = positions.get_mut(stmt.index()) {
                *slot = position;
            }
        }
        Ok(Self {
            function,
            facts: function.facts(),
            cfg: function.cfg(),
            dominators: function.dominators(),
            variables: function.variables(),
            ssa: function.ssa()?,
            calls,
            positions,
            provenance: OnceCell::new(),
        })
    }

    /// The objects and state spaces of addresses, including those that other functions pass.
    pub(super) fn provenance(&self) -> Result<&FunctionProvenance, AnalysisError> {
        if !self.calls_or_is_called() {
            return self.function.provenance();
        }
        let provenance = self.provenance.get_or_init(|| {
            let calls = self
                .calls
                .get_or_init(|| Arc::new(CallSummaries::new(&ModuleFacts::new(self.module()))));
            self.function.with_calls(calls).provenance().cloned()
        });
        provenance.as_ref().map_err(|error| *error)
    }

    fn calls_or_is_called(&self) -> bool {
        let function = self.module().functions().get(self.facts.id());
        let is_entry = function.is_some_and(|f| f.kind == FunctionKind::Entry);
        !is_entry || self.reached().any(|(_, _, f)| f.flow() == Flow::Call)
    }

    pub(super) fn body(&self) -> &'a Body {
        self.facts.body()
    }

    pub(super) fn module(&self) -> &'a Module {
        self.facts.module()
    }

    /// The reachable instructions, in order.
    pub(super) fn reached(&self) -> impl Iterator<Item = (StmtId, InstId, Facts<'a>)> + '_ {
        self.cfg
            .blocks()
            .filter(|(id, _)| self.dominators.is_reachable(*id))
            .flat_map(|(_, block)| self.body().range(block.first, block.end))
            .filter_map(|(stmt, statement)| match statement {
                Statement::Inst(inst) => Some((stmt, inst, self.facts.inst(inst))),
                _ => None,
            })
    }

    /// The instruction of a statement, if it is legal.
    pub(super) fn inst(&self, stmt: StmtId) -> Option<(InstId, Facts<'a>)> {
        match self.body().statement(stmt) {
            Some(Statement::Inst(inst)) => {
                Some((inst, self.facts.inst(inst))).filter(|(_, f)| f.is_known())
            }
            _ => None,
        }
    }

    /// The variable of a register that is one variable.
    pub(super) fn variable(&self, place: RegisterComponent) -> Option<VariableId> {
        self.variables.of(place).single()
    }

    /// The variable of a register that is not a vector.
    pub(super) fn scalar(&self, register: RegId) -> Option<VariableId> {
        self.variable(RegisterComponent::from(register))
    }

    /// The value that a statement reads in a register that is not a vector.
    pub(super) fn read(&self, stmt: StmtId, register: RegId) -> Option<ValueId> {
        self.ssa.read(stmt, self.scalar(register)?)
    }

    /// The statement `a` is before `b` in the text.
    pub(super) fn precedes(&self, a: StmtId, b: StmtId) -> bool {
        self.position(a) < self.position(b)
    }

    /// The position of a statement in the text.
    pub(super) fn position(&self, stmt: StmtId) -> u32 {
        self.positions
            .get(stmt.index())
            .copied()
            .unwrap_or(u32::MAX)
    }

    /// The statement `a` dominates `b` and is another statement.
    pub(super) fn dominates(&self, a: StmtId, b: StmtId) -> bool {
        match (self.cfg.of_statement(a), self.cfg.of_statement(b)) {
            (Some(x), Some(y)) if x == y => self.precedes(a, b),
            (Some(x), Some(y)) => self.dominators.dominates(x, y),
            _ => false,
        }
    }

    /// The name of a register.
    pub(super) fn name(&self, register: RegId) -> String {
        self.body().register_name(self.module(), register)
    }
}
