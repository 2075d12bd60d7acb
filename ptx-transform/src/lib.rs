//! Rewrites whole NVIDIA PTX modules.
//!
//! Every pass takes a module and returns a [`Rewriting`]: the new module, the [`OffsetMap`](ptx_ir::OffsetMap) from the source of
//! the old module to that of the new one, and a report. The source of the new module is its text, all other bytes of which are
//! unchanged. [`split()`] returns two of them, and [`link()`] a [`Linked`] module with a map for each input. The errors are
//! [errors](core::error::Error), so passes form a chain, and their maps are composed:
//!
//! ```
//! use ptx_transform::{MinifyOptions, extract, link, minify, strip};
//! let kernels = b".version 8.0\n.target sm_80\n.address_size 64\n.extern .func f();\n.entry a() { call f; ret; } // first\n.entry b() { ret; }\n";
//! let library = b".version 8.0\n.target sm_80\n.address_size 64\n.visible .func f() { ret; }\n";
//! let [kernels, library] = [&kernels[..], library].map(|text| ptx_parse::parse(text).module);
//! let linked = link(&[&kernels, &library], &Default::default())?;
//! let extracted = extract(&linked.module, &["a"])?;
//! let stripped = extracted.then(strip(&extracted.module));
//! let small = stripped.then(minify(&stripped.module, &MinifyOptions::default().with_dead(true)));
//! assert_eq!(small.text(), b".version 8.0 .target sm_80 .address_size 64 .visible.func f(){ret;}.entry a(){call f;ret;}");
//! let map = linked.maps[0].then(&small.map);
//! let call = kernels.source().windows(4).position(|word| word == b"call").map(|at| at as u32);
//! assert_eq!(call.and_then(|old| map.to_new(old)), Some(78));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! All passes accept edited and built modules, whose text is printed and parsed before it is rewritten. Offset maps, and the spans
//! and ids of reports and errors, are those of the module that was passed. [`clean`](mod@clean) and [`instrument`](mod@instrument)
//! also exist as edits in place, and [`insert_preheader`] is one.
//!
//! Names are changed by a [`Renaming`](ptx_edit::Renaming).
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
mod insert_items;
pub mod instrument;
mod items;
mod line_info;
mod link;
mod minify;
mod preheader;
mod printed;
mod register_use;
mod renumber;
mod retarget;
mod split;
mod strip;

pub use extract::{ExtractError, extract};
pub use flatten::flatten;
pub use insert_items::{InsertItemsError, insert_items};
pub use line_info::line_info;
pub use link::{Elsewhere, LinkDiagnostic, LinkError, LinkOptions, Linked, link};
pub use minify::{MinifyOptions, minify};
pub use preheader::insert_preheader;
pub use printed::reparse;
#[doc(no_inline)]
pub use ptx_edit::Rewriting;
pub use renumber::renumber;
pub use retarget::{RetargetError, retarget};
pub use split::{Split, split};
pub use strip::strip;
