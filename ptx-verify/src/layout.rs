//! Sizes and alignments of variables and parameters. Manual 5.4.5.

use ptx_ir::{MemoryLayout, Module, Operand, Param};

use crate::context::Context;
use crate::finding::Repair;
use crate::location::Location;
use crate::problem::Side;
use crate::problem::variable::VariableProblem;

/// Returns `true` if a parameter is an array without a size.
pub(crate) fn is_unsized(module: &Module, param: &Param) -> bool {
    let first_dimension = module.pool().slice(param.dims).first();
    first_dimension.is_some_and(|dimension| {
        *dimension == Operand::Absent || module.pool().integer(*dimension) == Some(0)
    })
}

/// Returns the size in bytes, 0 for an array without a size, and the alignment; `None` if one does not fit.
pub(crate) fn size_and_align(layout: MemoryLayout) -> Option<(i64, i64)> {
    let size = i64::try_from(layout.size.unwrap_or(0)).ok()?;
    Some((size, i64::try_from(layout.align).ok()?))
}

/// Reports an alignment that is not a power of two.
pub(crate) fn check_alignment(context: &mut Context<'_>, align: i64, location: Location) {
    if align.count_ones() == 1 && u32::try_from(align).is_ok() {
        return;
    }
    let finding = context.report(location, VariableProblem::NotPowerOfTwo(align));
    // Most variables are aligned to a word.
    let suggestion = match u32::try_from(align) {
        Ok(align @ 1..) => align.checked_next_power_of_two(),
        _ => Some(4),
    };
    if let Some(suggestion) = suggestion {
        let text = format!("{suggestion}");
        let note = format!("for example {suggestion}");
        finding.repair = Some(Repair::new(location, Side::Whole, text, note));
    }
}
