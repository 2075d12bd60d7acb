//! Clean-ups: what must go and what must stay, and that the program does what it did.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod corpus;
#[path = "../../../ptx-print/tests/common/corpus.rs"]
#[allow(dead_code, reason = "other tests need more of it")]
mod files;
mod random;
mod rules;

use ptx_ir::Module;
use ptx_ir::facts::ModuleFacts;
use ptx_machine::{Machine, Trace};
use ptx_transform::clean::{Options, Pass, Report, clean};

/// Every choice that is tested: each pass alone, and all.
fn choices() -> Vec<(String, Options)> {
    let alone = |pass: Pass| {
        let passes = vec![pass];
        (pass.name().to_owned(), Options::new(passes))
    };
    let mut all: Vec<_> = Pass::ALL.iter().copied().map(alone).collect();
    all.push(("all".to_owned(), Options::default()));
    all
}

/// A text cleaned up, and what was done.
fn cleaned(text: &[u8], options: &Options) -> (Vec<u8>, Report) {
    let mut module = ptx_parse::parse(text).module;
    let report = clean(&mut module, options);
    (ptx_print::verbatim(&module), report)
}

/// Runs a function of a module.
fn run(module: &Module, name: &str, seed: u64, steps: usize) -> Trace {
    let facts = ModuleFacts::of(module, |id| {
        module.name(module.functions()[id].name) == name
    });
    let id = module.function(name).unwrap();
    let mut machine = Machine::new(facts.function(id).unwrap(), id, seed);
    machine.run(steps)
}
