//! Size and alignment of parameters.

use ptx_ir::{MemoryLayout, Module, Operand, Param};

/// Whether a parameter is an array without a size.
pub(crate) fn is_unsized(module: &Module, param: &Param) -> bool {
    let first = module.pool().slice(param.dims).first();
    first.is_some_and(|d| *d == Operand::Absent || module.pool().integer(*d) == Some(0))
}

/// The size in bytes, 0 for an array without a size, and the alignment; `None` if one does not fit.
pub(crate) fn size_and_align(layout: MemoryLayout) -> Option<(i64, i64)> {
    let size = i64::try_from(layout.size.unwrap_or(0)).ok()?;
    Some((size, i64::try_from(layout.align).ok()?))
}
