//! Matrix products, and the matrices that a warp loads and stores, decoded from the modifiers of instructions.

use alloc::vec::Vec;

use ptx_ir::InstId;
use ptx_ir::facts::FunctionFacts;
use ptx_isa::{Action, Modifier, ScalarType};

/// The bytes of a row that a lane addresses when a warp loads or stores matrices.
const MATRIX_ROW: u64 = 16;

/// A matrix product on tensor cores, as specified by modifiers.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MatrixProduct {
    /// The shape MxNxK: rows and columns of the result, and columns of the first factor.
    pub shape: [u32; 3],
    /// The types of the elements of the factors.
    pub factors: [ScalarType; 2],
    /// Whether the first factor is sparse: half of it is zero and not stored.
    pub sparse: bool,
    /// The number of warps that compute it together.
    pub warps: u32,
}

impl MatrixProduct {
    /// Decodes modifiers; `None` if they do not specify a product: the shape of `tcgen05` is in a descriptor.
    ///
    /// ```
    /// use ptx_analysis::internals::MatrixProduct;
    /// use ptx_isa::Modifier;
    /// let modifiers = [Modifier::M16n8k16, Modifier::Row, Modifier::Col, Modifier::F32, Modifier::F16, Modifier::F16, Modifier::F32];
    /// assert_eq!(MatrixProduct::of(&modifiers).unwrap().multiply_adds(), 16 * 8 * 16);
    /// ```
    #[must_use]
    pub fn of(modifiers: &[Modifier]) -> Option<Self> {
        let mut types = modifiers.iter().filter_map(|m| m.scalar_type());
        let first = (types.next()?, types.next()?, types.next(), types.next());
        let (factors, warps) = match first {
            // The types of the result and of the addend; the factors have half precision.
            (_, _, None, _) => ([ScalarType::F16; 2], 1),
            // A warpgroup adds to the result, so there is no type of an addend.
            (_, a, Some(b), None) => ([a, b], 4),
            (_, a, Some(b), Some(_)) => ([a, b], 1),
        };
        Some(Self {
            shape: matrix_shape(modifiers)?,
            factors,
            sparse: modifiers.contains(&Modifier::Sp)
                || modifiers.contains(&Modifier::SpOrderedMetadata),
            warps,
        })
    }

    /// A product with a shape and factors that a descriptor states, of which one thread starts the whole.
    #[must_use]
    pub const fn of_descriptor(shape: [u32; 3], factors: [ScalarType; 2], sparse: bool) -> Self {
        Self {
            shape,
            factors,
            sparse,
            warps: 1,
        }
    }

    /// Whether each group of eight lanes multiplies its own matrices, so that an instruction computes four products.
    #[must_use]
    pub fn quads(&self) -> bool {
        self.shape == [8, 8, 4] && self.factors == [ScalarType::F16; 2]
    }

    /// The number of stored elements of a row of the first factor.
    #[must_use]
    pub const fn stored(&self) -> u32 {
        if self.sparse {
            self.shape[2] / 2
        } else {
            self.shape[2]
        }
    }

    /// The number of multiply-add operations of all warps together; for a sparse factor, only those of stored elements.
    #[must_use]
    pub fn multiply_adds(&self) -> u64 {
        let [rows, columns, _] = self.shape.map(u64::from);
        let products = if self.quads() { 4 } else { 1 };
        products * rows * columns * u64::from(self.stored())
    }
}

/// The shape that a modifier names: `.m16n8k4` or, without the last number, `.m8n8`.
#[must_use]
pub fn matrix_shape(modifiers: &[Modifier]) -> Option<[u32; 3]> {
    modifiers.iter().find_map(|m| {
        let text = m.text().strip_prefix(".m")?;
        let (rows, columns_and_depth) = text.split_once('n')?;
        let (columns, depth) = columns_and_depth
            .split_once('k')
            .unwrap_or((columns_and_depth, "1"));
        let number = |text: &str| text.parse().ok();
        Some([number(rows)?, number(columns)?, number(depth)?])
    })
}

