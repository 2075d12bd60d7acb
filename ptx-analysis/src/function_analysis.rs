//! The owner of the analyses of a function, and its saved results.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Deref;

use once_cell::race::OnceBox;
use ptx_dataflow::AnalysisError;
use ptx_dataflow::function_dataflow::{FunctionDataflow, SavedDataflow};
use ptx_dataflow::internals::{Cells, SsaGraph, meter, ssa_graph, ssa_with_cells, without_budget};
use ptx_ir::facts::{FunctionFacts, StaleFacts, Stamp};
use ptx_ir::{Budget, FunctionKind};

use crate::asynchrony::{Violation, violations};
use crate::memory_access::Accesses;
use crate::provenance::{CallSummaries, FunctionProvenance};
use crate::ssa::Ssa;
use crate::threads::{Evaluated, ThreadValues};
use crate::uniformity::{FunctionUniformity, RegionGraphs, Stack};
use crate::values::LaunchBounds;
use crate::work::FunctionWork;

pub use ptx_dataflow::function_dataflow::map_functions;

/// The analyses of one function. Each is computed when it is first asked for, together with those that it needs, and kept.
///
/// A clone shares the results with the original. If several threads ask for an analysis at the same time, each may compute it; all of them get the
/// result that was finished first. The results do not depend on the order of the questions.
///
/// It derefs to the analyses of control flow and dataflow: [`FunctionDataflow`].
///
/// Analyses of values need the SSA form. They return [`AnalysisError`] for the functions that exceed its limit, and if the budget of
/// [`with_budget`](Self::with_budget) is exhausted. The others always have a result, which does not depend on the budget.
///
/// ```
/// use ptx_analysis::function_analysis::FunctionAnalysis;
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
/// let function = FunctionAnalysis::new(facts.function(kernel).unwrap());
/// let (id, info) = function.loops().iter().next().unwrap();
/// assert_eq!(function.loops().preheader(function.cfg(), id), function.idom(info.header()));
/// assert_eq!(function.values()?.trip_count(id).unwrap().most(), Some(10));
/// assert_eq!(function.pressure().units, 1);
/// # Ok::<(), ptx_analysis::AnalysisError>(())
/// ```
#[derive(Clone, Debug)]
pub struct FunctionAnalysis<'m> {
    dataflow: FunctionDataflow<'m>,
    /// The addresses that functions pass to each other, if they are known.
    calls: Option<Arc<CallSummaries>>,
    results: Arc<Results>,
    addresses: Arc<AddressResults>,
}

/// The analyses that depend on nothing but the function and its dataflow.
#[derive(Default, Debug)]
struct Results {
    regions: OnceBox<RegionGraphs>,
    stack: OnceBox<Stack>,
    ssa_with_cells: OnceBox<Result<Ssa, AnalysisError>>,
    ssa_graph_with_cells: OnceBox<SsaGraph>,
    uniformity: OnceBox<FunctionUniformity>,
    uniformity_of_warps: OnceBox<FunctionUniformity>,
    thread_values: OnceBox<Evaluated>,
    violations: OnceBox<Vec<Violation>>,
}

/// The analyses that depend on the addresses that functions pass to each other.
#[derive(Default, Debug)]
struct AddressResults {
    provenance: OnceBox<FunctionProvenance>,
    accesses: OnceBox<Accesses>,
    work: OnceBox<FunctionWork>,
}

/// The results of a [`FunctionAnalysis`] without the module that it borrows.
///
/// They can be kept beside an owned module, and shared between threads. Those that depend on other functions are left out.
///
/// ```
/// use ptx_analysis::function_analysis::FunctionAnalysis;
/// use ptx_edit::EditModule as _;
/// use ptx_ir::facts::ModuleFacts;
///
/// let mut module = ptx_parse::parse(b".version 8.0\n.target sm_80\n.entry k() { ret; }").module;
/// let kernel = module.function("k").unwrap();
/// let saved = {
///     let facts = ModuleFacts::new(&module);
///     let function = FunctionAnalysis::new(facts.function(kernel).unwrap());
///     assert_eq!(function.cfg().len(), 1);
///     function.save()
/// };
/// let facts = ModuleFacts::new(&module);
/// let function = FunctionAnalysis::resume(facts.function(kernel).unwrap(), &saved)?;
/// assert_eq!(function.cfg().len(), 1); // Not computed again.
///
/// let mut editor = module.edit(kernel).unwrap();
/// let first = editor.body().statements().next().unwrap().0;
/// editor.remove(first).unwrap();
/// let facts = ModuleFacts::new(&module);
/// assert!(FunctionAnalysis::resume(facts.function(kernel).unwrap(), &saved).is_err());
/// # Ok::<(), ptx_ir::facts::StaleFacts>(())
/// ```
#[derive(Clone, Debug)]
pub struct SavedAnalysis {
    dataflow: SavedDataflow,
    results: Arc<Results>,
    addresses: Arc<AddressResults>,
}

