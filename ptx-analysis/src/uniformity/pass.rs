//! The values of one function.

use alloc::vec::Vec;
use core::ops::Range;

use ptx_ir::facts::RegLane;
use ptx_ir::facts::{Flow, FunctionFacts};
use ptx_ir::{Binding, EntityId as _, Operand, Statement, StmtId, VarId};
use ptx_isa::Uniformity;

use super::barriers::Barriers;
use super::blocks::executions;
use super::cells::Cells;
use super::context::Context;
use super::control::{Changes, Control};
use super::function::Callees;
use super::graphs::Graphs;
use super::lane_values::LaneValues;
use super::phases::Phases;
use super::visible::Visible;
use super::words::{self, Words};
use crate::cfg::{BlockId, Cfg};
use crate::function_analysis::FunctionAnalysis;
use crate::graph::Csr;
use crate::reg_lanes::Variables;
use crate::ssa::{Ssa, Value, ValueId};
use crate::threads::ThreadValues;

/// How often what barriers compute is looked at again, since it depends on which threads come there; then nothing is known of it.
const ROUNDS: u32 = 16;

/// What has to be looked at again.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Item {
    Statement(StmtId),
    Phi(ValueId),
}

/// Works out the values of a function.
pub(super) struct Pass<'a> {
    pub(super) facts: FunctionFacts<'a>,
    pub(super) graphs: &'a Graphs<'a>,
    pub(super) variables: &'a Variables,
    pub(super) ssa: &'a Ssa,
    pub(super) context: &'a Context,
    pub(super) callees: &'a Callees<'a>,
    pub(super) control: Control<'a>,
    pub(super) cells: Cells,
    /// Values in single threads, if likely sizes of CTAs are assumed.
    pub(super) threads: Option<ThreadValues<'a>>,
    pub(super) values: Vec<Uniformity>,
    pub(super) lanes: LaneValues,
    pub(super) branches: Vec<Uniformity>,
    pub(super) executions: Vec<Uniformity>,
    /// The block of each statement; of dispatch blocks nothing.
    blocks: Vec<Option<BlockId>>,
    readers: Csr,
    phis: Csr<ValueId>,
    /// What reads a value after a loop around its definition.
    crossing: Vec<Item>,
    /// Whether threads leave a loop at different times, since these were looked at.
    loops_changed: bool,
    pub(super) phases: Phases,
    pub(super) visible: Visible,
    barriers: Barriers,
    /// Statements whose results depend on whether all threads of the CTA execute them.
    pub(super) collective: Vec<StmtId>,
    work: Vec<Item>,
    /// Whether each statement, and each value as a phi, is in `work`.
    waiting: [Vec<bool>; 2],
}

impl<'a> Pass<'a> {
    pub(super) fn new(
        function: &'a FunctionAnalysis<'a>,
        graphs: &'a Graphs<'a>,
        ssa: &'a Ssa,
        context: &'a Context,
        callees: &'a Callees<'a>,
    ) -> Self {
        let (facts, variables) = (function.facts(), function.variables());
        let statements = facts.body().statement_table().len();
        let mut blocks = vec![None; statements];
        for (id, block) in graphs.cfg.blocks() {
            for (stmt, _) in facts.body().range(block.first, block.end) {
                blocks[stmt.index()] = Some(id);
            }
        }
        let mut pass = Self {
            facts,
            graphs,
            variables,
            ssa,
            context,
            callees,
            control: Control::new(graphs),
            cells: Cells::new(facts, graphs, context),
            threads: context
                .is_optimistic
                .then(|| ThreadValues::with_cells(facts, variables, ssa, &context.cells)),
            values: vec![Uniformity::Grid; ssa.len()],
            lanes: LaneValues::new(context, ssa.len()),
            branches: vec![Uniformity::Grid; graphs.cfg.len()],
            executions: vec![context.entry; graphs.cfg.len()],
            blocks,
            readers: Csr::new(0, core::iter::empty()),
            phis: Csr::new(0, core::iter::empty()),
            crossing: Vec::new(),
            loops_changed: false,
            phases: Phases::new(facts, graphs, context),
            visible: Visible::new(facts, graphs, context, callees),
            barriers: Barriers::new(facts, graphs, context, callees),
            collective: Vec::new(),
            work: Vec::new(),
            waiting: [vec![false; statements], vec![false; ssa.len()]],
        };
        pass.find_readers();
        pass
    }

    /// The block of a statement that the entry reaches.
    pub(super) fn block(&self, stmt: StmtId) -> Option<BlockId> {
        let block = self.blocks.get(stmt.index()).copied().flatten()?;
        self.graphs.dominators.is_reachable(block).then_some(block)
    }

