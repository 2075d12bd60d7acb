//! Parsing the functions of a source in parallel gives what parsing it from the beginning to the end gives: the same ids, spans
//! and diagnostics, wherever the source is divided and whatever errors it has.

use std::fmt::Debug;

use crate::common::corpus::{Entry, entries, own, shared};
use crate::common::mutate::{self, Random};
use crate::common::sample::{Sample, sample};
use ptx_ir::{Limits, Module, NameId};
use ptx_parse::Parsed;

fn parse(text: &[u8], part: Option<usize>) -> Parsed {
    ptx_parse::parse_in_parts(text.into(), &Limits::default(), part)
}

/// Compares two parts of modules by everything that can be seen of them.
fn same<T: Debug + ?Sized>(what: &str, left: &T, right: &T) {
    let (left, right) = (format!("{left:?}"), format!("{right:?}"));
    let at = (left.bytes().zip(right.bytes())).position(|(a, b)| a != b);
    let from = at.unwrap_or_default().saturating_sub(100);
    let show = |s: &str| s.chars().skip(from).take(200).collect::<String>();
    assert!(
        left == right,
        "{what} differ:\n{}\n{}",
        show(&left),
        show(&right)
    );
}

fn names(module: &Module) -> Vec<&[u8]> {
    let ids = (0..module.name_count() as u32).map(NameId::new);
    ids.map(|id| module.name_bytes(id)).collect()
}

fn same_module(left: &Module, right: &Module) {
    same("names", &names(left), &names(right));
    let mnemonics = |m: &Module| {
        let all = m.signatures().ids().map(|id| m.signature(id));
        format!("{:?}", all.collect::<Vec<_>>())
    };
    same("mnemonics", &mnemonics(left), &mnemonics(right));
    same("headers", &left.header(), &right.header());
    same("items", left.item_table(), right.item_table());
    same("spans", left.item_spans(), right.item_spans());
    same("symbols", left.symbols(), right.symbols());
    same("functions", left.functions(), right.functions());
    same("parameters", left.params(), right.params());
    let directives = |m: &Module| m.interface_directives().to_vec();
    same("directives", &directives(left), &directives(right));
    same("declarations", left.declarations(), right.declarations());
    same("directives", left.directives(), right.directives());
    same("sections", left.sections(), right.sections());
    same("opaque items", left.opaques(), right.opaques());
    same("operands", left.pool(), right.pool());
    assert_eq!(left.bodies().len(), right.bodies().len());
    for (left, right) in left.bodies().values().zip(right.bodies().values()) {
        same("bodies", left, right);
    }
}

/// Compares the results for parts of these sizes with that for the whole source.
fn check(text: &[u8], parts: &[usize]) {
    let serial = parse(text, None);
    for &part in parts {
        let parallel = parse(text, Some(part));
        same("diagnostics", &serial.diagnostics, &parallel.diagnostics);
        same_module(&serial.module, &parallel.module);
    }
}

fn check_files(entries: Vec<Entry>, of: Sample, parts: &[usize]) {
    assert!(entries.len() > of.parts);
    for entry in of.of(entries) {
        println!("{}", entry.name);
        check(&entry.read(), parts);
    }
}

#[test]
fn own_corpus_does_not_depend_on_the_parts() {
    check_files(entries(&own()), sample(8, 4), &[1, 2000, 20_000]);
}

#[test]
#[ignore = "takes long"]
fn shared_corpus_does_not_depend_on_the_parts() {
    check_files(entries(&shared()), sample(1, 4), &[3000, 100_000]);
}

/// Files with several functions.
fn seeds() -> Vec<Vec<u8>> {
    let texts = entries(&own()).into_iter().map(|e| e.read());
    let functions = |text: &Vec<u8>| parse(text, None).module.bodies().len();
    let mut texts: Vec<_> = texts
        .filter(|t| t.len() < 30_000 && functions(t) > 1)
        .collect();
    texts.sort();
    texts
}

