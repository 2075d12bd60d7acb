//! Short programs to copy, one per file in `src/bin`. Those that build kernels are modules here: each gives its [`Kernel`] with all
//! that is needed to run it.
#![allow(
    clippy::missing_errors_doc,
    reason = "the examples return the errors of the libraries"
)]

extern crate alloc;

pub mod add_parameter;
#[rustfmt::skip]
pub mod back_end;
pub mod checked;
pub mod evaluate;
#[rustfmt::skip]
pub mod expression;
#[rustfmt::skip]
pub mod hopper;
pub mod kernel;
pub mod lower;
#[rustfmt::skip]
pub mod matmul;
pub mod merged;
pub mod peephole;
pub mod rename_range;
pub mod retry;
#[rustfmt::skip]
pub mod rust;
pub mod saxpy;
pub mod service;
pub mod survey;

pub use kernel::{Element, Kernel, Parameter};
