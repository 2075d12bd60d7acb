//! Tests of the memory consistency model.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::needless_range_loop,
    clippy::too_many_lines,
    reason = "tests, and a slow enumeration that is as simple as possible"
)]

mod asynchronous;
mod compiled;
mod errors;
mod families;
mod kernels;
mod naive;
mod observer;
mod random;
