//! The parts of this crate that only other crates of the project use. They may change at any time.

use ptx_ir::facts::FunctionFacts;

use crate::error::AnalysisError;
use crate::function_dataflow::{FunctionDataflow, UNLIMITED};
use crate::ssa::Ssa;

#[cfg(feature = "count-builds")]
pub use crate::builds::counting::take_builds;
pub use crate::conditions::{Condition, Conditions};
pub use crate::constants::instruction::{Operands, Source, Target};
pub use crate::dataflow::sparse::Bounds;
pub use crate::dataflow::sparse_set::SparseSet;
pub use crate::dataflow::ssa_graph::{Item, SsaGraph};
pub use crate::graph::csr::Csr;
pub use crate::graph::digraph::{BadGraph, Digraph};
pub use crate::graph::frontier::{Frontiers, IteratedFrontiers};
pub use crate::graph::post::ControlDependence;
pub use crate::graph::scc::{ComponentId, Components};
pub use crate::meter::Meter;
pub use crate::source_lines::embedded::{CodeBlock, code_blocks};
pub use crate::source_lines::loc::{DebugName, Loc, Position};
pub use crate::ssa::cells::{CellAccess, CellUse, Cells, cell_variable};

/// Computes the SSA form in which cells of memory are further variables.
///
/// # Errors
///
/// The function needs more phis than the limit.
pub fn ssa_with_cells(
    function: &FunctionDataflow<'_>,
    cells: &Cells,
) -> Result<Ssa, AnalysisError> {
    Ssa::new(
        function.facts(),
        function.cfg(),
        function.variables(),
        function.dominators(),
        cells,
        &UNLIMITED,
    )
}

/// Begins an analysis that is charged to the budget of a function.
#[must_use]
pub fn meter<'m>(function: &FunctionDataflow<'m>) -> Meter<'m> {
    Meter::new(function.budget)
}

/// Returns a function whose analyses are not limited. It shares the results.
#[must_use]
pub fn without_budget<'m>(function: &FunctionDataflow<'m>) -> FunctionDataflow<'m> {
    function.clone().with_budget(&UNLIMITED)
}

/// Creates the graph of an SSA form of a function.
#[must_use]
pub fn ssa_graph(function: &FunctionDataflow<'_>, ssa: &Ssa) -> SsaGraph {
    SsaGraph::new(
        function.body(),
        function.cfg(),
        function.reverse_post_order(),
        ssa,
    )
}

/// Records that an analysis of a function is computed, if the feature `count-builds` is enabled.
#[inline]
pub fn record_build(analysis: &'static str, facts: FunctionFacts<'_>) {
    crate::builds::record(analysis, facts);
}
