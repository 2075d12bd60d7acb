//! Every rewriting leaves the same bytes in memory: the programs and the other kernels of the corpus are run before and after. Some of the
//! rewritings are tested on each file, in turn.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;

use crate::sample::{Sample, sample};
use crate::{files, machine, observe, run};
use machine::Checked;
use observe::{Seen, observe, observe_within};
use ptx_analysis::cfg::Cfg;
use ptx_analysis::graph::{Dominators, Loops};
use ptx_edit::{Names, Renaming};
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{FunctionKind, Module};
use ptx_isa::StateSpace;
use ptx_transform::clean::{Options, Pass, clean};
use ptx_transform::instrument::{Bounds, Outside, Records, Trace};
use ptx_transform::{LinkOptions, MinifyOptions};
use ptx_vm::{Checks, Machine};

/// Files up to this size are tested.
const MOST_BYTES: usize = 120_000;
/// Steps of a rewritten kernel, which may be instrumented.
const STEPS: u64 = 2_000_000;

/// A rewriting of a module with some kernels; `None` where it is refused.
type Rewriting = fn(&Module, &[&str]) -> Option<Module>;

const REWRITINGS: [(&str, Rewriting); 14] = [
    ("strip", |m, _| Some(ptx_transform::strip(m).module)),
    ("renumber", |m, _| Some(ptx_transform::renumber(m).module)),
    ("flatten", |m, _| Some(ptx_transform::flatten(m).module)),
    ("minify", |m, _| {
        let options = MinifyOptions::default().with_dead(true);
        Some(ptx_transform::minify(m, &options).module)
    }),
    ("extract", |m, kernels| {
        Some(ptx_transform::extract(m, kernels).ok()?.module)
    }),
    (REORDERS, split_and_link),
    (RENAME, rename),
    ("clean", |m, _| Some(clean(m, &Options::default()).module)),
    ("vectorize", |m, _| {
        let options = Options::default().with_passes([Pass::Vectorize]);
        Some(clean(m, &options.with_max_rounds(1)).module)
    }),
    ("all clean-ups", |m, _| {
        let options = Options::default().with_passes(Pass::ALL);
        Some(clean(m, &options).module)
    }),
    ("preheaders", preheaders),
    ("trace", |m, _| {
        let records = Records {
            name: "all_accesses".into(),
            capacity: 1 << 10,
        };
        let spaces = Trace::MEMORY.into();
        Some(Trace { records, spaces }.apply(m).ok()?.module)
    }),
    ("bounds", bounds),
    ("canonical text", |m, _| {
        let text = ptx_print::canonical(m, &Default::default());
        Some(ptx_parse::parse(&text).module)
    }),
];

const RENAME: &str = "rename";
/// What is put before the names of kernels.
const PREFIX: &str = "renamed_";

/// The name of a kernel after a rewriting.
fn name_after(rewriting: &str, kernel: &str) -> String {
    let prefix = if rewriting == RENAME { PREFIX } else { "" };
    format!("{prefix}{kernel}")
}

/// Takes the kernels out of the module, one after the other, and puts them back.
fn split_and_link(module: &Module, kernels: &[&str]) -> Option<Module> {
    let mut module = module.clone();
    for kernel in kernels {
        let split = ptx_transform::split(&module, &[kernel]).ok()?;
        let options = LinkOptions::default().with_hidden(split.exported);
        let linked = ptx_transform::link(&[&split.part.module, &split.rest.module], &options);
        module = linked.ok()?.module;
    }
    Some(module)
}

fn rename(module: &Module, kernels: &[&str]) -> Option<Module> {
    let names = Names::of(module);
    let mut renaming = Renaming::new();
    for kernel in kernels {
        for entity in names.find(module, kernel, None) {
            renaming.set(entity, name_after(RENAME, kernel));
        }
    }
    Some(renaming.apply(module, &names).ok()?.module)
}

/// A preheader for each loop of the kernels where there can be one.
fn preheaders(module: &Module, kernels: &[&str]) -> Option<Module> {
    let mut module = module.clone();
    let mut any = false;
    for (kernel, nth) in kernels
        .iter()
        .flat_map(|k| (0..20).map(move |nth| (k, nth)))
    {
        let id = module.function(kernel)?;
        let facts = ModuleFacts::new(&module);
        let cfg = Cfg::new(facts.function(id)?);
        let loops = Loops::new(&cfg, &Dominators::new(&cfg));
        let Some((one, _)) = loops.iter().nth(nth) else {
            continue;
        };
        let name = format!("PREHEADER_{nth}");
        any |= ptx_transform::insert_preheader(&mut module, id, &cfg, &loops, one, &name).is_ok();
    }
    any.then(|| ptx_transform::reparse(&module).module)
}

/// Records the accesses outside of global memory.
fn bounds(module: &Module, _: &[&str]) -> Option<Module> {
    let bounds = Bounds {
        name: "global_memory".into(),
        space: StateSpace::Global,
        low: 0x1000_0000,
        high: 1 << 41,
        outside: Outside::Record(Records {
            name: "outside".into(),
            capacity: 8,
        }),
    };
    Some(bounds.apply(module).ok()?.module)
}

