//! `cargo oracle corpus`: parsing and printing every file of the corpora, and, on request, the machine code that ptxas generates from the
//! printed text.

pub(crate) mod constants;
pub(crate) mod cubin;
mod structure;
mod trivia;

use anyhow::{Result, bail};
use rayon::prelude::*;

use crate::assembler::Assemblers;
use crate::files::{self, Entry};
use crate::shared::Shared;
use cubin::{Extent, Outcome, Rewrite};

/// Arguments of `cargo oracle corpus`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Also compare the cubins of this number of files, or of `all`
    #[arg(long, value_name = "N|all")]
    pub(crate) cubin: Option<Amount>,
    /// Parse and print only a sample of that many files
    #[arg(long, value_name = "N")]
    pub(crate) sample: Option<usize>,
    /// Only files whose path contains this
    #[arg(long)]
    pub(crate) only: Option<String>,
}

/// The number of files of a sample.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Amount {
    All,
    Some(usize),
}

impl std::str::FromStr for Amount {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "all" {
            Ok(Self::All)
        } else {
            text.parse().map(Self::Some)
        }
    }
}

/// The largest file of a sample: code generation of larger ones takes too long.
pub(crate) const LARGEST_IN_SAMPLE: u64 = 300_000;
/// One of this number of files is also parsed with trivia between all its tokens.
const MANGLED_ONE_IN: u64 = 4;
/// One of this number of files of the cubin sample is also assembled with trivia between all its tokens.
const MANGLED_CUBIN_ONE_IN: usize = 8;

/// Counts of a run.
#[derive(Default)]
struct Report {
    passed: usize,
    failed: usize,
    /// The rows of the table, in the order in which they are first counted.
    counts: Vec<(&'static str, usize)>,
}

impl Report {
    fn count(&mut self, row: &'static str, yes: bool) {
        match self.counts.iter_mut().find(|(name, _)| *name == row) {
            Some((_, count)) => *count += usize::from(yes),
            None => self.counts.push((row, usize::from(yes))),
        }
    }

    /// Adds the failures of one file.
    fn add(&mut self, entry: &Entry, failures: &[String]) {
        if failures.is_empty() {
            self.passed += 1;
            return;
        }
        self.failed += 1;
        for failure in failures.iter().take(4) {
            println!("FAILED {}: {failure}", entry.name());
        }
    }

    fn finish(&self) -> Result<()> {
        println!();
        for (row, count) in &self.counts {
            println!("{count:>8}  {row}");
        }
        println!("{} passed, {} failed", self.passed, self.failed);
        if self.failed > 0 {
            bail!("{} checks failed", self.failed);
        }
        Ok(())
    }
}

pub(crate) fn run(args: &Args, shared: &Shared) -> Result<()> {
    let entries: Vec<&Entry> = shared
        .entries()
        .iter()
        .filter(|e| {
            args.only
                .as_ref()
                .is_none_or(|part| e.name().contains(part))
        })
        .collect();
    if entries.is_empty() {
        bail!("no files: the folders need an INDEX.tsv");
    }
    let mut report = Report::default();
    match args.sample {
        Some(n) => {
            let sample = shared.sample(&entries, n, LARGEST_IN_SAMPLE);
            check_structure(&sample, shared, &mut report)?;
        }
        None => check_structure(&entries, shared, &mut report)?,
    }
    if let Some(amount) = args.cubin
        && let Some(assemblers) = shared.assemblers("COMPARISON OF CUBINS")?
    {
        let work = cubin_work(amount, &entries, shared, &mut report)?;
        compare_cubins(work, assemblers, &mut report)?;
    }
    report.finish()
}

fn check_structure(entries: &[&Entry], shared: &Shared, report: &mut Report) -> Result<()> {
    let outcomes: Vec<Result<_>> = entries
        .par_iter()
        .map(|entry| {
            // Unrecognized statements are compared by their text, which mangling changes.
            let mangle = entry.accepted
                && files::hash(&entry.path, shared.seed()).is_multiple_of(MANGLED_ONE_IN);
            Ok(structure::check(entry, entry.text()?, mangle))
        })
        .collect();
    for (entry, outcome) in entries.iter().zip(outcomes) {
        let outcome = outcome?;
        report.count("files parsed and printed", true);
        report.count("… also with trivia between all tokens", outcome.mangled);
        report.count("files that ptxas accepts", entry.accepted);
        report.count("files that ptxas refuses", !entry.accepted);
        report.count("… refused here too", outcome.refused);
        report.count("… with an error on the same line", outcome.same_line);
        report.add(entry, &outcome.failures);
    }
    Ok(())
}

/// The texts whose cubins are compared, the largest first, so that the threads finish together.
fn cubin_work<'e>(
    amount: Amount,
    entries: &[&'e Entry],
    shared: &Shared,
    report: &mut Report,
) -> Result<Vec<(&'e Entry, Rewrite)>> {
    let mut accepted: Vec<&Entry> = Vec::new();
    for &entry in entries {
        match cubin::info(entry.text()?) {
            cubin::Info::Debug => report.count("files with `.target … debug` (no cubins)", true),
            _ if entry.accepted => accepted.push(entry),
            _ => {}
        }
    }
    let chosen = match amount {
        Amount::All => accepted,
        Amount::Some(n) => shared.sample(&accepted, n, LARGEST_IN_SAMPLE),
    };
    let mut work: Vec<(&Entry, Rewrite)> = Vec::new();
    for (i, entry) in chosen.into_iter().enumerate() {
        work.push((entry, Rewrite::Canonical));
        if i.is_multiple_of(MANGLED_CUBIN_ONE_IN) {
            work.push((entry, Rewrite::Mangled));
        }
    }
    work.sort_by_key(|(entry, _)| std::cmp::Reverse(entry.bytes));
    Ok(work)
}

fn compare_cubins(
    work: Vec<(&Entry, Rewrite)>,
    assemblers: &Assemblers,
    report: &mut Report,
) -> Result<()> {
    println!(
        "{}: {} texts to assemble",
        assemblers.describe(),
        work.len()
    );
    let outcomes: Vec<Result<Outcome>> = work
        .par_iter()
        .with_max_len(1)
        .map(|(entry, rewrite)| cubin::check(assemblers, entry.text()?, *rewrite))
        .collect();
    for ((entry, rewrite), outcome) in work.iter().zip(outcomes) {
        report.count("cubins compared", true);
        report.count(
            "… of texts with trivia between their tokens",
            *rewrite == Rewrite::Mangled,
        );
        match outcome? {
            Outcome::Same(extent) => {
                report.count(extent_row(extent), true);
                report.add(entry, &[]);
            }
            Outcome::Different(difference) => {
                report.count("… different", true);
                let failure = format!("cubin of the {} text: {difference}", rewrite.name());
                report.add(entry, &[failure]);
            }
            Outcome::Random => report.count("… skipped: ptxas is not deterministic", true),
            Outcome::NotAssembled => report.count("… skipped: ptxas generates no code", true),
            // Outcomes of transformations only.
            Outcome::Accepted | Outcome::Kernels(_) => {}
        }
    }
    Ok(())
}

fn extent_row(extent: Extent) -> &'static str {
    match extent {
        Extent::Everything => "… identical",
        Extent::AllButNames => "… identical but for names (variables inside functions)",
        Extent::Code => "… the same code and data (line info)",
    }
}
