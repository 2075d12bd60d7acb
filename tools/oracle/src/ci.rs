//! `cargo oracle ci`: every comparison on a sample, in one process.

use std::time::Instant;

use anyhow::{Result, bail};
use clap::Parser as _;

use crate::regressions::file_comparison;
use crate::shared::Shared;

/// Arguments of `cargo oracle ci`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Large samples instead of small ones: an hour instead of minutes
    #[arg(long)]
    all: bool,
}

/// The commands with small samples and with large ones.
const STEPS: &[[&str; 2]] = &[
    [
        "corpus --cubin 30 --sample 250",
        "corpus --cubin 1000 --sample 10000",
    ],
    ["transforms --sample 10", "transforms --sample 200"],
    ["constants --count 600", "constants --count 20000"],
    ["pressure --sample 100", "pressure --sample 200"],
    ["fold --cases 2000", "fold --cases 100000"],
    ["conformance --sample 100", "conformance --sample 2000"],
    [
        "conformance --newer --sample 100",
        "conformance --newer --sample 2000",
    ],
    ["random --count 100", "random --count 2000"],
    ["modules --count 800", "modules --count 20000"],
    ["mutations --count 1000", "mutations --count 20000"],
    [
        "requires --largest 60000 --sample 12",
        "requires --largest 60000 --sample 400",
    ],
    ["examples", "examples"],
    ["diagnostics", "diagnostics"],
    ["messages", "messages"],
    ["regressions", "regressions"],
];

pub(crate) fn run(args: &Args, shared: &Shared) -> Result<()> {
    if shared.assemblers("ALL COMPARISONS")?.is_none() {
        return Ok(());
    }
    println!("seed {}", shared.seed());
    let mut failed = Vec::new();
    for [small, large] in STEPS {
        let command = if args.all { large } else { small };
        println!("\n== {command}");
        let start = Instant::now();
        let words = ["oracle"].into_iter().chain(command.split(' '));
        let step = crate::Arguments::try_parse_from(words)?;
        if let Err(error) = crate::run(&step.command, shared) {
            println!("FAILED: {error:#}");
            file_comparison(shared, command)?;
            failed.push(*command);
        }
        println!("-- {:.0} s", start.elapsed().as_secs_f64());
    }
    if !failed.is_empty() {
        bail!("{} comparisons failed: {}", failed.len(), failed.join("; "));
    }
    Ok(())
}
