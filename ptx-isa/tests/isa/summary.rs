//! Sentences about the keywords of PTX.

use std::collections::BTreeSet;

use ptx_isa::{Directive, Form, Instruction, Modifier, ScalarType, SpecialReg, StateSpace};

/// All sentences with what they are about.
fn sentences() -> Vec<(&'static str, &'static str)> {
    let instructions = Instruction::ALL.iter().map(|i| (i.name(), i.summary()));
    let directives = Directive::ALL.iter().map(|d| (d.text(), d.summary()));
    let registers = SpecialReg::ALL.iter().map(|r| (r.text(), r.summary()));
    let types = ScalarType::ALL.iter().map(|t| (t.text(), t.summary()));
    let spaces = StateSpace::ALL.iter().map(|s| (s.text(), s.summary()));
    let words = instructions.chain(directives).chain(registers);
    words.chain(types).chain(spaces).collect()
}

fn forms() -> impl Iterator<Item = &'static Form> {
    Instruction::ALL.iter().flat_map(|i| i.forms()).copied()
}

#[test]
fn nothing_lacks_a_sentence() {
    let missing: BTreeSet<&str> = sentences()
        .iter()
        .filter(|(_, text)| text.is_empty())
        .map(|(word, _)| *word)
        .collect();
    assert_eq!(missing, BTreeSet::new());
}

#[test]
fn sentences_are_one_line_of_at_most_200_bytes() {
    let modifiers = Modifier::ALL.iter();
    let modifiers = modifiers.filter_map(|m| Some((m.text(), m.summary()?)));
    let forms = forms().filter_map(|f| Some((f.syntax(), f.summary()?)));
    for (word, text) in sentences().into_iter().chain(modifiers).chain(forms) {
        assert!(text.len() <= 200 && !text.contains('\n'), "{word}: {text}");
        assert!(text.ends_with('.'), "{word}: {text}");
        assert!(
            !text.starts_with(|c: char| c.is_lowercase()),
            "{word}: {text}"
        );
    }
}

#[test]
fn every_instruction_has_an_example_of_itself() {
    for instruction in Instruction::ALL {
        let name = instruction.name();
        assert!(!instruction.examples().is_empty(), "{name} has no example");
        for example in instruction.examples() {
            assert!(example.contains(name), "{name}: {example}");
        }
        for pitfall in instruction.pitfalls() {
            assert!(pitfall.ends_with('.'), "{name}: {pitfall}");
        }
    }
}

#[test]
fn a_modifier_has_its_own_sentence_or_that_of_its_type_or_space() {
    let summary = |text: &str| text.parse::<Modifier>().unwrap().summary();
    assert!(summary(".rn").is_some_and(|s| s.starts_with("Rounds")));
    assert_eq!(summary(".f16x2"), Some(ScalarType::F16x2.summary()));
    assert_eq!(summary(".shared"), Some(StateSpace::Shared.summary()));
    assert_eq!(summary(".m8n8k4"), None);
}
