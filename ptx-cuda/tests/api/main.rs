//! Tests of the exported functions, called as programs call them.
#![cfg(target_os = "linux")]
#![allow(non_snake_case, reason = "the names are those of the API")]
#![allow(clippy::unwrap_used, reason = "a test fails if a function does")]

mod captures;
mod contexts;
mod functions;
mod graph_ownership;
mod graphs;
mod kernels;
mod logs;
mod memory;
mod occupancy;
mod processes;
mod runtime_graphs;
mod session;
mod signatures;
mod streams;
mod virtual_memory;
