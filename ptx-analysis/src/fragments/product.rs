//! The fragments of the matrices of a product.

use alloc::vec::Vec;

use ptx_isa::{Modifier, ScalarType, TypeKind};

use super::LANES;
use super::layout::{Layout, Role};
use crate::work::matrix::MatrixProduct;

/// The distribution of the factors, the addend and the result of a product over the registers of a warp.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct ProductFragments {
    /// The shape and the factors, of all warps.
    pub product: MatrixProduct,
    /// Whether the rows of the factors are contiguous.
    pub row_major: [bool; 2],
    /// Whether elements of less than 8 bits have a byte each.
    pub padded: bool,
}

/// The types of the result and of the addend; `None` if the modifiers do not name them.
#[must_use]
pub fn result_types(modifiers: &[Modifier]) -> Option<[ScalarType; 2]> {
    let types: Vec<ScalarType> = modifiers.iter().filter_map(|m| m.scalar_type()).collect();
    match types[..] {
        [d, c] | [d, _, _, c] | [d, _, _, c, _] => Some([d, c]),
        // The warps of a warpgroup add to the result.
        [d, _, _] => Some([d, d]),
        _ => None,
    }
}

/// The number of block scales of each row of the first factor and of each column of the second one; `None` without block scales.
#[must_use]
pub fn block_scales(modifiers: &[Modifier]) -> Option<usize> {
    let has = |modifier| modifiers.contains(&modifier);
    let types = modifiers.iter().filter_map(|m| m.scalar_type());
    (types.count() > 4).then(|| {
        if has(Modifier::ScaleVec4X) {
            4
        } else if has(Modifier::KindMxf4) || has(Modifier::KindMxf4nvf4) {
            2
        } else {
            1
        }
    })
}

/// The lane with the block scales of a row of the first factor or of a column of the second one. `thread` is the operand that selects lanes.
#[must_use]
pub const fn scale_lane(role: Role, line: usize, thread: usize) -> usize {
    let lane = match role {
        // Two lanes of four have the scales of two rows, one lane those of a column.
        Role::A => line % 8 * 4 + 2 * (thread % 2) + line / 8,
        _ => line * 4 + thread % 4,
    };
    lane % LANES
}

/// The place of the two bits of metadata of a stored unit of a row of a sparse factor, which has `units` of them: the lane, and the lowest bit in its
/// register.
#[must_use]
pub const fn metadata_place(units: usize, selector: usize, row: usize, unit: usize) -> [usize; 2] {
    let group = row % 8 * 4;
    let high = row / 8;
    let (lane, position) = match units {
        // One lane has two rows.
        ..=8 => (selector, 16 * high + 2 * unit),
        // Two lanes have half of two rows each.
        9..=16 => (2 * selector + unit / 8, 16 * high + unit % 8 * 2),
        // Four lanes have half of a row each.
        _ => (unit / 16 * 2 + high, unit % 16 * 2),
    };
    [(group + lane) % LANES, position]
}

impl ProductFragments {
    /// The fragments of the product of modifiers. `None` if they do not state one.
    #[must_use]
    pub fn of(modifiers: &[Modifier]) -> Option<Self> {
        let product = MatrixProduct::of(modifiers)?;
        let mut layouts = modifiers
            .iter()
            .filter(|m| matches!(m, Modifier::Row | Modifier::Col))
            .map(|m| *m == Modifier::Row);
        let row_major = match (layouts.next(), layouts.next(), layouts.next()) {
            (Some(a), Some(b), None) => [a, b],
            // The layouts of a warpgroup are operands.
            (None, ..) if product.warps > 1 => [true, false],
            _ => return None,
        };
        let is_packed =
            modifiers.contains(&Modifier::KindMxf4) || modifiers.contains(&Modifier::KindMxf4nvf4);
        Some(Self {
            product,
            row_major,
            padded: !is_packed,
        })
    }

    /// The shape that one warp computes: rows and columns of the result, and columns of the first factor.
    #[must_use]
    pub fn shape(&self) -> [usize; 3] {
        let [rows, width, depth] = self.product.shape;
        [rows / self.product.warps, width, depth].map(|n| n as usize)
    }

    /// Whether each eight lanes multiply their own matrices.
    #[must_use]
    pub fn quads(&self) -> bool {
        self.product.quads()
    }

    /// Bits of an element of a factor, as it is stored; words of bits are one element.
    #[must_use]
    pub fn factor_bits(&self) -> usize {
        let [ty, _] = self.product.factors;
        match usize::from(ty.bits()) {
            1 => 32,
            4..=8 if ty.kind() == TypeKind::Float && self.padded => 8,
            other => other,
        }
    }

    /// Elements of a row of the first factor that one stored element has: words of bits have 32.
    #[must_use]
    pub fn word(&self) -> usize {
        let [ty, _] = self.product.factors;
        if ty.bits() == 1 { 32 } else { 1 }
    }

    /// The size of a matrix in stored elements: rows and columns.
    #[must_use]
    pub fn size(&self, role: Role) -> [usize; 2] {
        let ([rows, width, depth], word) = (self.shape(), self.word());
        match role {
            Role::A => [rows, self.product.stored() as usize / word],
            Role::B => [depth / word, width],
            Role::C => [rows, width],
        }
    }

    /// The number of units of a row of a sparse factor that have two bits of metadata each.
    #[must_use]
    pub fn metadata_units(&self) -> usize {
        let stored = self.product.stored() as usize;
        match self.factor_bits() {
            4 => stored / 2,
            32 => stored * 2,
            _ => stored,
        }
    }

    /// The places of the elements of a factor. `part` is the number of the matrix among four.
    #[must_use]
    pub fn layout(&self, role: Role, part: usize) -> Layout {
        self.layout_of_bits(role, self.factor_bits(), part)
    }

    /// The places of the elements of the addend or the result, by their type.
    #[must_use]
    pub fn addend_layout(&self, ty: ScalarType, part: usize) -> Layout {
        self.layout_of_bits(Role::C, ty.bits().into(), part)
    }

    fn layout_of_bits(&self, role: Role, bits: usize, part: usize) -> Layout {
        let elements = (32 / bits).max(1);
        if !self.quads() {
            return Layout::Warp { role, elements };
        }
        let [a, b] = self.row_major;
        Layout::Quads {
            role,
            elements,
            row_major: if role == Role::B { b } else { a },
            part,
        }
    }
}
