//! The reasons for which an analysis of the values of a function has no result.

use core::fmt;

use ptx_ir::BudgetExhausted;

/// The reason for which an analysis of the values of a function has no result.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum AnalysisError {
    /// The function needs more phis and arguments of phis than the limit: some nests of loops need a number of them that is quadratic in the size of
    /// the function. Such a function has no SSA form. See [`FunctionDataflow::ssa`](crate::function_dataflow::FunctionDataflow::ssa).
    TooManyPhis {
        /// The allowed number of phis and arguments.
        limit: u64,
    },
    /// The budget of [`FunctionDataflow::with_budget`](crate::function_dataflow::FunctionDataflow::with_budget) is exhausted, or was canceled. With
    /// another budget the analysis may have a result.
    BudgetExhausted,
}

impl From<BudgetExhausted> for AnalysisError {
    fn from(_: BudgetExhausted) -> Self {
        Self::BudgetExhausted
    }
}

impl fmt::Display for AnalysisError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyPhis { limit } => write!(
                f,
                "the function needs more than {limit} phis and arguments of phis"
            ),
            Self::BudgetExhausted => BudgetExhausted.fmt(f),
        }
    }
}

impl core::error::Error for AnalysisError {}
