//! File tests: one file for each diagnostic of the verifier, with what it reports in comments on the lines:
//! `//~ error[PTX0506] at %f0: message`.
//!
//! `PTXKIT_BLESS=1 cargo test -p ptxkit-verify --test suite codes` writes what is found into the files.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ptx_ir::{Code, Diagnostic, LineIndex};
use ptx_verify::Options;

const MARK: &str = " //~ ";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/codes")
}

/// A text without its expectations.
fn strip(text: &str) -> String {
    let lines = text.lines();
    let lines = lines.map(|line| line.split(MARK).next().unwrap_or(line));
    lines.map(|line| format!("{line}\n")).collect()
}

fn describe(source: &str, diagnostic: &Diagnostic) -> String {
    let Diagnostic {
        severity,
        code,
        span,
        message,
        repeats,
        help,
        ..
    } = diagnostic;
    let text = &source[span.start as usize..span.end as usize];
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let repeated = match repeats.len() {
        0 => String::new(),
        n => format!(" (and {n} times more)"),
    };
    let help = help.as_ref().map_or(String::new(), |h| format!(" = {h}"));
    format!(
        "{}[{code}] at {text}: {message}{repeated}{help}",
        severity.name()
    )
}

/// The text with what is found in it.
fn annotate(source: &str) -> String {
    let parsed = ptx_parse::parse(source.as_bytes());
    let lines = LineIndex::new(source.as_bytes());
    let mut found: BTreeMap<usize, String> = BTreeMap::new();
    let of_verifier = ptx_verify::verify(&parsed.module, &Options::default());
    for diagnostic in parsed.diagnostics.iter().chain(&of_verifier) {
        let line = lines.position(diagnostic.span.start).line as usize;
        let on_line = found.entry(line).or_default();
        on_line.push_str(MARK);
        on_line.push_str(&describe(source, diagnostic));
    }
    let line = |(i, line): (usize, &str)| {
        let found = found.get(&(i + 1)).map_or("", |found| found);
        format!("{line}{found}\n")
    };
    source.lines().enumerate().map(line).collect()
}

#[test]
fn each_file_has_the_diagnostics_in_its_comments() {
    let bless = std::env::var_os("PTXKIT_BLESS").is_some();
    let mut wrong = Vec::new();
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let expected = fs::read_to_string(&path).unwrap();
        let found = annotate(&strip(&expected));
        if found == expected {
            continue;
        }
        if bless {
            fs::write(&path, &found).unwrap();
        }
        let lines = found.lines().zip(expected.lines());
        let lines = lines.filter(|(found, expected)| found != expected);
        let lines = lines.map(|(found, expected)| format!("expected {expected}\n   found {found}"));
        wrong.push(format!(
            "{}:\n{}",
            path.display(),
            lines.collect::<Vec<_>>().join("\n")
        ));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// All diagnostics of a text.
fn errors(text: &str) -> Vec<Diagnostic> {
    let parsed = ptx_parse::parse(text.as_bytes());
    let mut found = parsed.diagnostics;
    found.extend(ptx_verify::verify(&parsed.module, &Options::default()));
    found
}

#[test]
fn a_fix_repairs_its_error() {
    let mut fixes = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let text = strip(&fs::read_to_string(&path).unwrap());
        let found = errors(&text);
        for diagnostic in found.iter().filter(|d| !d.fix.is_empty()) {
            let fixed = ptx_ir::apply_fix(text.as_bytes(), diagnostic).unwrap().text;
            let after = errors(std::str::from_utf8(&fixed).unwrap());
            let path = path.display();
            assert!(after.len() < found.len(), "{path}: {diagnostic}");
            fixes += 1;
        }
    }
    assert!(fixes > 12, "{fixes} fixes");
}

#[test]
fn each_code_of_the_verifier_has_a_file_that_reports_it() {
    let of_verifier = |code: &&Code| (500..700).contains(&code.number());
    for code in Code::ALL.iter().filter(of_verifier) {
        let text = fs::read_to_string(folder().join(format!("{code}.ptx"))).unwrap_or_default();
        assert!(text.contains(&format!("[{code}]")), "{code}");
    }
}
