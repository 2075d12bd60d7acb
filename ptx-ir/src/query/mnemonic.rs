//! Opcode and modifiers of an instruction.

use ptx_isa::{Modifier, Opcode};
use smallvec::SmallVec;

use crate::{Module, SigId};

/// The opcode and the modifiers of an instruction, whether or not a module has it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Mnemonic {
    opcode: Opcode,
    modifiers: SmallVec<[Modifier; 8]>,
}

impl Mnemonic {
    /// An opcode with modifiers, in the order in which they are written.
    #[must_use]
    pub fn new(opcode: Opcode, modifiers: impl IntoIterator<Item = Modifier>) -> Self {
        let modifiers = modifiers.into_iter().collect();
        Self { opcode, modifiers }
    }

    /// A mnemonic of a module; `None` where the opcode or a modifier is unknown.
    #[must_use]
    pub fn of(module: &Module, sig: SigId) -> Option<Self> {
        let signature = module.signature(sig);
        let opcode = signature.opcode().filter(|_| signature.is_known())?;
        Some(Self::new(opcode, signature.modifiers()))
    }

    /// The opcode.
    #[must_use]
    pub const fn opcode(&self) -> Opcode {
        self.opcode
    }

    /// The modifiers in the order in which they are written.
    #[must_use]
    pub fn modifiers(&self) -> &[Modifier] {
        &self.modifiers
    }

    /// Adds a modifier at the end.
    pub fn push(&mut self, modifier: Modifier) {
        self.modifiers.push(modifier);
    }
}
