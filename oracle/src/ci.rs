//! `cargo oracle ci`: every comparison on a sample, in one process.

use std::time::Instant;

use anyhow::{Result, bail};

use crate::conformance::{self, random};
use crate::corpus::{self, Amount, constants};
use crate::shared::Shared;
use crate::{diagnostics, messages, modules, mutations, pressure, requires, transforms};

/// Arguments of `cargo oracle ci`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Large samples instead of small ones: an hour instead of minutes
    #[arg(long)]
    all: bool,
}

/// The sizes of the samples.
struct Sizes {
    files: usize,
    cubins: usize,
    transforms: usize,
    constants: usize,
    pressure: usize,
    conformance: usize,
    random: u64,
    modules: u64,
    mutations: usize,
    requires: usize,
}

const SMALL: Sizes = Sizes {
    files: 250,
    cubins: 30,
    transforms: 16,
    constants: 600,
    pressure: 100,
    conformance: 150,
    random: 150,
    modules: 800,
    mutations: 1_500,
    requires: 12,
};

const LARGE: Sizes = Sizes {
    files: 10_000,
    cubins: 1_000,
    transforms: 200,
    constants: 20_000,
    pressure: 200,
    conformance: 2_000,
    random: 2_000,
    modules: 20_000,
    mutations: 20_000,
    requires: 400,
};

/// A comparison: its title and its run.
type Step<'s> = (&'static str, Box<dyn Fn() -> Result<()> + 's>);

fn steps<'s>(sizes: &Sizes, shared: &'s Shared) -> Vec<Step<'s>> {
    let corpus = corpus::Args {
        cubin: Some(Amount::Some(sizes.cubins)),
        sample: Some(sizes.files),
        only: None,
    };
    let constants = constants::Args {
        count: sizes.constants,
        show: Vec::new(),
    };
    let transforms = transforms::Args {
        sample: Amount::Some(sizes.transforms),
        only: Vec::new(),
        file: None,
        list: false,
    };
    let pressure = pressure::Args {
        sample: sizes.pressure,
    };
    let conformance = conformance::Args::of_sample(sizes.conformance, false);
    let newer = conformance::Args::of_sample(sizes.conformance, true);
    let random = random::Args {
        count: sizes.random,
        show: false,
    };
    let modules = modules::Args::of_count(sizes.modules);
    let mutations = mutations::Args::of_count(sizes.mutations);
    let requires = requires::Args {
        sample: Some(sizes.requires),
        largest: 60_000,
    };
    vec![
        (
            "corpus: structure and machine code of printed files",
            Box::new(move || corpus::run(&corpus, shared)),
        ),
        (
            "transforms: machine code of rewritten files",
            Box::new(move || transforms::run(&transforms, shared)),
        ),
        (
            "constants: values of constant expressions",
            Box::new(move || constants::run(&constants, shared)),
        ),
        (
            "pressure: live registers and allocated registers",
            Box::new(move || pressure::run(&pressure, shared)),
        ),
        (
            "conformance: verdicts on generated instructions",
            Box::new(move || conformance::run(&conformance, shared)),
        ),
        (
            "conformance: verdicts of the newer ptxas",
            Box::new(move || conformance::run(&newer, shared)),
        ),
        (
            "random: modules built from the tables",
            Box::new(move || random::run(&random, shared)),
        ),
        (
            "modules: whole modules of a grammar",
            Box::new(move || modules::run(&modules, shared)),
        ),
        (
            "mutations: files with one token changed",
            Box::new(move || mutations::run(&mutations, shared)),
        ),
        (
            "requires: versions and targets of files",
            Box::new(move || requires::run(&requires, shared)),
        ),
        (
            "diagnostics: examples of the pages",
            Box::new(move || diagnostics::run(&diagnostics::Args {}, shared)),
        ),
        (
            "messages: an example of every kind",
            Box::new(move || messages::run(&messages::Args { write: false }, shared)),
        ),
    ]
}

pub(crate) fn run(args: &Args, shared: &Shared) -> Result<()> {
    if shared.assemblers("ALL COMPARISONS")?.is_none() {
        return Ok(());
    }
    println!("seed {}", shared.seed());
    let mut failed = Vec::new();
    for (title, step) in steps(if args.all { &LARGE } else { &SMALL }, shared) {
        println!("\n== {title}");
        let start = Instant::now();
        if let Err(error) = step() {
            println!("FAILED: {error:#}");
            failed.push(title);
        }
        println!("-- {:.0} s", start.elapsed().as_secs_f64());
    }
    if !failed.is_empty() {
        bail!("{} comparisons failed: {}", failed.len(), failed.join("; "));
    }
    Ok(())
}
