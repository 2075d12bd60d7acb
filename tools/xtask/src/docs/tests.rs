//! The documents lack nothing and stay readable.

use std::collections::BTreeSet;

use ptx_isa::Instruction;

use super::{differences, isa, sections};

#[test]
fn every_instruction_is_in_the_document() {
    let page = isa::page(&sections::blocks()).unwrap();
    for instruction in Instruction::ALL {
        let name = format!("`{}`", instruction.name());
        let headed = page
            .lines()
            .any(|l| l.starts_with("### ") && l.contains(&name));
        assert!(headed, "{name} has no heading");
        for form in instruction.forms() {
            assert!(page.contains(form.syntax()), "{name}{}", form.syntax());
        }
    }
    assert!(page.len() < 600_000, "{} bytes", page.len());
}

#[test]
fn every_part_of_the_chapter_is_covered() {
    let found: BTreeSet<Option<usize>> = sections::blocks()
        .iter()
        .map(|b| sections::part_of_section(b.section))
        .collect();
    assert_eq!(found, sections::parts().map(Some).collect());
    assert!(sections::sort_key("9.7.9.3") < sections::sort_key("9.7.10.1"));
}

#[test]
fn every_difference_is_listed() {
    let page = differences::page(&sections::blocks()).unwrap();
    for instruction in Instruction::ALL {
        for form in instruction.forms() {
            for reason in form.differences() {
                let reason = reason.replace('|', "\\|");
                let listed = page
                    .lines()
                    .any(|l| l.contains(&reason) && l.contains(instruction.name()));
                assert!(listed, "{}: {reason}", instruction.name());
            }
            let syntax = form.syntax().replace('|', "\\|");
            assert!(
                !form.is_undocumented() || page.contains(&syntax),
                "{syntax}"
            );
        }
    }
}
