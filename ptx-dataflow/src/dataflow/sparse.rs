//! Sparse dataflow: one fact for each value of the SSA form, computed along the edges from definitions to reads.
//!
//! A dense [`Analysis`](super::Analysis) keeps a state for each block. If a fact belongs to a value and not to a position, the SSA form connects each
//! definition with its reads, and only the readers of a value are evaluated again when its fact changes.
//!
//! ```text
//!   B0   a = ...              statement   defines a
//!        p = a < 9            statement   reads a        a ──▶ p
//!        @p bra B2            statement   reads p        p ──▶ bra
//!        end of B0            block end   follows edges to B1, B2
//!   B1   b = a + 1            statement   reads a        a ──▶ b
//!        end of B1
//!   B2   c = phi(a, b)        phi         reads a, b     a, b ──▶ c
//!        end of B2
//! ```
//!
//! The *items* of a function are its phis, its instructions and the ends of its reachable blocks. Items that have to be evaluated are *dirty*. A *sweep*
//! evaluates the dirty items in reverse postorder; items that become dirty at earlier positions belong to the next sweep. The solution is the least
//! fixed point if the transfer functions are monotone; it does not depend on the order.
//!
//! Cost: an item is evaluated at most once in each sweep, so `n` sweeps take `O(n (items + edges))` plus the transfer functions. Without a limit on sweeps,
//! a lattice of height `h` bounds the evaluations of an item by `h` times the number of values that it reads. Where the lattice is high, or has infinite
//! chains, the limit ends the analysis: then every value gets the fact [`top`](SparseAnalysis::top), which is always valid.

use alloc::vec::Vec;

use ptx_ir::facts::{Facts, FunctionFacts};
use ptx_ir::{EntityId as _, Statement, StmtId};

use super::JoinSemiLattice;
use super::position_set::PositionSet;
use super::ssa_graph::NO_ITEM;
#[doc(hidden)]
pub(crate) use super::ssa_graph::{Item, SsaGraph};
use crate::cfg::{BlockId, Cfg, EdgeId};
use crate::reg_lanes::VariableId;
use crate::ssa::{Ssa, Value, ValueId};

/// A sparse dataflow problem. Transfer functions must be monotone.
///
/// ```
/// use ptx_dataflow::dataflow::{JoinSemiLattice, SparseAnalysis, SparseSolver, solve_sparse};
/// use ptx_dataflow::function_dataflow::FunctionDataflow;
/// use ptx_dataflow::reg_lanes::VariableId;
/// use ptx_ir::facts::{Facts, ModuleFacts};
/// use ptx_ir::{Operand, StmtId};
///
/// /// Whether a value depends on a special register.
/// #[derive(Clone, Copy, PartialEq, Debug)]
/// struct Special(bool);
///
/// impl JoinSemiLattice for Special {
///     fn join(&mut self, other: &Self) -> bool {
///         let joined = self.0 | other.0;
///         std::mem::replace(&mut self.0, joined) != joined
///     }
/// }
///
/// struct SpecialRegisters;
///
/// impl SparseAnalysis for SpecialRegisters {
///     type Domain = Special;
///     fn bottom(&self) -> Special { Special(false) }
///     fn top(&self) -> Special { Special(true) }
///     fn entry(&self, _variable: VariableId) -> Special { Special(false) }
///     fn inst(&mut self, facts: Facts<'_>, stmt: StmtId, solver: &mut SparseSolver<'_, Special>) {
///         let mut result = Special(facts.parts().any(|(operand, _)| matches!(operand, Operand::Special(_))));
///         for read in solver.ssa().uses(stmt) {
///             result.join(solver.value(read.value));
///         }
///         for def in solver.ssa().defs(stmt) {
///             solver.raise(def, &result);
///         }
///     }
/// }
///
/// let text = b".version 8.0\n.target sm_80\n.entry k() { .reg .b32 a, b;\n\
///     mov.u32 a, %laneid; mov.u32 b, 1; add.u32 b, b, b; add.u32 a, a, b; ret; }";
/// let module = ptx_parse::parse(text).module;
/// let facts = ModuleFacts::new(&module);
/// let function = FunctionDataflow::new(facts.function(module.function("k").unwrap()).unwrap());
/// let solution = solve_sparse(&function, &mut SpecialRegisters, u32::MAX)?;
/// let ssa = function.ssa()?;
/// let statements = function.body().statements().filter(|(stmt, _)| ssa.defs(*stmt).len() == 1);
/// let special: Vec<bool> = statements.map(|(stmt, _)| solution.value(ssa.defs(stmt).next().unwrap()).0).collect();
/// assert_eq!(special, [true, false, false, true]);
/// # Ok::<(), ptx_dataflow::AnalysisError>(())
/// ```
pub trait SparseAnalysis {
    /// The facts.
    type Domain: JoinSemiLattice;
    /// Control follows an edge only after [`leave`](Self::leave) called [`SparseSolver::follow`] for it. Statements of blocks that control does not reach are
    /// not evaluated, and phis join only the arguments of edges that control follows. If `false`, `leave` is not called.
    const FOLLOWS_EDGES: bool = false;

