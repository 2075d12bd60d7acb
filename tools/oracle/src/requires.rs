//! `cargo oracle requires`: the versions and targets that files require, compared with ptxas.
//!
//! ptxas has to accept a file for each target with the lowest version computed for it, to refuse it with the version before, and to refuse
//! it for every other target with the newest version.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, bail};
use ptx_ir::Module;
use ptx_isa::{PtxVersion, Target};
use rayon::prelude::*;

use crate::assembler::{Assemblers, Job};
use crate::limit;
use crate::shared::Shared;

/// Arguments of `cargo oracle requires`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Check a sample of that many files instead of all
    #[arg(long)]
    pub(crate) sample: Option<usize>,
    /// Skip files longer than this many bytes
    #[arg(long, default_value_t = u64::MAX)]
    pub(crate) largest: u64,
}

/// The highest percentage of files with a wrong requirement.
const WRONG: f64 = 1.0;

/// The result for one file.
#[derive(Default)]
struct Outcome {
    checks: usize,
    disagreements: Vec<String>,
    /// Targets that no installed ptxas supports.
    unchecked: BTreeSet<Target>,
}

pub(crate) fn run(args: &Args, shared: &Shared) -> Result<()> {
    let Some(assemblers) = shared.assemblers("REQUIREMENTS")? else {
        return Ok(());
    };
    println!("{}", assemblers.describe());
    let count = args.sample.unwrap_or(usize::MAX);
    let sample = shared.sample(&shared.accepted(), count, args.largest);
    let outcomes: Vec<Result<_>> = sample
        .par_iter()
        .map(|entry| judge(assemblers, entry.text()?).with_context(|| entry.name()))
        .collect();
    let (mut right, mut judged, mut checks) = (0, 0, 0);
    let mut unchecked = BTreeSet::new();
    for (entry, outcome) in sample.iter().zip(outcomes) {
        let Some(outcome) = outcome? else { continue };
        judged += 1;
        checks += outcome.checks;
        right += usize::from(outcome.disagreements.is_empty());
        for disagreement in outcome.disagreements {
            println!("{}: {disagreement}", entry.name());
        }
        unchecked.extend(outcome.unchecked);
    }
    if !unchecked.is_empty() {
        let names: Vec<&str> = unchecked.iter().map(|t| t.text()).collect();
        println!(
            "!!! NOT CHECKED, AS NO PTXAS FOUND SUPPORTS THEM: {} !!!",
            names.join(" ")
        );
    }
    let skipped = sample.len() - judged;
    let percent = 100.0 * right as f64 / judged.max(1) as f64;
    println!(
        "{right} of {judged} files right ({percent:.2} %), {checks} verdicts; {skipped} files of newer versions skipped"
    );
    if judged == 0 || limit::exceeds(judged - right, judged, WRONG) {
        bail!("at most {WRONG} % of the files may be wrong");
    }
    Ok(())
}

/// Checks one file; `None` if its version is not completely known.
fn judge(assemblers: &Assemblers, source: &[u8]) -> Result<Option<Outcome>> {
    let module = ptx_parse::parse(source).module;
    if module.header().version.is_none_or(|v| !v.is_known()) {
        return Ok(None);
    }
    let needs = ptx_verify::requires(&module).module().clone();
    let mut outcome = Outcome::default();
    let mut question = Question {
        assemblers,
        module: &module,
        outcome: &mut outcome,
    };
    for &target in Target::ALL {
        match needs.lowest(target) {
            Some(version) => {
                question.ask(target, version, true)?;
                if let Some(previous) = previous_version(target, version) {
                    question.ask(target, previous, false)?;
                }
            }
            None if assemblers.supports(target) => {
                question.ask(target, assemblers.newest(), false)?;
            }
            None => {}
        }
    }
    Ok(Some(outcome))
}

/// The version before one, if it knows the target.
fn previous_version(target: Target, version: PtxVersion) -> Option<PtxVersion> {
    PtxVersion::KNOWN
        .iter()
        .copied()
        .rfind(|v| *v < version)
        .filter(|previous| *previous >= target.min_version())
}

/// The comparison of the requirements of one module with ptxas.
struct Question<'a> {
    assemblers: &'a Assemblers,
    module: &'a Module,
    outcome: &'a mut Outcome,
}

impl Question<'_> {
    /// Compares whether the module is legal on a target in a version.
    fn ask(&mut self, target: Target, version: PtxVersion, legal: bool) -> Result<()> {
        let Some(assembler) = self.assemblers.of(target, version) else {
            self.outcome.unchecked.insert(target);
            return Ok(());
        };
        let retargeted = ptx_transform::retarget(self.module, target, version)
            .context("a header without version or target")?;
        let text = retargeted.text();
        let mut verdict = assembler.run(text, Job::Check)?;
        // The text needs an option of ptxas, which is not a rule of PTX.
        if verdict.output.contains("--compile-only") {
            verdict = assembler.run(text, Job::CheckRelocatable)?;
        }
        // An older ptxas supports neither the newest versions nor comments with arbitrary bytes.
        let limitations = ["Unsupported .version", "Unexpected non-ASCII"];
        if !self.assemblers.supports(target)
            && limitations.iter().any(|l| verdict.output.contains(l))
        {
            return Ok(());
        }
        self.outcome.checks += 1;
        if verdict.accepted != legal {
            let (expected, actual) = if legal {
                ("legal", verdict.reason())
            } else {
                ("not legal", "accepted")
            };
            let release = assembler.release();
            self.outcome.disagreements.push(format!(
                "{expected} on {target} with PTX {version}; ptxas {release}: {actual}"
            ));
        }
        Ok(())
    }
}
