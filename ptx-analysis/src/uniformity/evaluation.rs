//! The evaluation of a function: the uniformity of its values, branches and blocks, and what has to be evaluated again.
//!
//! ```text
//!            ┌──────────────────────────────────────────────┐
//!            ▼                                              │ values changed
//!   values: sparse solver ──▶ branches ──▶ control: phis, loops, lanes that are apart
//!            │ fixed point                       (an inner round)
//!            ▼
//!   executions of blocks ──▶ barriers where the CTA meets ──▶ loads, collective instructions
//!            ▲                                              │ less uniform
//!            └──────────────────────────────────────────────┘
//!                       (an outer round; at most MAX_ROUNDS)
//! ```

use alloc::vec::Vec;
use core::ops::Range;

use ptx_dataflow::internals::{Bounds, Item, SsaGraph};
use ptx_ir::facts::{Facts, Flow, FunctionFacts, RegisterComponent};
use ptx_ir::{Binding, InstId, Operand, Statement, StmtId, VarId};
use ptx_isa::Uniformity;

use super::barriers::Barriers;
use super::blocks::executions;
use super::cells::Cells;
use super::context::{Callees, Context};
use super::control::{Changes, Control};
use super::graphs::Graphs;
use super::lane_bits::LaneValues;
use super::phases::Phases;
use super::visible::Visible;
use super::words::{self, Words};
use crate::cfg::{BlockId, Cfg};
use crate::dataflow::SparseSolver;
use crate::function_analysis::FunctionAnalysis;
use crate::reg_lanes::{VariableId, Variables};
use crate::ssa::{Ssa, Value, ValueId};
use crate::threads::ThreadValues;

/// The maximum number of outer rounds. After that, nothing is assumed about loads and about results that depend on which threads execute a block.
const MAX_ROUNDS: u32 = 16;

/// An instruction that is evaluated.
#[derive(Copy, Clone)]
pub(super) struct Site<'a> {
    pub(super) stmt: StmtId,
    pub(super) inst: InstId,
    pub(super) facts: Facts<'a>,
    /// The block of the statement.
    pub(super) block: BlockId,
}

/// The state of the evaluation of a function.
pub(super) struct Evaluation<'a> {
    pub(super) facts: FunctionFacts<'a>,
    pub(super) graphs: &'a Graphs<'a>,
    pub(super) variables: &'a Variables,
    pub(super) ssa: &'a Ssa,
    pub(super) context: &'a Context,
    pub(super) callees: &'a Callees<'a>,
    pub(super) control: Control<'a>,
    pub(super) cells: Cells,
    /// The values in single threads, if likely sizes of CTAs are assumed.
    pub(super) threads: Option<ThreadValues<'a>>,
    pub(super) solver: SparseSolver<'a, Uniformity>,
    pub(super) lanes: LaneValues,
    /// For each block the uniformity of the choice of its successor.
    pub(super) branches: Vec<Uniformity>,
    /// For each block the largest group of which all threads execute an instance of the block, or none.
    pub(super) executions: Vec<Uniformity>,
    /// Reads of values that are defined in a loop which does not contain the read.
    loop_results: LoopResults,
    /// Threads leave a loop at different times, and `loop_results` were not evaluated since this is known.
    loops_changed: bool,
    pub(super) phases: Phases,
    pub(super) visible: Visible,
    barriers: Barriers,
    /// Statements whose results depend on whether all threads of the CTA execute them.
    pub(super) collective: Vec<StmtId>,
}

/// Reads of values that are defined in a loop which does not contain the read.
#[derive(Debug, Default)]
struct LoopResults {
    statements: Vec<StmtId>,
    /// The blocks with phis that read such a value.
    phis: Vec<BlockId>,
}

impl<'a> Evaluation<'a> {
    pub(super) fn new(
        function: &'a FunctionAnalysis<'a>,
        graphs: &'a Graphs<'a>,
        ssa: &'a Ssa,
        ssa_graph: &'a SsaGraph,
        context: &'a Context,
        callees: &'a Callees<'a>,
    ) -> Self {
        let (facts, variables) = (function.facts(), function.variables());
        let bounds = Bounds {
            bottom: Uniformity::Grid,
            top: Uniformity::Varying,
            max_sweeps: u32::MAX,
        };
        let threads = if !context.is_optimistic {
            None
        } else if context.cells.is_empty() {
            ThreadValues::new(function).ok()
        } else {
            let cells = &context.cells;
            Some(ThreadValues::with_cells(facts, variables, ssa, cells))
        };
        let mut evaluation = Self {
            facts,
            graphs,
            variables,
            ssa,
            context,
            callees,
            control: Control::new(graphs),
            cells: Cells::new(facts, graphs, context),
            threads,
            solver: SparseSolver::new(graphs.cfg, ssa, ssa_graph, bounds),
            lanes: LaneValues::new(context, ssa.len()),
            branches: vec![Uniformity::Grid; graphs.cfg.len()],
            executions: vec![context.entry; graphs.cfg.len()],
            loop_results: LoopResults::default(),
            loops_changed: false,
            phases: Phases::new(facts, graphs, context),
            visible: Visible::new(facts, graphs, context, callees),
            barriers: Barriers::new(facts, graphs, context, callees),
            collective: Vec::new(),
        };
        evaluation.loop_results = evaluation.find_loop_results();
        evaluation
    }