    /// The least fact: the value is not computed.
    fn bottom(&self) -> Self::Domain;

    /// The greatest fact, which holds for every value.
    fn top(&self) -> Self::Domain;

    /// The fact of a variable where the function begins. The default is [`top`](Self::top).
    fn entry(&self, variable: VariableId) -> Self::Domain {
        let _ = variable;
        self.top()
    }

    /// The transfer function of an instruction: [raises](SparseSolver::raise) the facts of the values that it defines, computed from those that it reads.
    ///
    /// A [definition with an old value](Value::Def) has to be joined with the fact of the old value, since the instruction may not write.
    fn inst(&mut self, facts: Facts<'_>, stmt: StmtId, solver: &mut SparseSolver<'_, Self::Domain>);

    /// The transfer function of a statement that was not recognized. The default raises its definitions to [`top`](Self::top).
    fn unrecognized(&mut self, stmt: StmtId, solver: &mut SparseSolver<'_, Self::Domain>) {
        let top = self.top();
        for def in solver.ssa().defs(stmt) {
            solver.raise(def, &top);
        }
    }

    /// The transfer function of a phi. The default raises it to the [join](SparseSolver::join_arguments) of its arguments.
    fn phi(&mut self, phi: ValueId, solver: &mut SparseSolver<'_, Self::Domain>) {
        let joined = solver.join_arguments(phi);
        solver.raise(phi, &joined);
    }

    /// Follows the edges out of a block that control can take. Called after the last statement of the block was evaluated, each time it was. The default
    /// follows all edges.
    fn leave(&mut self, block: BlockId, solver: &mut SparseSolver<'_, Self::Domain>) {
        solver.follow_all(block);
    }
}

/// A function and its SSA form.
#[derive(Copy, Clone)]
pub(crate) struct SparseInput<'a> {
    pub(crate) facts: FunctionFacts<'a>,
    pub(crate) cfg: &'a Cfg,
    pub(crate) ssa: &'a Ssa,
    pub(crate) graph: &'a SsaGraph,
}

/// Solves a problem as [`solve_sparse`](super::solve_sparse) does.
pub(crate) fn solve_on_graph<A: SparseAnalysis>(
    input: SparseInput<'_>,
    analysis: &mut A,
    max_sweeps: u32,
) -> SparseSolution<A::Domain> {
    let SparseInput {
        facts,
        cfg,
        ssa,
        graph,
    } = input;
    let bounds = Bounds {
        bottom: analysis.bottom(),
        top: analysis.top(),
        max_sweeps,
    };
    let mut solver = SparseSolver::new(cfg, ssa, graph, bounds);
    for (id, value) in ssa.values() {
        if let Value::Entry { variable } = value {
            let fact = analysis.entry(variable);
            solver.raise(id, &fact);
        }
    }
    if A::FOLLOWS_EDGES {
        solver.enter_function();
    } else {
        solver.revisit_all();
    }
    while let Some(item) = solver.next_item() {
        match item {
            Item::Phi(phi) => analysis.phi(phi, &mut solver),
            Item::Statement(stmt) => match facts.body().statement(stmt) {
                Some(Statement::Inst(inst)) => {
                    analysis.inst(facts.inst(inst), stmt, &mut solver);
                }
                _ => analysis.unrecognized(stmt, &mut solver),
            },
            Item::BlockEnd(block) => {
                if A::FOLLOWS_EDGES {
                    analysis.leave(block, &mut solver);
                }
            }
        }
    }
    solver.finish()
}

/// The solution of a [`SparseAnalysis`].
#[derive(Clone, Debug)]
pub struct SparseSolution<D> {
    facts: Vec<D>,
    top: D,
    reach: Option<Reach>,
    is_complete: bool,
}

impl<D> SparseSolution<D> {
    /// The fact of a value. Values of unreachable blocks keep the least fact.
    #[must_use]
    pub fn value(&self, id: ValueId) -> &D {
        self.facts.get(id.as_u32() as usize).unwrap_or(&self.top)
    }

    /// The facts by the numbers of their values.
    #[must_use]
    pub fn into_values(self) -> Vec<D> {
        self.facts
    }

    /// Returns whether control reaches a block. If the analysis does not [follow edges](SparseAnalysis::FOLLOWS_EDGES), all blocks count.
    #[must_use]
    pub fn is_executable(&self, block: BlockId) -> bool {
        let reach = self.reach.as_ref();
        reach.is_none_or(|reach| reach.is_executable(block))
    }

