//! `cargo xtask transforms`: what rewriting promises about meaning, with the real assembler as the judge: the machine code of
//! every rewritten file of the corpora beside that of the original.

mod canonical;
mod clean;
mod extract;
mod instrument;
mod link;
mod names;
pub(crate) mod replay;
mod sections;
mod symbols;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::corpus::cubin::{self, Outcome};
use crate::corpus::files::{self, Entry};
use crate::corpus::{Amount, parallel};
use crate::ptxas::Assemblers;

/// Arguments of `cargo xtask transforms`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A folder with PTX files and their INDEX.tsv; without: the repository's `corpus` and, where
    /// it exists, `shared/corpus` beside the checkout
    #[arg(long)]
    dir: Vec<PathBuf>,
    /// So many files of each transformation, or `all`
    #[arg(long, value_name = "N|all", default_value = "40")]
    sample: Amount,
    /// Only these transformations
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only files whose path contains this
    #[arg(long)]
    file: Option<String>,
    /// Name the kernels whose code differs, where kernels are counted
    #[arg(long)]
    list: bool,
    /// Fail where there is no ptxas
    #[arg(long)]
    require_ptxas: bool,
    /// Threads
    #[arg(long, default_value_t = 2)]
    jobs: usize,
}

/// A way to rewrite files, and how it is judged.
struct Transform {
    name: &'static str,
    /// Rewrites a file and compares; an outcome for each text that came of it, with what it is.
    check: Check,
}

type Check = fn(&Assemblers, &[u8]) -> Result<Vec<(String, Outcome)>>;

/// All of them.
const TRANSFORMS: &[Transform] = &[
    Transform {
        name: "canonical",
        check: canonical::check,
    },
    Transform {
        name: "replay",
        check: replay::check,
    },
    Transform {
        name: "clean",
        check: clean::check,
    },
    Transform {
        name: "extract",
        check: extract::check,
    },
    Transform {
        name: "instrument",
        check: instrument::check,
    },
    Transform {
        name: "link",
        check: link::again,
    },
    Transform {
        name: "link-pair",
        check: link::pair,
    },
    Transform {
        name: "rename",
        check: names::rename,
    },
    Transform {
        name: "strip",
        check: names::strip,
    },
    Transform {
        name: "minify",
        check: names::minify,
    },
    Transform {
        name: "rename-symbols",
        check: symbols::rename,
    },
    Transform {
        name: "minify-symbols",
        check: symbols::short,
    },
    Transform {
        name: "minify-dead",
        check: symbols::least,
    },
    Transform {
        name: "renumber",
        check: names::renumber,
    },
    Transform {
        name: "flatten",
        check: names::flatten,
    },
];

/// Those that are judged on files for a debugger, too: their code need not be the same.
const WITH_DEBUG: &[&str] = &["clean", "instrument"];

/// Of how many kernels in a hundred the code has to be the same, where kernels are counted.
const SAME_KERNELS: usize = 95;

/// Files whose code may differ: the transformation, what their path contains, why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "replay",
        "hand/decl_odd",
        "a table of labels that lists its own label is a mistake to the builder",
    ),
    (
        "replay",
        "hand/decl_spaces",
        "`l<2>` beside a variable `l0`: two meanings of one name are a mistake to the builder",
    ),
    ("minify-symbols", "hand/lex_identifiers", ORDER_OF_FUNCTIONS),
    ("minify-dead", "hand/lex_identifiers", ORDER_OF_FUNCTIONS),
    ("instrument", "hand/head_", ADDRESSES_OF_32_BITS),
    ("instrument", "hand/isa_legacy_sm1x", ADDRESSES_OF_32_BITS),
];

const ORDER_OF_FUNCTIONS: &str = "functions that are not inlined lie in a kernel's section in an order that follows from their names";

const ADDRESSES_OF_32_BITS: &str = "the assembler takes no functions with addresses of 32 bits on sm_90 and newer, and sm_10 has no atomics";

