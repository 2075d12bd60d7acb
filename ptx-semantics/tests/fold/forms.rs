//! Every form of the table in the families that compute: folded, or named here with the reason.

use crate::common::{parts, run};
use ptx_isa::internals::RuleKind;
use ptx_isa::{Form, Instruction, Modifier};

/// The sections whose instructions depend on their operands alone, or could.
const FAMILIES: &[&str] = &[
    "9.7.1.", "9.7.2.", "9.7.3.", "9.7.4.", "9.7.5.", "9.7.6.", "9.7.7.", "9.7.8.", "9.7.9.3",
    "9.7.9.4", "9.7.9.7", "9.7.9.19", "9.7.9.20", "9.7.9.21", "9.7.9.22", "9.7.18.",
];

/// What is not folded: words that an instruction has (with `-`: does not have), and why.
const OPEN: &[(&str, &str)] = &[
    ("sin", "approximate"),
    ("cos", "approximate"),
    ("lg2", "approximate"),
    ("ex2", "approximate"),
    ("tanh", "approximate"),
    ("rsqrt", "approximate"),
    ("div approx", "approximate"),
    ("div full", "approximate"),
    ("rcp approx", "approximate"),
    ("sqrt approx", "approximate"),
    (
        "div f32 -rn -rz -rm -rp",
        "approximate, in the versions that have it",
    ),
    (
        "rcp f32 -rn -rz -rm -rp",
        "approximate, in the versions that have it",
    ),
    (
        "sqrt f32 -rn -rz -rm -rp",
        "approximate, in the versions that have it",
    ),
    (
        "mad f32 -rn -rz -rm -rp",
        "rounded otherwise on the targets that have it",
    ),
    (
        "neg s16x2",
        "not documented, and one negation of 32 bits in ptxas",
    ),
    (
        "neg u16x2",
        "not documented, and one negation of 32 bits in ptxas",
    ),
    ("cvta", "depends on where the windows of the spaces lie"),
    ("isspacep", "depends on where the windows of the spaces lie"),
    ("cvt pzo", "new in PTX 9.4, not in the PTX ISA manual"),
    (
        "cvt scaled::n1::ue8m0",
        "new in PTX 9.4, not in the PTX ISA manual",
    ),
    ("cvt ue5m3x2", "new in PTX 9.4, not in the PTX ISA manual"),
    (
        "testp -finite -infinite -number -notanumber -normal -subnormal",
        "the PTX ISA manual has no test without an operation",
    ),
];

pub(crate) type Words = Vec<Modifier>;

/// All ways to fill the slots of a form that its rules and tables allow.
pub(crate) fn fillings(form: &Form) -> Vec<Words> {
    let mut all: Vec<Words> = vec![Vec::new()];
    for slot in form.slots() {
        let mut ways: Vec<Words> = slot.words().as_slice().iter().map(|&m| vec![m]).collect();
        ways.extend(slot.sequences().iter().map(|s| s.to_vec()));
        if slot.is_optional() {
            ways.push(Vec::new());
        }
        all = (all.iter())
            .flat_map(|start| ways.iter().map(move |way| [&start[..], way].concat()))
            .collect();
    }
    all.retain(|words| {
        let Some(found) = form.match_modifiers(words) else {
            return false;
        };
        form.tables().iter().all(|t| t.row(&found).is_some())
            && form.rules().iter().all(|rule| match rule.kind() {
                RuleKind::Require(when, then) => {
                    when.decide(&found) != Some(true) || then.decide(&found) != Some(false)
                }
                RuleKind::Deny(when) => when.decide(&found) != Some(true),
                _ => true,
            })
    });
    all
}

/// Whether some operands give a result.
fn folds(text: &str) -> bool {
    // Numbers in all formats at once, and integers.
    let values = [
        0x3f80_3f80,
        1,
        0,
        2,
        0x3c00_3c00,
        0x3ff0_0000_0000_0000,
        0x3f80_0000_3f80_0000,
        0x3838,
    ];
    values.iter().any(|&value| {
        (1..=6).any(|count| {
            let mut operands = vec![value; count];
            let found = run(text, &operands, Some(false)).is_some();
            operands[count - 1] = 0;
            found || run(text, &operands, Some(false)).is_some()
        })
    })
}

fn is_named(pattern: &str, text: &str) -> bool {
    let words: Vec<&str> = text.split('.').collect();
    pattern.split(' ').all(|p| match p.strip_prefix('-') {
        Some(absent) => !words.contains(&absent),
        None => words.contains(&p),
    })
}

#[test]
fn every_form_is_folded_or_named() {
    let mut used = vec![0; OPEN.len()];
    let (mut folded, mut open) = (0, 0);
    let mut wrong = Vec::new();
    for instruction in Instruction::ALL {
        for form in instruction.forms() {
            let section = form.section();
            let inside = FAMILIES
                .iter()
                .any(|f| section == *f || f.ends_with('.') && section.starts_with(f));
            if !inside {
                continue;
            }
            let fillings = fillings(form);
            assert!(
                !fillings.is_empty(),
                "{} {}",
                instruction.name(),
                form.syntax()
            );
            for words in fillings {
                let mut text = instruction.name().to_owned();
                words.iter().for_each(|m| text += m.text());
                assert_eq!(parts(&text).0, instruction.opcode());
                let named = OPEN.iter().position(|(p, _)| is_named(p, &text));
                match (named, folds(&text)) {
                    (None, true) => folded += 1,
                    (Some(at), false) => {
                        open += 1;
                        used[at] += 1;
                    }
                    (_, found) => wrong.push(format!("{text} folded: {found}")),
                }
            }
        }
    }
    wrong.dedup();
    assert!(wrong.is_empty(), "{} {:#?}", wrong.len(), wrong);
    for ((pattern, reason), count) in OPEN.iter().zip(used) {
        assert!(count > 0, "{pattern} ({reason}) is not a form");
    }
    println!("{folded} ways to write a form are folded, {open} are not");
    assert!(folded > 5000, "{folded}");
}
