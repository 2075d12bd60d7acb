//! What the instructions of a function do together: control flow, dominance, dataflow.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod calls;
pub mod cfg;
pub mod constants;
pub mod dataflow;
pub mod fold;
pub mod function;
pub mod graph;
pub mod liveness;
pub mod natural;
pub mod pressure;
mod ranges;
pub mod reaching;
pub mod ssa;
pub mod summary;
pub mod values;
pub mod variables;
