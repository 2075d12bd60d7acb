//! Tensors in global memory that tensor maps describe: manual 5.5.

pub(crate) mod boxes;
pub(crate) mod element;
pub(crate) mod encoding;
pub(crate) mod map;
pub(crate) mod reduce;
mod rules;

pub use element::{TensorElement, TensorFill, TensorInterleave};
pub use map::{TensorMap, TensorMapError};
