//! What a maintainer runs: `cargo xtask codegen [--check]`, `api [--check]`, `corpus`, `constants`, `conformance`, `random`, `mutations`, `messages`,
//! `diagnostics`, `requires`, `transforms`, `bench`.
//!
//! Should the generated tables not compile, `cargo run -p xtask --no-default-features -- codegen`
//! writes them without building what stands on them.

#[cfg(feature = "libraries")]
mod api;
#[cfg(feature = "libraries")]
mod bench;
#[cfg(feature = "libraries")]
mod builder;
mod codegen;
#[cfg(feature = "libraries")]
mod conformance;
#[cfg(feature = "libraries")]
mod corpus;
#[cfg(feature = "libraries")]
mod diagnostics;
#[cfg(feature = "libraries")]
mod docs;
#[cfg(feature = "libraries")]
mod messages;
#[cfg(feature = "libraries")]
mod mutations;
#[cfg(test)]
#[cfg(feature = "libraries")]
mod opcode_lint;
mod page;
#[cfg(feature = "libraries")]
mod pressure;
#[cfg(feature = "libraries")]
mod ptxas;
#[cfg(feature = "libraries")]
mod requires;
#[cfg(feature = "libraries")]
mod transforms;
mod wording;

use clap::Parser;

/// Maintainer commands
#[derive(Parser)]
enum Command {
    /// Generate the tables of ptx-isa from its .isa files
    Codegen(codegen::Args),
    /// Find banned words and phrases in all text of the repository
    Words(wording::Args),
    /// List what the library crates show to their users
    #[cfg(feature = "libraries")]
    Api(api::Args),
    /// Read, print and compare every file of the corpora; --cubin asks the real assembler
    #[cfg(feature = "libraries")]
    Corpus(corpus::Args),
    /// Compare the values of random constant expressions with those of the real assembler
    #[cfg(feature = "libraries")]
    Constants(corpus::constants::Args),
    /// Compare the checker with verdicts of the real assembler on cases made from the table
    #[cfg(feature = "libraries")]
    Conformance(conformance::Args),
    /// Make random modules from the table by calls of the builder and ask the real assembler about them
    #[cfg(feature = "libraries")]
    Random(conformance::random::Args),
    /// Change one token of valid files and compare the checker with the real assembler
    #[cfg(feature = "libraries")]
    Mutations(mutations::Args),
    /// Compare an example of every kind of message of the real assembler with the code that covers it
    #[cfg(feature = "libraries")]
    Messages(messages::Args),
    /// Compare the examples of the diagnostics' pages with the verdicts of the real assembler
    #[cfg(feature = "libraries")]
    Diagnostics(diagnostics::Args),
    /// Compare what files need with the versions and targets on which the real assembler takes them
    #[cfg(feature = "libraries")]
    Requires(requires::Args),
    /// Compare registers alive at once with those that the real assembler uses
    #[cfg(feature = "libraries")]
    Pressure(pressure::Args),
    /// Rewrite files of the corpora in every way, and compare the machine code with that of the originals
    #[cfg(feature = "libraries")]
    Transforms(transforms::Args),
    /// Measure reading and printing beside the real assembler and other crates
    #[cfg(feature = "libraries")]
    Bench(bench::Args),
}

fn main() -> anyhow::Result<()> {
    match Command::parse() {
        Command::Codegen(args) => codegen::run(&args),
        Command::Words(args) => wording::run(&args),
        #[cfg(feature = "libraries")]
        Command::Api(args) => api::run(&args),
        #[cfg(feature = "libraries")]
        Command::Corpus(args) => corpus::run(&args),
        #[cfg(feature = "libraries")]
        Command::Constants(args) => corpus::constants::run(&args),
        #[cfg(feature = "libraries")]
        Command::Conformance(args) => conformance::run(&args),
        #[cfg(feature = "libraries")]
        Command::Random(args) => conformance::random::run(&args),
        #[cfg(feature = "libraries")]
        Command::Mutations(args) => mutations::run(&args),
        #[cfg(feature = "libraries")]
        Command::Messages(args) => messages::run(&args),
        #[cfg(feature = "libraries")]
        Command::Diagnostics(args) => diagnostics::run(&args),
        #[cfg(feature = "libraries")]
        Command::Requires(args) => requires::run(&args),
        #[cfg(feature = "libraries")]
        Command::Pressure(args) => pressure::run(&args),
        #[cfg(feature = "libraries")]
        Command::Transforms(args) => transforms::run(&args),
        #[cfg(feature = "libraries")]
        Command::Bench(args) => bench::run(&args),
    }
}