    /// The block that makes a value.
    pub(super) fn made(&self, value: ValueId) -> Option<BlockId> {
        match self.ssa.value(value) {
            Value::Def { stmt, .. } => self.blocks.get(stmt.index()).copied().flatten(),
            Value::Phi { block, .. } => Some(block),
            Value::Entry { .. } => Some(Cfg::ENTRY),
            Value::Unknown => None,
        }
    }

    fn find_readers(&mut self) {
        let ssa = self.ssa;
        let mut readers: Vec<(u32, u32)> = Vec::new();
        let mut phis = Vec::new();
        let mut crossing = Vec::new();
        let mut cross = |made: Option<BlockId>, used: Option<BlockId>, item| {
            let around = made.and_then(|b| self.graphs.loops.innermost(b));
            if let (Some(around), Some(used)) = (around, used)
                && !self.graphs.loops.contains(around, used)
            {
                crossing.push(item);
            }
        };
        for of in ssa.all_uses() {
            readers.push((of.value.as_u32(), of.stmt.as_u32()));
            cross(
                self.made(of.value),
                self.block(of.stmt),
                Item::Statement(of.stmt),
            );
        }
        for (id, value) in ssa.values() {
            match value {
                Value::Def {
                    stmt,
                    old: Some(old),
                    ..
                } => {
                    readers.push((old.as_u32(), stmt.as_u32()));
                    cross(self.made(old), self.block(stmt), Item::Statement(stmt));
                }
                Value::Phi { block, .. } => {
                    for arg in ssa.args(id) {
                        phis.push((arg.as_u32(), id));
                        cross(self.made(*arg), Some(block), Item::Phi(id));
                    }
                }
                _ => {}
            }
        }
        self.crossing = crossing;
        self.readers = Csr::new(ssa.len(), readers.iter().copied());
        self.phis = Csr::new(ssa.len(), phis.iter().copied());
    }

    /// Works out everything.
    pub(super) fn run(&mut self) {
        self.start();
        for round in 0.. {
            self.sweep();
            let found = executions(
                self.graphs,
                &self.control,
                &self.branches,
                self.context.entry,
            );
            let disturbed = self.look_at_memory(round < ROUNDS, &found);
            if found == self.executions && disturbed.is_empty() {
                return;
            }
            for load in disturbed {
                self.push(Item::Statement(load));
            }
            self.executions = found;
            for stmt in core::mem::take(&mut self.collective) {
                match round < ROUNDS {
                    true => self.push(Item::Statement(stmt)),
                    false => self.forget(stmt),
                }
            }
        }
    }

    /// Looks again at what loads see, now that it is known which threads execute blocks; gives the loads that may see more.
    fn look_at_memory(&mut self, goes_on: bool, executions: &[Uniformity]) -> Vec<StmtId> {
        if !goes_on {
            let mut loads = self.phases.give_up();
            loads.extend(self.visible.give_up());
            return loads;
        }
        let meeting = self.barriers.meeting(executions);
        let mut loads = self.phases.update(self.graphs, &self.branches, &meeting);
        loads.extend(self.visible.update(self.graphs, &meeting));
        loads
    }

    /// The values that exist before the function begins, and each statement once.
    fn start(&mut self) {
        let params = self.context.params(self.facts);
        let mut at_start: Vec<(u32, Uniformity)> = Vec::new();
        for (param, words) in words::numbered(self.facts.module(), params) {
            let Binding::Register(decl) = param.binding else {
                continue;
            };
            let levels = self.context.arguments.get(words).unwrap_or_default();
            let level = levels
                .iter()
                .copied()
                .fold(Uniformity::Grid, Uniformity::join);
            for (register, _) in self
                .facts
                .body()
                .registers()
                .iter()
                .filter(|(_, r)| r.decl == decl)
            {
                at_start.extend(self.variables.of(register.into()).map(|v| (v, level)));
            }
        }
        for (id, value) in self.ssa.values() {
            let level = match value {
                Value::Unknown => self.context.unknown(),
                // What a variable in local memory holds before something is stored to it is not considered.
                Value::Entry { variable } if variable > self.ssa.carry() => Uniformity::Grid,
                Value::Entry { variable } => {
                    let param = at_start.iter().find(|(v, _)| *v == variable);
                    // What other registers hold is undefined.
                    param.map_or(self.context.unknown(), |(_, level)| *level)
                }
                _ => continue,
            };
            self.values[id.as_u32() as usize] = level;
        }
        let graphs = self.graphs;
        for &block in graphs.order.order() {
            for phi in self.ssa.phis(block) {
                self.phi(phi);
            }
            if let Some(of) = graphs.cfg.block(block) {
                for (stmt, _) in self.facts.body().range(of.first, of.end) {
                    self.statement(stmt);
                }
            }
            self.branch(block);
        }
    }