/// The rows in memory, of 16 bytes each, of one of the matrices that a warp loads or stores by rows with their own addresses.
#[must_use]
pub fn rows_of_matrix(modifiers: &[Modifier]) -> Option<u32> {
    let [rows, columns, _] = matrix_shape(modifiers)?;
    let transposed = modifiers.contains(&Modifier::Trans);
    Some(if transposed { columns } else { rows })
}

/// The number of lanes that give the addresses of rows of matrices, which are the first ones of a warp; `None` for other instructions.
#[must_use]
pub fn lanes_with_rows(function: FunctionFacts<'_>, inst: InstId) -> Option<u32> {
    let action = function.inst(inst).action()?;
    if !matches!(action, Action::MatrixLoad | Action::MatrixStore) {
        return None;
    }
    let signature = function.module().signature(function.body().inst(inst)?.sig);
    let modifiers: Vec<Modifier> = signature.modifiers().collect();
    let bytes = bytes_of_rows(&modifiers)?;
    u32::try_from(bytes / MATRIX_ROW).ok()
}

/// The bytes of the matrices that a warp loads or stores by rows.
pub(super) fn bytes_of_rows(modifiers: &[Modifier]) -> Option<u64> {
    let matrices = modifiers.iter().find_map(|m| match m {
        Modifier::X1 => Some(1),
        Modifier::X2 => Some(2),
        Modifier::X4 => Some(4),
        _ => None,
    });
    Some(u64::from(rows_of_matrix(modifiers)?) * matrices? * MATRIX_ROW)
}

/// A matrix that a warp loads or stores as a whole: a factor, an addend or a result of a product.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct StoredMatrix {
    /// The numbers of rows and columns.
    pub size: [u32; 2],
    /// The element type.
    pub element: ScalarType,
}

impl StoredMatrix {
    /// Decodes modifiers; `None` if they do not specify a matrix.
    ///
    /// ```
    /// use ptx_analysis::internals::StoredMatrix;
    /// use ptx_isa::Modifier;
    /// let matrix = StoredMatrix::of(&[Modifier::A, Modifier::M32n8k16, Modifier::F16]).unwrap();
    /// assert_eq!((matrix.size, matrix.bytes()), ([32, 16], 1024));
    /// ```
    #[must_use]
    pub fn of(modifiers: &[Modifier]) -> Option<Self> {
        let [rows, columns, depth] = matrix_shape(modifiers)?;
        let size = if modifiers.contains(&Modifier::A) {
            [rows, depth]
        } else if modifiers.contains(&Modifier::B) {
            [depth, columns]
        } else {
            [rows, columns]
        };
        let element = modifiers.iter().find_map(|m| m.scalar_type())?;
        Some(Self { size, element })
    }

    /// The size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let [rows, columns] = self.size.map(u64::from);
        rows * columns * u64::from(self.element.bits()) / 8
    }
}

/// The bytes of a tile of lanes and bits, `.128x256b`, that is copied to tensor memory, as it is read.
pub(super) fn bytes_of_tile(modifiers: &[Modifier]) -> Option<u64> {
    modifiers.iter().find_map(|m| {
        let text = m.text().strip_prefix('.')?.strip_suffix('b')?;
        let (lanes, bits) = text.split_once('x')?;
        let number = |text: &str| text.parse::<u64>().ok();
        Some(number(lanes)? * number(bits)? / 8)
    })
}

/// The number of times that a tile is written to tensor memory.
pub(super) fn copies_of_tile(modifiers: &[Modifier]) -> u64 {
    modifiers
        .iter()
        .map(|m| match m {
            Modifier::Warpx2_02_13 | Modifier::Warpx2_01_23 => 2,
            Modifier::Warpx4 => 4,
            _ => 1,
        })
        .product()
}
