//! What the instructions of a function do together: control flow, dominance, dataflow.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod dataflow;
pub mod fold;
pub mod graph;
