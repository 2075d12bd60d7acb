//! Rewrites whole modules of NVIDIA PTX.
//!
//! There are two kinds of rewriting. What concerns names, comments and pieces of text is a list of [`Splices`] into the
//! module's source: everything else keeps its bytes, and the result is a [`Rewritten`] text with an
//! [`OffsetMap`](ptx_ir::edit::OffsetMap) to the old one. What concerns instructions edits the module in place with
//! [`ptx_ir::edit`], and is printed with [`ptx_print::verbatim`].
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod clean;
mod flatten;
mod lines;
mod minify;
mod names;
mod rename;
mod renumber;
mod splices;
mod strip;

pub use flatten::flatten;
pub use minify::{Minify, minify};
pub use names::{Entity, Name, Refused, each_name};
pub use rename::{Rename, prefix, rename};
pub use renumber::renumber;
pub use splices::{Rewritten, Splices};
pub use strip::{Strip, strip};

/// `docs/cleanups.md`, whose examples run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/cleanups.md")]
struct Cleanups;
