//! The types of shared variables.

use alloc::vec::Vec;

use ptx_ir::{Declarator, Module, Operand, TypeName, VarDecl};
use ptx_isa::ScalarType;

use super::shared_symbols::{Global, SymbolKind};

/// The type of a variable.
pub(super) struct Variable<'m> {
    module: &'m Module,
    pub(super) decl: &'m VarDecl,
    declarator: &'m Declarator,
}

impl<'m> Variable<'m> {
    pub(super) fn of(module: &'m Module, global: &Global) -> Option<Self> {
        let SymbolKind::Variable(id, i) = global.what else {
            return None;
        };
        let decl = module.declarations().decls.get(id)?;
        let declarator = module.declarations().declarators(id).get(i)?;
        Some(Self {
            module,
            decl,
            declarator,
        })
    }

    fn dims(&self) -> Vec<i64> {
        let dims = self.module.pool().slice(self.declarator.dims);
        let mut sizes = sizes(self.module, dims);
        // The initializer determines the number of elements.
        if let Some(first @ 0) = sizes.first_mut()
            && let Operand::Vector(list) = self.declarator.init
        {
            *first = self.module.pool().list(list).len() as i64;
        }
        sizes
    }

    /// The size of the variable in bytes; `None` if the array has no size.
    pub(super) fn size(&self) -> Option<i64> {
        let element = i64::from(self.decl.ty.known()?.bits() / 8) * i64::from(self.decl.vector);
        let bytes = self.dims().into_iter().fold(element, i64::saturating_mul);
        (bytes > 0).then_some(bytes)
    }

    pub(super) fn alignment(&self) -> i64 {
        alignment(self.module, self.decl.align, self.decl.ty, self.decl.vector)
    }

    /// Whether two variables have the same type. The first length may be missing in one of the declarations.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let (a, b) = (self.dims(), other.dims());
        let have_compatible_lengths =
            a.first() == b.first() || a.first() == Some(&0) || b.first() == Some(&0);
        self.decl.ty == other.decl.ty
            && self.decl.vector == other.decl.vector
            && have_compatible_lengths
            && a.len() == b.len()
            && a.get(1..) == b.get(1..)
    }
}

/// The lengths of the dimensions of an array; 0 for a missing length.
pub(super) fn sizes(module: &Module, dims: &[Operand]) -> Vec<i64> {
    dims.iter()
        .map(|dim| module.pool().integer(*dim).unwrap_or(0))
        .collect()
}

/// The declared alignment in bytes, or else that of the type.
pub(super) fn alignment(module: &Module, align: Operand, ty: TypeName, vector: u8) -> i64 {
    let natural = i64::from(ty.known().map_or(8, ScalarType::bits) / 8) * i64::from(vector);
    module.pool().integer(align).unwrap_or(natural)
}
