//! The examples of instructions and directives are legal on some target.

use ptx_isa::describe::{directive_module, example_module};
use ptx_isa::{Directive, Instruction, PtxVersion, Target};

/// The errors of an example; none if it is legal on the target.
fn errors(example: &str, target: Target) -> Vec<String> {
    errors_of(&example_module(&[example], PtxVersion::CURRENT, target).to_string())
}

fn errors_of(text: &str) -> Vec<String> {
    let parsed = ptx_parse::parse(text.as_bytes());
    let verified = ptx_verify::verify(&parsed.module, &ptx_verify::Options::default());
    let all = parsed.diagnostics.iter().chain(&verified);
    all.map(|d| format!("{}: {}", d.code, d.message)).collect()
}

#[test]
fn examples_are_legal_somewhere() {
    for instruction in Instruction::ALL {
        for example in instruction.examples() {
            let legal = |target: &&Target| errors(example, **target).is_empty();
            let found = Target::ALL.iter().rev().find(legal);
            assert!(
                found.is_some(),
                "{example}: {:?}",
                errors(example, Target::Sm90a)
            );
        }
    }
}

#[test]
fn directives_have_legal_examples() {
    for directive in Directive::ALL {
        let name = directive.text();
        let Some(example) = directive.example() else {
            // Special registers are predefined.
            assert!(
                directive.until().is_some() || *directive == Directive::Sreg,
                "{name}"
            );
            continue;
        };
        assert!(example.contains(name), "{name}: {example}");
        let text = directive_module(example, PtxVersion::CURRENT, Target::Sm90).to_string();
        assert_eq!(errors_of(&text), [""; 0], "{text}");
    }
}
