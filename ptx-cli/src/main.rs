//! The program `ptxkit`: checks, analyses, formats and rewrites PTX files.

mod cli;
mod commands;
mod config;
mod destination;
mod functions;
mod generate;
mod input;
mod metrics;
mod output;
mod ptxas;
mod query;
mod render;
#[cfg(test)]
mod schemas;
mod select;
mod tables;

use std::process::ExitCode;

use mimalloc::MiMalloc;
use peakmem_alloc::PeakMemAlloc;

/// mimalloc uses huge pages, which saves a tenth of the time on large files. The wrapper counts what is allocated, for
/// `ptxkit parse --timing`.
#[global_allocator]
static ALLOCATOR: PeakMemAlloc<MiMalloc> = PeakMemAlloc::new(MiMalloc);

fn main() -> ExitCode {
    output::exit_code(cli::run())
}