    /// Looks at all that changed.
    fn sweep(&mut self) {
        while let Some(item) = self.next_item() {
            match item {
                Item::Statement(stmt) => {
                    self.waiting[0][stmt.index()] = false;
                    self.statement(stmt);
                    if let Some(block) = self.block(stmt)
                        && self.last(block) == Some(stmt)
                    {
                        self.branch(block);
                    }
                }
                Item::Phi(phi) => {
                    self.waiting[1][phi.as_u32() as usize] = false;
                    self.phi(phi);
                }
            }
        }
    }

    fn next_item(&mut self) -> Option<Item> {
        if self.work.is_empty() && core::mem::take(&mut self.loops_changed) {
            for at in 0..self.crossing.len() {
                self.push(self.crossing[at]);
            }
        }
        self.work.pop()
    }

    fn push(&mut self, item: Item) {
        let waiting = match item {
            Item::Statement(stmt) => self.waiting[0].get_mut(stmt.index()),
            Item::Phi(phi) => self.waiting[1].get_mut(phi.as_u32() as usize),
        };
        if let Some(waiting @ false) = waiting {
            *waiting = true;
            self.work.push(item);
        }
    }

    /// Nothing is known of what a statement makes.
    fn forget(&mut self, stmt: StmtId) {
        for def in self.ssa.defs(stmt) {
            self.lanes.forget(def);
            self.raise(def, Uniformity::Varying);
            self.notify(def);
        }
    }

    /// A value is the same in fewer threads.
    pub(super) fn raise(&mut self, id: ValueId, level: Uniformity) {
        let Some(of) = self
            .values
            .get_mut(id.as_u32() as usize)
            .filter(|of| **of < level)
        else {
            return;
        };
        *of = level;
        self.notify(id);
    }

    /// What reads a value has to be looked at again.
    pub(super) fn notify(&mut self, id: ValueId) {
        for at in 0..self.readers.row(id.as_u32()).len() {
            if let Some(&stmt) = self.readers.row(id.as_u32()).get(at) {
                self.push(Item::Statement(StmtId::new(stmt)));
            }
        }
        for at in 0..self.phis.row(id.as_u32()).len() {
            if let Some(&phi) = self.phis.row(id.as_u32()).get(at) {
                self.push(Item::Phi(phi));
            }
        }
    }

    /// A word of a variable in `.param` gets a value.
    pub(super) fn store(&mut self, word: usize, level: Uniformity) {
        let Some(cell) = self.cells.get_mut(word).filter(|c| c.level < level) else {
            return;
        };
        cell.level = level;
        for stmt in cell.loads.clone() {
            self.push(Item::Statement(stmt));
        }
    }

    /// In which threads a value is the same where a block reads it.
    pub(super) fn read(&self, value: ValueId, block: BlockId) -> Uniformity {
        let level = self.values.get(value.as_u32() as usize).copied();
        let level = level.unwrap_or(Uniformity::Varying);
        match self.made(value) {
            Some(made) if level < Uniformity::Varying && made != block => {
                level.join(self.control.temporal(made, block))
            }
            _ => level,
        }
    }

    fn phi(&mut self, id: ValueId) {
        let Value::Phi { block, .. } = self.ssa.value(id) else {
            return;
        };
        let mut level = self.control.join(block);
        let args = self.ssa.args(id);
        let edges = self.graphs.cfg.in_edges(block);
        let sources = edges.map(|(_, e)| self.graphs.dominators.is_reachable(e.from));
        for (arg, reachable) in args.iter().zip(sources.chain(core::iter::once(true))) {
            if reachable {
                level = level.join(self.read(*arg, block));
            }
        }
        let level = self.refined_phi((id, block), level);
        self.raise(id, level);
    }

    /// The last instruction of a block.
    pub(super) fn last(&self, block: BlockId) -> Option<StmtId> {
        let block = self.graphs.cfg.block(block)?;
        let mut range = self.facts.body().range(block.first, block.end).rev();
        let last = range.find(|(_, s)| matches!(s, Statement::Inst(_) | Statement::Opaque(_)));
        last.map(|(stmt, _)| stmt)
    }

    /// In which threads a block goes on to the same place.
    fn branch(&mut self, block: BlockId) {
        let level = self.choice(block);
        let at = block.as_u32() as usize;
        if self.branches[at] >= level {
            return;
        }
        self.branches[at] = level;
        let changes = self.control.diverge(block, level);
        self.apply(&changes);
        for to in self.graphs.cfg.successors(block) {
            let is_dispatch = self.graphs.cfg.block(*to).is_some_and(|b| b.is_dispatch);
            if is_dispatch && self.branches[to.as_u32() as usize] < level {
                self.branch(*to);
            }
        }
    }

