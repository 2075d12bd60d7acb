//! A module that is checked in windows has no diagnostics exactly where it has none otherwise.
#![allow(clippy::unwrap_used)]

use crate::corpus::{self, Entry};
use crate::mutate::{self, Random};
use crate::sample::{Sample, sample};
use ptx_ir::{Limits, SourceText};
use ptx_isa::Directive;
use ptx_parse::{Windows, parse_in_windows};
use ptx_verify::{Options, WindowChecker, codegen_limits, verify};

/// Whether a text has no diagnostics, found out in windows.
fn is_clean_in_windows(text: &[u8], window: usize, part: Option<usize>) -> bool {
    let mut checker = WindowChecker::new(Options::default());
    let (source, limits) = (SourceText::from(text), Limits::default());
    let windows = Windows { window, part };
    let parsed = parse_in_windows(&source, &limits, windows, |module, functions| {
        checker.window(module, functions)
    });
    let found = parsed.and_then(|parsed| checker.finish(&parsed.module));
    found.is_some_and(|found| found.is_empty())
}

/// Whether a text has no diagnostics; `None` if that is not found out in windows: with several `.target` directives, or characters outside of ASCII.
fn is_clean(text: &[u8]) -> Option<bool> {
    let parsed = ptx_parse::parse(text);
    let module = &parsed.module;
    let is_clean = parsed.diagnostics.is_empty()
        && verify(module, &Options::default()).is_empty()
        && codegen_limits(module).is_empty();
    let mut targets = module.directives().values();
    let is_single = targets
        .by_ref()
        .filter(|d| d.directive == Directive::Target)
        .count()
        == 1;
    let is_known = is_single && text.is_ascii();
    (is_known || !is_clean).then_some(is_clean)
}

/// Compares the answers for windows and parts of several lengths. Gives the answer.
fn check(name: &str, text: &[u8]) -> bool {
    let Some(expected) = is_clean(text) else {
        return false;
    };
    let settings = [
        (1, None),
        (1000, Some(500)),
        (20_000, Some(1)),
        (20_000, Some(3000)),
        (usize::MAX, None),
    ];
    for (window, part) in settings {
        let found = is_clean_in_windows(text, window, part);
        assert_eq!(
            found, expected,
            "{name}: windows of {window}, parts of {part:?}"
        );
    }
    expected
}

fn check_files(files: Vec<Entry>, sample: Sample, most_bytes: usize) -> usize {
    let mut clean = 0;
    for entry in sample.of(files) {
        let text = entry.read();
        if text.len() <= most_bytes {
            clean += usize::from(check(&entry.name, &text));
        }
    }
    clean
}

#[test]
fn own_files() {
    let sample = sample(4, 1);
    let clean = check_files(corpus::entries(&corpus::own()), sample, 100_000);
    assert!(clean > 200 / sample.parts, "{clean}");
}

#[test]
#[ignore = "needs ../shared/corpus"]
fn shared_corpus_files() {
    let clean = check_files(corpus::entries(&corpus::shared()), sample(1, 2), 200_000);
    assert!(clean > 50, "{clean}");
}

#[test]
fn damaged_files() {
    let files = corpus::entries(&corpus::own())
        .into_iter()
        .map(|e| e.read());
    let files: Vec<Vec<u8>> = files.filter(|t| t.len() < 10_000).collect();
    let mut random = Random::new(23);
    let mut clean = 0;
    let rounds = 1500 / sample(5, 1).parts;
    for round in 0..rounds {
        let mut text = random.pick(&files).clone();
        for _ in 0..1 + round % 2 {
            let damage = *random.pick(&[mutate::bytes, mutate::tokens]);
            damage(&mut text, &mut random);
        }
        clean += usize::from(check("a damaged file", &text));
    }
    assert!((1..rounds).contains(&clean), "{clean}");
}

#[test]
fn characters_outside_of_ascii_are_left_to_the_parser_of_the_whole_source() {
    let function = |i: u32| format!(".func f{i}()\n{{\n\tret;\n}}\n");
    let lines =
        ".version 8.0\n.target sm_80\n".to_owned() + &(0..5).map(function).collect::<String>();
    assert!(check("without such a character", lines.as_bytes()));
    for (at, _) in lines.match_indices('\n') {
        let (before, after) = lines.split_at(at);
        let text = format!("{before} // \u{e9}{after}");
        for (window, part) in [(1, None), (60, Some(1)), (60, Some(30)), (1000, Some(500))] {
            assert!(
                !is_clean_in_windows(text.as_bytes(), window, part),
                "{text}"
            );
        }
    }
}

/// What a body uses can be declared again after it, and differently.
#[test]
fn declarations_after_their_uses() {
    let header = ".version 8.0\n.target sm_80\n.address_size 64\n";
    let declarations = [
        ".extern .global .b32 v[];\n",
        ".global .b32 v[4];\n",
        ".func f(.param .b32 p);\n",
        ".func f(.param .b32 p) { ret; }\n",
        ".func f(.param .b64 p) { ret; }\n",
        ".func f() { ret; }\n",
        ".visible .func f(.param .b32 p) { ret; }\n",
        ".weak .func f(.param .b32 p) .noreturn;\n",
        ".func g(.param .b32 p) { ret; }\n.alias f, g;\n",
        ".entry f(.param .b32 p) { ret; }\n",
        ".extern .func f(.param .b32 p);\n",
        "",
    ];
    let user = ".entry k() { .reg .b32 r; .reg .b64 a; mov.b64 a, v; ld.global.b32 r, [a];\n{ .param .b32 q; st.param.b32 [q], r; call f, (q); } ret; }\n";
    let mut clean = 0;
    for first in declarations {
        for second in declarations {
            for third in declarations {
                let text = format!("{header}{first}{second}{user}{third}");
                clean += usize::from(check(&text, text.as_bytes()));
            }
        }
    }
    assert!(clean > 5, "{clean}");
}