#[test]
fn damaged_files_do_not_depend_on_the_parts() {
    let seeds = seeds();
    let mut random = Random::new(17);
    let rounds = 1500 / sample(10, 5).parts;
    for round in 0..rounds {
        let mut text = random.pick(&seeds).clone();
        for _ in 0..1 + round % 3 {
            let damage = *random.pick(&[mutate::bytes, mutate::tokens]);
            damage(&mut text, &mut random);
        }
        check(&text, &[random.below(text.len())]);
    }
}

const HEADER: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// Functions whose meaning depends on what is declared before them.
#[test]
fn characters_are_checked_before_all_parts_and_in_each() {
    let header = ".version 8.0\n.target sm_80\n.address_size 64\n";
    let functions = (0..5).map(|i| format!(".func f{i}()\n{{\n\tret;\n}}\n"));
    let lines = header.to_owned() + &functions.collect::<String>();
    let ends = lines.match_indices('\n').map(|(at, _)| at + 1);
    for at in [0].into_iter().chain(ends) {
        let (before, after) = lines.split_at(at);
        let text = format!("{before}// \0\n{after}");
        assert_eq!(parse(text.as_bytes(), None).diagnostics.len(), 1, "{text}");
        check(text.as_bytes(), &[1, 40, 10_000]);
    }
}

#[test]
fn names_mean_what_is_declared_before_them() {
    let bodies = [
        ".visible .entry k() { .reg .b64 %rd<4>; mov.u64 %rd1, S; ret; }",
        ".visible .entry k() { bra S; S: ret; }",
        ".visible .entry k() { { bra S; } S: ret; }",
        ".visible .entry k() { bra S1; S1: ret; }",
        ".visible .entry k() { .reg .b32 %r<4>; mov.u32 %r1, %laneid; ret; }",
        ".visible .entry k() { .reg .b32 S<4>; mov.b32 S1, S2; ret; }",
        ".visible .entry k() { .reg .b32 S1; mov.b32 S1, S1; ret; }",
        ".visible .entry k() { .reg .b64 a; mov.u64 a, S; .reg .b64 S; mov.u64 S, a; ret; }",
        ".visible .entry k() { .reg .b64 a; mov.u64 a, T; mov.u64 a, S1; ret; }",
        ".func f(.param .b32 S) { .reg .b32 a; ld.param.b32 a, [S]; ret; }",
        ".func f(); .visible .entry k() { call f; ret; }",
        ".func S() { call S; call f; ret; }",
        ".func S() { ret; }",
        ".visible .entry k() { .extern .func f(.param .b32 p); call f, (S); ret; }",
        ".visible .entry k() { .reg .b64 a; p: .callprototype _ (.param .b32 q); call a, (a), p; ret; }",
        ".visible .entry k() { p: .callprototype _; ret; }",
        ".visible .entry k() { .reg .b32 %r<4>; mov.b32 %r1, T; unknown.b32 %r1; ret; }",
        ".visible .entry k() { mov.b32 %r1, 5; ret }",
        ".visible .entry k() { ret; ",
        "/*\n.visible .entry k() { bra T; T: ret; }\n*/",
        ".visible .entry k() { bra T; /* }\n.entry l() { */ T: ret; }",
        ".section .debug_str {\nS:\n.b8 1\n}",
        ".alias f, S;",
        ".file 1 \"a.cu\"",
    ];
    let declarations = [
        "",
        ".global .b32 S;",
        ".global .b32 S<4>;",
        ".global .b32 S1;",
        ".global .b32 %laneid;",
        ".global .b32 T = 5, S = 6;",
        ".extern .func f(.param .b32 p);",
        ".func (.param .b32 r) S(.param .b32 p);",
        ".const .b64 S = T;",
    ];
    let mut random = Random::new(3);
    let rounds = 6000 / sample(6, 3).parts;
    for round in 0..rounds {
        let mut text = HEADER.to_owned();
        for _ in 0..2 + round % 7 {
            let line = match random.below(4) {
                0 => random.pick(&declarations),
                _ => random.pick(&bodies),
            };
            text.push_str(
                &line.replace(" k", [" k", " l", " m", " n", " o", " p"][random.below(6)]),
            );
            text.push_str(["\n", "\n", "\n\n// comment {\n", " "][random.below(4)]);
        }
        check(text.as_bytes(), &[1 + random.below(text.len())]);
    }
}
