//! `cargo xtask conformance`: instructions made from the table, and near misses of them, with the verdicts of the real
//! assembler; without an assembler, how far the checker agrees with those verdicts.

mod agreement;
mod builder_cases;
mod case;
mod coverage;
mod generate;
mod judge;
mod modules;
mod mutations;
mod operand;
mod operand_gen;
mod preamble;
pub(crate) mod random;
mod replay;
mod rule_coverage;
mod table;
mod verdict_gen;
mod verdicts;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::ptxas::Assemblers;
use agreement::Agreement;
use verdicts::Verdict;

/// Where the choice of cases begins.
const SEED: u64 = 20;

/// Arguments of `cargo xtask conformance`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Make the cases anew, ask ptxas about them and rewrite the file of verdicts
    #[arg(long)]
    judge: bool,
    /// Make the cases anew and ask ptxas about so many of them: the file must say the same
    #[arg(long, value_name = "N", conflicts_with = "judge")]
    sample: Option<usize>,
    /// Fail where there is no ptxas
    #[arg(long)]
    require_ptxas: bool,
    /// Ask the table about the operands as they were made, not the checker about the text
    #[arg(long)]
    table: bool,
    /// Write every difference to a file
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Whole modules in place of single instructions; with --list, print those that are judged otherwise
    #[arg(long)]
    modules: bool,
    /// Name the rules of the table that decide next to none of the cases
    #[arg(long)]
    rules: bool,
    /// Only print the cases
    #[arg(long)]
    list: bool,
    /// Threads
    #[arg(long, default_value_t = 2)]
    jobs: usize,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.modules {
        if args.judge
            && let Some(assemblers) = Assemblers::find_or_warn(true, "VERDICTS")?
        {
            modules::judge(&assemblers, args.jobs)?;
        }
        return modules::replay(args.list);
    }
    if args.list {
        let (cases, _) = generate::generate(SEED);
        cases.iter().for_each(|c| println!("{}\t{c}", c.kind));
        return Ok(());
    }
    if args.rules {
        rule_coverage::print(&generate::generate(SEED).0);
        return Ok(());
    }
    if args.judge {
        rewrite(args)?;
    }
    if let Some(n) = args.sample {
        return sample(n, args);
    }
    compare(args)
}

/// Writes the file of verdicts.
fn rewrite(args: &Args) -> Result<()> {
    let Some(assemblers) = Assemblers::find_or_warn(true, "VERDICTS")? else {
        bail!("no ptxas");
    };
    let start = Instant::now();
    let (cases, barren) = generate::generate(SEED);
    for (instruction, form) in &barren {
        println!("no case for {} {}", instruction.name(), form.syntax());
    }
    let verdicts = verdict_gen::label(&assemblers, &cases, args.jobs)?;
    let bytes = verdicts::write(&verdicts)?;
    counts(&verdicts);
    let (seconds, lost) = (start.elapsed().as_secs(), cases.len() - verdicts.len());
    println!("{lost} cases without a verdict; {bytes} bytes; {seconds} s\n");
    Ok(())
}

/// How many cases of each kind there are, and how many of them are accepted.
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

/// Asks about some cases again.
fn sample(n: usize, args: &Args) -> Result<()> {
    let Some(assemblers) = Assemblers::find_or_warn(args.require_ptxas, "COMPARISON OF VERDICTS")?
    else {
        return Ok(());
    };
    let stored = verdicts::read()?;
    let (mut cases, _) = generate::generate(SEED);
    fastrand::shuffle(&mut cases);
    cases.truncate(n);
    let mut different = 0;
    let mut known = 0;
    for verdict in verdict_gen::label(&assemblers, &cases, args.jobs)? {
        // The table may have moved on since the file was written.
        let Some(before) = stored.iter().find(|s| s.line == verdict.line) else {
            continue;
        };
        known += 1;
        if (&before.targets, before.lowest) != (&verdict.targets, verdict.lowest) {
            different += 1;
            println!("was {before:?}\nis  {verdict:?}");
        }
    }
    println!(
        "{}: {known} of {n} cases asked again, {different} differ",
        assemblers.describe()
    );
    if different > 0 {
        bail!("the file of verdicts is not what ptxas says");
    }
    Ok(())
}

fn compare(args: &Args) -> Result<()> {
    let verdicts = verdicts::read()?;
    let ours = if args.table {
        table::table(&generate::generate(SEED).0, &verdicts)
    } else {
        replay::replay(&verdicts, args.jobs)
    };
    let agreement = Agreement::new(&verdicts, &ours);
    agreement.print();
    if let Some(path) = &args.report {
        agreement.report(path)?;
    }
    match &agreement.below()[..] {
        [] => Ok(()),
        below => bail!("below the bar: {}", below.join(", ")),
    }
}