    /// The block of a statement that the entry reaches.
    pub(super) fn block(&self, stmt: StmtId) -> Option<BlockId> {
        self.solver.graph().block(stmt)
    }

    /// The block that defines a value.
    pub(super) fn defining_block(&self, value: ValueId) -> Option<BlockId> {
        match self.ssa.value(value) {
            Value::Def { stmt, .. } => self.block(stmt),
            Value::Phi { block, .. } => Some(block),
            Value::Entry { .. } => Some(Cfg::ENTRY),
            Value::Unknown => None,
        }
    }

    fn find_loop_results(&self) -> LoopResults {
        let mut reads = LoopResults::default();
        if self.graphs.loops.is_empty() {
            return reads;
        }
        for read in self.ssa.all_uses() {
            if let Some(block) = self.block(read.stmt)
                && self.is_loop_result(read.value, block)
            {
                reads.statements.push(read.stmt);
            }
        }
        for (id, value) in self.ssa.values() {
            match value {
                Value::Def {
                    stmt,
                    old: Some(old),
                    ..
                } => {
                    if let Some(block) = self.block(stmt)
                        && self.is_loop_result(old, block)
                    {
                        reads.statements.push(stmt);
                    }
                }
                Value::Phi { block, .. } => {
                    let mut arguments = self.ssa.args(id).iter();
                    if arguments.any(|argument| self.is_loop_result(*argument, block)) {
                        reads.phis.push(block);
                    }
                }
                _ => {}
            }
        }
        reads
    }

    /// Returns whether a value is defined in a loop that does not contain a block.
    fn is_loop_result(&self, value: ValueId, block: BlockId) -> bool {
        let definition = self.defining_block(value);
        let innermost = definition.and_then(|block| self.graphs.loops.innermost(block));
        innermost.is_some_and(|id| !self.graphs.loops.contains(id, block))
    }

    /// Evaluates the function up to a fixed point.
    pub(super) fn run(&mut self) {
        self.raise_entries();
        self.solver.revisit_all();
        for round in 0.. {
            self.evaluate_values();
            let executions = executions(
                self.graphs,
                &self.control,
                &self.branches,
                self.context.entry,
            );
            let loads = if round < MAX_ROUNDS {
                self.update_memory(&executions)
            } else {
                self.give_up_memory()
            };
            if executions == self.executions && loads.is_empty() {
                return;
            }
            for load in loads {
                self.solver.revisit(load);
            }
            self.executions = executions;
            for stmt in core::mem::take(&mut self.collective) {
                if round < MAX_ROUNDS {
                    self.solver.revisit(stmt);
                } else {
                    self.give_up_results(stmt);
                }
            }
        }
    }

    /// Evaluates the dirty items until none is left.
    fn evaluate_values(&mut self) {
        loop {
            while let Some(item) = self.solver.next_item() {
                match item {
                    Item::Phi(phi) => self.phi(phi),
                    Item::Statement(stmt) => self.statement(stmt),
                    Item::BlockEnd(block) => self.branch(block),
                }
            }
            if !core::mem::take(&mut self.loops_changed) {
                return;
            }
            for &stmt in &self.loop_results.statements {
                self.solver.revisit(stmt);
            }
            for &block in &self.loop_results.phis {
                self.solver.revisit_phis(block);
            }
        }
    }

    /// Updates the values that loads may see. Returns the loads that may see more values than before.
    fn update_memory(&mut self, executions: &[Uniformity]) -> Vec<StmtId> {
        let meeting = self.barriers.meeting(executions);
        let mut loads = self.phases.update(self.graphs, &self.branches, &meeting);
        loads.extend(self.visible.update(self.graphs, &meeting));
        loads
    }

    /// Assumes nothing about the values that loads may see. Returns the loads for which something was assumed.
    fn give_up_memory(&mut self) -> Vec<StmtId> {
        let mut loads = self.phases.give_up();
        loads.extend(self.visible.give_up());
        loads
    }

