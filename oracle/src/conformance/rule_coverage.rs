//! What each rule of the table decides: a rule that decides next to nothing is about a case, not about a family.

use std::collections::BTreeMap;

use ptx_isa::{Instruction, Violation, describe};

use super::case::Case;
use super::coverage::forbids;
use super::operand::ask;

/// A rule that decides less is named.
const LEAST: usize = 3;

/// Prints the rules that alone refuse fewer than three of the cases.
pub(crate) fn print(cases: &[Case]) {
    let mut weights: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for instruction in Instruction::ALL {
        for form in instruction.forms() {
            for rule in form.rules() {
                if forbids(rule) {
                    let text = describe::rule(form, rule).to_string();
                    weights.entry((form.section(), text)).or_default();
                }
            }
        }
    }
    for case in cases {
        ask(case.opcode, &case.modifiers, &case.operands, |request| {
            let refused = request.candidates().all(|s| !s.violations().is_empty());
            for selection in request.candidates().filter(|_| refused) {
                if let [Violation::Rule(rule)] = selection.violations().as_slice() {
                    let text = describe::rule(selection.form(), rule).to_string();
                    *weights
                        .entry((selection.form().section(), text))
                        .or_default() += 1;
                }
            }
        });
    }
    let light: Vec<_> = weights.iter().filter(|(_, n)| **n < LEAST).collect();
    for ((section, text), n) in &light {
        println!("{n} {section}: {text}");
    }
    println!(
        "{} of {} rules decide fewer than {LEAST} cases alone",
        light.len(),
        weights.len()
    );
}
