//! `ptxkit debug`: commands that show how `ptxkit` itself reads and prints files.

pub(crate) mod parse;
pub(crate) mod roundtrip;
pub(crate) mod tokens;

use anyhow::Result;
use clap::Subcommand;

use crate::format::{FormatOptions, TextOrJson};
use crate::input::Files;
use crate::output::Status;

/// Show how ptxkit reads and prints files: tokens, sizes and times, and whether printing is lossless
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

/// The files to read, and the format of the output.
#[derive(Debug, clap::Args)]
#[command(mut_arg("json", |arg| arg.help("Write one JSON object per file; the same as --format json")))]
struct JsonInput {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    format: FormatOptions<TextOrJson>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Parse(parse::Args),
    Roundtrip(roundtrip::Args),
    Tokens(tokens::Args),
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    match &args.command {
        Command::Parse(args) => parse::run(args),
        Command::Roundtrip(args) => roundtrip::run(args),
        Command::Tokens(args) => tokens::run(args),
    }
}
