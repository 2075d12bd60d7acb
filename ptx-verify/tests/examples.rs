//! The examples of the instructions are legal on some target.

use ptx_isa::describe::example_module;
use ptx_isa::{Instruction, PtxVersion, Target};

/// The errors of an example; none if it is legal on the target.
fn errors(example: &str, target: Target) -> Vec<String> {
    let text = example_module(&[example], PtxVersion::CURRENT, target).to_string();
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
