//! Machine code (SASS) beside PTX: reads what `nvdisasm -c -gp` prints about a cubin, and derives facts from it.
//!
//! `ptxas --generate-line-info` records the line of the PTX file that each machine instruction comes from. This module reads text and starts no
//! programs.

use std::collections::BTreeMap;

mod control_flow;
mod facts;
mod messages;
mod parse;

pub use facts::{LocalAccesses, SassStats, UnrolledLoop, apply, matches_opcode};
pub use messages::{AssemblerMessage, messages};

/// The machine code of a cubin.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Disassembly {
    /// The functions in the order of the cubin.
    pub functions: Vec<SassFunction>,
}

/// The machine code of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct SassFunction {
    /// The name of the function in PTX.
    pub name: String,
    /// The kernel whose copy of the function this is; `None` for code with its own section.
    pub kernel: Option<String>,
    /// The instructions in the order of their addresses.
    pub instructions: Vec<SassInstruction>,
}

/// A machine instruction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct SassInstruction {
    /// The offset in bytes from the start of the section.
    pub address: u64,
    /// The last label at the address.
    pub label: Option<String>,
    /// The predicate with its `@`, such as `@!P0`.
    pub guard: Option<String>,
    /// The opcode with its modifiers, such as `LDG.E.128`.
    pub opcode: String,
    /// The operands as nvdisasm writes them.
    pub operands: String,
    /// The line of the PTX file, counted from 1.
    pub line: Option<u32>,
    /// Whether the instruction only fills the section after the last instruction that is executed.
    pub is_padding: bool,
}

impl Disassembly {
    /// Reads the output of `nvdisasm -c -gp`. Unrecognized lines are skipped. The time and the memory are linear in the length of the text.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        parse::parse(text)
    }

    /// The parts of the code of a function of a PTX module: the function, and for a kernel its copies of device functions.
    pub fn parts<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a SassFunction> {
        self.functions.iter().filter(move |function| {
            let owner = function.kernel.as_deref().unwrap_or(&function.name);
            owner == name
        })
    }

    /// The machine instructions of a function of a PTX module by the line of the PTX file that they come from; 0 for those that come from no line.
    #[must_use]
    pub fn by_line<'a>(&'a self, name: &'a str) -> BTreeMap<u32, Vec<&'a SassInstruction>> {
        let mut lines = BTreeMap::<u32, Vec<&SassInstruction>>::new();
        for instruction in self.parts(name).flat_map(SassFunction::executable) {
            let line = instruction.line.unwrap_or(0);
            lines.entry(line).or_default().push(instruction);
        }
        lines
    }
}

impl SassFunction {
    /// The instructions without those that only fill the section.
    pub fn executable(&self) -> impl Iterator<Item = &SassInstruction> {
        self.instructions.iter().filter(|i| !i.is_padding)
    }
}

impl SassInstruction {
    /// The opcode without modifiers.
    #[must_use]
    pub fn base(&self) -> &str {
        self.opcode.split('.').next().unwrap_or_default()
    }

    /// The instruction as nvdisasm writes it, without the semicolon.
    #[must_use]
    pub fn text(&self) -> String {
        let words = [
            self.guard.as_deref(),
            Some(&self.opcode),
            Some(&self.operands),
        ];
        let words: Vec<&str> = words
            .into_iter()
            .flatten()
            .filter(|w| !w.is_empty())
            .collect();
        words.join(" ")
    }

    /// The label that a direct branch names.
    fn target(&self) -> Option<&str> {
        let (_, target) = self.operands.split_once("`(")?;
        target.split_once(')').map(|(label, _)| label)
    }
}

#[cfg(test)]
mod tests;
