//! Violations of the protocols of asynchronous operations.
//!
//! Each file of the folder `asynchrony` has kernels with and without mistakes. A comment `//~ Rule certainty` is on each line with a
//! violation; no other line has one.

#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use std::path::Path;

use crate::files;
use ptx_analysis::asynchrony::{Certainty, Violation};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{Body, Module, Statement};

/// The violations of all functions, with their lines and the names of the functions.
fn found(module: &Module, text: &[u8]) -> Vec<(usize, Violation, String)> {
    let facts = ModuleFacts::new(module);
    let mut all = Vec::new();
    for (id, function, body) in module.definitions() {
        let of = facts.function(id).expect("a definition has a body");
        for &violation in FunctionAnalysis::new(of).violations() {
            let name = module.name(function.name).to_string();
            all.push((line(body, violation, text), violation, name));
        }
    }
    all
}

fn line(body: &Body, violation: Violation, text: &[u8]) -> usize {
    let mut statements = body.statements();
    let stmt = statements.find(|(_, s)| *s == Statement::Inst(violation.inst));
    let span = body.source_span(stmt.expect("it is in the body").0);
    let before = text.get(..span.start as usize).unwrap_or_default();
    before.iter().filter(|&&b| b == b'\n').count() + 1
}

#[test]
fn violations_are_found_where_they_are() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/asynchrony");
    let mut counts = (0, 0);
    for entry in std::fs::read_dir(folder).expect("the folder exists") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a text");
        let parsed = ptx_parse::parse(text.as_bytes());
        assert!(
            parsed.diagnostics.is_empty(),
            "{path:?}: {:?}",
            parsed.diagnostics
        );
        let expected = (1..).zip(text.lines()).filter_map(|(number, line)| {
            let (_, what) = line.split_once("//~ ")?;
            Some(format!("{number} {what}"))
        });
        let mut actual: Vec<_> = found(&parsed.module, text.as_bytes())
            .into_iter()
            .map(|(line, v, _)| format!("{line} {:?} {:?}", v.rule, v.certainty))
            .collect();
        actual.sort_by_key(|a| a.split(' ').next().and_then(|n| n.parse::<u32>().ok()));
        let expected: Vec<String> = expected.collect();
        assert_eq!(actual, expected, "{path:?}");
        counts.0 += expected.len();
        counts.1 += parsed.module.definitions().count();
    }
    println!("{} violations in {} kernels", counts.0, counts.1);
    assert!(counts.0 >= 40 && counts.1 >= 80);
}

/// Definite violations: the beginnings of names of files, what names of functions contain, and why.
const EXPLAINED: &[(&str, &str, &str)] = &[
    ("isa_", "", "every instruction once, without its protocol"),
    ("tc5.", "", "every instruction once, without its protocol"),
    ("ptxns.", "", "every instruction once, without its protocol"),
    ("blackwell.", "steal", "the object is never initialized"),
    ("hopper.", "remote", "the object is never initialized"),
    (
        "matrix.",
        "warpgroup",
        "`nvcc` loads registers of a factor after the fence",
    ),
    (
        "mma.G.",
        "wgmma",
        "`nvcc` -G uses registers of pending products",
    ),
    (
        "flash_",
        "flash",
        "Triton multiplies what `tcgen05.ld` writes before the wait",
    ),
    (
        "attention_",
        "attention",
        "Triton multiplies what `tcgen05.ld` writes before the wait",
    ),
];

fn is_explained(file: &str, function: &str) -> bool {
    let mut explained = EXPLAINED.iter();
    explained.any(|(start, part, _)| file.starts_with(start) && function.contains(part))
}

fn check_corpus(folder: &Path) {
    let (mut kernels, mut definite) = (0, Vec::new());
    for entry in files::entries(folder) {
        let file = entry.name.rsplit('/').next().unwrap_or_default();
        let text = entry.read();
        let module = ptx_parse::parse(&text).module;
        kernels += module.definitions().count();
        for (line, violation, name) in found(&module, &text) {
            if violation.certainty == Certainty::Definite && !is_explained(file, &name) {
                definite.push(format!("{file}:{line}: {:?} in {name}", violation.rule));
            }
        }
    }
    assert!(kernels > 100, "{kernels} kernels");
    assert_eq!(definite, Vec::<String>::new());
}

#[test]
fn compilers_follow_the_protocols() {
    check_corpus(&files::own());
}

#[test]
#[ignore = "needs ../shared/corpus"]
fn compilers_of_the_shared_corpus_follow_the_protocols() {
    check_corpus(&files::shared());
}
