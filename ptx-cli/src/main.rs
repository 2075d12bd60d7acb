//! The program `ptxkit`: checks, analyses, formats and rewrites PTX files.

mod cli;
mod commands;
mod destination;
mod input;
mod output;
mod pages;
mod render;

use std::alloc::System;
use std::process::ExitCode;

use peakmem_alloc::{INSTRUMENTED_SYSTEM, PeakMemAlloc};

/// Counts what is allocated, for `ptxkit parse --timing`.
#[global_allocator]
static ALLOCATOR: &PeakMemAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> ExitCode {
    output::exit_code(cli::run())
}
