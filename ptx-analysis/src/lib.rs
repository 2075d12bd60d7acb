//! What the instructions of a function do together: control flow, dominance, dataflow.
#![no_std]
#![forbid(unsafe_code)]
