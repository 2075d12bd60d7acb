//! Maintainer commands that need no ptxas: `cargo xtask ci`, `codegen`, `semantics`, `api`, `words` and `new-lint`.
//!
//! If the generated tables do not compile, `cargo run -p ptx-codegen` writes them without building the libraries.
//! The comparisons with ptxas are commands of `cargo oracle`; `cargo xtask NAME` runs them too.

mod api;
mod builder;
mod ci;
mod codegen;
mod docs;
mod editors;
mod new_lint;
#[cfg(test)]
mod opcode_lint;
mod semantics;
mod wording;

use std::ffi::OsString;
use std::process::Command as Process;

use clap::Parser;

/// Maintainer commands
#[derive(Parser)]
enum Command {
    /// Generate the tables of ptx-isa from its .isa files
    Codegen(codegen::Args),
    /// Find banned words and phrases in all text of the repository
    Words(wording::Args),
    /// List the public items of the libraries
    Api(api::Args),
    /// Write the files and entries of a new lint
    NewLint(new_lint::Args),
    /// Run the checks of the project
    Ci(ci::Args),
    /// List how the machine comes to the results of each form
    Semantics(semantics::Args),
    /// A command of `cargo oracle`
    #[command(external_subcommand)]
    Oracle(Vec<OsString>),
}

fn main() -> anyhow::Result<()> {
    match Command::parse() {
        Command::Codegen(args) => codegen::run(&args),
        Command::Words(args) => wording::run(&args),
        Command::Api(args) => api::run(&args),
        Command::NewLint(args) => new_lint::run(&args),
        Command::Ci(args) => ci::run(&args),
        Command::Semantics(args) => semantics::run(&args),
        Command::Oracle(args) => oracle(&args),
    }
}

fn oracle(args: &[OsString]) -> anyhow::Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let status = Process::new(cargo)
        .args(["run", "--quiet", "--package", "oracle", "--"])
        .args(args)
        .status()?;
    anyhow::ensure!(status.success(), "cargo oracle failed");
    Ok(())
}
