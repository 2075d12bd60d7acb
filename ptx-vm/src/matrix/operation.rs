//! Decodes the modifiers of matrix instructions.

use ptx_analysis::internals::MatrixProduct;
use ptx_analysis::internals::fragments::{ProductFragments, block_scales, result_types};
use ptx_isa::{Modifier, ScalarType};

use super::layout::{Layout, Role};
use super::model::{Method, Model};

/// A product of matrices with an addend in a warp: `d = a · b + c`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Operation {
    /// The shape and the factors of all warps, and the places of the elements.
    pub(crate) fragments: ProductFragments,
    /// Rows of the result, its columns, and the columns of the first factor.
    pub(crate) shape: [usize; 3],
    /// The types of the factors, the addend and the result.
    pub(crate) a: ScalarType,
    pub(crate) b: ScalarType,
    pub(crate) c: ScalarType,
    pub(crate) d: ScalarType,
    /// Whether half of the elements of the first factor are zero and not stored.
    pub(crate) sparse: bool,
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
        let [d, c] = result_types(modifiers)?;
        let fragments = ProductFragments::of(modifiers)?;
        let [a, b] = fragments.product.factors;
        let scale_type = modifiers.iter().filter_map(|m| m.scalar_type()).nth(4);
        let rounding = [Modifier::Rz, Modifier::Rm, Modifier::Rp];
        Some(Self {
            fragments,
            shape: fragments.shape(),
            a,
            b,
            c,
            d,
            sparse: fragments.product.sparse,
            scales: scale_type.zip(block_scales(modifiers)),
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
            fragments: ProductFragments {
                product,
                row_major: [true, false],
                padded,
            },
            shape: product.shape.map(|n| n as usize),
            a,
            b,
            c: result,
            d: result,
            sparse: product.sparse,
            scales,
            saturates,
            xor: false,
            rounding: Modifier::Rn,
        }
    }

    /// Whether each eight lanes multiply their own matrices.
    pub(crate) fn quads(&self) -> bool {
        self.fragments.product.quads()
    }

    /// The product of all warps.
    pub(crate) const fn product(&self) -> MatrixProduct {
        self.fragments.product
    }

    /// The number of multiply-add operations of the warp.
    pub(crate) fn multiply_adds(&self) -> u64 {
        self.fragments.product.multiply_adds() / u64::from(self.fragments.product.warps)
    }

    /// The steps of the sums of an architecture. `half`: they are made in binary16.
    pub(crate) fn method(&self, model: Model, half: bool) -> Method {
        if self.fragments.product.warps > 1 {
            model.warpgroup_method(self.a, half)
        } else {
            model.method(self.a, half, self.quads())
        }
    }

    /// The number of elements of the first factor that a row stores.
    pub(crate) const fn stored(&self) -> usize {
        self.fragments.product.stored() as usize
    }

    /// Bits of an element of a factor, as it is stored; words of bits are one element.
    pub(crate) fn factor_bits(&self) -> usize {
        self.fragments.factor_bits()
    }

    /// Elements of a row of the first factor that one stored element has: words of bits have 32.
    pub(crate) fn word(&self) -> usize {
        self.fragments.word()
    }

    /// The places of the elements of a matrix. `part` is the number of the matrix among four.
    pub(crate) fn layout(&self, role: Role, part: usize) -> Layout {
        self.fragments.layout(role, part)
    }

    /// The places of the elements of the addend or the result, by their type.
    pub(crate) fn addend_layout(&self, ty: ScalarType, part: usize) -> Layout {
        self.fragments.addend_layout(ty, part)
    }
}