    fn apply(&mut self, changes: &Changes) {
        for &block in &changes.joins {
            for phi in self.ssa.phis(block) {
                self.push(Item::Phi(phi));
            }
        }
        for block in &changes.split {
            if let Some(of) = self.graphs.cfg.block(*block).copied() {
                for (stmt, _) in self.facts.body().range(of.first, of.end) {
                    self.push(Item::Statement(stmt));
                }
            }
        }
        self.loops_changed |= changes.loops;
    }

    /// In which threads what decides how a block goes on is the same.
    fn choice(&mut self, block: BlockId) -> Uniformity {
        let Some(of) = self.graphs.cfg.block(block) else {
            return Uniformity::Varying;
        };
        if of.is_dispatch {
            let before = self.graphs.cfg.predecessors(block).iter();
            let levels = before.map(|b| self.branches[b.as_u32() as usize]);
            return levels.fold(Uniformity::Grid, Uniformity::join);
        }
        let ways = self.graphs.cfg.successors(block).len() + usize::from(of.exits);
        let goes_on_alone = self.graphs.cfg.successors(block).iter().any(|to| {
            let to = self.graphs.cfg.block(*to);
            to.is_some_and(|b| b.is_dispatch)
        });
        if ways < 2 && !goes_on_alone {
            return Uniformity::Grid;
        }
        let Some(stmt) = self.last(block) else {
            return Uniformity::Grid;
        };
        let Some(Statement::Inst(inst)) = self.facts.body().statement(stmt) else {
            return Uniformity::Varying;
        };
        let facts = self.facts.inst(inst);
        if facts.flow() == Flow::Unknown {
            return Uniformity::Varying;
        }
        let mut level = self.sources(stmt, block).join(self.specials(inst, block));
        if let Some(threads) = self.threads.as_mut().filter(|_| level > Uniformity::Grid)
            && let Some(guard) = threads.guard(stmt, &facts)
        {
            level = level.min(threads.uniformity(&guard));
        }
        match facts.is_uniform() {
            // The active threads of a warp go the same way.
            true => level.min(Uniformity::Warp),
            false => level,
        }
    }

    /// In which threads an operand of a statement is the same.
    pub(super) fn argument(&self, stmt: StmtId, block: BlockId, operand: Operand) -> Uniformity {
        match operand {
            Operand::Var(var) => self.variable(var, block),
            Operand::Reg(_) | Operand::Lane(..) => {
                let Some(Statement::Inst(inst)) = self.facts.body().statement(stmt) else {
                    return Uniformity::Varying;
                };
                let of = self.facts.inst(inst);
                let Some(place) = of.place(operand) else {
                    return self.specials(inst, block);
                };
                self.place(stmt, place, block)
            }
            Operand::Small(_) | Operand::Imm(_) => Uniformity::Grid,
            _ => Uniformity::Varying,
        }
    }

    /// In which threads a register that a statement reads is the same.
    pub(super) fn place(&self, stmt: StmtId, place: RegLane, block: BlockId) -> Uniformity {
        let read = |variable| {
            let value = self.ssa.read(stmt, variable);
            value.map_or(Uniformity::Varying, |value| self.read(value, block))
        };
        let levels = self.variables.of(place).map(read);
        levels.fold(Uniformity::Grid, Uniformity::join)
    }

    /// In which threads a variable in `.param` is the same where a block reads it.
    pub(super) fn variable(&self, var: VarId, block: BlockId) -> Uniformity {
        match self.cells.are_read_only() {
            true => Uniformity::Grid,
            false => self.words_level(self.cells.words(var), block),
        }
    }

    /// In which threads words of variables in `.param` are the same where a block reads them.
    pub(super) fn words_level(&self, words: Range<usize>, block: BlockId) -> Uniformity {
        let mut level = Uniformity::Grid;
        for cell in words.filter_map(|word| self.cells.get(word)) {
            level = level.join(cell.level);
            for made in cell.stores() {
                level = level.join(self.control.temporal(made, block));
            }
        }
        level
    }

    /// In which threads the words of an argument are the same.
    pub(super) fn words(&self, stmt: StmtId, block: BlockId, operand: Operand) -> Words {
        let Operand::Var(var) = operand else {
            return Words::all(self.argument(stmt, block, operand));
        };
        let words = self.cells.words(var);
        let level = |word| self.words_level(word..word + 1, block);
        Words {
            first: words.map(level).collect(),
            // Nothing is stored to others.
            rest: Uniformity::Grid,
        }
    }
}
