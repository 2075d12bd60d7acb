//! Tensor maps, the arguments of bulk copies of tiles.

use anyhow::{Result, bail};
use cudarc::driver::sys;

/// A matrix in a buffer, and the tile that one copy moves.
#[derive(Copy, Clone, Debug)]
pub struct Tensor {
    /// The type of the elements.
    pub element: Element,
    /// The number of elements in a row, and the number of rows.
    pub size: [u64; 2],
    /// The number of elements in a row of a tile, and the number of its rows.
    pub tile: [u32; 2],
    /// The number of bytes of a row of a tile in shared memory that are swizzled: 0, 32, 64 or 128.
    pub swizzle: u32,
}

/// The type of a tensor's elements.
#[derive(Copy, Clone, Debug)]
pub enum Element {
    /// `.f16`
    F16,
    /// `.bf16`
    Bf16,
    /// `.f32`
    F32,
    /// `.u32`
    U32,
}

impl Element {
    fn data_type(self) -> (sys::CUtensorMapDataType, u64) {
        use sys::CUtensorMapDataType_enum as T;
        match self {
            Self::F16 => (T::CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2),
            Self::Bf16 => (T::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2),
            Self::F32 => (T::CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4),
            Self::U32 => (T::CU_TENSOR_MAP_DATA_TYPE_UINT32, 4),
        }
    }
}

impl Tensor {
    /// The bytes of the tensor map of the matrix at an address of the device. A parameter with them is aligned to 64 bytes.
    ///
    /// # Errors
    ///
    /// Fails if the driver refuses the tensor.
    pub fn map(&self, address: u64) -> Result<Vec<u8>> {
        use sys::CUtensorMapSwizzle_enum as S;
        let swizzle = match self.swizzle {
            0 => S::CU_TENSOR_MAP_SWIZZLE_NONE,
            32 => S::CU_TENSOR_MAP_SWIZZLE_32B,
            64 => S::CU_TENSOR_MAP_SWIZZLE_64B,
            128 => S::CU_TENSOR_MAP_SWIZZLE_128B,
            bytes => bail!("no swizzle of {bytes} bytes"),
        };
        let (element, bytes) = self.element.data_type();
        let rows = [self.size[0] * bytes];
        let steps = [1, 1];
        let mut map = sys::CUtensorMap { opaque: [0; 16] };
        // SAFETY: all pointers are to arrays of this function that are as long as the rank, 2 (strides: one less).
        let result = unsafe {
            sys::cuTensorMapEncodeTiled(
                &mut map,
                element,
                2,
                address as *mut std::ffi::c_void,
                self.size.as_ptr(),
                rows.as_ptr(),
                self.tile.as_ptr(),
                steps.as_ptr(),
                sys::CUtensorMapInterleave_enum::CU_TENSOR_MAP_INTERLEAVE_NONE,
                swizzle,
                sys::CUtensorMapL2promotion_enum::CU_TENSOR_MAP_L2_PROMOTION_NONE,
                sys::CUtensorMapFloatOOBfill_enum::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        };
        result.result()?;
        Ok(map.opaque.iter().flat_map(|w| w.to_le_bytes()).collect())
    }
}