impl SavedAnalysis {
    /// The function and the revision of the module that the results belong to.
    #[must_use]
    pub const fn stamp(&self) -> Stamp {
        self.dataflow.stamp()
    }
}

/// Returns the content of a cell, and computes it if the cell is empty.
fn cached<T>(cell: &OnceBox<T>, compute: impl FnOnce() -> T) -> &T {
    cell.get_or_init(|| Box::new(compute()))
}

/// Returns the content of a cell, and computes it if the cell is empty. The cell stays empty if there is an error.
fn cached_result<T>(
    cell: &OnceBox<T>,
    compute: impl FnOnce() -> Result<T, AnalysisError>,
) -> Result<&T, AnalysisError> {
    cell.get_or_try_init(|| compute().map(Box::new))
}

impl<'m> Deref for FunctionAnalysis<'m> {
    type Target = FunctionDataflow<'m>;

    fn deref(&self) -> &FunctionDataflow<'m> {
        &self.dataflow
    }
}

impl<'m> FunctionAnalysis<'m> {
    /// Analyzes a function without information from other functions. Nothing is computed yet.
    #[must_use]
    pub fn new(facts: FunctionFacts<'m>) -> Self {
        Self {
            dataflow: FunctionDataflow::new(facts),
            calls: None,
            results: Arc::default(),
            addresses: Arc::default(),
        }
    }

    /// Continues with saved results.
    ///
    /// # Errors
    ///
    /// The results belong to another function, or to another revision of the module.
    pub fn resume(facts: FunctionFacts<'m>, saved: &SavedAnalysis) -> Result<Self, StaleFacts> {
        Ok(Self {
            dataflow: FunctionDataflow::resume(facts, &saved.dataflow)?,
            calls: None,
            results: Arc::clone(&saved.results),
            addresses: Arc::clone(&saved.addresses),
        })
    }

    /// Limits the analyses that return an [`AnalysisError`], as [`FunctionDataflow::with_budget`], and those of [`ThreadValues::new`].
    #[must_use]
    pub fn with_budget(self, budget: &'m Budget) -> Self {
        Self {
            dataflow: self.dataflow.with_budget(budget),
            ..self
        }
    }

    /// The same function with the same results, whose analyses are not limited. Analyses that return no error use it, so that their results do not
    /// depend on a budget.
    fn without_budget(&self) -> Self {
        Self {
            dataflow: without_budget(&self.dataflow),
            ..self.clone()
        }
    }

    /// The results so far. Both owners also share the results that either of them computes later.
    #[must_use]
    pub fn save(&self) -> SavedAnalysis {
        SavedAnalysis {
            dataflow: self.dataflow.save(),
            results: Arc::clone(&self.results),
            addresses: match self.calls {
                Some(_) => Arc::default(),
                None => Arc::clone(&self.addresses),
            },
        }
    }

    /// Returns the analyses of this function with the addresses that functions pass to each other through calls: [`provenance`](Self::provenance),
    /// [`accesses`](Self::accesses) and [`work`](Self::work) use them. All other results are shared.
    #[must_use]
    pub fn with_calls(&self, calls: &Arc<CallSummaries>) -> Self {
        let is_connected = calls.is_connected(self.id());
        Self {
            calls: is_connected.then(|| Arc::clone(calls)),
            addresses: match (&self.calls, is_connected) {
                (None, false) => Arc::clone(&self.addresses),
                _ => Arc::default(),
            },
            ..self.clone()
        }
    }

