//! Alignments. Manual 5.4.5.

use crate::context::Context;
use crate::finding::Repair;
use crate::location::Location;
use crate::problem::Side;
use crate::problem::variable::VariableProblem;

/// Reports an alignment that is not a power of two.
pub(crate) fn power_of_two(context: &mut Context<'_>, align: i64, location: Location) {
    if align.count_ones() != 1 || u32::try_from(align).is_err() {
        let finding = context.report(location, VariableProblem::NotPowerOfTwo(align));
        // Most variables are aligned to a word.
        let next = match u32::try_from(align) {
            Ok(align @ 1..) => align.checked_next_power_of_two(),
            _ => Some(4),
        };
        if let Some(next) = next {
            let text = format!("{next}");
            let note = format!("for example {next}");
            finding.repair = Some(Repair::new(location, Side::Whole, text, note));
        }
    }
}
