//! Which threads execute which blocks.

use crate::cfg::BlockId;
use crate::function_analysis::FunctionAnalysis;

/// Post-dominators that are looked at.
const STEPS: usize = 64;

/// Whether each thread that executes a block executes the other one after it.
pub(super) fn always_follows(
    analysis: &FunctionAnalysis<'_>,
    block: BlockId,
    after: BlockId,
) -> bool {
    let mut at = Some(after);
    for _ in 0..STEPS {
        match at {
            Some(b) if b == block => return true,
            Some(b) => at = analysis.ipdom(b),
            None => return false,
        }
    }
    false
}