    /// Returns whether control follows an edge. If the analysis does not [follow edges](SparseAnalysis::FOLLOWS_EDGES), all edges count.
    #[must_use]
    pub fn is_followed(&self, edge: EdgeId) -> bool {
        let reach = self.reach.as_ref();
        reach.is_none_or(|reach| reach.is_followed(edge))
    }

    /// Returns whether the fixed point was reached. If not, all values have the greatest fact.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.is_complete
    }
}

/// The limits of a sparse analysis.
#[doc(hidden)]
#[derive(Copy, Clone, Debug)]
pub struct Bounds<D> {
    /// The least fact.
    pub bottom: D,
    /// The greatest fact: all values get it if the analysis gives up.
    pub top: D,
    /// The maximum number of sweeps over the function. After the last one, the analysis gives up if an item is dirty.
    pub max_sweeps: u32,
}

/// The facts and the dirty items while a problem is solved.
///
/// [`solve_sparse`](super::solve_sparse) drives it. An analysis whose transfer functions share further state can own a solver and call [`next_item`](Self::next_item) itself.
#[derive(Clone, Debug)]
pub struct SparseSolver<'g, D> {
    cfg: &'g Cfg,
    ssa: &'g Ssa,
    graph: &'g SsaGraph,
    facts: Vec<D>,
    bounds: Bounds<D>,
    dirty: PositionSet,
    /// The next item of the current sweep.
    position: u32,
    /// The number of sweeps since the last fixed point, with the current one.
    sweeps: u32,
    /// The blocks and edges that control reaches, if edges are followed.
    reach: Option<Reach>,
    is_complete: bool,
}

impl<'g, D: JoinSemiLattice> SparseSolver<'g, D> {
    /// Creates a solver in which every value has the least fact, but [`Ssa::UNKNOWN`] the greatest, and no item is dirty. `graph` belongs to `ssa`.
    #[doc(hidden)]
    #[must_use]
    pub fn new(cfg: &'g Cfg, ssa: &'g Ssa, graph: &'g SsaGraph, bounds: Bounds<D>) -> Self {
        let mut facts = vec![bounds.bottom.clone(); ssa.len()];
        if let Some(unknown) = facts.get_mut(Ssa::UNKNOWN.as_u32() as usize) {
            *unknown = bounds.top.clone();
        }
        Self {
            cfg,
            ssa,
            graph,
            facts,
            bounds,
            dirty: PositionSet::new(graph.items.len() as u32),
            position: 0,
            sweeps: 1,
            reach: None,
            is_complete: true,
        }
    }

