//! The functions of the runtime API. NVIDIA's documentation of the CUDA runtime API describes them; the comments here state what differs.
//!
//! The library serves programs for CUDA 12 and for CUDA 13, whose functions have the same names. [`version::major`] says which one a program expects, where the parameters
//! or the structures differ.

pub mod array;
mod call;
mod copy;
mod copy3d;
mod copy_batch;
mod device;
mod entry_point;
mod error;
mod event;
mod fill;
mod function;
mod host_memory;
mod launch;
#[cfg(test)]
mod layout_tests;
mod library;
mod managed;
mod memory;
mod peer;
mod pointer;
mod pool;
mod properties;
mod register;
mod stream;
pub mod surface;
mod symbol;
pub mod texture;
pub mod types;
mod version;
