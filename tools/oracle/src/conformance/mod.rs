//! `cargo oracle conformance`: instructions generated from the tables, and mutations of them, with the verdicts of ptxas
//! (`tools/conformance/verdicts.tsv.gz`, `newer.tsv.gz`); without ptxas, the agreement of the verifier with these verdicts.

mod agreement;
mod builder_cases;
mod facts;
mod generate;
mod judge;
#[cfg(test)]
mod machine;
mod modules;
mod mutations;
mod preamble;
pub(crate) mod random;
mod replay;
mod verdict_gen;
pub(crate) mod verdicts;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, bail};
use fastrand::Rng;
use ptx_isa::Target;
use test_support::instances::{case, coverage, operand, operand_gen};

use crate::shared::Shared;
use agreement::Agreement;
use case::Setting;
use verdicts::{BASE, NEWER, Set, Verdict};

/// Arguments of `cargo oracle conformance`.
#[derive(Default, clap::Args)]
pub(crate) struct Args {
    /// The cases of what PTX versions after 9.2 introduced, with the newer ptxas
    #[arg(long)]
    newer: bool,
    /// Generate the cases again, ask ptxas about them and rewrite the file of verdicts
    #[arg(long)]
    judge: bool,
    /// Generate the cases again and ask ptxas about that many of them: the verdicts must be those of the file
    #[arg(long, value_name = "N", conflicts_with = "judge")]
    sample: Option<usize>,
    /// Write every difference to a file
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Whole modules instead of single instructions; with --list, print those with different verdicts
    #[arg(long)]
    modules: bool,
    /// Only print the cases
    #[arg(long)]
    list: bool,
}

/// An instruction that ptxas accepts.
#[derive(Clone)]
pub(crate) struct Accepted {
    pub(crate) opcode: String,
    pub(crate) line: String,
    targets: Vec<Target>,
    setting: Setting,
}

/// The accepted instructions of the file of verdicts.
pub(crate) fn accepted() -> Result<Vec<Accepted>> {
    Ok(BASE
        .read()?
        .into_iter()
        .filter(|v| !v.targets.is_empty())
        .map(|v| Accepted {
            opcode: v.opcode,
            line: v.line,
            targets: v.targets,
            setting: v.setting,
        })
        .collect())
}

/// A module with a line that replaces an accepted instruction, for one of the targets that accept the instruction.
pub(crate) fn module_of(case: &Accepted, line: &str, rng: &mut Rng) -> String {
    let target = rng.choice(&case.targets).copied().unwrap_or(Target::Sm90);
    let lines = std::iter::once(line);
    preamble::Module::new(BASE.newest(), target, case.setting, lines).text
}

pub(crate) fn run(args: &Args, shared: &Shared) -> Result<()> {
    if args.modules {
        if args.judge
            && let Some(assemblers) = shared.assemblers("VERDICTS")?
        {
            modules::judge(assemblers)?;
        }
        return modules::replay(args.list);
    }
    let set = if args.newer { &NEWER } else { &BASE };
    if args.list {
        let (cases, _) = generate::of_set(set);
        cases.iter().for_each(|c| println!("{}\t{c}", c.kind));
        return Ok(());
    }
    if args.judge {
        rewrite(set, shared)?;
    }
    if let Some(n) = args.sample {
        return sample(set, n, shared);
    }
    compare(set, args)
}

/// Writes the file of verdicts.
fn rewrite(set: &Set, shared: &Shared) -> Result<()> {
    let Some(assembler) = shared.assembler(set.newest(), "VERDICTS")? else {
        bail!("no ptxas for PTX {}", set.newest());
    };
    let start = Instant::now();
    let (cases, uncovered) = generate::of_set(set);
    for (instruction, form) in &uncovered {
        println!("no case for {} {}", instruction.name(), form.syntax());
    }
    let verdicts = verdict_gen::label(set, assembler, &cases)?;
    let bytes = set.write(&verdicts)?;
    counts(&verdicts);
    let (seconds, missing) = (start.elapsed().as_secs(), cases.len() - verdicts.len());
    println!("{missing} cases without a verdict; {bytes} bytes; {seconds} s\n");
    Ok(())
}

/// Prints the numbers of cases and of accepted cases of each kind.
fn counts(verdicts: &[Verdict]) {
    let mut kinds: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for verdict in verdicts {
        for kind in [&verdict.kind, "all"] {
            let (cases, accepted) = kinds.entry(kind).or_default();
            *cases += 1;
            *accepted += usize::from(!verdict.targets.is_empty());
        }
    }
    println!("{:<28}{:>8}{:>10}", "kind", "cases", "accepted");
    for (kind, (cases, accepted)) in kinds {
        println!("{kind:<28}{cases:>8}{accepted:>10}");
    }
}

/// Compares the verdicts of ptxas on a sample of cases with the stored ones.
fn sample(set: &Set, n: usize, shared: &Shared) -> Result<()> {
    let Some(assembler) = shared.assembler(set.newest(), "COMPARISON OF VERDICTS")? else {
        return Ok(());
    };
    let stored = set.read()?;
    let (mut cases, _) = generate::of_set(set);
    Rng::with_seed(shared.seed()).shuffle(&mut cases);
    cases.truncate(n);
    let (mut different, mut compared) = (0, 0);
    for verdict in verdict_gen::label(set, assembler, &cases)? {
        // The tables may have changed since the file was written.
        let Some(old) = stored.iter().find(|s| s.line == verdict.line) else {
            continue;
        };
        compared += 1;
        if (&old.targets, old.lowest) != (&verdict.targets, verdict.lowest) {
            different += 1;
            println!("was {old:?}\nis  {verdict:?}");
        }
    }
    println!(
        "ptxas {}: {compared} of {n} cases asked again, {different} differ",
        assembler.release()
    );
    if different > 0 {
        bail!("the file of verdicts differs from ptxas");
    }
    Ok(())
}

fn compare(set: &Set, args: &Args) -> Result<()> {
    let verdicts = set.read()?;
    let ours = replay::replay(set, &verdicts);
    let agreement = Agreement::new(&verdicts, &ours);
    agreement.print();
    if let Some(path) = &args.report {
        agreement.report(path)?;
    }
    match &agreement.below(set)[..] {
        [] => Ok(()),
        below => bail!("below the bar: {}", below.join(", ")),
    }
}
