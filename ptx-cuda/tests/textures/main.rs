//! Tests of arrays, textures, surfaces and tensor maps through the exported functions, against formulas written as slow code. The device has compute capability 10.0.
#![cfg(target_os = "linux")]
#![allow(non_snake_case, reason = "the names are those of the API")]
#![allow(clippy::unwrap_used, reason = "a test fails if a function does")]

mod arrays;
mod batches;
mod common;
mod copies;
mod layout;
mod reads;
mod references;
mod runtime;
#[path = "../api/session.rs"]
#[allow(dead_code, reason = "the tests of other functions use the rest")]
mod session;
mod surfaces;
mod tensor_maps;
