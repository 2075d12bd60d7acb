//! Each fix of a diagnostic, made alone in the files of the tests of diagnostics, removes that diagnostic and adds no error.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use ptx_ir::{Diagnostic, Severity, apply_fix};
use ptx_verify::Options;

fn diagnose(source: &[u8]) -> Vec<Diagnostic> {
    let parsed = ptx_parse::parse(source);
    let verified = ptx_verify::verify(&parsed.module, &Options::default());
    parsed.diagnostics.into_iter().chain(verified).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|e| e == "ptx") {
            found.push(path);
        }
    }
    found
}

fn errors(found: &[Diagnostic]) -> usize {
    let is_error = |d: &&Diagnostic| d.severity == Severity::Error;
    found.iter().filter(is_error).count()
}

#[test]
fn a_fix_removes_its_diagnostic() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = ["ptx-parse/tests/files", "ptx-verify/tests/files"];
    let mut made = 0;
    for path in folders.iter().flat_map(|folder| files(&root.join(folder))) {
        let source = fs::read(&path).unwrap();
        let before = diagnose(&source);
        let places = |found: &[Diagnostic], one: &Diagnostic| {
            let same = found.iter().filter(|d| d.code == one.code);
            same.map(|d| 1 + d.repeats.len()).sum::<usize>()
        };
        for one in before.iter().filter(|d| !d.fix.is_empty()) {
            let new = apply_fix(&source, one).unwrap();
            let after = diagnose(&new.text);
            let text = format!("{}: {one}\n{:?}\n{after:?}", path.display(), one.fix);
            assert!(places(&after, one) < places(&before, one), "{text}");
            assert!(errors(&after) <= errors(&before), "{text}");
            made += 1;
        }
    }
    assert!(made > 3, "{made}");
}
