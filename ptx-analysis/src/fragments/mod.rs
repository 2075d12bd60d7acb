//! Where the elements of matrices are: in the registers of a warp, in shared memory, and in tensor memory.
//!
//! `ptx-vm` executes instructions with these functions, and `ptx-report` shows them.

pub mod layout;
mod product;
mod rows;
pub mod shared;
mod stored;
pub mod swizzle;
mod tensor;
mod tensor_descriptor;

pub use product::{ProductFragments, block_scales, metadata_place, result_types, scale_lane};
pub use rows::MatrixRows;
pub use stored::StoredFragment;
pub use tensor::{TensorCell, TensorShape};

/// The lanes of a warp.
const LANES: usize = 32;
