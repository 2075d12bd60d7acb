//! Decodes the modifiers of matrix instructions.

use ptx_analysis::internals::{MatrixProduct, matrix_shape};
use ptx_isa::{Modifier, ScalarType, TypeKind};

use super::layout::{Layout, Role};
use super::model::{Method, Model};

/// A product of matrices with an addend in a warp: `d = a · b + c`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Operation {
    /// The shape and the factors, of all warps.
    product: MatrixProduct,
    /// Rows of the result, its columns, and the columns of the first factor.
    pub(crate) shape: [usize; 3],
    /// The types of the factors, the addend and the result.
    pub(crate) a: ScalarType,
    pub(crate) b: ScalarType,
    pub(crate) c: ScalarType,
    pub(crate) d: ScalarType,
    /// Whether the rows of the factors are contiguous.
    pub(crate) row_major: [bool; 2],
    /// Whether half of the elements of the first factor are zero and not stored.
    pub(crate) sparse: bool,
    /// Whether elements of less than 8 bits have a byte each.
    pub(crate) padded: bool,
    /// The type of the block scales, and the number of them in each row.
    pub(crate) scales: Option<(ScalarType, usize)>,
    pub(crate) saturates: bool,
    /// Whether bits are combined by exclusive or instead of and.
    pub(crate) xor: bool,
    pub(crate) rounding: Modifier,
}

impl Operation {
    /// The operation of modifiers. `None` if they do not state one.
    pub(crate) fn of(modifiers: &[Modifier]) -> Option<Self> {
        let has = |m: Modifier| modifiers.contains(&m);
        let types: Vec<ScalarType> = modifiers.iter().filter_map(|m| m.scalar_type()).collect();
        let (d, c) = match types[..] {
            [d, c] | [d, _, _, c] | [d, _, _, c, _] => (d, c),
            // The warps of a warpgroup add to the result.
            [d, _, _] => (d, d),
            _ => return None,
        };
        let product = MatrixProduct::of(modifiers)?;
        let [a, b] = product.factors;
        let layouts: Vec<bool> = modifiers
            .iter()
            .filter(|m| matches!(m, Modifier::Row | Modifier::Col))
            .map(|m| *m == Modifier::Row)
            .collect();
        let row_major = match layouts[..] {
            [a, b] => [a, b],
            // The layouts of a warpgroup are operands.
            [] if product.warps > 1 => [true, false],
            _ => return None,
        };
        let [rows, width, depth] = product.shape;
        let groups = has(Modifier::KindMxf4) || has(Modifier::KindMxf4nvf4);
        let scales = if has(Modifier::ScaleVec4X) {
            4
        } else if groups {
            2
        } else {
            1
        };
        let scale = types.get(4).map(|&ty| (ty, scales));
        let rounding = [Modifier::Rz, Modifier::Rm, Modifier::Rp];
        Some(Self {
            product,
            shape: [rows / product.warps, width, depth].map(|n| n as usize),
            a,
            b,
            c,
            d,
            row_major,
            sparse: product.sparse,
            padded: !groups,
            scales: scale,
            saturates: has(Modifier::Satfinite),
            xor: has(Modifier::Xor),
            rounding: rounding
                .into_iter()
                .find(|m| has(*m))
                .unwrap_or(Modifier::Rn),
        })
    }

    /// A product of the fifth generation of tensor cores, whose result has the type of the addend.
    pub(crate) fn of_tensor_core(
        product: MatrixProduct,
        result: ScalarType,
        padded: bool,
        scales: Option<(ScalarType, usize)>,
        saturates: bool,
    ) -> Self {
        let [a, b] = product.factors;
        Self {
            product,
            shape: product.shape.map(|n| n as usize),
            a,
            b,
            c: result,
            d: result,
            row_major: [true, false],
            sparse: product.sparse,
            padded,
            scales,
            saturates,
            xor: false,
            rounding: Modifier::Rn,
        }
    }

    /// Whether each eight lanes multiply their own matrices.
    pub(crate) fn quads(&self) -> bool {
        self.product.quads()
    }

    /// The product of all warps.
    pub(crate) const fn product(&self) -> MatrixProduct {
        self.product
    }

    /// The number of multiply-add operations of the warp.
    pub(crate) fn multiply_adds(&self) -> u64 {
        self.product.multiply_adds() / u64::from(self.product.warps)
    }

    /// The steps of the sums of an architecture. `half`: they are made in binary16.
    pub(crate) fn method(&self, model: Model, half: bool) -> Method {
        if self.product.warps > 1 {
            model.warpgroup_method(self.a, half)
        } else {
            model.method(self.a, half, self.quads())
        }
    }

    /// The number of elements of the first factor that a row stores.
    pub(crate) const fn stored(&self) -> usize {
        self.product.stored() as usize
    }

    /// Bits of an element of a factor, as it is stored; words of bits are one element.
    pub(crate) fn factor_bits(&self) -> usize {
        match usize::from(self.a.bits()) {
            1 => 32,
            4..=8 if self.a.kind() == TypeKind::Float && self.padded => 8,
            other => other,
        }
    }

    /// Elements of a row of the first factor that one stored element has: words of bits have 32.
    pub(crate) fn word(&self) -> usize {
        if self.a.bits() == 1 { 32 } else { 1 }
    }

    /// The places of the elements of a matrix. `part` is the number of the matrix among four.
    pub(crate) fn layout(&self, role: Role, part: usize) -> Layout {
        let bits = self.factor_bits();
        layout(role, bits, self.quads().then_some((self.row_major, part)))
    }

    /// The places of the elements of the addend or the result, by their type.
    pub(crate) fn addend_layout(&self, ty: ScalarType, part: usize) -> Layout {
        let quads = self.quads().then_some((self.row_major, part));
        layout(Role::C, ty.bits().into(), quads)
    }
}

fn layout(role: Role, bits: usize, quads: Option<([bool; 2], usize)>) -> Layout {
    let elements = (32 / bits).max(1);
    match quads {
        None => Layout::Warp { role, elements },
        Some(([a, b], part)) => Layout::Quads {
            role,
            elements,
            row_major: if role == Role::B { b } else { a },
            part,
        },
    }
}

/// The shape that a modifier names.
pub(crate) fn shape(modifiers: &[Modifier]) -> Option<[usize; 3]> {
    Some(matrix_shape(modifiers)?.map(|n| n as usize))
}
