//! `cargo oracle transforms`: applies every transformation to files of the corpora and compares the machine code with that of the originals.

mod clean;
mod extract;
mod instrument;
mod link;
mod names;
pub(crate) mod replay;
mod sections;
mod symbols;

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use ptx_ir::Module;
use ptx_transform::{MinifyOptions, minify};
use rayon::prelude::*;

use crate::assembler::Assemblers;
use crate::corpus::cubin::{self, Outcome};
use crate::corpus::{Amount, LARGEST_IN_SAMPLE};
use crate::files::Entry;
use crate::limit::exceeds_in_groups;
use crate::shared::Shared;
use Check::{Code, Kernels, Special};

/// Arguments of `cargo oracle transforms`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The number of files for each transformation, or `all`
    #[arg(long, value_name = "N|all", default_value = "40")]
    pub(crate) sample: Amount,
    /// Only these transformations
    #[arg(long, value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Only files whose path contains this
    #[arg(long)]
    pub(crate) file: Option<String>,
    /// Name the kernels whose code differs, for transformations that count kernels
    #[arg(long)]
    pub(crate) list: bool,
}

/// A way to rewrite files, with its comparison.
struct Transform {
    name: &'static str,
    check: Check,
}

/// The comparison of a transformation.
enum Check {
    /// A comparison of this transformation alone.
    Special(Compare),
    /// All machine code.
    Code(Rewrite),
    /// The code and the constants of kernels.
    Kernels(Rewrite),
}

/// Rewrites a file and compares: an outcome for each resulting text, with a description.
type Compare = fn(&Assemblers, &[u8]) -> Result<Vec<(String, Outcome)>>;

/// The new text of a module.
type Rewrite = fn(&Module) -> Vec<u8>;

const fn transform(name: &'static str, check: Check) -> Transform {
    Transform { name, check }
}

/// The text of a module with short names, also of symbols.
fn with_short_symbols(module: &Module, options: MinifyOptions) -> Vec<u8> {
    minify(module, &options.with_symbols(true)).text().to_vec()
}

/// Checks the canonical style.
fn check_canonical(assemblers: &Assemblers, source: &[u8]) -> Result<Vec<(String, Outcome)>> {
    let outcome = cubin::check(assemblers, source, cubin::Rewrite::Canonical)?;
    Ok(vec![(String::new(), outcome)])
}

/// All transformations.
const TRANSFORMS: &[Transform] = &[
    transform("canonical", Special(check_canonical)),
    transform("replay", Special(replay::check)),
    transform("clean", Special(clean::check)),
    transform("extract", Special(extract::check)),
    transform("instrument", Special(instrument::check)),
    transform("link", Special(link::relink)),
    transform("link-pair", Special(link::pair)),
    transform("rename", Code(names::rename)),
    transform("strip", Code(|m| ptx_transform::strip(m).text().to_vec())),
    transform(
        "minify",
        Code(|m| minify(m, &MinifyOptions::default()).text().to_vec()),
    ),
    transform("rename-symbols", Kernels(symbols::rename)),
    transform(
        "minify-symbols",
        Kernels(|m| with_short_symbols(m, MinifyOptions::default())),
    ),
    transform(
        "minify-dead",
        Kernels(|m| with_short_symbols(m, MinifyOptions::default().with_dead(true))),
    ),
    transform(
        "renumber",
        Code(|m| ptx_transform::renumber(m).text().to_vec()),
    ),
    transform(
        "flatten",
        Code(|m| ptx_transform::flatten(m).text().to_vec()),
    ),
];

/// The transformations that are also checked on files for a debugger: their code need not be the same.
const WITH_DEBUG: &[&str] = &["clean", "instrument"];

/// The highest percentage of kernels whose code may differ, for transformations that count kernels.
const DIFFERENT_KERNELS: f64 = 5.0;

/// Files whose code may differ: the transformation, a part of their path, and the reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "replay",
        "hand/decl_odd",
        "the builder refuses a table of labels that lists its own label",
    ),
    (
        "replay",
        "hand/decl_spaces",
        "the builder refuses `l<2>` and a variable `l0`: two declarations of one name",
    ),
    ("minify-symbols", "hand/lex_identifiers", ORDER_OF_FUNCTIONS),
    ("minify-dead", "hand/lex_identifiers", ORDER_OF_FUNCTIONS),
    ("instrument", "hand/head_", ADDRESSES_OF_32_BITS),
    ("instrument", "hand/isa_legacy_sm1x", ADDRESSES_OF_32_BITS),
];

const ORDER_OF_FUNCTIONS: &str =
    "the names of functions that are not inlined determine their order in a section";

const ADDRESSES_OF_32_BITS: &str =
    "ptxas refuses functions with 32-bit addresses on sm_90 and newer, and sm_10 has no atomics";

/// The rewriting of a file.
#[derive(Copy, Clone)]
struct Work<'e> {
    entry: &'e Entry,
    transform: &'static Transform,
}

