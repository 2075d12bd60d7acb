//! What the instructions of a function do together: control flow, dominance, dataflow.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod block_summary;
pub mod calls;
pub mod cfg;
pub mod constants;
pub mod dataflow;
pub mod fold;
pub mod function_analysis;
pub mod graph;
pub mod liveness;
pub mod natural_loops;
pub mod pressure;
mod ranges;
pub mod reaching;
pub mod reg_lanes;
pub mod ssa;
pub mod value_numbering;
