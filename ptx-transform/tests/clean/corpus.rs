//! Cleaning up the files of the corpora does not change what their kernels do and causes no diagnostics. Each file is cleaned by all passes together
//! and by two single passes, which differ from file to file. `cargo oracle transforms` compares machine code.

use std::collections::BTreeMap;
use std::path::Path;

use ptx_ir::{Code, FunctionKind, Module};
use ptx_verify::Options;

use super::files;
use super::observe::{Seen, has_race, observe};
use super::sample::{Sample, sample};

/// How much was tested.
#[derive(Default, Debug)]
struct Counts {
    changes: usize,
    /// Runs of kernels in cleaned modules; those that came to their end, and their steps.
    runs: usize,
    done: usize,
    steps: u64,
}

/// What the kernels of a module do, with two seeds.
fn seen(module: &Module) -> Vec<((String, u64), Seen)> {
    let kernels = module.definitions();
    let kernels = kernels.filter(|(_, f, _)| f.kind == FunctionKind::Entry);
    let names = kernels.map(|(_, f, _)| module.name(f.name).to_owned());
    let runs = names.flat_map(|name| [0, 1].map(|seed| (name.clone(), seed)));
    runs.map(|(name, seed)| {
        let seen = observe(module, &name, seed);
        ((name, seed), seen)
    })
    .collect()
}

/// How often each code is reported for a text.
fn codes(text: &[u8]) -> BTreeMap<Code, usize> {
    let parsed = ptx_parse::parse(text);
    let mut all = parsed.diagnostics;
    all.extend(ptx_verify::verify(&parsed.module, &Options::default()));
    let mut codes = BTreeMap::new();
    for diagnostic in all {
        *codes.entry(diagnostic.code).or_default() += 1;
    }
    codes
}

/// The last choice, which is all passes, and two other ones.
fn chosen(index: usize) -> Vec<(String, ptx_transform::clean::Options)> {
    let mut all = super::choices();
    let last = all.len() - 1;
    let others = [index % last, (index / 2 + last / 2) % last];
    let mut at = 0;
    all.retain(|_| {
        at += 1;
        at > last || others.contains(&(at - 1))
    });
    all
}

/// Checks files of a corpus up to a size; larger ones are for `cargo oracle transforms`.
fn check(folder: &Path, sample: Sample, most_bytes: u64) -> Counts {
    let mut counts = Counts::default();
    for (index, entry) in sample.of(files::entries(folder).into_iter().enumerate()) {
        if entry.verdict != "ok"
            || std::fs::metadata(&entry.path).is_ok_and(|m| m.len() > most_bytes)
        {
            continue;
        }
        let source = entry.read();
        let original = ptx_parse::parse(&source).module;
        let before = seen(&original);
        let said = codes(&source);
        for (name, options) in chosen(index) {
            let path = entry.path.display();
            let (text, report) = super::cleaned(&source, &options);
            counts.changes += report.changes.len();
            if report.is_empty() {
                assert!(text == source, "{path}: {name}");
                continue;
            }
            for (code, count) in codes(&text) {
                let old = said.get(&code).copied().unwrap_or(0);
                assert!(count <= old, "{path}: {name}: {code} is new");
            }
            let (again, _) = super::cleaned(&text, &options);
            assert!(again == text, "{path}: {name} is not at its end");
            let after = ptx_parse::parse(&text).module;
            for ((kernel, seed), old) in &before {
                let new = observe(&after, kernel, *seed);
                assert!(
                    old.agrees(&new) || has_race(&original, kernel, *seed),
                    "{path}: {name}: {kernel}, seed {seed}: {:?} after {} steps, {:?} after {} steps",
                    old.failed,
                    old.steps,
                    new.failed,
                    new.steps
                );
                counts.runs += 1;
                counts.done += usize::from(old.is_done());
                counts.steps += old.steps;
            }
        }
    }
    counts
}

#[test]
fn corpus_kernels_do_the_same() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let counts = check(&root.join("corpus"), sample(8, 4), 120_000);
    assert!(
        counts.runs > 100 && counts.done > 100 && counts.steps > 10_000 && counts.changes > 300,
        "{counts:?}"
    );
}

#[test]
#[ignore = "needs ../shared/corpus"]
fn shared_corpus_kernels_do_the_same() {
    let counts = check(&test_support::corpus::shared(), sample(1, 6), 40_000);
    assert!(counts.done > 100, "{counts:?}");
}