pub(crate) fn run(args: &Args, shared: &Shared) -> Result<()> {
    let Some(assemblers) = shared.assemblers("REWRITTEN FILES")? else {
        return Ok(());
    };
    let work = work(args, shared);
    println!("{}: {} rewritings", assemblers.describe(), work.len());
    let outcomes: Vec<Result<_>> = work
        .par_iter()
        .with_max_len(1)
        .map(|w| check(assemblers, *w))
        .collect();
    let mut report = Report {
        list: args.list,
        ..Report::default()
    };
    for (work, outcomes) in work.into_iter().zip(outcomes) {
        for (variant, outcome) in outcomes? {
            report.add(work, &variant, outcome);
        }
    }
    report.finish()
}

/// The rewritings, the largest files first, so that the threads finish together.
fn work<'e>(args: &Args, shared: &'e Shared) -> Vec<Work<'e>> {
    let mut entries = shared.accepted();
    entries.retain(|e| args.file.as_ref().is_none_or(|f| e.name().contains(f)));
    if let Amount::Some(n) = args.sample {
        entries = shared.sample(&entries, n, LARGEST_IN_SAMPLE);
    }
    let mut work: Vec<Work<'_>> = Vec::new();
    for entry in entries {
        for transform in TRANSFORMS {
            if args.only.is_empty() || args.only.iter().any(|name| name == transform.name) {
                work.push(Work { entry, transform });
            }
        }
    }
    work.sort_by_key(|work| std::cmp::Reverse(work.entry.bytes));
    work
}

fn check(assemblers: &Assemblers, work: Work<'_>) -> Result<Vec<(String, Outcome)>> {
    let Work { entry, transform } = work;
    let source = entry.text()?;
    let debug = cubin::info(source) == cubin::Info::Debug;
    if debug && !WITH_DEBUG.contains(&transform.name) {
        return Ok(Vec::new());
    }
    match transform.check {
        Special(check) => check(assemblers, source),
        Code(rewrite) => names::compare(assemblers, source, rewrite),
        Kernels(rewrite) => symbols::compare(assemblers, source, rewrite),
    }
}

/// Whether the code of a file may differ after a transformation.
pub(crate) fn may_differ(transform: &str, file: &str) -> bool {
    EXCEPTIONS
        .iter()
        .any(|(name, path_part, _)| *name == transform && file.contains(path_part))
}

/// Counts of outcomes.
#[derive(Default)]
struct Report {
    list: bool,
    failed: usize,
    /// By transformation and outcome.
    counts: BTreeMap<(&'static str, &'static str), usize>,
    /// By transformation and its variant.
    kernels: BTreeMap<(&'static str, String), KernelCounts>,
}

#[derive(Default)]
struct KernelCounts {
    /// The number of kernels with equal code.
    equal: usize,
    total: usize,
    /// The number of files that contain the kernels: kernels of one file are similar.
    files: usize,
}

impl Report {
    fn add(&mut self, work: Work<'_>, variant: &str, outcome: Outcome) {
        let Work { entry, transform } = work;
        let name = entry.name();
        let row = match outcome {
            Outcome::Same(_) => "the same machine code",
            Outcome::Accepted => "different code, accepted, with everything it must contain",
            Outcome::Different(_) if may_differ(transform.name, &name) => {
                "different for a known reason"
            }
            Outcome::Different(difference) => {
                println!("FAILED {} {variant}: {name}: {difference}", transform.name);
                self.failed += 1;
                "DIFFERENT"
            }
            Outcome::NotAssembled => "skipped: ptxas generates no code",
            Outcome::Random => "skipped: ptxas is not deterministic",
            Outcome::Kernels(kernels) => {
                self.add_kernels(transform.name, variant, &name, kernels);
                "accepted, kernels compared"
            }
        };
        *self.counts.entry((transform.name, row)).or_default() += 1;
    }

    fn add_kernels(
        &mut self,
        transform: &'static str,
        variant: &str,
        file: &str,
        kernels: Vec<(String, Option<String>)>,
    ) {
        let counts = self
            .kernels
            .entry((transform, variant.to_owned()))
            .or_default();
        counts.total += kernels.len();
        counts.files += usize::from(!kernels.is_empty());
        for (kernel, difference) in kernels {
            match difference {
                None => counts.equal += 1,
                Some(difference) if self.list => {
                    println!("different {transform} {variant}: {file}: {kernel}: {difference}")
                }
                Some(_) => {}
            }
        }
    }

    fn finish(mut self) -> Result<()> {
        for ((transform, row), count) in &self.counts {
            println!("{count:>8}  {transform}: {row}");
        }
        for ((transform, variant), counts) in &self.kernels {
            let &KernelCounts {
                equal,
                total,
                files,
            } = counts;
            let share = 100.0 * equal as f64 / total.max(1) as f64;
            println!(
                "{share:>7.2}% {transform} {variant}: {equal} of {total} kernels in {files} files have the same code"
            );
            let is_checked = !clean::OTHER_CODE.contains(&variant.as_str());
            if is_checked && exceeds_in_groups(total - equal, total, files, DIFFERENT_KERNELS) {
                println!("FAILED {transform} {variant}: more than {DIFFERENT_KERNELS} % differ");
                self.failed += 1;
            }
        }
        if self.failed > 0 {
            bail!("{} rewritten texts differ", self.failed);
        }
        Ok(())
    }
}