    /// The SSA form.
    #[must_use]
    pub const fn ssa(&self) -> &'g Ssa {
        self.ssa
    }

    /// The items of the function.
    #[doc(hidden)]
    #[must_use]
    pub const fn graph(&self) -> &'g SsaGraph {
        self.graph
    }

    /// The current fact of a value.
    #[must_use]
    pub fn value(&self, id: ValueId) -> &D {
        self.facts
            .get(id.as_u32() as usize)
            .unwrap_or(&self.bounds.top)
    }

    /// Joins a fact with that of a value. If it changed, the readers of the value become dirty. Returns whether it changed.
    pub fn raise(&mut self, id: ValueId, fact: &D) -> bool {
        let old = self.facts.get_mut(id.as_u32() as usize);
        let is_changed = old.is_some_and(|old| old.join(fact));
        if is_changed {
            self.revisit_readers(id);
        }
        is_changed
    }

    /// The join of the arguments of a phi. Arguments of edges that control does not follow are left out, and so are those of edges from unreachable blocks.
    #[must_use]
    pub fn join_arguments(&self, phi: ValueId) -> D {
        let mut joined = self.bounds.bottom.clone();
        let args = self.ssa.args(phi);
        let Value::Phi { block, .. } = self.ssa.value(phi) else {
            return joined;
        };
        // After the arguments of the edges comes the value where the function begins.
        let edges = self.cfg.in_edges(block).map(|(id, _)| Some(id));
        for (&arg, edge) in args.iter().zip(edges.chain(core::iter::once(None))) {
            if arg != Ssa::UNKNOWN && edge.is_none_or(|edge| self.is_followed(edge)) {
                joined.join(self.value(arg));
            }
        }
        joined
    }

    /// Marks the items that read a value as dirty.
    #[doc(hidden)]
    pub fn revisit_readers(&mut self, id: ValueId) {
        for &item in self.graph.readers.row(id.as_u32()) {
            self.dirty.insert(item);
        }
    }

    /// Marks a statement as dirty.
    #[doc(hidden)]
    pub fn revisit(&mut self, stmt: StmtId) {
        if let Some(&item) = self.graph.statement_items.get(stmt.index())
            && item != NO_ITEM
        {
            self.dirty.insert(item);
        }
    }

    /// Marks the phis of a block as dirty.
    #[doc(hidden)]
    pub fn revisit_phis(&mut self, block: BlockId) {
        let first = self.graph.item_range(block).start;
        for item in (first..).take(self.ssa.phis(block).len()) {
            self.dirty.insert(item);
        }
    }

    /// Marks the phis, the statements and the end of a block as dirty.
    #[doc(hidden)]
    pub fn revisit_block(&mut self, block: BlockId) {
        for item in self.graph.item_range(block) {
            self.dirty.insert(item);
        }
    }

    /// Marks all items as dirty.
    #[doc(hidden)]
    pub fn revisit_all(&mut self) {
        self.dirty.fill();
    }

    /// Begins an analysis that follows edges: control reaches the entry block.
    #[doc(hidden)]
    pub fn enter_function(&mut self) {
        let reach = self.reach.insert(Reach {
            blocks: vec![false; self.cfg.len()],
            edges: vec![false; self.cfg.edges().len()],
        });
        reach.blocks[Cfg::ENTRY.index()] = true;
        self.revisit_block(Cfg::ENTRY);
    }

    /// Control follows an edge: the phis of its target get a further argument.
    pub fn follow(&mut self, edge: EdgeId) {
        let (Some(reach), Some(target)) = (&mut self.reach, self.cfg.edge(edge).map(|e| e.to))
        else {
            return;
        };
        if core::mem::replace(&mut reach.edges[edge.as_u32() as usize], true) {
            return;
        }
        if core::mem::replace(&mut reach.blocks[target.index()], true) {
            self.revisit_phis(target);
        } else {
            self.revisit_block(target);
        }
    }

    /// Control follows all edges out of a block.
    pub fn follow_all(&mut self, block: BlockId) {
        let cfg = self.cfg;
        for (edge, _) in cfg.out_edges(block) {
            self.follow(edge);
        }
    }

    /// Returns whether control follows an edge, as far as the analysis has come. Always true if edges are not followed.
    #[must_use]
    pub fn is_followed(&self, edge: EdgeId) -> bool {
        let reach = self.reach.as_ref();
        reach.is_none_or(|reach| reach.is_followed(edge))
    }

    /// Removes the next dirty item and returns it. `None` if no item is dirty; then the facts are a fixed point unless the analysis gave up.
    #[doc(hidden)]
    pub fn next_item(&mut self) -> Option<Item> {
        loop {
            let Some(position) = self.dirty.next_from(self.position) else {
                if self.dirty.is_empty() {
                    (self.position, self.sweeps) = (0, 1);
                    return None;
                }
                if self.sweeps >= self.bounds.max_sweeps {
                    self.give_up();
                    return None;
                }
                self.sweeps += 1;
                self.position = 0;
                continue;
            };
            self.dirty.remove(position);
            self.position = position + 1;
            let (item, block) = (
                self.graph.items[position as usize],
                self.graph.blocks[position as usize],
            );
            let reach = self.reach.as_ref();
            if reach.is_some_and(|reach| !reach.is_executable(block)) {
                // All items of the block become dirty when control reaches it.
                continue;
            }
            // The last statement decides how control leaves the block.
            let is_statement = matches!(item, Item::Statement(_));
            if is_statement
                && let Some(Item::BlockEnd(_)) = self.graph.items.get(self.position as usize)
            {
                self.dirty.insert(self.position);
            }
            return Some(item);
        }
    }

    /// Gives every value the greatest fact. No item is dirty afterwards, and control reaches all blocks.
    #[doc(hidden)]
    pub fn give_up(&mut self) {
        self.facts.fill(self.bounds.top.clone());
        self.dirty.clear();
        self.position = 0;
        self.is_complete = false;
        if let Some(reach) = &mut self.reach {
            reach.blocks.fill(true);
            reach.edges.fill(true);
        }
    }

    /// Returns whether the analysis did not give up.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The facts, after [`next_item`](Self::next_item) returned `None`.
    #[doc(hidden)]
    #[must_use]
    pub fn finish(self) -> SparseSolution<D> {
        SparseSolution {
            facts: self.facts,
            top: self.bounds.top,
            reach: self.reach,
            is_complete: self.is_complete,
        }
    }
}

/// The blocks and edges that control reaches.
#[derive(Clone, Debug)]
struct Reach {
    blocks: Vec<bool>,
    edges: Vec<bool>,
}

impl Reach {
    fn is_executable(&self, block: BlockId) -> bool {
        self.blocks.get(block.index()) == Some(&true)
    }

    fn is_followed(&self, edge: EdgeId) -> bool {
        self.edges.get(edge.as_u32() as usize) == Some(&true)
    }
}
