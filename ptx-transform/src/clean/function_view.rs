//! A function with its analyses, for the clean-ups.

use alloc::string::String;
use alloc::vec::Vec;
use core::cell::OnceCell;

use ptx_analysis::cfg::{BlockId, Cfg};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::graph::Dominators;
use ptx_analysis::provenance::{CallSummaries, FunctionProvenance};
use ptx_analysis::reg_lanes::Variables;
use ptx_analysis::ssa::{Ssa, TooManyPhis, ValueId};
use ptx_analysis::uniformity::FunctionUniformity;
use ptx_analysis::values::Values;
use ptx_ir::facts::{Facts, Flow, FunctionFacts, ModuleFacts, RegLane};
use ptx_ir::{Body, EntityId, FunctionKind, InstId, Module, RegId, Statement, StmtId};

/// A function with its control-flow graph and its values.
pub(super) struct View<'a> {
    pub(super) facts: FunctionFacts<'a>,
    pub(super) cfg: Cfg,
    pub(super) dominators: Dominators<BlockId>,
    pub(super) variables: Variables,
    pub(super) ssa: Ssa,
    calls: &'a OnceCell<CallSummaries>,
    /// The position of each statement.
    order: Vec<u32>,
    analysis: OnceCell<FunctionAnalysis>,
    values: OnceCell<Values>,
    provenance: OnceCell<FunctionProvenance>,
    uniformity: OnceCell<FunctionUniformity>,
}

impl<'a> View<'a> {
    /// For a function of a module with these calls, which are looked at when a clean-up needs them.
    pub(super) fn new(
        facts: FunctionFacts<'a>,
        calls: &'a OnceCell<CallSummaries>,
    ) -> Result<Self, TooManyPhis> {
        let cfg = Cfg::new(facts);
        let dominators = Dominators::new(&cfg);
        let variables = Variables::new(facts.body());
        let ssa = Ssa::new(facts, &cfg, &dominators, &variables)?;
        let mut order = vec![u32::MAX; facts.body().statement_table().len()];
        for (at, (stmt, _)) in (0..).zip(facts.body().statements()) {
            if let Some(slot) = order.get_mut(stmt.index()) {
                *slot = at;
            }
        }
        Ok(Self {
            facts,
            cfg,
            dominators,
            variables,
            ssa,
            calls,
            order,
            analysis: OnceCell::new(),
            values: OnceCell::new(),
            provenance: OnceCell::new(),
            uniformity: OnceCell::new(),
        })
    }

    /// The usual analyses, made when the first clean-up asks for them.
    pub(super) fn analysis(&self) -> &FunctionAnalysis {
        let new = || FunctionAnalysis::new(self.facts);
        self.analysis.get_or_init(new)
    }

    /// Affine forms, intervals and alignment.
    pub(super) fn values(&self) -> &Values {
        let new = || Values::new(self.facts, self.analysis(), &self.ssa);
        self.values.get_or_init(new)
    }

    /// What addresses point into.
    pub(super) fn provenance(&self) -> &FunctionProvenance {
        let all = || CallSummaries::new(&ModuleFacts::new(self.module()));
        let new = || {
            let calls = self
                .calls_or_is_called()
                .then(|| self.calls.get_or_init(all));
            FunctionProvenance::new(self.facts, self.analysis(), &self.ssa, calls)
        };
        self.provenance.get_or_init(new)
    }

    fn calls_or_is_called(&self) -> bool {
        let function = self.module().functions().get(self.facts.id());
        let is_entry = function.is_some_and(|f| f.kind == FunctionKind::Entry);
        !is_entry || self.reached().any(|(_, _, f)| f.flow() == Flow::Call)
    }

    /// In which threads guards and branches are the same.
    pub(super) fn uniformity(&self) -> &FunctionUniformity {
        let new = || FunctionUniformity::new(self.facts);
        self.uniformity.get_or_init(new)
    }

    pub(super) fn body(&self) -> &'a Body {
        self.facts.body()
    }

    pub(super) fn module(&self) -> &'a Module {
        self.facts.module()
    }

    /// The reachable instructions, in order.
    pub(super) fn reached(&self) -> impl Iterator<Item = (StmtId, InstId, Facts<'a>)> + '_ {
        let blocks = self.cfg.blocks();
        let reached = blocks.filter(|(id, _)| self.dominators.is_reachable(*id));
        let statements = reached.flat_map(|(_, b)| self.body().range(b.first, b.end));
        statements.filter_map(|(stmt, statement)| match statement {
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
    pub(super) fn variable(&self, place: RegLane) -> Option<u32> {
        let mut range = self.variables.of(place);
        range.next().filter(|_| range.next().is_none())
    }

    /// The variable of a register that is not a vector.
    pub(super) fn scalar(&self, register: RegId) -> Option<u32> {
        let lane = None;
        self.variable(RegLane { register, lane })
    }

    /// The value that a statement reads in a register that is not a vector.
    pub(super) fn read(&self, stmt: StmtId, register: RegId) -> Option<ValueId> {
        self.ssa.read(stmt, self.scalar(register)?)
    }

    /// Whether one statement is before another in the text.
    pub(super) fn precedes(&self, a: StmtId, b: StmtId) -> bool {
        self.position(a) < self.position(b)
    }

    /// The position of a statement in the text.
    pub(super) fn position(&self, stmt: StmtId) -> u32 {
        let position = self.order.get(stmt.index()).copied();
        position.unwrap_or(u32::MAX)
    }

    /// Whether `a` dominates `b` and is not the same statement.
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
