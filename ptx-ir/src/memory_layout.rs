//! The size and alignment in memory of variables and parameters.

use ptx_isa::{StateSpace, TypeKind};

use crate::decl::{Declarator, Linkage, Param, TypeName, VarDecl};
use crate::operand::{Operand, OperandPool, OperandRange};

/// The size and the alignment of a variable. Manual 5.4.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct MemoryLayout {
    /// Size in bytes; `None` for an array whose size is given elsewhere, such as
    /// `.extern .shared .b8 buffer[];`.
    pub size: Option<u64>,
    /// Alignment in bytes: that of `.align`, or the size of one element.
    pub align: u64,
}

/// The size of a handle of a texture, sampler or surface in bytes.
const HANDLE: u64 = 8;

impl VarDecl {
    /// The layout of one variable of this declaration; `None` for registers, opaque handles, unknown
    /// types, and sizes beyond 64 bits. Of a range such as `x<4>` it is that of one member.
    ///
    /// `pool` is the pool of the body or module that holds the declaration.
    ///
    /// ```
    /// let module = ptx_parse::parse_str(
    ///     ".version 8.0\n.target sm_90\n.global .align 16 .v2 .f32 a[3][2];\n.extern .shared .b8 s[];\n",
    /// )
    /// .into_result()?;
    /// let declarations = module.declarations();
    /// let layouts: Vec<_> = (declarations.decls.iter())
    ///     .flat_map(|(id, decl)| declarations.declarators(id).iter().map(move |d| (decl, d)))
    ///     .filter_map(|(decl, d)| decl.layout(d, module.pool()))
    ///     .map(|l| (l.size, l.align))
    ///     .collect();
    /// assert_eq!(layouts, [(Some(48), 16), (None, 1)]);
    /// # Ok::<(), ptx_parse::ParseError>(())
    /// ```
    #[must_use]
    pub fn layout(&self, declarator: &Declarator, pool: &OperandPool) -> Option<MemoryLayout> {
        let TypeName::Known(ty) = self.ty else {
            return None;
        };
        if self.space == StateSpace::Reg || ty.kind() == TypeKind::Opaque {
            return None;
        }
        let element = u64::from(ty.bits() / 8) * u64::from(self.vector);
        let elements = match elements(declarator.dims, pool)? {
            Elements::Known(n) => Some(n),
            Elements::TimesFirst(_) if self.linkage == Some(Linkage::Extern) => None,
            Elements::TimesFirst(factor) => match declarator.init {
                Operand::Vector(list) => (pool.list(list).len() as u64).checked_mul(factor),
                _ => None,
            },
        };
        MemoryLayout::new(element, elements, self.align, pool)
    }
}

impl Param {
    /// The layout of a parameter; `None` for an unknown type and for sizes beyond 64 bits. A handle of
    /// a texture, sampler or surface takes 8 bytes.
    ///
    /// `pool` is the pool of the module.
    #[must_use]
    pub fn layout(&self, pool: &OperandPool) -> Option<MemoryLayout> {
        let ty = self.ty.known()?;
        let bytes = match ty.kind() {
            TypeKind::Opaque => HANDLE,
            _ => u64::from(ty.bits() / 8),
        };
        let elements = match elements(self.dims, pool)? {
            Elements::Known(n) => Some(n),
            Elements::TimesFirst(_) => None,
        };
        MemoryLayout::new(bytes * u64::from(self.vector), elements, self.align, pool)
    }
}

impl MemoryLayout {
    fn new(
        element: u64,
        elements: Option<u64>,
        align: Operand,
        pool: &OperandPool,
    ) -> Option<Self> {
        let size = match elements {
            Some(n) => Some(element.checked_mul(n)?),
            None => None,
        };
        let align = pool
            .integer(align)
            .and_then(|align| u64::try_from(align).ok())
            .filter(|&align| align > 0)
            .unwrap_or(element.max(1));
        Some(Self { size, align })
    }
}

/// The number of elements of an array; 1 for a scalar.
enum Elements {
    Known(u64),
    /// The first dimension is left out. The number is the product of it and this.
    TimesFirst(u64),
}

fn elements(dims: OperandRange, pool: &OperandPool) -> Option<Elements> {
    let (mut product, mut has_open_dim) = (1u64, false);
    for &dim in pool.slice(dims) {
        if dim == Operand::Absent {
            has_open_dim = true;
        } else {
            let n = u64::try_from(pool.integer(dim)?).ok()?;
            product = product.checked_mul(n)?;
        }
    }
    Some(if has_open_dim {
        Elements::TimesFirst(product)
    } else {
        Elements::Known(product)
    })
}
