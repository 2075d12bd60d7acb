//! Instructions by name: an opcode and the fixed modifiers after it.

use crate::generated::instructions;
use crate::{Form, Modifier, Nesting, Opcode, Since};

record! {
    /// A named instruction. Its name is an opcode and the modifiers with a fixed position: `cp.async.bulk.tensor`.
    #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
    pub struct Instruction {
        /// The full name: the opcode and the fixed modifiers.
        name: &'static str,
        /// The opcode.
        opcode: Opcode,
        /// The fixed modifiers after the opcode.
        #[doc(hidden)]
        words: &'static [Modifier],
        /// The alternative requirements of the name, besides those of its forms, one of which must be met; empty without requirements.
        since: &'static [Since],
        /// Its forms.
        forms: &'static [&'static Form],
        /// One sentence that says what it does.
        summary: &'static str,
        /// Examples of one or more lines; the first one is of its most common form. [`describe::example_module`](crate::describe::example_module)
        /// adds the declarations of their names.
        examples: &'static [&'static str],
        /// Frequent mistakes, in one or two sentences each.
        pitfalls: &'static [&'static str],
    }
}

impl Instruction {
    /// All instructions, by opcode and then by name.
    pub const ALL: &'static [Self] = &instructions::INSTRUCTIONS;

    /// The first section of the PTX ISA manual that describes it.
    #[must_use]
    pub fn section(&self) -> &'static str {
        self.forms.first().map_or("", |f| f.section())
    }
}

/// The range of the instructions of each opcode in [`Instruction::ALL`].
static BY_OPCODE: [(usize, usize); Opcode::COUNT] = {
    let mut ranges = [(0, 0); Opcode::COUNT];
    let mut i = 0;
    while i < Instruction::ALL.len() {
        let range = &mut ranges[Instruction::ALL[i].opcode as usize];
        if range.1 == 0 {
            range.0 = i;
        }
        range.1 = i + 1;
        i += 1;
    }
    ranges
};

impl Opcode {
    /// The instructions with this opcode.
    #[inline]
    #[must_use]
    pub fn instructions(self) -> &'static [Instruction] {
        let (start, end) = BY_OPCODE[self as usize];
        Instruction::ALL.get(start..end).unwrap_or(&[])
    }

    /// Whether an instruction with this opcode has operands in parentheses.
    #[doc(hidden)]
    #[must_use]
    pub fn takes_lists(self) -> bool {
        self.instructions()
            .iter()
            .flat_map(|i| i.forms())
            .flat_map(|f| f.operands())
            .any(|o| o.nesting == Nesting::Parentheses)
    }
}

/// The instruction whose fixed modifiers are the longest prefix of the modifiers.
#[must_use]
pub fn find_instruction(opcode: Opcode, modifiers: &[Modifier]) -> Option<&'static Instruction> {
    opcode
        .instructions()
        .iter()
        .filter(|i| modifiers.starts_with(i.words))
        .max_by_key(|i| i.words.len())
}
