//! The examples of instructions, types, special registers and directives are legal on some target.

use ptx_isa::internals::describe::{directive_module, example_module, register_example};
use ptx_isa::{Directive, Instruction, PtxVersion, ScalarType, SpecialReg, Target, TypeKind};

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
    let all = Instruction::ALL.iter().flat_map(|i| i.examples());
    all.for_each(|example| expect_legal(example));
    for register in SpecialReg::ALL {
        expect_legal(&register_example(*register).to_string());
    }
}

fn expect_legal(example: &str) {
    let legal = |target: &&Target| errors(example, **target).is_empty();
    let found = Target::ALL.iter().rev().find(legal);
    let errors = errors(example, Target::Sm90a);
    assert!(found.is_some(), "{example}: {errors:?}");
}

#[test]
fn types_have_legal_examples() {
    for ty in ScalarType::ALL {
        let Some(example) = ty.example() else {
            assert_eq!(ty.kind(), TypeKind::Format, "{ty}");
            continue;
        };
        expect_legal(example);
        let (mnemonic, _) = example.split_once(' ').unwrap();
        let name = &ty.text()[1..];
        let is_of = |rest: &str| rest.is_empty() || rest.starts_with('x');
        let mut words = mnemonic.split('.').skip(1);
        assert!(
            words.any(|w| w.strip_prefix(name).is_some_and(is_of)),
            "{ty}: {example}"
        );
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
