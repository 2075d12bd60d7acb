//! The parts of this crate that only `ptx-analysis` uses. They may change at any time.

use ptx_ir::facts::FunctionFacts;

use crate::dataflow::sparse::SsaGraph;
use crate::function_dataflow::FunctionDataflow;
use crate::ssa::{Ssa, TooManyPhis};

#[cfg(feature = "count-builds")]
pub use crate::builds::counting::take_builds;
pub use crate::conditions::{Condition, Conditions};
pub use crate::constants::instruction::{Operands, Source, Target};
pub use crate::ssa::cells::{CellAccess, CellUse, Cells, cell_variable};

/// Computes the SSA form in which cells of memory are further variables.
///
/// # Errors
///
/// The function needs more phis than the limit: see [`TooManyPhis`].
pub fn ssa_with_cells(function: &FunctionDataflow<'_>, cells: &Cells) -> Result<Ssa, TooManyPhis> {
    Ssa::new(
        function.facts(),
        function.cfg(),
        function.variables(),
        function.dominators(),
        cells,
    )
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