    /// Assumes nothing about the results of a statement.
    fn give_up_results(&mut self, stmt: StmtId) {
        for def in self.ssa.defs(stmt) {
            self.lanes.give_up(def);
            self.raise(def, Uniformity::Varying);
            self.solver.revisit_readers(def);
        }
    }

    /// Sets the values that exist before the function begins.
    fn raise_entries(&mut self) {
        let parameters = self.register_parameters();
        for (id, value) in self.ssa.values() {
            let Value::Entry { variable } = value else {
                continue;
            };
            // The content of a variable in local memory before something is stored to it is not considered.
            let is_cell = variable > self.ssa.carry();
            let parameter = parameters.iter().find(|(number, _)| *number == variable);
            let uniformity = match parameter {
                _ if is_cell => Uniformity::Grid,
                Some((_, uniformity)) => *uniformity,
                // The contents of other registers are undefined.
                None => self.context.unknown(),
            };
            self.raise(id, uniformity);
        }
    }

    /// The variables that hold parameters, with the uniformity of the arguments.
    fn register_parameters(&self) -> Vec<(VariableId, Uniformity)> {
        let mut parameters = Vec::new();
        let params = self.context.params(self.facts);
        for (param, words) in words::numbered(self.facts.module(), params) {
            let Binding::Register(decl) = param.binding else {
                continue;
            };
            let arguments = self.context.arguments.get(words).unwrap_or_default();
            let uniformity = arguments
                .iter()
                .fold(Uniformity::Grid, |joined, word| joined.join(*word));
            for (id, register) in self.facts.body().registers().iter() {
                if register.decl == decl {
                    let variables = self.variables.of(id.into());
                    parameters.extend(variables.map(|variable| (variable, uniformity)));
                }
            }
        }
        parameters
    }

    /// Joins the uniformity of a value with another one. If it changes, the readers of the value become dirty.
    pub(super) fn raise(&mut self, id: ValueId, uniformity: Uniformity) {
        self.solver.raise(id, &uniformity);
    }

    /// Joins the uniformity of a word of a variable in `.param` with another one. If it changes, the loads of the word become dirty.
    pub(super) fn store(&mut self, word: usize, uniformity: Uniformity) {
        let cell = self.cells.get_mut(word);
        if let Some(cell) = cell.filter(|cell| cell.uniformity < uniformity) {
            cell.uniformity = uniformity;
            for &load in &cell.loads {
                self.solver.revisit(load);
            }
        }
    }

    /// The uniformity of a value where a block reads it.
    pub(super) fn read(&self, value: ValueId, block: BlockId) -> Uniformity {
        if value == Ssa::UNKNOWN {
            return self.context.unknown();
        }
        let uniformity = *self.solver.value(value);
        match self.defining_block(value) {
            Some(definition) if uniformity < Uniformity::Varying && definition != block => {
                uniformity.join(self.control.temporal(definition, block))
            }
            _ => uniformity,
        }
    }

    fn phi(&mut self, id: ValueId) {
        let Value::Phi { block, .. } = self.ssa.value(id) else {
            return;
        };
        let mut uniformity = self.control.join(block);
        for argument in self.reachable_arguments(id, block) {
            uniformity = uniformity.join(self.read(argument, block));
        }
        let uniformity = self.refined_phi(id, block, uniformity);
        self.raise(id, uniformity);
    }

