//! Compares prototypes. Manual 7.1.

use ptx_ir::{Interface, Module, Param};
use ptx_isa::Directive;

use crate::problem::redeclaration::{List, Property, PrototypeDifference};

/// Returns `true` if a header has `.noreturn`.
pub(crate) fn is_noreturn(module: &Module, interface: &Interface) -> bool {
    interface
        .directives
        .of(module.interface_directives())
        .iter()
        .any(|stmt| stmt.directive == Directive::Noreturn)
}

/// Returns the first difference between the first prototype of a name and a later one.
pub(crate) fn difference(
    module: &Module,
    first: &Interface,
    later: &Interface,
) -> Option<PrototypeDifference> {
    let lists = [
        (first.returns, later.returns, List::Results),
        (first.params, later.params, List::Parameters),
    ];
    for (first, later, list) in lists {
        if first.len != later.len {
            return Some(PrototypeDifference::Count(list, later.len, first.len));
        }
        let pairs = first
            .of(module.params())
            .iter()
            .zip(later.of(module.params()));
        for (position, (first, later)) in (1..).zip(pairs) {
            if let Some(property) = parameter_difference(module, first, later) {
                return Some(PrototypeDifference::Item(list, position, property));
            }
        }
    }
    None
}

fn parameter_difference(module: &Module, a: &Param, b: &Param) -> Option<Property> {
    let pool = module.pool();
    let dims = |param: &Param| {
        let dims = pool.slice(param.dims).iter();
        dims.map(|dim| pool.integer(*dim).unwrap_or(0))
    };
    let align = |param: &Param| {
        let natural = param.ty.known().map_or(1, |ty| i64::from(ty.bits() / 8));
        pool.integer(param.align).unwrap_or(natural)
    };
    if a.ty != b.ty || a.vector != b.vector || !dims(a).eq(dims(b)) {
        Some(Property::Type)
    } else if a.space != b.space {
        Some(Property::Space)
    } else {
        (align(a) != align(b)).then_some(Property::Alignment)
    }
}
