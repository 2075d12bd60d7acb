//! Solves a sparse dataflow problem of a function.

use super::sparse::{SparseAnalysis, SparseInput, SparseSolution, solve_on_graph};
use crate::AnalysisError;
use crate::function_dataflow::FunctionDataflow;

/// Solves a sparse dataflow problem in at most `max_sweeps` sweeps over the function.
///
/// # Errors
///
/// The function has no SSA form: see [`FunctionDataflow::ssa`].
pub fn solve_sparse<A: SparseAnalysis>(
    function: &FunctionDataflow<'_>,
    analysis: &mut A,
    max_sweeps: u32,
) -> Result<SparseSolution<A::Domain>, AnalysisError> {
    let input = SparseInput {
        facts: function.facts(),
        cfg: function.cfg(),
        ssa: function.ssa()?,
        graph: function.ssa_graph()?,
    };
    Ok(solve_on_graph(input, analysis, max_sweeps))
}