/// The names of the kernels of a module.
fn kernels(module: &Module) -> Vec<&str> {
    let kernels = module.definitions();
    let kernels = kernels.filter(|(_, f, _)| f.kind == FunctionKind::Entry);
    kernels.map(|(_, f, _)| module.name(f.name)).collect()
}

/// A program that copies blocks of 16 bytes to an array that is declared with an alignment of 4: it needs its variables in their order.
const NEEDS_ORDER: &str = "async";
/// The rewriting that changes this order.
const REORDERS: &str = "split and link";

/// Which of the rewritings are tested on a file, whose index is added to theirs.
fn rewritten() -> Sample {
    sample(4, 4)
}

/// The rewritings that are tested on a file.
fn rewritings(file: usize) -> impl Iterator<Item = (&'static str, Rewriting)> {
    let sample = rewritten();
    let numbered = REWRITINGS.into_iter().enumerate();
    let chosen = numbered.filter(move |(n, _)| sample.has(n + file));
    chosen.map(|(_, rewriting)| rewriting)
}

/// How often each rewriting was tested.
type Counts = BTreeMap<&'static str, usize>;

fn assert_all(counts: &Counts, least: usize) {
    println!("{counts:?}");
    let fewest = counts.values().min().copied();
    assert!(
        counts.len() == REWRITINGS.len() && fewest >= Some(least),
        "{counts:?}"
    );
}

/// Programs with arguments and expected results.
#[test]
fn rewritten_programs_compute_the_same() {
    let mut counts = Counts::new();
    let folder = files::own().join("compiled/programs");
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "ptx"));
    paths.sort();
    for (file, path) in paths.iter().enumerate() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let stem = name.split_once('.').map_or("", |(stem, _)| stem);
        let case = std::fs::read_to_string(path.with_file_name(format!("{stem}.case"))).unwrap();
        let module = ptx_parse::parse(&std::fs::read(path).unwrap()).module;
        let kernels = kernels(&module);
        for (rewriting, rewrite) in rewritings(file) {
            if (stem, rewriting) == (NEEDS_ORDER, REORDERS) {
                continue;
            }
            let Some(rewritten) = rewrite(&module, &kernels) else {
                continue;
            };
            let mut case = case.clone();
            if rewriting == RENAME {
                case = case.replace("launch ", &format!("launch {PREFIX}"));
            }
            // The text alone, as a user of the file would run it.
            let module = ptx_parse::parse(rewritten.source()).module;
            let mut machine = Checked::new(Machine::new(&module), Checks::NONE);
            if let Err(error) = run::run(&case, &mut machine) {
                panic!("{name}: {rewriting}: {error}");
            }
            *counts.entry(rewriting).or_default() += 1;
        }
    }
    assert_all(&counts, 10);
}

/// Whether a kernel reads how many instructions were executed.
fn reads_time(module: &Module, kernel: &str) -> bool {
    let body = module.function(kernel).and_then(|id| module.body(id));
    let span = |s| {
        body.map_or("".into(), |b| {
            String::from_utf8_lossy(b.source_span(s).of(module.source()))
        })
    };
    let mut statements = body.into_iter().flat_map(|b| b.statements());
    statements.any(|(s, _)| span(s).contains("%clock") || span(s).contains("%globaltimer"))
}

/// All other kernels, with arguments that fit most.
#[test]
fn rewritten_kernels_leave_the_same_bytes() {
    let mut counts = Counts::new();
    // Other parts than of the rewritings: each is tested on some file.
    let sample = sample(9, 5);
    let entries = files::entries(&files::own());
    for (file, entry) in sample.of(entries.iter().enumerate()) {
        let source = entry.read();
        if entry.verdict != "ok" || source.len() > MOST_BYTES {
            continue;
        }
        let module = ptx_parse::parse(&source).module;
        let mut runs: Vec<(&str, Seen)> = Vec::new();
        for kernel in kernels(&module) {
            let seen = observe(&module, kernel, 1);
            let compared = seen.is_done() && !reads_time(&module, kernel);
            runs.extend(compared.then_some((kernel, seen)));
        }
        let kernels: Vec<&str> = runs.iter().map(|(kernel, _)| *kernel).collect();
        for (rewriting, rewrite) in rewritings(file) {
            let Some(now) = rewrite(&module, &kernels) else {
                continue;
            };
            for (kernel, old) in &runs {
                let new = observe_within(&now, &name_after(rewriting, kernel), 1, STEPS);
                assert!(
                    old.agrees(&new),
                    "{}: {kernel}: {rewriting}: {:?}",
                    entry.name,
                    new.failed
                );
                *counts.entry(rewriting).or_default() += 1;
            }
        }
    }
    assert_all(&counts, 50 / (sample.parts * rewritten().parts));
}
