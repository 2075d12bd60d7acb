//! Types and sizes of variables.

use ptx_ir::{Declarations, Module, OperandPool, TypeName};
use ptx_isa::StateSpace;

use crate::clean;

/// `.b32`, `.v4.f32`.
#[must_use]
pub fn type_name(module: &Module, ty: TypeName, vector: u8) -> String {
    let text = match ty {
        TypeName::Known(ty) => ty.text(),
        TypeName::Unknown(name) => &clean(module.name(name)),
    };
    match vector {
        0 | 1 => text.to_owned(),
        n => format!(".v{n}{text}"),
    }
}

/// The bytes of all variables in a state space, without padding between them.
pub fn bytes_of(declarations: &Declarations, pool: &OperandPool, space: StateSpace) -> u64 {
    let in_space = declarations.decls.iter();
    let in_space = in_space.filter(|(_, decl)| decl.space.base() == space);
    let sizes = in_space.flat_map(|(id, decl)| {
        let declarators = declarations.declarators(id).iter();
        declarators.map(|declarator| {
            let size = decl.layout(declarator, pool).and_then(|layout| layout.size);
            let count = pool.integer(declarator.count).unwrap_or(1);
            let count = u64::try_from(count).unwrap_or(0);
            size.unwrap_or(0).saturating_mul(count)
        })
    });
    sizes.fold(0, u64::saturating_add)
}