    /// The arguments of a phi of a block, without those of edges from unreachable blocks.
    pub(super) fn reachable_arguments(
        &self,
        phi: ValueId,
        block: BlockId,
    ) -> impl Iterator<Item = ValueId> + use<'a> {
        let graphs = self.graphs;
        let edges = graphs.cfg.in_edges(block);
        // After the arguments of the edges comes the value where the function begins.
        let reachable = edges
            .map(move |(_, edge)| graphs.dominators.is_reachable(edge.from))
            .chain(core::iter::once(true));
        let arguments = self.ssa.args(phi).iter().zip(reachable);
        arguments.filter_map(|(argument, is_reachable)| is_reachable.then_some(*argument))
    }

    /// The last instruction of a block.
    fn last_statement(&self, block: BlockId) -> Option<StmtId> {
        let mut items = self.solver.graph().block_items(block).iter().rev();
        items.find_map(|item| match item {
            Item::Statement(stmt) => Some(*stmt),
            _ => None,
        })
    }

    /// Evaluates the end of a block.
    fn branch(&mut self, block: BlockId) {
        let uniformity = self.successor_choice(block);
        let slot = &mut self.branches[block.as_u32() as usize];
        if *slot >= uniformity {
            return;
        }
        *slot = uniformity;
        let changes = self.control.diverge(block, uniformity);
        self.apply(&changes);
        for &successor in self.graphs.cfg.successors(block) {
            if self.is_dispatch(successor) {
                self.solver.revisit_block(successor);
            }
        }
    }

    fn apply(&mut self, changes: &Changes) {
        for &block in &changes.joins {
            self.solver.revisit_phis(block);
        }
        for &block in &changes.split {
            self.solver.revisit_block(block);
        }
        self.loops_changed |= changes.loops;
    }

    fn is_dispatch(&self, block: BlockId) -> bool {
        let block = self.graphs.cfg.block(block);
        block.is_some_and(|block| block.is_dispatch)
    }

    /// The uniformity of what decides which successor follows a block.
    fn successor_choice(&mut self, id: BlockId) -> Uniformity {
        let graphs = self.graphs;
        let Some(block) = graphs.cfg.block(id) else {
            return Uniformity::Varying;
        };
        if block.is_dispatch {
            let predecessors = graphs.cfg.predecessors(id).iter();
            let branches = predecessors.map(|block| self.branches[block.as_u32() as usize]);
            return branches.fold(Uniformity::Grid, Uniformity::join);
        }
        let successors = graphs.cfg.successors(id);
        let has_choice = successors.len() + usize::from(block.exits) >= 2
            || successors.iter().any(|block| self.is_dispatch(*block));
        let Some(stmt) = self.last_statement(id).filter(|_| has_choice) else {
            return Uniformity::Grid;
        };
        let Some(Statement::Inst(inst)) = self.facts.body().statement(stmt) else {
            return Uniformity::Varying;
        };
        let facts = self.facts.inst(inst);
        if facts.flow() == Flow::Unknown {
            return Uniformity::Varying;
        }
        let mut uniformity = self.sources(stmt, id).join(self.specials(inst, id));
        if let Some(threads) = &mut self.threads
            && uniformity > Uniformity::Grid
            && let Some(guard) = threads.guard(stmt, &facts)
        {
            uniformity = uniformity.min(threads.uniformity(&guard));
        }
        if facts.is_uniform() {
            // The active threads of a warp go the same way.
            uniformity = uniformity.min(Uniformity::Warp);
        }
        uniformity
    }

    /// The uniformity of an operand of an instruction.
    pub(super) fn argument(&self, site: &Site<'_>, operand: Operand) -> Uniformity {
        match operand {
            Operand::Var(variable) => self.variable(variable, site.block),
            Operand::Reg(_) | Operand::Component(..) => match site.facts.place(operand) {
                Some(register) => self.register(site.stmt, register, site.block),
                None => self.specials(site.inst, site.block),
            },
            Operand::Small(_) | Operand::Imm(_) => Uniformity::Grid,
            _ => Uniformity::Varying,
        }
    }

    /// The uniformity of a register that a statement reads.
    pub(super) fn register(
        &self,
        stmt: StmtId,
        register: RegisterComponent,
        block: BlockId,
    ) -> Uniformity {
        let mut uniformity = Uniformity::Grid;
        for variable in self.variables.of(register) {
            uniformity = uniformity.join(match self.ssa.read(stmt, variable) {
                Some(value) => self.read(value, block),
                None => Uniformity::Varying,
            });
        }
        uniformity
    }

    /// The uniformity of the guard of an instruction; grid if it has none.
    pub(super) fn guard(&self, site: &Site<'_>) -> Uniformity {
        match site.facts.guard_register() {
            Some((register, _)) => self.register(site.stmt, register, site.block),
            None => Uniformity::Grid,
        }
    }

    /// The uniformity of a variable in `.param` where a block reads it.
    fn variable(&self, variable: VarId, block: BlockId) -> Uniformity {
        if self.cells.are_read_only() {
            Uniformity::Grid
        } else {
            self.words_uniformity(self.cells.words(variable), block)
        }
    }

    /// The uniformity of words of variables in `.param` where a block reads them.
    pub(super) fn words_uniformity(&self, words: Range<usize>, block: BlockId) -> Uniformity {
        let mut uniformity = Uniformity::Grid;
        for cell in words.filter_map(|word| self.cells.get(word)) {
            uniformity = uniformity.join(cell.uniformity);
            for store in cell.stores() {
                uniformity = uniformity.join(self.control.temporal(store, block));
            }
        }
        uniformity
    }

    /// The uniformity of the words of an argument of a call.
    pub(super) fn argument_words(&self, site: &Site<'_>, operand: Operand) -> Words {
        let Operand::Var(variable) = operand else {
            return Words::all(self.argument(site, operand));
        };
        let words = self.cells.words(variable);
        Words {
            first: words
                .map(|word| self.words_uniformity(word..word + 1, site.block))
                .collect(),
            // Nothing is stored to the words after them.
            rest: Uniformity::Grid,
        }
    }
}
