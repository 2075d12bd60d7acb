//! `cargo oracle …`: compares what the libraries say with what ptxas does, on the corpora and on generated texts.
//!
//! `cargo oracle ci` runs all comparisons on samples in one process. Every command warns and succeeds where there is no ptxas, unless
//! `--require-ptxas` is given. `RAYON_NUM_THREADS` sets the number of threads.

mod assembler;
mod ci;
mod conformance;
mod containers;
mod corpus;
mod diagnostics;
mod examples;
mod files;
mod fold;
mod limit;
mod messages;
mod modules;
mod mutations;
mod outcome;
mod pressure;
mod rebuild;
mod regressions;
mod requires;
mod shared;
mod transforms;

use clap::Parser;
use shared::Shared;
#[cfg(test)]
use test_support::sample;

/// Compare the libraries with ptxas
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    shared: shared::Args,
}

#[derive(clap::Subcommand)]
enum Command {
    /// All comparisons, on samples
    Ci(ci::Args),
    /// Parse, print and compare every file of the corpora; --cubin also compares machine code
    Corpus(corpus::Args),
    /// Values of random constant expressions
    Constants(corpus::constants::Args),
    /// Results of instructions with constant operands: the machine code of ptxas has the same constants
    Fold(fold::Args),
    /// Verdicts of the verifier on instructions generated from the tables
    Conformance(conformance::Args),
    /// Entries of fatbins, and what cuobjdump extracts
    Containers(containers::Args),
    /// Modules built at random from the tables: ptxas has to accept them
    Random(conformance::random::Args),
    /// Random whole modules of a grammar: the verifier and ptxas have to agree
    Modules(modules::Args),
    /// Valid files with one token changed
    Mutations(mutations::Args),
    /// An example of every kind of message of ptxas
    Messages(messages::Args),
    /// The examples of the diagnostics' pages
    Diagnostics,
    /// The examples of the instructions
    Examples,
    /// Failures of nightly runs, which are filed in `tools/conformance/regressions`
    Regressions,
    /// The versions and targets that files require
    Requires(requires::Args),
    /// Live registers and the registers that ptxas allocates
    Pressure(pressure::Args),
    /// Machine code of rewritten files
    Transforms(transforms::Args),
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let shared = Shared::new(&arguments.shared)?;
    run(&arguments.command, &shared)
}

fn run(command: &Command, shared: &Shared) -> anyhow::Result<()> {
    match command {
        Command::Ci(args) => ci::run(args, shared),
        Command::Corpus(args) => corpus::run(args, shared),
        Command::Constants(args) => corpus::constants::run(args, shared),
        Command::Fold(args) => fold::run(args, shared),
        Command::Conformance(args) => conformance::run(args, shared),
        Command::Containers(args) => containers::run(args, shared),
        Command::Random(args) => conformance::random::run(args, shared),
        Command::Modules(args) => modules::run(args, shared),
        Command::Mutations(args) => mutations::run(args, shared),
        Command::Messages(args) => messages::run(args, shared),
        Command::Diagnostics => diagnostics::run(shared),
        Command::Examples => examples::run(shared),
        Command::Regressions => regressions::run(shared),
        Command::Requires(args) => requires::run(args, shared),
        Command::Pressure(args) => pressure::run(args, shared),
        Command::Transforms(args) => transforms::run(args, shared),
    }
}
