//! The command line.

use std::num::NonZeroUsize;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::commands::{
    analyze, callgraph, cfg, check, clean, explain, extract, flatten, fmt, grep, instrument, link,
    minify, parse, rename, renumber, requires, retarget, roundtrip, stats, strip, tokens,
};
use crate::output::{self, Status};

const EXAMPLES: &str = "\
Examples:
  ptxkit check kernel.ptx                 report all errors with the source lines
  ptxkit check --format short build/      one line per error, for a whole directory
  nvcc -ptx -o - a.cu | ptxkit fmt -      format standard input
  ptxkit stats --json *.ptx               statistics as JSON

A directory means every .ptx file in it and its subdirectories; `-` means standard input.

Exit status: 0 success, 1 errors or other findings, 2 usage error or a file cannot be read.";

/// Check, analyse, format and rewrite PTX, the assembly language of NVIDIA GPUs.
#[derive(Debug, Parser)]
#[command(name = "ptxkit", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Use at most this many threads
    #[arg(short, long, global = true, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Print no summaries and notes on standard error
    #[arg(short, long, global = true)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(check::Args),
    Requires(requires::Args),
    Retarget(retarget::Args),
    Clean(clean::Args),
    Extract(extract::Args),
    Link(link::Args),
    Fmt(fmt::Args),
    Rename(rename::Args),
    Strip(strip::Args),
    Minify(minify::Args),
    Renumber(renumber::Args),
    Flatten(flatten::Args),
    Parse(parse::Args),
    Stats(stats::Args),
    Roundtrip(roundtrip::Args),
    Analyze(analyze::Args),
    Cfg(cfg::Args),
    Callgraph(callgraph::Args),
    Grep(grep::Args),
    Instrument(instrument::Args),
    Tokens(tokens::Args),
    Explain(explain::Args),
}

/// Parses the command line and runs the command. A usage error ends the program here.
pub(crate) fn run() -> Result<Status> {
    let cli = Cli::parse();
    output::set_quiet(cli.quiet);
    if let Some(jobs) = cli.jobs {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.get());
        pool.build_global()?;
    }
    match cli.command {
        Command::Check(args) => check::run(&args),
        Command::Requires(args) => requires::run(&args),
        Command::Retarget(args) => retarget::run(&args),
        Command::Clean(args) => clean::run(&args),
        Command::Extract(args) => extract::run(&args),
        Command::Link(args) => link::run(&args),
        Command::Fmt(args) => fmt::run(&args),
        Command::Rename(args) => rename::run(&args),
        Command::Strip(args) => strip::run(&args),
        Command::Minify(args) => minify::run(&args),
        Command::Renumber(args) => renumber::run(&args),
        Command::Flatten(args) => flatten::run(&args),
        Command::Parse(args) => parse::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Roundtrip(args) => roundtrip::run(&args),
        Command::Analyze(args) => analyze::run(&args),
        Command::Cfg(args) => cfg::run(&args),
        Command::Callgraph(args) => callgraph::run(&args),
        Command::Grep(args) => grep::run(&args),
        Command::Instrument(args) => instrument::run(&args),
        Command::Tokens(args) => tokens::run(&args),
        Command::Explain(args) => explain::run(&args),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
