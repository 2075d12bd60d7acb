//! Size and alignment of parameters.

use ptx_ir::{Module, Operand, Param};
use ptx_isa::TypeKind;

use crate::context::integer;

/// Whether a parameter is an array without a size.
pub(crate) fn is_unsized(module: &Module, param: &Param) -> bool {
    let first = module.pool().slice(param.dims).first();
    first.is_some_and(|d| *d == Operand::Absent || integer(module.pool(), *d) == Some(0))
}

/// The size and the alignment of a parameter in bytes; `None` where its type is unknown, or the size does not fit.
pub(crate) fn size_and_align(module: &Module, param: &Param) -> Option<(i64, i64)> {
    let ty = param.ty.known()?;
    let pool = module.pool();
    let bytes = match ty.kind() {
        TypeKind::Opaque => 8,
        _ => i64::from(ty.bits() / 8),
    };
    let mut size = bytes.checked_mul(param.vector.into())?;
    for &dim in pool.slice(param.dims) {
        size = size.checked_mul(integer(pool, dim).unwrap_or(0))?;
    }
    let align = integer(pool, param.align).filter(|a| *a > 0);
    Some((size, align.unwrap_or(bytes.max(1))))
}
