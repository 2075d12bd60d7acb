//! Limits: each is reported by its own code, and the text beyond it is kept.
#![allow(clippy::panic, reason = "tests fail by panics")]

use std::sync::Arc;

use ptx_ir::raw::tiling;
use ptx_ir::{Code, Limits, Severity};
use ptx_parse::{Parsed, parse_with};

const HEADER: &str = ".version 8.5\n.target sm_90\n.address_size 64\n";

fn parse(text: &str, limits: &Limits) -> Parsed {
    let parsed = parse_with(Arc::from(text.as_bytes()), limits);
    assert_eq!(parsed.module.source(), text.as_bytes());
    if let Err(v) = tiling::check(&parsed.module) {
        panic!("{:?}: {}", v.span, v.message);
    }
    parsed
}

fn codes(parsed: &Parsed) -> Vec<Code> {
    let errors = parsed
        .diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Error);
    errors.map(|d| d.code).collect()
}

fn nesting(most: usize) -> Limits {
    let mut limits = Limits::default();
    limits.nesting = most;
    limits
}

#[test]
fn default_limits() {
    let text = format!("{HEADER}.entry f() {{ {{ {{ ret; }} }} }}");
    assert_eq!(codes(&parse(&text, &Limits::default())), []);
}

#[test]
fn source_size() {
    let mut limits = Limits::default();
    limits.source_bytes = HEADER.len();
    assert_eq!(codes(&parse(HEADER, &limits)), []);
    let longer = format!("{HEADER}\n");
    assert_eq!(codes(&parse(&longer, &limits)), [Code::SourceTooLarge]);
    limits.source_bytes = 0;
    assert_eq!(codes(&parse(HEADER, &limits)), [Code::SourceTooLarge]);
}

#[test]
fn number_of_diagnostics() {
    let mut text = String::from(HEADER);
    text.push_str(".entry f() {\n");
    text.push_str(&"nonsense;\n".repeat(50));
    text.push_str("}\n");
    for most in [0, 1, 10, 49] {
        let mut limits = Limits::default();
        limits.diagnostics = most;
        let parsed = parse(&text, &limits);
        let found = codes(&parsed);
        assert_eq!(found.len(), most + 1, "at most {most}");
        assert_eq!(
            found
                .iter()
                .filter(|c| **c == Code::TooManyDiagnostics)
                .count(),
            1
        );
    }
    let mut limits = Limits::default();
    limits.diagnostics = 50;
    assert!(!codes(&parse(&text, &limits)).contains(&Code::TooManyDiagnostics));
}

/// A text that nests `depth` levels is fine up to the limit and has exactly one error beyond it.
fn nests(most: usize, text: impl Fn(usize) -> String) {
    let fine = text(most);
    let parsed = parse(&fine, &nesting(most));
    assert_eq!(codes(&parsed), [], "{fine}: {:?}", parsed.diagnostics);
    let deep = text(most + 1);
    let parsed = parse(&deep, &nesting(most));
    assert_eq!(codes(&parsed), [Code::NestingTooDeep], "{deep}");
    let deeper = text(most + 7);
    assert!(
        codes(&parse(&deeper, &nesting(most))).contains(&Code::NestingTooDeep),
        "{deeper}"
    );
}

/// `depth` levels around `inner`.
fn around(open: &str, inner: &str, close: &str, depth: usize) -> String {
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

#[test]
fn nested_initializers() {
    for most in [1, 2, 5] {
        nests(most, |d| {
            format!("{HEADER}.global .b32 x = {};\n", around("{", "1", "}", d))
        });
    }
}

#[test]
fn nested_parentheses() {
    for most in [1, 2, 5] {
        nests(most, |d| {
            format!("{HEADER}.global .b32 x = {};\n", around("(", "1", ")", d))
        });
    }
}

/// The body of the function is the first block.
#[test]
fn nested_blocks() {
    for most in [1, 2, 5] {
        nests(most, |d| {
            format!("{HEADER}.entry f() {}\n", around("{", "ret;", "}", d))
        });
    }
}

#[test]
fn an_error_has_all_diagnostics() {
    let parsed = ptx_parse::parse_str(".func f() { add.s32 %r1, %r2, 3; }");
    let all = parsed.diagnostics.clone();
    let error = parsed.into_result().unwrap_err();
    assert!(all.len() > 1 && error.diagnostics() == all && error.into_diagnostics() == all);
}
