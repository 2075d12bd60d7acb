//! The texts that the benchmarks measure.

use std::sync::LazyLock;

pub use test_support::inputs::{Input, all, repeated};

/// The texts that all benchmarks measure.
static INPUTS: LazyLock<Vec<Input>> = LazyLock::new(all);

/// Prints name, file and size of each text.
pub fn print_inputs() {
    for input in INPUTS.iter() {
        println!("{}: {}, {} bytes", input.name, input.file, input.text.len());
    }
}

/// The names of the texts.
#[must_use]
pub fn names() -> Vec<&'static str> {
    INPUTS.iter().map(|i| i.name).collect()
}

/// A text by its name; empty if it is missing.
#[must_use]
pub fn text(name: &str) -> &'static [u8] {
    INPUTS
        .iter()
        .find(|input| input.name == name)
        .map_or(&[], |input| &input.text)
}
