//! The CUDA driver API and the CUDA runtime API on the virtual machine of ptxkit, for programs that are not changed.
//!
//! The library is loaded under the names `libcuda.so.1`, `libcudart.so.12` and `libcudart.so.13`. Functions have the names and the signatures of NVIDIA's public
//! documentation; [`driver`] has those that begin with `cu`, and [`runtime`] those that begin with `cuda`. Both use [`state`], which does not know the C interface
//! and has no unsafe code. Unsafe code is in [`caller`] (memory of the caller), [`arena`] (memory that the host and the machine share) and [`functions`] (jumps).
#![cfg(target_os = "linux")]
#![allow(
    non_camel_case_types,
    non_snake_case,
    reason = "the names are those of the API"
)]
#![allow(
    missing_docs,
    clippy::too_many_arguments,
    clippy::not_unsafe_ptr_arg_deref,
    reason = "the documentation of the API describes the functions, and what they require of pointers"
)]

pub mod abi;
mod arena;
mod call;
pub mod caller;
mod config;
pub mod driver;
mod functions;
pub mod handles;
pub mod logs;
mod report;
pub mod runtime;
mod state;
pub mod status;
mod thread_list;
