//! The control flow and dataflow of PTX functions: control-flow graphs, dominators, loops, SSA form, liveness, reaching definitions, constants, affine
//! values, the call graph and source lines, and solvers for other dataflow problems.
//!
//! `ptx-analysis` adds the analyses of threads and memory.
#![no_std]
#![forbid(unsafe_code)]

#[macro_use]
extern crate alloc;

#[doc(hidden)]
pub mod block_summary;
mod builds;
pub mod calls;
pub mod cfg;
mod conditions;
pub mod constants;
pub mod dataflow;
#[doc(hidden)]
pub mod dead_code;
mod error;
pub mod function_dataflow;
pub mod graph;
mod ids;
#[doc(hidden)]
pub mod internals;
mod live_sets;
pub mod liveness;
mod mentions;
mod meter;
pub mod pressure;
pub mod reaching;
pub mod reg_lanes;
mod shared_sets;
pub mod source_lines;
pub mod ssa;
#[doc(hidden)]
pub mod tables;
pub mod value_numbering;
pub mod values;

pub use error::AnalysisError;
