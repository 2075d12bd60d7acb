//! Analyses of PTX functions: control flow, dominance, loops, dataflow, SSA values, constants and calls.
//!
//! `docs/analysing.md` is a tour.
#![no_std]
#![forbid(unsafe_code)]

#[macro_use]
extern crate alloc;

pub mod asynchrony;
pub mod block_summary;
mod builds;
pub mod calls;
pub mod cfg;
mod conditions;
pub mod constants;
pub mod dataflow;
pub mod dead_code;
pub mod function_analysis;
pub mod graph;
mod ids;
pub mod incremental;
mod interprocedural;
mod live_sets;
pub mod liveness;
pub mod memory_access;
pub mod module_analysis;
pub mod pressure;
pub mod provenance;
pub mod reaching;
pub mod reg_lanes;
mod shared_sets;
pub mod source_lines;
pub mod ssa;
pub mod tables;
pub mod threads;
pub mod uniformity;
pub mod value_numbering;
pub mod values;
pub mod work;

#[cfg(feature = "count-builds")]
#[doc(hidden)]
pub use builds::counting::take_builds;

/// `docs/analysing.md`, whose examples run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/analysing.md")]
struct Tour;