    /// The objects and state spaces of addresses. Includes addresses from callers and callees [`with_calls`](Self::with_calls).
    ///
    /// # Errors
    ///
    /// As [`ssa`](FunctionDataflow::ssa).
    pub fn provenance(&self) -> Result<&FunctionProvenance, AnalysisError> {
        let (ssa, graph) = (self.ssa()?, self.ssa_graph()?);
        cached_result(&self.addresses.provenance, || {
            self.charge_statements()?;
            let calls = self.calls.as_deref();
            Ok(FunctionProvenance::new(self, ssa, graph, calls))
        })
    }

    /// The reachable memory accesses, with the provenance of their addresses.
    ///
    /// # Errors
    ///
    /// As [`ssa`](FunctionDataflow::ssa).
    pub fn accesses(&self) -> Result<&Accesses, AnalysisError> {
        let (ssa, values, provenance) = (self.ssa()?, self.values()?, self.provenance()?);
        cached_result(&self.addresses.accesses, || {
            self.charge_statements()?;
            Ok(Accesses::new(self, ssa, values, provenance))
        })
    }

    /// The work of the function and its loops. Without an SSA form, trip counts and the state spaces of generic addresses are unknown.
    #[must_use]
    pub fn work(&self) -> &FunctionWork {
        cached(&self.addresses.work, || {
            let function = self.without_budget();
            FunctionWork::new(&function, function.accesses().ok())
        })
    }

    /// The uniformity of values, guards, blocks and branches, if nothing is assumed of callers and callees.
    /// [`ModuleUniformity`](crate::uniformity::ModuleUniformity) knows more.
    #[must_use]
    pub fn uniformity(&self) -> &FunctionUniformity {
        cached(&self.results.uniformity, || {
            FunctionUniformity::new(&self.without_budget())
        })
    }

    /// The uniformity of values under the assumption that warps are rows of CTAs, unless a directive states the size of CTAs.
    pub(crate) fn uniformity_of_warps(&self) -> &FunctionUniformity {
        let is_kernel = self
            .facts()
            .module()
            .functions()
            .get(self.id())
            .is_some_and(|function| function.kind == FunctionKind::Entry);
        let is_required = LaunchBounds::of(self.facts()).threads.is_some();
        if !is_kernel || is_required {
            return self.uniformity();
        }
        cached(&self.results.uniformity_of_warps, || {
            FunctionUniformity::of_warps(&self.without_budget())
        })
    }

    /// The values in single threads of a CTA: for [`ThreadValues::new`].
    pub(crate) fn thread_values(&self) -> Result<&Evaluated, AnalysisError> {
        let ssa = self.ssa()?;
        cached_result(&self.results.thread_values, || {
            let values = ThreadValues::of_definitions(self, ssa, &mut meter(self))?;
            Ok(values.into_evaluated())
        })
    }

    /// Violations of the protocols of asynchronous operations.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        cached(&self.results.violations, || {
            violations(&self.without_budget())
        })
        .as_slice()
    }

    /// Graphs that are derived from control flow, dominators and the loop forest.
    pub(crate) fn regions(&self) -> &RegionGraphs {
        cached(&self.results.regions, || RegionGraphs::new(self))
    }

    /// The variables in local memory that only this function accesses.
    pub(crate) fn stack(&self) -> &Stack {
        cached(&self.results.stack, || Stack::new(&self.without_budget()))
    }

    /// The second SSA form, in which the cells of [`stack`](Self::stack) are variables; `cells` are these cells. Without cells it is the first one.
    pub(crate) fn ssa_with_cells(&self, cells: &Cells) -> Result<&Ssa, AnalysisError> {
        if cells.is_empty() {
            return self.ssa();
        }
        let ssa = cached(&self.results.ssa_with_cells, || ssa_with_cells(self, cells));
        ssa.as_ref().map_err(|error| *error)
    }

    /// The graph of [`ssa_with_cells`](Self::ssa_with_cells).
    pub(crate) fn ssa_graph_with_cells(&self, cells: &Cells) -> Result<&SsaGraph, AnalysisError> {
        if cells.is_empty() {
            return self.ssa_graph();
        }
        let ssa = self.ssa_with_cells(cells)?;
        Ok(cached(&self.results.ssa_graph_with_cells, || {
            ssa_graph(self, ssa)
        }))
    }
}
