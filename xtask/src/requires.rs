//! `cargo xtask requires`: what files are said to need, held against the real assembler.
//!
//! Each pair of a target and its lowest version has to be taken, the version before it refused, and every target that
//! has no pair refused with the newest version.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use ptx_ir::Module;
use ptx_isa::{PtxVersion, Target};

use crate::corpus::{files, parallel};
use crate::ptxas::{Assemblers, Job};

/// Arguments of `cargo xtask requires`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Fail where there is no ptxas
    #[arg(long)]
    require_ptxas: bool,
    /// Ask about so many files, of every folder and size, instead of all
    #[arg(long)]
    sample: Option<usize>,
    /// Pass over files longer than this many bytes
    #[arg(long, default_value_t = u64::MAX)]
    largest: u64,
    /// Threads
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Corpora in place of the usual ones
    folders: Vec<PathBuf>,
}

/// Of a hundred files, so many have to be right in everything.
const RIGHT: f64 = 99.0;

/// What became of one file.
#[derive(Default)]
struct Outcome {
    checks: usize,
    complaints: Vec<String>,
    /// Targets with a pair that no assembler at hand makes code for.
    unasked: BTreeSet<Target>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let found = Assemblers::find_or_warn(args.require_ptxas, "REQUIREMENTS")?;
    let Some(assemblers) = found else {
        return Ok(());
    };
    println!("{}", assemblers.describe());
    let entries = files::entries(&files::folders(&args.folders))?;
    let accepted: Vec<_> = entries.iter().filter(|e| e.accepted).collect();
    let count = args.sample.unwrap_or(usize::MAX);
    let sample = files::sample(&accepted, count, args.largest);
    let outcomes = parallel::map(args.jobs, &sample, |entry| {
        judge(&assemblers, &entry.read()?).with_context(|| entry.name())
    });
    let (mut right, mut judged, mut checks) = (0, 0, 0);
    let mut unasked = BTreeSet::new();
    for (entry, outcome) in sample.iter().zip(outcomes) {
        let Some(outcome) = outcome? else { continue };
        judged += 1;
        checks += outcome.checks;
        right += usize::from(outcome.complaints.is_empty());
        for complaint in outcome.complaints {
            println!("{}: {complaint}", entry.name());
        }
        unasked.extend(outcome.unasked);
    }
    if !unasked.is_empty() {
        let names: Vec<&str> = unasked.iter().map(|t| t.text()).collect();
        println!(
            "!!! NOT ASKED, AS NO ASSEMBLER AT HAND KNOWS THEM: {} !!!",
            names.join(" ")
        );
    }
    let passed_over = sample.len() - judged;
    let percent = 100.0 * right as f64 / judged.max(1) as f64;
    println!(
        "{right} of {judged} files right ({percent:.2} %), {checks} verdicts; {passed_over} files of newer versions passed over"
    );
    if judged == 0 || percent < RIGHT {
        bail!("at least {RIGHT} % of the files have to be right");
    }
    Ok(())
}

/// Asks about one file; `None` where it is of a version that is not known in full.
fn judge(assemblers: &Assemblers, source: &[u8]) -> Result<Option<Outcome>> {
    let module = ptx_parse::parse(source).module;
    if module.header.version.is_none_or(|v| !v.is_judged()) {
        return Ok(None);
    }
    let needs = ptx_verify::requires(&module).module;
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
                if let Some(before) = before(target, version) {
                    question.ask(target, before, false)?;
                }
            }
            // Of targets that only older assemblers know, nobody says that they are left out.
            None if assemblers.judged(target) => {
                question.ask(target, PtxVersion::CURRENT, false)?;
            }
            None => {}
        }
    }
    Ok(Some(outcome))
}

/// The version before one, if it knows the target.
fn before(target: Target, version: PtxVersion) -> Option<PtxVersion> {
    let all = PtxVersion::KNOWN.iter().rev();
    let before = all.copied().find(|v| *v < version)?;
    (before >= target.min_version()).then_some(before)
}

struct Question<'a> {
    assemblers: &'a Assemblers,
    module: &'a Module,
    outcome: &'a mut Outcome,
}

impl Question<'_> {
    fn ask(&mut self, target: Target, version: PtxVersion, legal: bool) -> Result<()> {
        let Some(assembler) = self.assemblers.of_target(target) else {
            self.outcome.unasked.insert(target);
            return Ok(());
        };
        let text = ptx_verify::retarget(self.module, target, version);
        let text = text.context("a header without version or target")?;
        let mut verdict = assembler.run(&text, Job::Check)?;
        // An option of the assembler, not a rule of PTX.
        if verdict.output.contains("--compile-only") {
            verdict = assembler.run(&text, Job::CheckRelocatable)?;
        }
        // An older assembler does not know the newest versions, nor that comments hold any byte.
        let unknown = ["Unsupported .version", "Unexpected non-ASCII"];
        if !self.assemblers.judged(target) && unknown.iter().any(|u| verdict.output.contains(u)) {
            return Ok(());
        }
        self.outcome.checks += 1;
        if verdict.accepted != legal {
            let (expected, said) = match legal {
                true => ("legal", verdict.reason()),
                false => ("not legal", "taken"),
            };
            let release = assembler.release();
            self.outcome.complaints.push(format!(
                "{expected} on {target} with PTX {version}; ptxas {release}: {said}"
            ));
        }
        Ok(())
    }
}
