//! The owner of the control flow and dataflow analyses of a function. Each analysis is computed when it is first asked for, and kept.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use once_cell::race::OnceBox;
use ptx_ir::facts::{FunctionFacts, ModuleFacts, StaleFacts, Stamp};
use ptx_ir::raw::parallel;
use ptx_ir::{Body, Budget, BudgetExhausted, FuncId, Module, StmtId};

use crate::block_summary::Summary;
use crate::cfg::{BlockId, Cfg};
use crate::constants::Constants;
use crate::dataflow::sparse::SsaGraph;
use crate::dead_code::LiveCode;
use crate::error::AnalysisError;
use crate::graph::{Digraph, Dominators, Graph, Loops, PostDominators, ReversePostOrder};
use crate::liveness::{LiveCursor, Liveness};
use crate::meter::Meter;
use crate::pressure::Pressure;
use crate::reaching::Reaching;
use crate::reg_lanes::{VariableSet, Variables};
use crate::ssa::Ssa;
use crate::ssa::cells::Cells;
use crate::value_numbering::ValueNumbers;
use crate::values::{Context, Values};

/// Calls `work` for each function that has a body, with its facts, and returns the results in the order of the functions. With
/// the feature `parallel`, the functions of a large module are divided among several threads.
///
/// ```
/// use ptx_dataflow::function_dataflow::{FunctionDataflow, map_functions};
/// use ptx_ir::facts::ModuleFacts;
///
/// let text = b".version 8.0\n.target sm_80\n.entry k() { ret; }\n.entry l() { .reg .b32 a; mov.b32 a, 1; ret; }\n";
/// let module = ptx_parse::parse(text).module;
/// let facts = ModuleFacts::new(&module);
/// let units = map_functions(&facts, |_, function| FunctionDataflow::new(function).pressure().units);
/// assert_eq!(units, [0, 1]);
/// ```
pub fn map_functions<'f, T: Send>(
    facts: &'f ModuleFacts<'_>,
    work: impl Fn(FuncId, FunctionFacts<'f>) -> T + Sync,
) -> Vec<T> {
    parallel::map_functions(facts.module(), |run| {
        run.iter()
            .filter_map(|id| Some(work(*id, facts.function(*id)?)))
            .collect()
    })
}

/// The control flow and dataflow analyses of one function. Each is computed when it is first asked for, together with those that it needs, and kept.
///
/// A clone shares the results with the original. If several threads ask for an analysis at the same time, each may compute it; all of them get the
/// result that was finished first. The results do not depend on the order in which the analyses are asked for.
///
/// `ptx_analysis::function_analysis::FunctionAnalysis` adds the analyses of threads and memory, and derefs to this type.
///
/// Analyses of values need the SSA form. They return [`AnalysisError`] for the functions that exceed its limit, and if the budget of
/// [`with_budget`](Self::with_budget) is exhausted. The other analyses take a time that is linear or n log n in the size of the function, and are not
/// limited.
///
/// ```
/// use ptx_dataflow::function_dataflow::FunctionDataflow;
/// use ptx_ir::facts::ModuleFacts;
///
/// let text = b".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n\
///     .reg .pred %p; .reg .b32 %i;\n\
///     mov.b32 %i, 0;\n\
///     LOOP: add.s32 %i, %i, 1; setp.lt.s32 %p, %i, 10; @%p bra LOOP;\n\
///     ret;\n}\n";
/// let module = ptx_parse::parse(text).module;
/// let facts = ModuleFacts::new(&module);
/// let kernel = module.function("k").unwrap();
/// let function = FunctionDataflow::new(facts.function(kernel).unwrap());
/// let (id, info) = function.loops().iter().next().unwrap();
/// assert_eq!(function.loops().preheader(function.cfg(), id), function.idom(info.header()));
/// assert_eq!(function.values()?.trip_count(id).unwrap().most(), Some(10));
/// assert_eq!(function.pressure().units, 1);
/// # Ok::<(), ptx_dataflow::AnalysisError>(())
/// ```
#[derive(Clone, Debug)]
pub struct FunctionDataflow<'m> {
    facts: FunctionFacts<'m>,
    stamp: Stamp,
    /// The budget of the analyses that return an [`AnalysisError`].
    pub(crate) budget: &'m Budget,
    results: Arc<Results>,
}

/// The budget of functions without [`FunctionDataflow::with_budget`]. Nothing cancels it.
pub(crate) static UNLIMITED: Budget = Budget::unlimited();

