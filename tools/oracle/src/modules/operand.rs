//! Instructions that ptxas accepts, with one operand replaced by an unusual one.

use std::ops::Range;

use anyhow::{Context as _, Result};
use fastrand::Rng;

use super::grammar::{Derivation, Grammar};
use crate::conformance::{Accepted, accepted, module_of};

/// The accepted instructions of `tools/conformance/verdicts.tsv.gz`, by opcode: each opcode is as likely as any other.
pub(crate) struct Instructions {
    opcodes: Vec<Vec<Accepted>>,
}

impl Instructions {
    pub(crate) fn read() -> Result<Self> {
        let mut instructions = accepted()?;
        instructions.sort_by(|a, b| a.opcode.cmp(&b.opcode));
        Ok(Self {
            opcodes: instructions
                .chunk_by(|a, b| a.opcode == b.opcode)
                .map(<[_]>::to_vec)
                .collect(),
        })
    }

    /// A module with one of the instructions, in which an operand or a part of one is an `<operand>` of the grammar.
    pub(crate) fn derive(&self, grammar: &Grammar<'_>, rng: &mut Rng) -> Result<Derivation> {
        let opcode = rng.choice(&self.opcodes).context("no instruction")?;
        let case = rng.choice(opcode).context("no instruction")?;
        let operand = grammar.derive("operand", 0, rng)?.text;
        let mut line = case.line.clone();
        if let Some(range) = rng.choice(operand_ranges(&line)) {
            line.replace_range(range, &operand);
        }
        Ok(Derivation {
            text: module_of(case, &line, rng),
            unusual: vec![format!("{}: {line}", case.opcode)],
        })
    }
}

/// The operands of an instruction and the parts inside braces, brackets and parentheses, as ranges of bytes.
fn operand_ranges(line: &str) -> Vec<Range<usize>> {
    let Some(space) = line.find(' ') else {
        return Vec::new();
    };
    // The stack of the starts of open parts: of the instruction, of a vector, of an address.
    let mut starts = vec![space + 1];
    let mut ranges = Vec::new();
    for (offset, byte) in line.bytes().enumerate().skip(space + 1) {
        match byte {
            b'{' | b'[' | b'(' => starts.push(offset + 1),
            b',' | b';' | b'}' | b']' | b')' => {
                if let Some(start) = starts.pop().filter(|start| *start < offset) {
                    ranges.push(start..offset);
                }
                if byte == b',' {
                    starts.push(offset + 2);
                }
            }
            _ => {}
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    #[test]
    fn ranges_are_operands_and_their_parts() {
        let line = "tex.1d.v4.f32.s32 {a, b}, [t, {c}], d;";
        let operands: Vec<&str> = super::operand_ranges(line)
            .into_iter()
            .map(|range| &line[range])
            .collect();
        assert_eq!(
            operands,
            ["a", "b", "{a, b}", "t", "c", "{c}", "[t, {c}]", "d"]
        );
        assert!(super::operand_ranges("ret;").is_empty());
    }
}
