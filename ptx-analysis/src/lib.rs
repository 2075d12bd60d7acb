//! What the instructions of a function do together: control flow, dominance, dataflow.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod calls;
pub mod cfg;
pub mod dominance;
pub mod function;
pub mod lists;
pub mod liveness;
pub mod loops;
pub mod pressure;
pub mod reaching;
pub mod summary;
pub mod variables;
