//! Instructions that ptxas accepts, with one operand replaced by an unusual one.

use anyhow::{Context as _, Result};
use fastrand::Rng;

use super::grammar::{Derivation, Grammar};
use crate::conformance::{Accepted, accepted, module_of};

/// The accepted instructions of `conformance/verdicts.tsv.gz`, by opcode: each opcode is as likely as any other.
pub(crate) struct Instructions {
    opcodes: Vec<Vec<Accepted>>,
}

impl Instructions {
    pub(crate) fn read() -> Result<Self> {
        let mut all = accepted()?;
        all.sort_by(|a, b| a.opcode.cmp(&b.opcode));
        let opcodes = all.chunk_by(|a, b| a.opcode == b.opcode);
        Ok(Self {
            opcodes: opcodes.map(<[_]>::to_vec).collect(),
        })
    }

    /// A module with one of the instructions, in which an operand or a part of one is an `<operand>` of the grammar.
    pub(crate) fn derive(&self, grammar: &Grammar<'_>, rng: &mut Rng) -> Result<Derivation> {
        let opcode = rng.choice(&self.opcodes).context("no instruction")?;
        let case = rng.choice(opcode).context("no instruction")?;
        let operand = grammar.derive("operand", 0, rng)?.text;
        let places = places(&case.line);
        let line = match rng.choice(&places) {
            Some(&(start, end)) => {
                format!("{}{operand}{}", &case.line[..start], &case.line[end..])
            }
            None => case.line.clone(),
        };
        Ok(Derivation {
            text: module_of(case, &line, rng),
            unusual: vec![format!("{}: {line}", case.opcode)],
        })
    }
}

/// The operands of an instruction and the parts inside braces, brackets and parentheses, as ranges of bytes.
fn places(line: &str) -> Vec<(usize, usize)> {
    let Some(first) = line.find(' ') else {
        return Vec::new();
    };
    // The starts of the parts that are open: those of the instruction, of a vector, of an address.
    let mut starts = vec![first + 1];
    let mut places = Vec::new();
    for (at, byte) in line.bytes().enumerate().skip(first + 1) {
        match byte {
            b'{' | b'[' | b'(' => starts.push(at + 1),
            b',' | b';' | b'}' | b']' | b')' => {
                if let Some(start) = starts.pop().filter(|s| *s < at) {
                    places.push((start, at));
                }
                if byte == b',' {
                    starts.push(at + 2);
                }
            }
            _ => {}
        }
    }
    places
}

#[cfg(test)]
mod tests {
    #[test]
    fn places_are_operands_and_their_parts() {
        let line = "tex.1d.v4.f32.s32 {a, b}, [t, {c}], d;";
        let places: Vec<&str> = super::places(line)
            .into_iter()
            .map(|(start, end)| &line[start..end])
            .collect();
        assert_eq!(
            places,
            ["a", "b", "{a, b}", "t", "c", "{c}", "[t, {c}]", "d"]
        );
        assert!(super::places("ret;").is_empty());
    }
}
