//! Tensor maps: descriptions of a tensor in global memory and of the boxes of it that copies access.

use core::fmt;

use super::element::{TensorElement, TensorFill, TensorInterleave};
use super::encoding;
use crate::memory::Swizzle;

/// The greatest number of dimensions.
pub(crate) const MAX_RANK: usize = 5;

/// A description of a tensor in global memory, and of the part of it that a copy accesses.
///
/// Dimension 0 is the innermost one. [`Self::to_bytes`] makes the 128 bytes that kernels use, in the encoding of the machine: maps that the CUDA driver
/// made cannot be used, and GPUs cannot use these.
///
/// ```
/// use ptx_vm::{Swizzle, TensorElement, TensorMap};
///
/// // Tiles of 64 rows of 32 columns of a matrix with 1000 rows of 200 columns, at address 0x10000000.
/// let map = TensorMap::tiled(TensorElement::F32, 0x1000_0000, &[200, 1000], &[32, 64])
///     .swizzle(Swizzle::Bytes128);
/// let bytes: [u8; 128] = map.to_bytes()?;
/// assert_eq!(TensorMap::from_bytes(&bytes)?, map);
/// # Ok::<(), ptx_vm::TensorMapError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TensorMap {
    pub(crate) element: TensorElement,
    /// The address of the element whose coordinates are all 0.
    pub(crate) address: u64,
    /// The number of elements in each dimension.
    pub(crate) dims: Vec<u64>,
    /// The distance in bytes of adjacent elements in each dimension but the first one.
    pub(crate) strides: Vec<u64>,
    /// The traversal stride in each dimension.
    pub(crate) steps: Vec<u32>,
    pub(crate) mode: Mode,
    pub(crate) interleave: TensorInterleave,
    pub(crate) swizzle: Swizzle,
    pub(crate) fill: TensorFill,
}

/// The part of a tensor that a copy accesses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// A box, with its size in each dimension.
    Tile(Vec<u32>),
    /// Pixels of a box in the dimensions other than the first and the last one, whose elements are in dimension 0.
    Im2col(Column),
    /// Pixels of a box in dimension 1.
    Wide(Column),
}

/// The pixels that a copy accesses one after the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Column {
    /// The corner of the box with the smallest coordinates, relative to the first pixel of an image; dimension 1 first.
    pub(crate) lower: Vec<i32>,
    /// The corner of the box with the largest coordinates, relative to the last pixel of an image.
    pub(crate) upper: Vec<i32>,
    /// The number of elements of a pixel.
    pub(crate) channels: u32,
    /// The number of pixels.
    pub(crate) pixels: u32,
}

/// The reason why a tensor map is invalid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TensorMapError {
    field: String,
    found: String,
    expected: String,
}

impl TensorMapError {
    pub(crate) fn new(
        field: impl Into<String>,
        found: impl fmt::Display,
        expected: impl Into<String>,
    ) -> Self {
        Self {
            field: field.into(),
            found: found.to_string(),
            expected: expected.into(),
        }
    }

    /// Returns the field that is invalid, such as `global_dim[1]`.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }
}

impl fmt::Display for TensorMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            field,
            found,
            expected,
        } = self;
        write!(
            f,
            "invalid tensor map: {field} is {found}, expected {expected}"
        )
    }
}

impl core::error::Error for TensorMapError {}

impl TensorMap {
    /// Describes a tensor that is accessed in boxes of `box_dims` elements. The rows of the tensor are adjacent, unless [`Self::strides`] is called.
    #[must_use]
    pub fn tiled(element: TensorElement, address: u64, dims: &[u64], box_dims: &[u32]) -> Self {
        Self::new(element, address, dims, Mode::Tile(box_dims.to_vec()))
    }

    /// Describes a batch of images that are accessed in columns of `pixels` pixels with `channels` elements each. The dimensions are channels, width,
    /// height and depth if there are as many, and images. `lower` and `upper` are the corners of the box that contains the first pixels of filters, in
    /// width, height and depth; the upper one is relative to the last pixel of an image.
    #[must_use]
    pub fn im2col(
        element: TensorElement,
        address: u64,
        dims: &[u64],
        corners: [&[i32]; 2],
        channels: u32,
        pixels: u32,
    ) -> Self {
        let [lower, upper] = corners.map(<[i32]>::to_vec);
        let column = Column {
            lower,
            upper,
            channels,
            pixels,
        };
        Self::new(element, address, dims, Mode::Im2col(column))
    }

