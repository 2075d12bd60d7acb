//! Analyses of PTX functions: the uniformity of values, the provenance of addresses, memory accesses, asynchronous operations and work. The analyses of
//! control flow, SSA form, constants and other dataflow are those of `ptx-dataflow`, whose modules this crate contains.
//!
//! `docs/analyzing.md` is a tour.
#![no_std]
#![forbid(unsafe_code)]

#[macro_use]
extern crate alloc;

pub mod asynchrony;
mod fragments;
pub mod function_analysis;
pub mod incremental;
mod interprocedural;
pub mod memory_access;
pub mod module_analysis;
pub mod partitions;
pub mod provenance;
pub mod threads;
pub mod uniformity;
mod warps;
pub mod work;

/// The parts of this crate and of `ptx-dataflow` that only other crates of the project use. They may change at any time.
#[doc(hidden)]
pub mod internals {
    pub use ptx_dataflow::internals::{
        BadGraph, CodeBlock, ComponentId, Components, ControlDependence, Csr, DebugName, Digraph,
        Frontiers, IteratedFrontiers, Loc, Position, SparseSet, code_blocks,
    };

    /// Where the elements of matrices are.
    pub mod fragments {
        pub use crate::fragments::*;
    }
    pub use crate::provenance::incremental::IncrementalSummaries;
    pub use crate::uniformity::incremental::IncrementalUniformity;
    pub use crate::work::matrix::{
        MatrixProduct, StoredMatrix, lanes_with_rows, matrix_shape, rows_of_matrix,
    };
}

pub use fragments::swizzle::Swizzle;
#[doc(inline)]
pub use ptx_dataflow::{
    AnalysisError, calls, cfg, constants, dataflow, function_dataflow, graph, liveness, pressure,
    reaching, reg_lanes, source_lines, ssa, value_numbering, values,
};
#[doc(hidden)]
pub use ptx_dataflow::{block_summary, dead_code, tables};

#[cfg(feature = "count-builds")]
#[doc(hidden)]
pub use ptx_dataflow::internals::take_builds;
