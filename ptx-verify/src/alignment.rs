//! Alignments. Manual 5.4.5.

use crate::context::Context;
use crate::location::Location;
use crate::problem::variable::VariableProblem;

/// Reports an alignment that is not a power of two.
pub(crate) fn power_of_two(context: &mut Context<'_>, align: i64, at: Location) {
    if align.count_ones() != 1 || u32::try_from(align).is_err() {
        context.report(at, VariableProblem::NotPowerOfTwo(align));
    }
}
