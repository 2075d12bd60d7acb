//! The functions of the runtime API. NVIDIA's documentation of the CUDA runtime API describes them; the comments here state what differs.
//!
//! The library serves programs for CUDA 12 and for CUDA 13, whose functions have the same names. [`version::major`] says which one a program expects, where the parameters
//! or the structures differ.

pub mod array;
mod call;
pub mod capture;
mod copy;
mod copy3d;
mod copy_batch;
mod device;
mod entry_point;
mod error;
pub mod event;
mod fill;
mod function;
pub mod graph;
pub mod graph_copy;
pub mod graph_exec;
pub mod graph_node;
mod host_memory;
mod ipc;
mod launch;
#[cfg(test)]
mod layout_tests;
mod library;
pub mod logs;
mod managed;
mod memory;
pub mod occupancy;
mod peer;
mod pointer;
mod pool;
mod properties;
mod register;
pub mod stream;
pub mod surface;
mod symbol;
pub mod texture;
pub mod types;
mod version;
