//! The virtual machine on the accepted cases: the kinds of operands that it does not support are those that `docs/vm.md` lists.

mod aliases;
mod extremes;

use std::collections::BTreeMap;

use ptx_ir::{LineIndex, Statement};
use ptx_isa::{SpecialReg, Target};
use ptx_vm::Machine;
use rayon::prelude::*;

use super::case::Setting;
use super::preamble::Module;
use super::verdicts::{BASE, NEWER, Set, Verdict};

/// Whether a line has an operand of a kind.
type IsKind = fn(&str) -> bool;

/// The kinds of operands that the machine does not support, as `docs/vm.md` names them, and how lines with one are recognized.
const KINDS: [(&str, IsKind); 3] = [
    ("a byte or half-word of a register", has_part),
    ("a predicate as an element of a vector", |line| {
        line.contains("{pred_")
    }),
    (
        "a special register whose value changes as an address",
        |line| changing(line, '['),
    ),
];

/// The instructions and modifiers that the PTX ISA manual does not describe, as `docs/vm.md` names them.
const UNDESCRIBED: [&str; 12] = [
    "fabric",
    "mbarrier.check_layout",
    ".layout::v1",
    ".mbarrier::report",
    ".override::global_dim",
    ".ue5m3x2",
    ".pzo",
    "spcompress",
    "spdecompress",
    ".exclusive",
    ".kind::ti16",
    ".decompress::lut::b",
];

/// Whether a line has a register such as `b32_0.h1`.
fn has_part(line: &str) -> bool {
    let parts = line.split(['.', ',', ' ', '}']);
    let is_part = |part: &str| {
        let digits = part.strip_prefix(['b', 'h']).unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|b| matches!(b, b'0'..=b'3'))
    };
    line.contains("_") && parts.clone().skip(1).any(is_part)
}

/// Whether a special register whose value changes follows a character.
fn changing(line: &str, preceding: char) -> bool {
    line.match_indices('%')
        .map(|(offset, _)| line.split_at(offset))
        .any(|(head, name)| {
            let end = name.find([']', ',', ';', ' ']).unwrap_or(name.len());
            let register = SpecialReg::ALL.iter().find(|r| r.text() == &name[..end]);
            head.ends_with(preceding) && register.is_some_and(|r| r.is_volatile())
        })
}

/// The cases that are first accepted on a target and that the machine does not support, with the reason, and how many there are.
fn unsupported(set: &Set, verdicts: &[Verdict], target: Target) -> (Vec<(String, String)>, usize) {
    let mut cases = Vec::new();
    let mut count = 0;
    for setting in [Setting::Plain, Setting::Independent] {
        let is_first_here =
            |v: &&Verdict| v.setting == setting && v.targets.first() == Some(&target);
        let lines: Vec<&str> = verdicts
            .iter()
            .filter(is_first_here)
            .map(|v| &*v.line)
            .collect();
        count += lines.len();
        let module = Module::new(set.newest(), target, setting, lines.iter().copied());
        let parsed = ptx_parse::parse_str(&module.text).module;
        let index = LineIndex::new(module.text.as_bytes());
        let mut spans = BTreeMap::new();
        for (id, _) in parsed.functions().iter() {
            let body = parsed.body(id).unwrap();
            for (statement, kind) in body.statements() {
                if let Statement::Inst(inst) = kind {
                    spans.insert((id, inst), body.source_span(statement));
                }
            }
        }
        for instruction in Machine::new(&parsed).unsupported() {
            let line = index
                .position(spans[&(instruction.function, instruction.instruction)].start)
                .line;
            let case = module
                .case_on(line as usize)
                .and_then(|index| lines.get(index));
            cases.extend(case.map(|case| ((*case).to_owned(), instruction.reason)));
        }
    }
    (cases, count)
}

#[test]
fn unsupported_kinds_of_operands_are_listed() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/vm.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut met = [0; KINDS.len()];
    let mut undescribed = [0; UNDESCRIBED.len()];
    for (set, least) in [(&BASE, 17_000), (&NEWER, 1_000)] {
        let verdicts = set.read().unwrap();
        let targets: Vec<Target> = set.targets().collect();
        let unsupported: Vec<_> = targets
            .par_iter()
            .map(|target| unsupported(set, &verdicts, *target))
            .collect();
        assert!(unsupported.iter().map(|(_, count)| count).sum::<usize>() > least);
        for (line, reason) in unsupported.into_iter().flat_map(|(cases, _)| cases) {
            if !matches!(&*reason, "unsupported operands" | "unsupported address") {
                // An action that the machine does not perform at all, or an instruction that the verifier refuses.
                assert!(
                    reason.starts_with("it ") || reason == "unknown instruction",
                    "{reason}: {line}"
                );
                if reason.contains("does not describe") {
                    let name = UNDESCRIBED.iter().position(|name| line.contains(name));
                    undescribed[name.unwrap_or_else(|| panic!("{reason}: {line}"))] += 1;
                }
                continue;
            }
            let kind = KINDS.iter().position(|(_, is_kind)| is_kind(&line));
            met[kind.unwrap_or_else(|| panic!("{reason}: {line}"))] += 1;
        }
    }
    for (name, count) in UNDESCRIBED.iter().zip(undescribed) {
        assert!(count > 0, "{name}");
        assert!(page.contains(name), "{name} is not in docs/vm.md");
    }
    for ((name, _), count) in KINDS.iter().zip(met) {
        assert!(count > 0, "{name}");
        assert!(
            page.contains(&format!("| {name}")),
            "{name} is not in docs/vm.md"
        );
    }
}
