//! Cleaning up the files of the corpora does not change their effects and causes no diagnostics. Each file is cleaned by all passes together
//! and by two single passes, which differ from file to file. `cargo oracle transforms` compares machine code.

use std::collections::BTreeMap;
use std::path::Path;

use ptx_ir::Code;
use ptx_verify::Options;

use super::files;

const STEPS: usize = 1500;

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

/// Checks the files of a corpus up to a size; larger ones are for `cargo oracle transforms`.
fn check(folder: &Path, most_bytes: u64) -> (usize, usize, usize) {
    let (mut functions, mut changes, mut effects) = (0, 0, 0);
    for (index, entry) in files::entries(folder).into_iter().enumerate() {
        if entry.verdict != "ok"
            || std::fs::metadata(&entry.path).is_ok_and(|m| m.len() > most_bytes)
        {
            continue;
        }
        let source = entry.read();
        let before = ptx_parse::parse(&source).module;
        let said = codes(&source);
        for (name, options) in chosen(index) {
            let path = entry.path.display();
            let (text, report) = super::cleaned(&source, &options);
            changes += report.changes.len();
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
            for (_, function, _) in before.definitions() {
                functions += 1;
                let called = before.name(function.name);
                for seed in 0..2 {
                    let old = super::run(&before, called, seed, STEPS);
                    let new = super::run(&after, called, seed, STEPS);
                    let first = old.effects.iter().zip(&new.effects);
                    let first = first.take_while(|(a, b)| a.0 == b.0).count();
                    assert!(
                        old.agrees(&new),
                        "{path}: {name}: {called}, seed {seed}: {:?} {} {}, {:?} {} {}; effect {first}",
                        old.end,
                        old.steps,
                        old.effects.len(),
                        new.end,
                        new.steps,
                        new.effects.len()
                    );
                    effects += old.effects.len();
                }
            }
        }
    }
    (functions, changes, effects)
}

#[test]
fn corpus_files_keep_their_effects() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (functions, changes, effects) = check(&root.join("corpus"), 120_000);
    assert!(
        functions > 1000 && changes > 3000 && effects > 10_000,
        "{functions} {changes} {effects}"
    );
}

#[test]
#[ignore = "needs ../shared/corpus"]
fn shared_corpus_files_keep_their_effects() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus");
    let (functions, ..) = check(&shared, 40_000);
    assert!(functions > 100, "{functions}");
}
