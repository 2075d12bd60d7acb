//! A toolkit for NVIDIA PTX, in one crate.
//!
//! Each library of the toolkit is a module here:
//!
//! | module | crate | feature | contents |
//! |---|---|---|---|
//! | [`isa`] | `ptx-isa` | | the instruction set as data |
//! | [`ir`] | `ptx-ir` | | modules, functions, instructions, diagnostics |
//! | [`print`](mod@print) | `ptx-print` | | modules to text |
//! | [`parse`] | `ptx-parse` | `parse` | text to modules |
//! | [`edit`] | `ptx-edit` | `edit` | editing modules in place |
//! | [`verify`] | `ptx-verify` | `verify` | whether a module is legal, and what it requires |
//! | [`semantics`] | `ptx-semantics` | `semantics` | what instructions compute: values, terms of SMT-LIB |
//! | [`dataflow`] | `ptx-dataflow` | `dataflow` | control flow, SSA, liveness, call graph |
//! | [`analysis`] | `ptx-analysis` | `analysis` | uniformity, memory accesses, asynchronous operations; contains the modules of `dataflow` |
//! | [`build`] | `ptx-build` | `build` | modules from Rust |
//! | [`transform`] | `ptx-transform` | `transform` | rewriting, linking, instrumentation |
//! | [`container`] | `ptx-container` | `container` | PTX in fatbins, executables, libraries, objects and archives |
//! | [`diff`] | `ptx-diff` | `diff` | what differs between two modules |
//! | [`lint`] | `ptx-lint` | `lint` | likely bugs and slow code |
//! | [`vm`] | `ptx-vm` | `vm` | runs kernels without a GPU |
//! | [`memory`] | `ptx-memory` | `memory` | the memory consistency model: all executions of litmus tests and small kernels |
//!
//! All of these features but `container`, `vm` and `memory`, which need `std`, are on by default. Others: `std` (on by default; without it the crate is `no_std` and needs `alloc`),
//! `parallel` (the functions of a large module are checked and analyzed on several threads, with the same results; needs `std`),
//! `petgraph` (petgraph's traits for the graphs of [`dataflow`]), `render` (diagnostics with the lines of their source), `serde` (ids, spans
//! and diagnostics).
//!
//! # Example
//!
//! Parse a kernel, report its errors, list what it stores to global memory, and print it.
//!
//! ```
#![doc = include_str!("../examples/first.rs")]
//! ```
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "analysis")]
#[doc(inline)]
pub use ptx_analysis as analysis;
#[cfg(feature = "build")]
#[doc(inline)]
pub use ptx_build as build;
#[cfg(feature = "container")]
#[doc(inline)]
pub use ptx_container as container;
#[cfg(feature = "dataflow")]
#[doc(inline)]
pub use ptx_dataflow as dataflow;
#[cfg(feature = "diff")]
#[doc(inline)]
pub use ptx_diff as diff;
#[cfg(feature = "edit")]
#[doc(inline)]
pub use ptx_edit as edit;
#[doc(inline)]
pub use ptx_ir as ir;
#[doc(inline)]
pub use ptx_isa as isa;
#[cfg(feature = "lint")]
#[doc(inline)]
pub use ptx_lint as lint;
#[cfg(feature = "memory")]
#[doc(inline)]
pub use ptx_memory as memory;
#[cfg(feature = "parse")]
#[doc(inline)]
pub use ptx_parse as parse;
#[doc(inline)]
pub use ptx_print as print;
#[cfg(feature = "semantics")]
#[doc(inline)]
pub use ptx_semantics as semantics;
#[cfg(feature = "transform")]
#[doc(inline)]
pub use ptx_transform as transform;
#[cfg(feature = "verify")]
#[doc(inline)]
pub use ptx_verify as verify;
#[cfg(feature = "vm")]
#[doc(inline)]
pub use ptx_vm as vm;

/// The example of the README file is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
