//! The functions of the driver API. NVIDIA's documentation of the CUDA driver API describes them; the comments here state what differs.

pub mod array;
pub mod context;
pub mod copy;
pub mod copy_batch;
pub mod device;
pub mod event;
pub mod fill;
pub mod kernel;
pub mod launch;
pub mod library;
pub mod link;
pub mod memory;
pub mod module;
pub mod pool;
pub mod proc_address;
pub mod profiler;
pub mod stream;
pub mod surface;
pub mod tensor_map;
pub mod texture;
pub mod texture_reference;
pub mod version;