    /// Describes a batch of images that are accessed in columns of pixels along the width, in the modes `im2col::w` and `im2col::w::128`. The latter
    /// ignores the number of pixels.
    #[must_use]
    pub fn im2col_wide(
        element: TensorElement,
        address: u64,
        dims: &[u64],
        corners: [i32; 2],
        channels: u32,
        pixels: u32,
    ) -> Self {
        let [lower, upper] = corners.map(|corner| vec![corner]);
        let column = Column {
            lower,
            upper,
            channels,
            pixels,
        };
        Self::new(element, address, dims, Mode::Wide(column))
    }

    fn new(element: TensorElement, address: u64, dims: &[u64], mode: Mode) -> Self {
        let mut map = Self {
            element,
            address,
            dims: dims.to_vec(),
            strides: Vec::new(),
            steps: vec![1; dims.len()],
            mode,
            interleave: TensorInterleave::None,
            swizzle: Swizzle::None,
            fill: TensorFill::Zeros,
        };
        map.strides = map.dense_strides();
        map
    }

    /// The strides of a tensor without padding.
    fn dense_strides(&self) -> Vec<u64> {
        let Some((&first, others)) = self.dims.split_first() else {
            return Vec::new();
        };
        let row_bytes = first.saturating_mul(self.element.bits().into()).div_ceil(8);
        let slice_bytes = u64::from(self.interleave.slice_bytes());
        let (mut stride, slices) = if slice_bytes == 0 {
            (row_bytes, 1)
        } else {
            (slice_bytes, row_bytes.div_ceil(slice_bytes))
        };
        let mut strides = Vec::new();
        for (index, dim) in others.iter().enumerate() {
            // An image contains all slices.
            if index + 1 == others.len() {
                stride = stride.saturating_mul(slices);
            }
            strides.push(stride);
            stride = stride.saturating_mul(*dim);
        }
        strides
    }

    /// Sets the address of the first element.
    #[must_use]
    pub const fn address(mut self, address: u64) -> Self {
        self.address = address;
        self
    }

    /// Sets the distance in bytes of adjacent elements in each dimension but the first one.
    #[must_use]
    pub fn strides(mut self, strides: &[u64]) -> Self {
        self.strides = strides.to_vec();
        self
    }

    /// Sets the traversal stride of each dimension, in elements.
    #[must_use]
    pub fn element_strides(mut self, steps: &[u32]) -> Self {
        self.steps = steps.to_vec();
        self
    }

    /// Sets the interleave layout. Strides that were not set become those of a tensor without padding in this layout.
    #[must_use]
    pub fn interleave(mut self, interleave: TensorInterleave) -> Self {
        let is_dense = self.strides == self.dense_strides();
        self.interleave = interleave;
        if is_dense {
            self.strides = self.dense_strides();
        }
        self
    }

    /// Sets the permutation of bytes in shared memory.
    #[must_use]
    pub const fn swizzle(mut self, swizzle: Swizzle) -> Self {
        self.swizzle = swizzle;
        self
    }

    /// Sets the elements that copies write to shared memory in the place of elements outside of the tensor.
    #[must_use]
    pub const fn fill(mut self, fill: TensorFill) -> Self {
        self.fill = fill;
        self
    }

    /// Returns the bytes of the map, which kernels use from a parameter, a constant or global memory, at a multiple of 64.
    ///
    /// # Errors
    ///
    /// If a field has a value that `cuTensorMapEncodeTiled`, `cuTensorMapEncodeIm2col` or `cuTensorMapEncodeIm2colWide` refuses.
    pub fn to_bytes(&self) -> Result<[u8; 128], TensorMapError> {
        self.check()?;
        Ok(encoding::encode(self))
    }

    /// Reads the bytes of a map.
    ///
    /// # Errors
    ///
    /// If the bytes are not those of a valid map.
    pub fn from_bytes(bytes: &[u8; 128]) -> Result<Self, TensorMapError> {
        let map = encoding::decode(bytes)?;
        map.check()?;
        Ok(map)
    }

    /// The number of dimensions.
    pub(crate) fn rank(&self) -> usize {
        self.dims.len()
    }

    /// The number of elements in dimension 0 that a copy accesses for each combination of the other coordinates.
    pub(crate) fn row_elements(&self) -> u32 {
        match &self.mode {
            Mode::Tile(box_dims) => box_dims.first().copied().unwrap_or(0),
            Mode::Im2col(column) | Mode::Wide(column) => column.channels,
        }
    }
}
