//! The predicates that are known to be true or false in a block.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_analysis::cfg::{BlockId, Edge};
use ptx_analysis::ssa::{Ssa, ValueId};
use ptx_ir::{InstId, Statement, StmtId};

use crate::context::FunctionContext;

/// The maximum number of branches before a block that are considered.
const MOST_BRANCHES: usize = 16;

/// A predicate with its value.
pub(super) type Condition = (ValueId, bool);

/// The conditions of blocks, edges and guards.
pub(super) struct Conditions<'a> {
    cx: &'a FunctionContext<'a>,
    ssa: &'a Ssa,
    of_blocks: BTreeMap<BlockId, Vec<Condition>>,
}

impl<'a> Conditions<'a> {
    pub(super) fn new(cx: &'a FunctionContext<'a>, ssa: &'a Ssa) -> Self {
        Self {
            cx,
            ssa,
            of_blocks: BTreeMap::new(),
        }
    }

    /// The guard of an instruction as a condition.
    pub(super) fn guard(&self, stmt: StmtId, inst: InstId) -> Option<Condition> {
        let (place, negated) = self.cx.facts().inst(inst).guard_register()?;
        let variable = self.cx.analysis().variables().of(place).next()?;
        Some((self.ssa.read(stmt, variable)?, !negated))
    }

    /// The conditions that hold when a statement is executed, including its guard.
    pub(super) fn at(&mut self, stmt: StmtId) -> Vec<Condition> {
        let block = self.cx.cfg().of_statement(stmt);
        let mut all = block.map_or(Vec::new(), |block| self.of_block(block).to_vec());
        if let Some(Statement::Inst(inst)) = self.cx.body().statement(stmt) {
            all.extend(self.guard(stmt, inst));
        }
        all
    }

    /// The conditions that hold when an edge is taken.
    pub(super) fn along(&mut self, edge: &Edge) -> Vec<Condition> {
        let mut all = self.of_block(edge.from).to_vec();
        all.extend(self.of_edge(edge));
        all
    }

    /// The conditions that hold in a block, from the branches to it and to its dominators.
    fn of_block(&mut self, block: BlockId) -> &[Condition] {
        if !self.of_blocks.contains_key(&block) {
            let found = self.find(block);
            self.of_blocks.insert(block, found);
        }
        self.of_blocks.get(&block).map_or(&[], |found| found)
    }

    fn find(&self, block: BlockId) -> Vec<Condition> {
        let mut found = Vec::new();
        let mut next = Some(block);
        for _ in 0..MOST_BRANCHES {
            let Some(block) = next else { break };
            let mut edges = self.cx.cfg().in_edges(block);
            if let (Some((_, edge)), None) = (edges.next(), edges.next()) {
                found.extend(self.of_edge(edge));
            }
            next = self.cx.analysis().idom(block);
        }
        found
    }

    /// The condition of a branch.
    fn of_edge(&self, edge: &Edge) -> Option<Condition> {
        let holds = edge.when?;
        let block = self.cx.cfg().block(edge.from)?;
        let statements = self.cx.body().range(block.first, block.end);
        let mut last = statements.filter_map(|(stmt, statement)| match statement {
            Statement::Inst(inst) => Some((stmt, inst)),
            _ => None,
        });
        let (stmt, inst) = last.next_back()?;
        let (value, _) = self.guard(stmt, inst)?;
        Some((value, holds))
    }
}

/// Whether two lists of conditions cannot both hold.
pub(super) fn exclude(some: &[Condition], others: &[Condition]) -> bool {
    let opposite = |(value, holds): &Condition| others.contains(&(*value, !holds));
    some.iter().any(opposite)
}
