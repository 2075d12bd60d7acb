//! Fixes of diagnostics. Each one, made alone in the files of the tests of diagnostics, removes that diagnostic and adds no
//! error. Those that are certain change no program whose mistake is one of thought, and leave fewer errors in damaged files.

#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use std::fs;
use std::path::{Path, PathBuf};

use ptx_ir::{Diagnostic, Fixed, LineIndex, Severity, apply_fix, fix_all};
use ptx_verify::Options;
use test_support::sample::{sample, seed};

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

/// A kernel around a statement, on a separate line.
fn kernel(statement: &str) -> String {
    format!(
        "\
.version 8.8
.target sm_90a
.address_size 64
.func (.param .b32 r) helper(.param .b32 x, .param .b32 y) {{ st.param.b32 [r], 1; ret; }}
.visible .entry k(.param .u64 p, .param .u32 n)
{{
    .reg .pred %p<6>;
    .reg .b16 %rs<8>;
    .reg .b32 %r<32>;
    .reg .f32 %f<16>;
    .reg .f64 %fd<8>;
    .reg .b64 %rd<16>;
    .shared .align 128 .b8 sm[2048];
    .shared .align 8 .b8 bar[8];
    ld.param.u64 %rd1, [p];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, sm;
    mov.u32 %r3, bar;
    mov.u64 %rd3, bar;
    mov.f32 %f1, 0f3F800000;
    mov.f64 %fd1, 0d3FF0000000000000;
    mov.b16 %rs1, 3;
    setp.eq.u32 %p1, %r1, 0;
L1:
    {statement}
    st.global.u32 [%rd1], %r4;
    ret;
}}
"
    )
}

/// The text after the fixes that are certain, if there are any.
fn certainly_fixed(text: &[u8]) -> Option<Fixed> {
    fix_all(text, diagnose(text), diagnose)
}

#[test]
fn a_mistake_of_thought_is_not_fixed() {
    let text = include_str!("fixes/mistakes_of_thought.txt");
    let lines = text
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'));
    let mut count = 0;
    for statement in lines {
        let source = kernel(statement);
        assert!(errors(&diagnose(source.as_bytes())) > 0, "{statement}");
        let fixed = certainly_fixed(source.as_bytes());
        let fixed = fixed.map(|f| String::from_utf8(f.text).unwrap());
        assert_eq!(fixed, None, "{statement}");
        count += 1;
    }
    assert!(count > 100, "{count}");
}

#[test]
fn a_habit_is_explained_and_what_is_suggested_is_legal() {
    let text = include_str!("fixes/habits.txt");
    let lines = text.lines().filter(|l| !l.starts_with('#'));
    let mut count = 0;
    for line in lines {
        let (statement, expected) = line.split_once(" ==> ").unwrap();
        let source = kernel(statement);
        let mut before = diagnose(source.as_bytes());
        before.retain(|d| d.severity == Severity::Error);
        let first = before.first().unwrap_or_else(|| panic!("{statement}"));
        let help = first.help.as_deref().unwrap_or_default();
        let edited = apply_fix(source.as_bytes(), first);
        let edited = edited.map(|f| String::from_utf8(f.text).unwrap());
        let without_edit = expected.strip_prefix("no edit: ");
        let expected = without_edit.unwrap_or(expected);
        assert!(
            without_edit.is_none() || first.fix.is_empty(),
            "{statement}: {:?}",
            first.fix
        );
        let said = help.contains(expected) || edited.iter().any(|text| text.contains(expected));
        assert!(said, "{statement}: {first} | {help} | {:?}", first.fix);
        if let Some(edited) = edited {
            let after = diagnose(edited.as_bytes());
            assert!(
                errors(&after) < before.len(),
                "{statement}: {:?}",
                first.fix
            );
        }
        count += 1;
    }
    assert!(count > 50, "{count}");
}

/// The tokens of a text, roughly: words, and other bytes one by one.
fn tokens(text: &[u8]) -> Vec<(usize, usize)> {
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b"_%$.".contains(&b);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = text.get(at) {
        let len = text[at..]
            .iter()
            .take_while(|b| is_word(**b))
            .count()
            .max(1);
        if !first.is_ascii_whitespace() {
            found.push((at, at + len));
        }
        at += len;
    }
    found
}

/// One token of a text is deleted, repeated, replaced by another one, or changes places with the next one.
fn damaged(text: &[u8], random: &mut fastrand::Rng) -> Vec<u8> {
    let tokens = tokens(text);
    let nth = random.usize(..tokens.len());
    let (start, end) = tokens[nth];
    let word = |n: usize| tokens.get(n).map_or(&b""[..], |(a, b)| &text[*a..*b]);
    let other = word(random.usize(..tokens.len()));
    let next = tokens.get(nth + 1).copied().unwrap_or((end, end));
    let (new, end) = match random.u8(..4) {
        0 => (Vec::new(), end),
        1 => ([word(nth), b" ", word(nth)].concat(), end),
        2 => (other.to_vec(), end),
        _ => {
            let gap = &text[end..next.0];
            ([word(nth + 1), gap, word(nth)].concat(), next.1)
        }
    };
    [&text[..start], &new, &text[end..]].concat()
}

/// The lines of a text that its errors are about, counted from 1.
fn wrong_lines(text: &[u8], found: &[Diagnostic]) -> Vec<u32> {
    let lines = LineIndex::new(text);
    let is_error = |d: &&Diagnostic| d.severity == Severity::Error;
    let spans = found.iter().filter(is_error).flat_map(|d| {
        let labels = d.labels.iter().map(|label| label.span);
        d.repeats.iter().copied().chain(labels).chain([d.span])
    });
    spans
        .flat_map(|s| lines.position(s.start).line..=lines.position(s.end).line)
        .collect()
}

#[test]
fn certain_fixes_leave_fewer_errors_and_change_no_line_that_is_right() {
    let cases = 20_000 / sample(20, 1).parts;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    let small = |path: &PathBuf| fs::metadata(path).is_ok_and(|m| m.len() < 16 << 10);
    let mut paths: Vec<PathBuf> = files(&root).into_iter().filter(small).collect();
    paths.sort();
    let mut random = fastrand::Rng::with_seed(seed() + 1);
    let mut changed = 0;
    for _ in 0..cases {
        let path = &paths[random.usize(..paths.len())];
        let right = fs::read(path).unwrap();
        if errors(&diagnose(&right)) > 0 {
            continue;
        }
        let wrong = damaged(&right, &mut random);
        let before = diagnose(&wrong);
        let Some(fixed) = fix_all(&wrong, before.clone(), diagnose) else {
            continue;
        };
        changed += 1;
        let context = || {
            let text = String::from_utf8_lossy(&wrong).into_owned();
            let after = String::from_utf8_lossy(&fixed.text);
            format!("{}\n{text}\n{before:?}\n{after}", path.display())
        };
        assert_eq!(fixed.diagnostics, diagnose(&fixed.text), "{}", context());
        let (old, new) = (errors(&before), errors(&fixed.diagnostics));
        assert!(new < old && old - new <= fixed.count, "{}", context());
        let lines = wrong_lines(&wrong, &before);
        let [old, new] = [&wrong, &fixed.text].map(|t| t.split(|b| *b == b'\n'));
        for (i, (old, new)) in (1..).zip(old.zip(new)) {
            assert!(old == new || lines.contains(&i), "line {i}\n{}", context());
        }
    }
    assert!(changed > cases / 30, "{changed}");
}
