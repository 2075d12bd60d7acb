//! Instructions by name: an opcode and the fixed modifiers after it.

use crate::generated::instructions;
use crate::{Form, Modifier, Nesting, Opcode, Since};

/// A named instruction. Its name is an opcode and the modifiers with a fixed position: `cp.async.bulk.tensor`.
#[derive(Copy, Clone, Debug)]
pub struct Instruction {
    pub(crate) name: &'static str,
    pub(crate) opcode: Opcode,
    pub(crate) words: &'static [Modifier],
    pub(crate) since: &'static [Since],
    pub(crate) forms: &'static [&'static Form],
}

impl Instruction {
    /// All instructions, by opcode and then by name.
    pub const ALL: &'static [Self] = &instructions::INSTRUCTIONS;

    /// The whole name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The opcode.
    #[must_use]
    pub const fn opcode(&self) -> Opcode {
        self.opcode
    }

    /// The fixed modifiers after the opcode.
    #[must_use]
    pub const fn words(&self) -> &'static [Modifier] {
        self.words
    }

    /// The first section of the manual that describes it.
    #[must_use]
    pub fn section(&self) -> &'static str {
        self.forms.first().map_or("", |f| f.section())
    }

    /// What the name requires besides the requirements of its forms: one of these, unless there are none.
    #[must_use]
    pub const fn since(&self) -> &'static [Since] {
        self.since
    }

    /// Its forms.
    #[must_use]
    pub const fn forms(&self) -> &'static [&'static Form] {
        self.forms
    }
}

/// Where the instructions of each opcode begin and end in [`Instruction::ALL`].
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
    #[must_use]
    pub fn takes_lists(self) -> bool {
        let forms = self.instructions().iter().flat_map(|i| i.forms());
        forms
            .flat_map(|f| f.operands())
            .any(|o| o.nesting == Nesting::Parentheses)
    }
}

/// The instruction whose fixed modifiers are the longest prefix of the modifiers.
#[must_use]
pub fn find_instruction(opcode: Opcode, modifiers: &[Modifier]) -> Option<&'static Instruction> {
    let candidates = opcode
        .instructions()
        .iter()
        .filter(|i| modifiers.starts_with(i.words));
    candidates.max_by_key(|i| i.words.len())
}
