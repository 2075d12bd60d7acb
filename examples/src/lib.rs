//! Short programs to copy, one per file in `src/bin`. Those that build kernels are modules here: each returns a [`Kernel`] with
//! everything that a launch needs.
#![allow(
    clippy::missing_errors_doc,
    reason = "the examples return the errors of the libraries"
)]

extern crate alloc;

pub mod add_parameter;
pub mod attention;
pub mod back_end;
pub mod checked;
pub mod evaluate;
pub mod expression;
#[cfg(doctest)]
mod guides;
pub mod hopper;
pub mod kernel;
pub mod lower;
pub mod matmul;
pub mod merged;
pub mod peephole;
pub mod post_process;
pub mod rename_range;
pub mod retry;
pub mod rust;
pub mod saxpy;
pub mod service;
pub mod survey;

pub use kernel::{Element, Kernel, Parameter};
