//! A function with its analyses, for the clean-ups.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_analysis::cfg::{BlockId, Cfg};
use ptx_analysis::graph::Dominators;
use ptx_analysis::reg_lanes::Variables;
use ptx_analysis::ssa::{Ssa, TooManyPhis, ValueId};
use ptx_ir::facts::{Facts, FunctionFacts, RegLane};
use ptx_ir::{Body, EntityId, InstId, Module, RegId, Statement, StmtId};

/// A function with its control-flow graph and its values.
pub(super) struct View<'a> {
    pub(super) facts: FunctionFacts<'a>,
    pub(super) cfg: Cfg,
    pub(super) dominators: Dominators<BlockId>,
    pub(super) variables: Variables,
    pub(super) ssa: Ssa,
    /// The position of each statement.
    order: Vec<u32>,
}

impl<'a> View<'a> {
    pub(super) fn new(facts: FunctionFacts<'a>) -> Result<Self, TooManyPhis> {
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
            order,
        })
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
        let at = |s: StmtId| self.order.get(s.index()).copied().unwrap_or(u32::MAX);
        at(a) < at(b)
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
