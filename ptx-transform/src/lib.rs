//! Rewrites whole NVIDIA PTX modules.
//!
//! There are two kinds of functions. Those that rewrite names, comments and other text return the new text as a
//! [`Rewritten`](ptx_ir::Rewritten),
//! with an [`OffsetMap`](ptx_ir::OffsetMap) from the old text; all other bytes are unchanged. Those that rewrite
//! instructions, in [`clean`] and [`instrument`], and [`insert_preheader`] edit the module in place; print it with
//! [`ptx_print::verbatim`]. Names are changed by [`Renaming`](ptx_edit::Renaming).
//!
//! All of them accept edited modules. The text of such a module is printed and parsed before it is rewritten; offset maps and the
//! spans of diagnostics refer to its source.
#![no_std]
#![forbid(unsafe_code)]

#[macro_use]
extern crate alloc;

pub mod clean;
mod debug;
mod declarators;
mod dependencies;
mod extract;
mod flatten;
mod headers;
pub mod instrument;
mod item_text;
mod link;
mod minify;
mod preheader;
mod printed;
mod register_use;
mod renumber;
mod retarget;
mod split;
mod strip;

pub use extract::{ExtractError, Extracted, extract};
pub use flatten::flatten;
pub use link::{Elsewhere, LinkDiagnostic, LinkOptions, Linked, link};
pub use minify::{Minify, minify};
pub use preheader::insert_preheader;
pub use renumber::renumber;
pub use retarget::retarget;
pub use split::{Split, split};
pub use strip::strip;

/// `docs/transforming.md`, whose examples run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/transforming.md")]
struct Tour;

/// `docs/cleanups.md`, whose examples run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/cleanups.md")]
struct Cleanups;