/// The results so far.
#[derive(Default, Debug)]
struct Results {
    cfg: OnceBox<Cfg>,
    variables: OnceBox<Variables>,
    summary: OnceBox<Summary>,
    liveness: OnceBox<Liveness>,
    pressure: OnceBox<Pressure>,
    dominators: OnceBox<Dominators<BlockId>>,
    exit_dominators: OnceBox<Dominators>,
    post_dominators: OnceBox<PostDominators<BlockId>>,
    order: OnceBox<ReversePostOrder<BlockId>>,
    loops: OnceBox<Loops<BlockId>>,
    loop_forest: OnceBox<Loops<BlockId>>,
    reaching: OnceBox<Reaching>,
    ssa: OnceBox<Result<Ssa, AnalysisError>>,
    ssa_graph: OnceBox<SsaGraph>,
    constants: OnceBox<Constants>,
    value_numbers: OnceBox<ValueNumbers>,
    live_code: OnceBox<LiveCode>,
    values: OnceBox<Values>,
}

/// The results of a [`FunctionDataflow`] without the module that it borrows.
///
/// They can be kept beside an owned module, and shared between threads.
///
/// ```
/// use ptx_dataflow::function_dataflow::FunctionDataflow;
/// use ptx_edit::EditModule as _;
/// use ptx_ir::facts::ModuleFacts;
///
/// let mut module = ptx_parse::parse(b".version 8.0\n.target sm_80\n.entry k() { ret; }").module;
/// let kernel = module.function("k").unwrap();
/// let saved = {
///     let facts = ModuleFacts::new(&module);
///     let function = FunctionDataflow::new(facts.function(kernel).unwrap());
///     assert_eq!(function.cfg().len(), 1);
///     function.save()
/// };
/// let facts = ModuleFacts::new(&module);
/// let function = FunctionDataflow::resume(facts.function(kernel).unwrap(), &saved)?;
/// assert_eq!(function.cfg().len(), 1); // Not computed again.
///
/// let mut editor = module.edit(kernel).unwrap();
/// let first = editor.body().statements().next().unwrap().0;
/// editor.remove(first).unwrap();
/// let facts = ModuleFacts::new(&module);
/// assert!(FunctionDataflow::resume(facts.function(kernel).unwrap(), &saved).is_err());
/// # Ok::<(), ptx_ir::facts::StaleFacts>(())
/// ```
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct SavedDataflow {
    stamp: Stamp,
    results: Arc<Results>,
}

impl SavedDataflow {
    /// The function and the revision of the module that the results belong to.
    #[doc(hidden)]
    #[must_use]
    pub const fn stamp(&self) -> Stamp {
        self.stamp
    }
}

/// Returns the content of a cell, which is computed if the cell is empty.
fn cached<T>(cell: &OnceBox<T>, compute: impl FnOnce() -> T) -> &T {
    cell.get_or_init(|| Box::new(compute()))
}

/// Returns the content of a cell, which is computed if the cell is empty. The cell stays empty if there is an error.
fn cached_result<T, E>(cell: &OnceBox<T>, compute: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
    cell.get_or_try_init(|| compute().map(Box::new))
}

impl<'m> FunctionDataflow<'m> {
    /// Analyzes a function. Nothing is computed yet.
    #[must_use]
    pub fn new(facts: FunctionFacts<'m>) -> Self {
        Self {
            facts,
            stamp: Stamp::of(facts),
            budget: &UNLIMITED,
            results: Arc::default(),
        }
    }

    /// Continues with saved results.
    ///
    /// # Errors
    ///
    /// The results belong to another function, or to another revision of the module.
    #[doc(hidden)]
    pub fn resume(facts: FunctionFacts<'m>, saved: &SavedDataflow) -> Result<Self, StaleFacts> {
        saved.stamp.check(facts)?;
        Ok(Self {
            facts,
            stamp: saved.stamp,
            budget: &UNLIMITED,
            results: Arc::clone(&saved.results),
        })
    }

    /// Limits the analyses that return an [`AnalysisError`]: when the budget is exhausted, they return [`AnalysisError::BudgetExhausted`]. Another thread
    /// can cancel the budget. Results that were computed before stay available, and an analysis that was stopped can be repeated with another budget.
    ///
    /// A statement, a phi and an argument of a phi cost 32 bytes in each analysis and pass over them. A clone shares the budget.
    ///
    /// ```
    /// use ptx_dataflow::{AnalysisError, function_dataflow::FunctionDataflow};
    /// use ptx_ir::{Budget, facts::ModuleFacts};
    ///
    /// let module = ptx_parse::parse(b".version 8.0\n.target sm_80\n.entry k() { ret; }").module;
    /// let facts = ModuleFacts::new(&module);
    /// let function = FunctionDataflow::new(facts.function(module.function("k").unwrap()).unwrap());
    /// let budget = Budget::unlimited();
    /// budget.cancel();
    /// let limited = function.clone().with_budget(&budget);
    /// assert_eq!(limited.values().err(), Some(AnalysisError::BudgetExhausted));
    /// assert!(function.values().is_ok());
    /// ```
    #[must_use]
    pub fn with_budget(self, budget: &'m Budget) -> Self {
        Self { budget, ..self }
    }

