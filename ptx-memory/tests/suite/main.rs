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

/// The module of a text without errors.
fn module(text: &str) -> ptx_ir::Module {
    let parsed = ptx_parse::parse_str(text);
    assert!(
        parsed.diagnostics.is_empty(),
        "{:?}\n{text}",
        parsed.diagnostics
    );
    parsed.module
}
