//! `cargo oracle mutations`: valid files with one token changed, checked by the verifier and by ptxas.

mod mutate;

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use fastrand::Rng;
use rayon::prelude::*;

use crate::assembler::Assemblers;
use crate::files::Entry;
use crate::limit;
use crate::outcome::{Outcome, Tally, judge};
use crate::regressions::file_texts;
use crate::shared::Shared;
use mutate::{Base, Kind, Mutant};

/// Arguments of `cargo oracle mutations`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The number of changed texts
    #[arg(long, default_value_t = 10_000)]
    pub(crate) count: usize,
    /// Print every disagreement
    #[arg(long)]
    pub(crate) list: bool,
}

/// The size in bytes of the largest file; ptxas needs too long for larger ones.
const LARGEST: u64 = 40_000;
/// The number of files that are changed.
const FILES: usize = 300;
/// The highest percentage of texts refused by ptxas that may be accepted, and of texts accepted by ptxas that may be refused.
const FALSE_ACCEPTS: f64 = 1.0;
const FALSE_REJECTS: f64 = 2.0;

pub(crate) fn run(args: &Args, shared: &Shared) -> Result<()> {
    let Some(assemblers) = shared.assemblers("MUTATIONS")? else {
        return Ok(());
    };
    println!("{}", assemblers.describe());
    let bases = bases(shared, assemblers, FILES.min(args.count))?;
    let mut rng = Rng::with_seed(shared.seed());
    let mut mutants: Vec<(&Base, Mutant)> = Vec::with_capacity(args.count);
    let mut tries = 0;
    while mutants.len() < args.count && tries < args.count * 20 {
        tries += 1;
        let kind = Kind::ALL[rng.usize(..Kind::ALL.len())];
        let base = &bases[rng.usize(..bases.len())];
        mutants.extend(base.mutate(kind, &mut rng).map(|m| (base, m)));
    }
    let outcomes: Vec<Result<Outcome>> = mutants
        .par_iter()
        .map(|(_, m)| judge(assemblers, &m.text))
        .collect();
    let mut tallies: BTreeMap<Kind, Tally> = BTreeMap::new();
    let mut disagreements: Vec<&[u8]> = Vec::new();
    for ((base, mutant), outcome) in mutants.iter().zip(outcomes) {
        let outcome = outcome?;
        if outcome.accepted_by_verifier != outcome.accepted_by_ptxas {
            disagreements.push(&mutant.text);
        }
        tallies.entry(mutant.kind).or_default().add(&outcome);
        if args.list && outcome.accepted_by_verifier != outcome.accepted_by_ptxas {
            let kind = if outcome.accepted_by_verifier {
                "false accept"
            } else {
                "false reject"
            };
            println!(
                "{kind}: {}:{}: {}: {}",
                base.name, mutant.line, mutant.change, outcome.reason
            );
        }
    }
    report(&bases, &tallies)
        .or_else(|error| file_texts(shared, "mutation", disagreements.into_iter()).and(Err(error)))
}

/// Files that both the verifier and ptxas accept.
fn bases(shared: &Shared, assemblers: &Assemblers, count: usize) -> Result<Vec<Base>> {
    let bases: Vec<Base> = shared
        .sample(&shared.accepted(), count, LARGEST)
        .par_iter()
        .map(|entry| base(assemblers, entry))
        .collect::<Result<Vec<Option<Base>>>>()?
        .into_iter()
        .flatten()
        .collect();
    if bases.is_empty() {
        bail!("there is no file to change");
    }
    Ok(bases)
}

/// The base of a file, if both the verifier and ptxas accept it.
fn base(assemblers: &Assemblers, entry: &Entry) -> Result<Option<Base>> {
    let text = entry.text()?;
    let outcome = judge(assemblers, text)?;
    if outcome.accepted_by_verifier && outcome.accepted_by_ptxas {
        Ok(Base::new(entry.name(), text.to_vec()))
    } else {
        Ok(None)
    }
}

fn report(bases: &[Base], tallies: &BTreeMap<Kind, Tally>) -> Result<()> {
    println!("{} files", bases.len());
    println!(
        "{:<9}{:>8}{:>9}{:>15}{:>10}{:>15}",
        "", "texts", "refused", "false accepts", "accepted", "false rejects"
    );
    let mut total = Tally::default();
    for (kind, t) in tallies {
        row(&kind.to_string(), t);
        total.accepted += t.accepted;
        total.refused += t.refused;
        total.false_accepts += t.false_accepts;
        total.false_rejects += t.false_rejects;
        total.grammatical += t.grammatical;
    }
    row("all", &total);
    let percent = |part: usize, total: usize| 100.0 * part as f64 / total.max(1) as f64;
    let accepts = percent(total.false_accepts, total.refused);
    let rejects = percent(total.false_rejects, total.accepted);
    let grammatical = percent(total.grammatical, total.all());
    println!(
        "false accepts {accepts:.2} %, false rejects {rejects:.2} %, grammatical {grammatical:.0} %"
    );
    if limit::exceeds(total.false_accepts, total.refused, FALSE_ACCEPTS)
        || limit::exceeds(total.false_rejects, total.accepted, FALSE_REJECTS)
        || grammatical < 50.0
    {
        bail!("at most {FALSE_ACCEPTS} %, {FALSE_REJECTS} %, and at least 50 %");
    }
    Ok(())
}

fn row(name: &str, t: &Tally) {
    println!(
        "{name:<9}{:>8}{:>9}{:>15}{:>10}{:>15}",
        t.all(),
        t.refused,
        t.false_accepts,
        t.accepted,
        t.false_rejects
    );
}