    /// Charges the budget for an analysis with a cost that is linear in the number of statements.
    ///
    /// # Errors
    ///
    /// The budget is exhausted.
    #[doc(hidden)]
    pub fn charge_statements(&self) -> Result<(), BudgetExhausted> {
        let mut meter = Meter::new(self.budget);
        meter.count(self.body().statement_table().len())?;
        meter.charge()
    }

    /// The results. Analyses that are computed later are shared between the saved results and this owner.
    #[doc(hidden)]
    #[must_use]
    pub fn save(&self) -> SavedDataflow {
        SavedDataflow {
            stamp: self.stamp,
            results: Arc::clone(&self.results),
        }
    }

    ptx_isa::getters! {
        /// The facts about the instructions.
        facts: FunctionFacts<'m> = facts;
        /// The function and the revision of the module that the results belong to.
        stamp: Stamp = stamp;
    }

    /// The function.
    #[must_use]
    pub fn id(&self) -> FuncId {
        self.facts.id()
    }

    /// The module.
    #[must_use]
    pub fn module(&self) -> &'m Module {
        self.facts.module()
    }

    /// The body of the function.
    #[must_use]
    pub fn body(&self) -> &'m Body {
        self.facts.body()
    }

    /// The control-flow graph.
    #[must_use]
    pub fn cfg(&self) -> &Cfg {
        cached(&self.results.cfg, || Cfg::new(self.facts))
    }

    /// The numbers of the registers and of the elements of vector registers.
    #[must_use]
    pub fn variables(&self) -> &Variables {
        cached(&self.results.variables, || Variables::new(self.body()))
    }

    /// The variables that each block reads and writes.
    #[doc(hidden)]
    #[must_use]
    pub fn summary(&self) -> &Summary {
        cached(&self.results.summary, || {
            Summary::new(self.facts, self.cfg(), self.variables())
        })
    }

    /// The variables that are live at the start and at the end of each block.
    #[must_use]
    pub fn liveness(&self) -> &Liveness {
        cached(&self.results.liveness, || {
            Liveness::new(self.facts, self.cfg(), self.variables(), self.summary())
        })
    }

    /// The variables that are live before an instruction, without those that it only writes. For all instructions of a block, use [`LiveCursor`].
    #[must_use]
    pub fn live_before(&self, stmt: StmtId) -> VariableSet {
        let Some(mut cursor) = LiveCursor::after(self, stmt) else {
            return VariableSet::new();
        };
        cursor.previous();
        cursor.live().clone()
    }

    /// The variables that are live after an instruction. For all instructions of a block, use [`LiveCursor`].
    #[must_use]
    pub fn live_after(&self, stmt: StmtId) -> VariableSet {
        let cursor = LiveCursor::after(self, stmt);
        cursor.map_or_else(VariableSet::new, |cursor| cursor.live().clone())
    }

    /// The greatest number of registers that are live at once.
    #[must_use]
    pub fn pressure(&self) -> Pressure {
        *cached(&self.results.pressure, || {
            Pressure::new(self.facts, self.cfg(), self.variables(), self.liveness())
        })
    }

    /// The dominators of the blocks.
    #[must_use]
    pub fn dominators(&self) -> &Dominators<BlockId> {
        cached(&self.results.dominators, || Dominators::new(self.cfg()))
    }

    /// The post-dominators of the blocks. Infinite loops are assumed to end; [`ipdom`](Self::ipdom) only considers paths that leave the function.
    #[must_use]
    pub fn post_dominators(&self) -> &PostDominators<BlockId> {
        cached(&self.results.post_dominators, || {
            PostDominators::new(self.cfg())
        })
    }

    /// The reachable blocks in reverse post-order.
    #[must_use]
    pub fn reverse_post_order(&self) -> &ReversePostOrder<BlockId> {
        cached(&self.results.order, || ReversePostOrder::new(self.cfg()))
    }

    /// The natural loops.
    #[must_use]
    pub fn loops(&self) -> &Loops<BlockId> {
        cached(&self.results.loops, || {
            Loops::natural(self.cfg(), self.dominators())
        })
    }

    /// All loops, including irreducible ones. Their ids differ from those of [`loops`](Self::loops).
    #[must_use]
    pub fn loop_forest(&self) -> &Loops<BlockId> {
        cached(&self.results.loop_forest, || {
            Loops::new(self.cfg(), self.dominators())
        })
    }

    /// Returns whether the entry reaches a block.
    #[must_use]
    pub fn is_reachable(&self, block: BlockId) -> bool {
        self.dominators().is_reachable(block)
    }

    /// The immediate dominator of a block.
    #[must_use]
    pub fn idom(&self, block: BlockId) -> Option<BlockId> {
        self.dominators().immediate(block)
    }

    /// The immediate post-dominator of a block, considering only paths that leave the function; `None` if these have no
    /// block in common, or if there is no such path. [`post_dominators`](Self::post_dominators) considers infinite loops too.
    #[must_use]
    pub fn ipdom(&self, block: BlockId) -> Option<BlockId> {
        let exit = self.cfg().node_count();
        cached(&self.results.exit_dominators, || {
            Dominators::new(&reversed(self.cfg()))
        })
        .immediate(block.as_u32())
        .filter(|&node| node != exit)
        .map(BlockId::new)
    }

    /// The definitions that reach each read.
    #[must_use]
    pub fn reaching(&self) -> &Reaching {
        cached(&self.results.reaching, || {
            Reaching::new(self.facts, self.cfg(), self.variables(), self.liveness())
        })
    }

    /// The SSA form.
    ///
    /// # Errors
    ///
    /// The function needs more phis than the limit, or the budget is exhausted.
    pub fn ssa(&self) -> Result<&Ssa, AnalysisError> {
        let ssa = cached_result(&self.results.ssa, || {
            let ssa = Ssa::new(
                self.facts,
                self.cfg(),
                self.variables(),
                self.dominators(),
                &Cells::NONE,
                self.budget,
            );
            match ssa {
                Err(AnalysisError::BudgetExhausted) => Err(BudgetExhausted),
                _ => Ok(ssa),
            }
        })?;
        ssa.as_ref().map_err(|error| *error)
    }

    /// The order in which [sparse analyses](crate::dataflow::SparseAnalysis) evaluate the SSA form, and the readers of each value.
    ///
    /// # Errors
    ///
    /// As [`ssa`](Self::ssa).
    #[doc(hidden)]
    pub fn ssa_graph(&self) -> Result<&SsaGraph, AnalysisError> {
        let ssa = self.ssa()?;
        Ok(cached(&self.results.ssa_graph, || {
            SsaGraph::new(self.body(), self.cfg(), self.reverse_post_order(), ssa)
        }))
    }

    /// The values that are always the same number, and the blocks that are never executed because of that.
    ///
    /// # Errors
    ///
    /// As [`ssa`](Self::ssa).
    pub fn constants(&self) -> Result<&Constants, AnalysisError> {
        let (ssa, graph) = (self.ssa()?, self.ssa_graph()?);
        cached_result(&self.results.constants, || {
            self.charge_statements()?;
            let (cfg, variables) = (self.cfg(), self.variables());
            Ok(Constants::new(self.facts, cfg, variables, ssa, graph))
        })
    }

    /// The values that are equal for every input.
    ///
    /// # Errors
    ///
    /// As [`ssa`](Self::ssa).
    pub fn value_numbers(&self) -> Result<&ValueNumbers, AnalysisError> {
        let ssa = self.ssa()?;
        cached_result(&self.results.value_numbers, || {
            self.charge_statements()?;
            let (cfg, order, variables) = (self.cfg(), self.reverse_post_order(), self.variables());
            Ok(ValueNumbers::new(self.facts, cfg, order, variables, ssa))
        })
    }

    /// The instructions with effects, and those whose results they depend on.
    ///
    /// # Errors
    ///
    /// As [`ssa`](Self::ssa).
    #[doc(hidden)]
    pub fn live_code(&self) -> Result<&LiveCode, AnalysisError> {
        let ssa = self.ssa()?;
        cached_result(&self.results.live_code, || {
            self.charge_statements()?;
            Ok(LiveCode::new(self.facts, ssa))
        })
    }

    /// Affine forms, intervals, known low bits and trip counts.
    ///
    /// # Errors
    ///
    /// As [`ssa`](Self::ssa).
    pub fn values(&self) -> Result<&Values, AnalysisError> {
        let ssa = self.ssa()?;
        cached_result(&self.results.values, || {
            let context = Context {
                facts: self.facts,
                cfg: self.cfg(),
                variables: self.variables(),
                dominators: self.dominators(),
                loops: self.loops(),
                order: self.reverse_post_order(),
                ssa,
            };
            Ok(Values::new(context, self.budget)?)
        })
    }
}

/// Reverses the edges of a graph, and adds an entry with edges to all blocks that exit.
fn reversed(cfg: &Cfg) -> Digraph {
    let exit = cfg.node_count();
    let mut edges: Vec<(u32, u32)> = cfg
        .edges()
        .map(|(_, e)| (e.to.as_u32(), e.from.as_u32()))
        .collect();
    let exiting = cfg.blocks().filter(|(_, block)| block.exits);
    edges.extend(exiting.map(|(id, _)| (exit, id.as_u32())));
    Digraph::from_valid(exit + 1, exit, &edges)
}
