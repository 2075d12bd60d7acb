//! The command line.

use std::num::NonZeroUsize;
use std::time::Instant;

use anyhow::Result;
use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser, Subcommand};

use crate::commands::{
    analyze, callgraph, cfg, check, clean, explain, extract, flatten, fmt, grep, instrument, link,
    minify, parse, rename, renumber, requires, retarget, roundtrip, stats, strip, tokens,
};
use crate::demangle;
use crate::generate::Generate;
use crate::output::{self, Color, Status, Verbosity};

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
#[command(name = "ptxkit", version, after_help = EXAMPLES, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    /// Use at most this many threads
    #[arg(short, long, global = true, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Print no summaries and notes on standard error
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Print on standard error which files were read, and how long that and the work took
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    verbose: bool,
    /// Use colors; `auto` means on a terminal, unless the environment variable NO_COLOR is set
    #[arg(long, value_enum, global = true, default_value_t = Color::Auto, value_name = "WHEN")]
    color: Color,
    /// Print the names of C++ and Rust functions and variables as they are in the file
    #[arg(long, global = true)]
    no_demangle: bool,
    /// Write a man page or the completions for a shell to standard output
    #[arg(long, value_enum, exclusive = true, value_name = "WHAT")]
    generate: Option<Generate>,
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
    let start = Instant::now();
    let cli = Cli::parse();
    output::set_verbosity(match (cli.quiet, cli.verbose) {
        (true, _) => Verbosity::Quiet,
        (_, true) => Verbosity::Verbose,
        _ => Verbosity::Normal,
    });
    output::set_color(cli.color);
    demangle::set_enabled(!cli.no_demangle);
    if let Some(what) = cli.generate {
        what.write(Cli::command())?;
        return Ok(Status::Ok);
    }
    let Some(command) = cli.command else {
        let error = Cli::command().error(ErrorKind::MissingSubcommand, "a command is required");
        error.exit()
    };
    if let Some(jobs) = cli.jobs {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.get());
        pool.build_global()?;
    }
    let status = command.run()?;
    output::detail(format_args!(
        "{:.3} s in total",
        start.elapsed().as_secs_f64()
    ));
    Ok(status)
}

impl Command {
    fn run(self) -> Result<Status> {
        match self {
            Self::Check(args) => check::run(&args),
            Self::Requires(args) => requires::run(&args),
            Self::Retarget(args) => retarget::run(&args),
            Self::Clean(args) => clean::run(&args),
            Self::Extract(args) => extract::run(&args),
            Self::Link(args) => link::run(&args),
            Self::Fmt(args) => fmt::run(&args),
            Self::Rename(args) => rename::run(&args),
            Self::Strip(args) => strip::run(&args),
            Self::Minify(args) => minify::run(&args),
            Self::Renumber(args) => renumber::run(&args),
            Self::Flatten(args) => flatten::run(&args),
            Self::Parse(args) => parse::run(&args),
            Self::Stats(args) => stats::run(&args),
            Self::Roundtrip(args) => roundtrip::run(&args),
            Self::Analyze(args) => analyze::run(&args),
            Self::Cfg(args) => cfg::run(&args),
            Self::Callgraph(args) => callgraph::run(&args),
            Self::Grep(args) => grep::run(&args),
            Self::Instrument(args) => instrument::run(&args),
            Self::Tokens(args) => tokens::run(&args),
            Self::Explain(args) => explain::run(&args),
        }
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
