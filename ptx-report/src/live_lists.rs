//! How long lists of live registers and of edges may be in an output.

use ptx_analysis::function_analysis::FunctionAnalysis;

/// How many entries the lists of a function may have that can be quadratic in its size, and how many more for each
/// statement. Real functions need less than 20 for each statement.
const LIST_ENTRIES: u64 = 1 << 20;
const LIST_ENTRIES_PER_STATEMENT: u64 = 64;

/// The most entries of a list that can be quadratic in the size of a function, given its number of statements.
#[must_use]
pub fn list_entries(statements: usize) -> u64 {
    LIST_ENTRIES + LIST_ENTRIES_PER_STATEMENT * statements as u64
}

/// Whether the registers that are live at the ends of all blocks are few enough to be listed.
#[must_use]
pub fn live_lists_fit(analysis: &FunctionAnalysis<'_>, statements: usize) -> bool {
    analysis.liveness().total() <= list_entries(statements)
}
