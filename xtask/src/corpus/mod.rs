//! `cargo xtask corpus`: everything the libraries promise about reading and printing, on every file
//! of the corpora, with the real assembler as the judge of meaning.

pub(crate) mod constants;
pub(crate) mod cubin;
pub(crate) mod files;
pub(crate) mod parallel;
mod structure;
mod trivia;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::ptxas::Assemblers;
use cubin::{Extent, Rewrite};
use files::Entry;

/// Arguments of `cargo xtask corpus`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A folder with PTX files and their INDEX.tsv; without: the repository's `corpus` and, where
    /// it exists, `shared/corpus` beside the checkout
    #[arg(long)]
    dir: Vec<PathBuf>,
    /// Also compare cubins: of a sample of so many files, or of `all`
    #[arg(long, value_name = "N|all")]
    cubin: Option<Amount>,
    /// Fail where there is no ptxas
    #[arg(long)]
    require_ptxas: bool,
    /// Threads
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Only files whose path contains this
    #[arg(long)]
    only: Option<String>,
}

/// How many files to take.
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

/// Largest file in a sample: beyond, code generation takes too long for a quick run.
const LARGEST_IN_SAMPLE: u64 = 300_000;
/// Every so manieth file is also read with trivia between all its tokens.
const MANGLED_ONE_IN: u64 = 4;
/// Every so manieth file of the cubin sample is also assembled that way.
const MANGLED_CUBIN_ONE_IN: usize = 8;

/// Counts and messages of a run.
#[derive(Default)]
struct Report {
    passed: usize,
    failed: usize,
    /// The rows of the table, in the order of their first mention.
    counts: Vec<(&'static str, usize)>,
}

impl Report {
    fn count(&mut self, what: &'static str, yes: bool) {
        match self.counts.iter_mut().find(|(row, _)| *row == what) {
            Some((_, count)) => *count += yes as usize,
            None => self.counts.push((what, yes as usize)),
        }
    }

    /// Books one file's failures.
    fn book(&mut self, entry: &Entry, failures: &[String]) {
        if failures.is_empty() {
            self.passed += 1;
            return;
        }
        self.failed += 1;
        for failure in failures.iter().take(4) {
            println!("FAILED {}: {failure}", entry.name());
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let folders = files::folders(&args.dir);
    let mut entries = files::entries(&folders)?;
    if let Some(part) = &args.only {
        entries.retain(|e| e.name().contains(part.as_str()));
    }
    if entries.is_empty() {
        bail!("no files: the folders need an INDEX.tsv");
    }
    let mut report = Report::default();
    structure(args, &entries, &mut report)?;
    if let Some(amount) = args.cubin {
        cubins(args, amount, &entries, &mut report)?;
    }
    finish(&report)
}

fn structure(args: &Args, entries: &[Entry], report: &mut Report) -> Result<()> {
    let outcomes = parallel::map(args.jobs, entries, |entry| -> Result<_> {
        // What is not understood is compared by its text, and that changes.
        let mangle = entry.accepted && files::hash(&entry.path).is_multiple_of(MANGLED_ONE_IN);
        Ok(structure::check(entry, &entry.read()?, mangle))
    });
    for (entry, outcome) in entries.iter().zip(outcomes) {
        let outcome = outcome?;
        report.count("files read and printed", true);
        report.count("… also with trivia between all tokens", outcome.mangled);
        report.count("files that ptxas accepts", entry.accepted);
        report.count("files that ptxas refuses", !entry.accepted);
        report.count("… by us too", outcome.refused);
        report.count("… by us on the same line", outcome.same_line);
        report.book(entry, &outcome.failures);
    }
    Ok(())
}

fn cubins(args: &Args, amount: Amount, entries: &[Entry], report: &mut Report) -> Result<()> {
    let found = Assemblers::find_or_warn(args.require_ptxas, "COMPARISON OF CUBINS")?;
    let Some(assemblers) = found else {
        return Ok(());
    };
    let info = parallel::map(args.jobs, entries, |e| e.read().map(|s| cubin::info(&s)));
    let mut accepted: Vec<&Entry> = Vec::new();
    for (entry, info) in entries.iter().zip(info) {
        match info? {
            cubin::Info::Debug => report.count("files of `.target … debug` (no cubins)", true),
            _ if entry.accepted => accepted.push(entry),
            _ => {}
        }
    }
    let chosen = match amount {
        Amount::All => accepted,
        Amount::Some(n) => files::sample(&accepted, n, LARGEST_IN_SAMPLE),
    };
    let mut work: Vec<(&Entry, Rewrite)> = Vec::new();
    for (i, entry) in chosen.into_iter().enumerate() {
        work.push((entry, Rewrite::Canonical));
        if i.is_multiple_of(MANGLED_CUBIN_ONE_IN) {
            work.push((entry, Rewrite::Mangled));
        }
    }
    // The largest first, so that the threads end together.
    work.sort_by_key(|(entry, _)| std::cmp::Reverse(entry.bytes));
    println!(
        "{}: {} texts to assemble twice",
        assemblers.describe(),
        work.len()
    );
    let start = Instant::now();
    let outcomes = parallel::map(args.jobs, &work, |(entry, how)| {
        cubin::check(&assemblers, &entry.read()?, *how)
    });
    for ((entry, how), outcome) in work.iter().zip(outcomes) {
        report.count("cubins compared", true);
        report.count(
            "… of texts with trivia between their tokens",
            *how == Rewrite::Mangled,
        );
        match outcome? {
            cubin::Outcome::Same(extent) => {
                report.count(same(extent), true);
                report.book(entry, &[]);
            }
            cubin::Outcome::Different(what) => {
                report.count("… different", true);
                report.book(
                    entry,
                    &[format!("cubin of the {} text: {what}", how.name())],
                );
            }
            cubin::Outcome::Random => {
                report.count("… skipped: ptxas itself is not repeatable", true);
            }
            // Only of transformations.
            cubin::Outcome::Accepted => {}
            cubin::Outcome::NotAssembled => report.count("… skipped: ptxas makes no code", true),
            // Said of clean-ups alone.
            cubin::Outcome::Kernels(_) => {}
        }
    }
    println!("cubins took {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn same(extent: Extent) -> &'static str {
    match extent {
        Extent::Everything => "… the same, byte for byte",
        Extent::AllButNames => "… the same but for names (variables inside functions)",
        Extent::Code => "… the same code and data (line info)",
    }
}

fn finish(report: &Report) -> Result<()> {
    println!();
    for (what, count) in &report.counts {
        println!("{count:>8}  {what}");
    }
    println!("{} passed, {} failed", report.passed, report.failed);
    if report.failed > 0 {
        bail!("{} checks failed", report.failed);
    }
    Ok(())
}
