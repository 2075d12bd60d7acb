//! Whether two prototypes agree. Manual 7.1.

use ptx_ir::{Interface, Module, Param};
use ptx_isa::Directive;

use crate::problem::redeclaration::{List, Property, PrototypeDifference};

/// Whether a header has `.noreturn`.
pub(crate) fn is_noreturn(module: &Module, interface: &Interface) -> bool {
    let mut all = interface
        .directives
        .of(module.interface_directives())
        .iter();
    all.any(|d| d.directive == Directive::Noreturn)
}

/// The difference between a prototype and the first one.
pub(crate) fn difference(
    module: &Module,
    first: &Interface,
    now: &Interface,
) -> Option<PrototypeDifference> {
    let lists = [
        (first.returns, now.returns, List::Results),
        (first.params, now.params, List::Parameters),
    ];
    for (first, now, list) in lists {
        if first.len != now.len {
            return Some(PrototypeDifference::Count(list, now.len, first.len));
        }
        let pairs = first
            .of(module.params())
            .iter()
            .zip(now.of(module.params()));
        for (nth, (first, now)) in (1..).zip(pairs) {
            if let Some(property) = parameters(module, first, now) {
                return Some(PrototypeDifference::Item(list, nth, property));
            }
        }
    }
    None
}

fn parameters(module: &Module, a: &Param, b: &Param) -> Option<Property> {
    let pool = module.pool();
    let dims = |p: &Param| {
        let dims = pool.slice(p.dims).iter();
        dims.map(|d| pool.integer(*d).unwrap_or(0))
    };
    let align = |p: &Param| {
        let natural = p.ty.known().map_or(1, |t| i64::from(t.bits() / 8));
        pool.integer(p.align).unwrap_or(natural)
    };
    if a.ty != b.ty || a.vector != b.vector || !dims(a).eq(dims(b)) {
        Some(Property::Type)
    } else if a.space != b.space {
        Some(Property::Space)
    } else {
        (align(a) != align(b)).then_some(Property::Alignment)
    }
}
