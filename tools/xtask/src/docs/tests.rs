//! The documents lack nothing and stay readable.

use std::collections::BTreeSet;

use ptx_isa::Instruction;

use super::{differences, isa, sections};

#[test]
fn every_instruction_is_on_a_page_and_in_the_index() {
    let pages = isa::pages(&sections::blocks()).unwrap();
    let index = &pages["README.md"];
    for instruction in Instruction::ALL {
        let name = format!("`{}`", instruction.name());
        let headed: Vec<&String> = pages
            .values()
            .filter(|page| {
                page.lines()
                    .any(|l| l.starts_with("## ") && l.contains(&name))
            })
            .collect();
        assert!(!headed.is_empty(), "{name} has no heading");
        assert!(index.contains(&format!("\n| {name} | [")), "{name}");
        for form in instruction.forms() {
            let syntax = form.syntax();
            assert!(
                headed.iter().any(|page| page.contains(syntax)),
                "{name}{syntax}"
            );
        }
    }
    for (name, page) in &pages {
        assert!(page.len() < 120_000, "{name}: {} bytes", page.len());
    }
}

#[test]
fn links_of_the_index_lead_to_headings() {
    let pages = isa::pages(&sections::blocks()).unwrap();
    let mut count = 0;
    for link in pages["README.md"].split("](").skip(1) {
        let (target, _) = link.split_once(')').unwrap();
        let (page, anchor) = target.split_once('#').unwrap_or((target, ""));
        let text = &pages[page];
        let mut headings = text.lines().filter_map(|l| l.strip_prefix("## "));
        assert!(
            anchor.is_empty() || headings.any(|heading| isa::anchor(heading) == anchor),
            "{target}"
        );
        count += 1;
    }
    assert!(count > 250, "{count}");
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
