//! What a maintainer runs: `cargo xtask codegen [--check]`, `corpus`, `bench`.
mod codegen;
fn main() {}
