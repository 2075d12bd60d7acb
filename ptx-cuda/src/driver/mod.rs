//! The functions of the driver API. NVIDIA's documentation of the CUDA driver API describes them; the comments here state what differs.

mod context;
mod copy;
mod device;
mod event;
mod fill;
mod kernel;
mod launch;
mod library;
mod link;
mod memory;
mod module;
mod pool;
mod proc_address;
mod profiler;
mod stream;
mod version;
