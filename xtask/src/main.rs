//! What a maintainer runs: `cargo xtask codegen [--check]`.

mod codegen;

use clap::Parser;

/// Maintainer commands
#[derive(Parser)]
enum Command {
    /// Generate the tables of ptx-isa from its .isa files
    Codegen(codegen::Args),
}

fn main() -> anyhow::Result<()> {
    match Command::parse() {
        Command::Codegen(args) => codegen::run(&args),
    }
}
