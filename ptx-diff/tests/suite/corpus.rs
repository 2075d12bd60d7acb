//! Renamed, renumbered and reordered modules are equal; a module with any part of an instruction changed is not.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use test_support::observe;

use std::fs;
use std::path::Path;

use crate::edits::{EDITS, make};
use crate::sample::{Sample, sample};
use fastrand::Rng;
use observe::observe;
use ptx_diff::{Equality, Line, ModuleDiff};
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{FunctionKind, Module, Statement};
use ptx_transform::{MinifyOptions, flatten, minify, renumber};

const BOTH: [Equality; 2] = [Equality::Statements, Equality::Values];

/// Files up to this size.
const MOST_BYTES: u64 = 150_000;

/// Which of the files are compared.
fn some() -> Sample {
    sample(6, 3)
}

fn corpus() -> Vec<(String, Vec<u8>)> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "ptx")
                && fs::metadata(&path).unwrap().len() <= MOST_BYTES
            {
                files.push((path.display().to_string(), fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    assert!(files.len() > 200, "{}", files.len());
    some().of(files).collect()
}

fn parse(text: &[u8]) -> Module {
    ptx_parse::parse(text).module
}

/// The names of the kernels of a module.
fn kernels(module: &Module) -> impl Iterator<Item = &str> {
    let kernels = module.definitions();
    let kernels = kernels.filter(|(_, f, _)| f.kind == FunctionKind::Entry);
    kernels.map(|(_, f, _)| module.name(f.name))
}

fn is_equal(left: &Module, right: &Module, equality: Equality) -> bool {
    ModuleDiff::new(left, right, equality).is_equal()
}

#[track_caller]
fn assert_equal(name: &str, left: &Module, right: &Module) {
    for equality in BOTH {
        let diff = ModuleDiff::new(left, right, equality);
        let different = diff.functions.iter().find(|f| !f.is_equal());
        assert!(diff.is_equal(), "{name}: {:?} {different:?}", diff.changes);
    }
}

#[test]
fn names_and_layout_do_not_matter() {
    for (name, text) in corpus() {
        let module = parse(&text);
        assert_equal(&name, &module, &module);
        // The text of a statement that could not be parsed is compared with its names.
        let has_opaque = module.bodies().values().any(|b| !b.opaques().is_empty());
        if name.contains("broken") || has_opaque {
            continue;
        }
        assert_equal(&name, &module, &renumber(&module).module);
        let minified = minify(&module, &MinifyOptions::default());
        assert_equal(&name, &minified.module, &module);
        assert_equal(&name, &module, &flatten(&module).module);
        let style = ptx_print::Style::default();
        assert_equal(
            &name,
            &module,
            &parse(&ptx_print::canonical(&module, &style)),
        );
    }
}

/// Where the tokens of instructions of a function are.
fn tokens(module: &Module, function: usize) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    for body in module.bodies().values().skip(function).take(1) {
        for (stmt, statement) in body.statements() {
            let Statement::Inst(_) = statement else {
                continue;
            };
            let span = body.source_span(stmt);
            let text = &module.source()[span.start as usize..span.end as usize];
            for token in Lexer::new(text) {
                let start = (span.start + token.span.start) as usize;
                if token.kind != TokenKind::LineComment {
                    found.push(start..start + token.span.len());
                }
            }
        }
    }
    found
}

/// Another word for one of the text, which means something else there; `None` if there is none.
fn another(text: &str, all: &[&str], rng: &mut Rng) -> Option<String> {
    let count = |word: &str| all.iter().filter(|w| **w == word).count();
    let pair = [
        (".s32", ".u32"),
        (".f32", ".f64"),
        (".lo", ".hi"),
        (".b32", ".b64"),
        (".lt", ".le"),
        (".eq", ".ne"),
        (".global", ".shared"),
        (".rn", ".rz"),
        ("add", "sub"),
        ("ld", "ldu"),
        ("and", "or"),
        (".u64", ".s64"),
        (".v2", ".v4"),
        (".x", ".y"),
        ("@", "@!"),
        ("min", "max"),
    ];
    if let Some((_, other)) = pair.iter().find(|(one, _)| *one == text) {
        return Some((*other).to_owned());
    }
    if let Some((one, _)) = pair.iter().find(|(_, other)| *other == text) {
        return Some((*one).to_owned());
    }
    if text.bytes().all(|b| b.is_ascii_digit()) && text.len() < 9 {
        return Some((text.parse::<u64>().unwrap() + 1).to_string());
    }
    // A register that is mentioned elsewhere for another one that is.
    let is_register =
        |word: &str| word.starts_with('%') && word.ends_with(|c: char| c.is_ascii_digit());
    if !is_register(text) || count(text) < 2 {
        return None;
    }
    let class = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let others: Vec<&&str> = all
        .iter()
        .filter(|w| {
            is_register(w)
                && **w != text
                && w.trim_end_matches(|c: char| c.is_ascii_digit()) == class
        })
        .collect();
    let other = others.get(rng.usize(..others.len().max(1)))?;
    Some((**other).to_owned())
}

#[test]
fn a_changed_instruction_is_a_difference() {
    let mut rng = Rng::with_seed(14);
    let (mut changed, mut unused, mut run_to_end) = (0, 0, 0);
    for (name, text) in corpus() {
        let text = String::from_utf8_lossy(&text).into_owned();
        let module = parse(text.as_bytes());
        // Other expressions may have the same value.
        if name.contains("broken")
            || name.contains("const_expressions")
            || module.bodies().is_empty()
        {
            continue;
        }
        for _ in 0..10 {
            let tokens = tokens(&module, rng.usize(..module.bodies().len()));
            let words: Vec<&str> = tokens.iter().map(|range| &text[range.clone()]).collect();
            let at = rng.usize(..tokens.len().max(1));
            let Some(other) = words
                .get(at)
                .and_then(|word| another(word, &words, &mut rng))
            else {
                continue;
            };
            let mut new = text.clone();
            new.replace_range(tokens[at].clone(), &other);
            let mutated = parse(new.as_bytes());
            let line = text[..tokens[at].start].lines().count();
            let place = format!("{name}:{line}: `{}` and `{other}`", words[at]);
            assert!(
                !is_equal(&module, &mutated, Equality::Statements),
                "{place}"
            );
            // What makes an unused value may change.
            if is_equal(&module, &mutated, Equality::Values) {
                for kernel in kernels(&module) {
                    let run = |of: &Module| (0..3).map(|seed| observe(of, kernel, seed)).collect();
                    let (old, new): (Vec<_>, Vec<_>) = (run(&module), run(&mutated));
                    let agree = old.iter().zip(&new).all(|(a, b)| a.agrees(b));
                    assert!(agree, "{place} in {kernel}");
                    run_to_end += old.iter().filter(|seen| seen.is_done()).count();
                }
                unused += 1;
            }
            changed += 1;
        }
    }
    assert!(
        changed - unused > 300 / some().parts && run_to_end > 20 / some().parts,
        "{changed} {unused} {run_to_end}"
    );
}

/// Nearly all functions that compilers write are recognized: an unused value more does not make them different.
#[test]
fn unused_values_do_not_matter() {
    let (mut all, mut equal) = (0, 0);
    for (name, text) in corpus() {
        let module = parse(&text);
        if !name.contains("compiled") {
            continue;
        }
        let mut new = text.clone();
        let mut bodies: Vec<u32> = module.bodies().values().map(|b| b.base()).collect();
        bodies.sort_unstable();
        for base in bodies.into_iter().rev() {
            let at = base as usize + 1;
            new.splice(at..at, *b" .reg .b32 unused; mov.b32 unused, 0;");
        }
        let diff = ModuleDiff::new(&module, &parse(&new), Equality::Values);
        all += diff.functions.len();
        equal += diff.functions.iter().filter(|f| f.is_equal()).count();
        if crate::sample::lists_cases() {
            for f in diff.functions.iter().filter(|f| !f.is_equal()) {
                println!("{name}: {}", module.function_name(f.left.unwrap()));
            }
        }
    }
    println!("{equal} of {all}");
    assert!(equal * 100 > all * 95, "{equal} of {all}");
}

/// Files of one source for several targets and compilers, and others.
#[test]
fn lines_are_all_statements_in_their_order() {
    let files: Vec<Module> = corpus().iter().map(|(_, text)| parse(text)).collect();
    let mut changed = 0;
    for pair in files.windows(2) {
        let [left, right] = pair else { panic!() };
        for function in ModuleDiff::new(left, right, Equality::Values).functions {
            let (Some(a), Some(b), false) =
                (function.left, function.right, function.lines.is_empty())
            else {
                continue;
            };
            let check = |module: &Module, id, stmt: fn(Line) -> Option<ptx_ir::StmtId>| {
                let body = module.body(id).unwrap();
                let found: Vec<_> = function
                    .lines
                    .iter()
                    .filter_map(|line| stmt(*line))
                    .collect();
                assert!(found.is_sorted_by(|a, b| a < b));
                let insts = body
                    .statements()
                    .filter(|(_, s)| matches!(s, Statement::Inst(_)));
                for (inst, _) in insts {
                    assert!(found.binary_search(&inst).is_ok());
                }
            };
            check(left, a, Line::left);
            check(right, b, Line::right);
            changed += 1;
        }
    }
    assert!(changed > 100 / some().parts, "{changed}");
}

/// Compares an edited module with its text, and both with the module before the edit.
fn check_edited(place: &str, old: &Module, new: &Module) {
    let printed = parse(&ptx_print::verbatim(new));
    for equality in BOTH {
        assert!(
            ModuleDiff::new(new, &printed, equality).is_equal(),
            "{place}"
        );
        let count = |left: &Module, right: &Module| {
            let diff = ModuleDiff::new(left, right, equality);
            let lines = diff.functions.iter().flat_map(|f| &f.lines);
            let changed = lines.filter(|l| l.is_change());
            (diff.changes.len(), diff.functions.len(), changed.count())
        };
        assert_eq!(count(old, new), count(old, &printed), "{place}");
        assert_eq!(count(new, old), count(&printed, old), "{place}");
    }
}

/// An edited module is equal to its printed and parsed text, and differs from its source as much as that.
#[test]
fn edited_modules_are_compared_as_they_are() {
    let mut rng = Rng::with_seed(36);
    let mut made = 0;
    for (name, text) in corpus().into_iter().filter(|(_, t)| t.len() < 30_000) {
        if ptx_parse::parse(&text).has_errors() {
            continue;
        }
        for _ in 0..4 {
            let (what, edit) = EDITS[rng.usize(..EDITS.len())];
            let old = parse(&text);
            let mut new = old.clone();
            if !make(&mut new, edit, &mut rng) {
                continue;
            }
            made += 1;
            check_edited(&format!("{name}: {what}"), &old, &new);
        }
    }
    assert!(made > 20, "{made}");
}