/// Largest file in a sample: beyond, code generation takes too long for a quick run.
const LARGEST_IN_SAMPLE: u64 = 300_000;

pub(crate) fn run(args: &Args) -> Result<()> {
    let Some(assemblers) = Assemblers::find_or_warn(args.require_ptxas, "REWRITTEN FILES")? else {
        return Ok(());
    };
    let wanted = |t: &&Transform| args.only.is_empty() || args.only.iter().any(|o| o == t.name);
    let transforms: Vec<&Transform> = TRANSFORMS.iter().filter(wanted).collect();
    let mut entries = files::entries(&files::folders(&args.dir))?;
    entries.retain(|e| e.accepted && args.file.as_ref().is_none_or(|f| e.name().contains(f)));
    let all: Vec<&Entry> = entries.iter().collect();
    let chosen = match args.sample {
        Amount::All => all,
        Amount::Some(n) => files::sample(&all, n, LARGEST_IN_SAMPLE),
    };
    let mut work: Vec<(&Entry, &Transform)> = Vec::new();
    for entry in chosen {
        work.extend(transforms.iter().map(|t| (entry, *t)));
    }
    // The largest first, so that the threads end together.
    work.sort_by_key(|(entry, _)| std::cmp::Reverse(entry.bytes));
    println!("{}: {} rewritings", assemblers.describe(), work.len());
    let start = Instant::now();
    let outcomes = parallel::map(args.jobs, &work, |(entry, transform)| -> Result<_> {
        let source = entry.read()?;
        let debug = cubin::info(&source) == cubin::Info::Debug;
        if debug && !WITH_DEBUG.contains(&transform.name) {
            return Ok(Vec::new());
        }
        (transform.check)(&assemblers, &source)
    });
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut failed = 0;
    let mut kernels: BTreeMap<(&str, String), (usize, usize)> = BTreeMap::new();
    for ((entry, transform), outcome) in work.iter().zip(outcomes) {
        for (what, outcome) in outcome? {
            let name = entry.name();
            let mut exceptions = EXCEPTIONS.iter();
            let exception =
                exceptions.find(|(t, part, _)| *t == transform.name && name.contains(part));
            let row = match (outcome, exception) {
                (Outcome::Same(_), _) => "the same machine code",
                (Outcome::Accepted, _) => "other code, taken, with all that was there",
                (Outcome::Different(_), Some(_)) => "different for a known reason",
                (Outcome::Different(how), None) => {
                    println!("FAILED {} {what}: {name}: {how}", transform.name);
                    failed += 1;
                    "DIFFERENT"
                }
                (Outcome::NotAssembled, _) => "skipped: ptxas makes no code",
                (Outcome::Random, _) => "skipped: ptxas itself is not repeatable",
                (Outcome::Kernels(all), _) => {
                    let (same, total) = kernels.entry((transform.name, what.clone())).or_default();
                    *total += all.len();
                    for (kernel, how) in all {
                        match how {
                            None => *same += 1,
                            Some(how) if args.list => {
                                println!(
                                    "other {} {what}: {name}: {kernel}: {how}",
                                    transform.name
                                );
                            }
                            Some(_) => {}
                        }
                    }
                    "accepted, kernels compared"
                }
            };
            *counts.entry((transform.name, row)).or_default() += 1;
        }
    }
    for ((transform, row), count) in &counts {
        println!("{count:>8}  {transform}: {row}");
    }
    for ((transform, what), (same, total)) in &kernels {
        let share = 100.0 * *same as f64 / (*total).max(1) as f64;
        println!("{share:>7.2}% {transform} {what}: {same} of {total} kernels have the same code");
        if same * 100 < total * SAME_KERNELS && !clean::OTHER_CODE.contains(&what.as_str()) {
            println!("FAILED {transform} {what}: fewer than {SAME_KERNELS} %");
            failed += 1;
        }
    }
    println!("took {:.0} s", start.elapsed().as_secs_f64());
    if failed > 0 {
        bail!("{failed} rewritten texts are not what they were");
    }
    Ok(())
}
