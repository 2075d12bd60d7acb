//! The mnemonic of the statement that is being made, and those that the module has so far.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::SigId;
use ptx_isa::{Modifier, Opcode};

/// The number of bits of an opcode or a modifier.
const BITS: u32 = 10;
const _: () = assert!(Modifier::COUNT < 1 << BITS && Opcode::COUNT < 1 << BITS);

/// An opcode with modifiers.
#[derive(Clone, Default, Debug)]
pub(crate) struct Mnemonic {
    /// The opcode and its modifiers, each one more than its index; the last in the lowest bits.
    packed: u128,
    /// The text before them: empty, except for a long mnemonic and one that was given as text.
    text: String,
}

impl Mnemonic {
    #[inline]
    pub(crate) fn begin(&mut self, opcode: Opcode) {
        self.text.clear();
        self.packed = opcode.index() as u128 + 1;
    }

    pub(crate) fn set_text(&mut self, text: &str) {
        self.packed = 0;
        self.text.clear();
        self.text.push_str(text);
    }

    #[inline]
    pub(crate) fn add(&mut self, modifier: Modifier) {
        if self.packed >> (u128::BITS - BITS) != 0 {
            self.write_packed();
        }
        self.packed = self.packed << BITS | (modifier.index() as u128 + 1);
    }

    #[cold]
    fn write_packed(&mut self) {
        for shift in (0..u128::BITS / BITS + 1).rev() {
            let bits = self.packed >> (shift * BITS) & ((1 << BITS) - 1);
            let Some(index) = (bits as usize).checked_sub(1) else {
                continue;
            };
            let word = if self.text.is_empty() {
                Opcode::from_index(index).map(Opcode::text)
            } else {
                Modifier::from_index(index).map(Modifier::text)
            };
            self.text.push_str(word.unwrap_or_default());
        }
        self.packed = 0;
    }

    /// Its spelling.
    pub(crate) fn text(&mut self) -> &str {
        self.write_packed();
        &self.text
    }
}

/// A mnemonic of the module.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Signature {
    pub(crate) id: SigId,
    /// Whether its instruction takes lists in parentheses.
    pub(crate) takes_lists: bool,
}

/// The mnemonics used last, each at a place that follows from its opcode and modifiers.
#[derive(Default, Debug)]
pub(crate) struct RecentMnemonics(Vec<Option<(u128, Signature)>>);

const PLACES: usize = 256;

fn place(packed: u128) -> usize {
    let mixed = (packed as u64 ^ (packed >> 64) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 56) as usize
}

impl RecentMnemonics {
    /// The signature of a mnemonic that was used before.
    #[inline]
    pub(crate) fn get(&self, mnemonic: &Mnemonic) -> Option<Signature> {
        let (packed, signature) = self.0.get(place(mnemonic.packed))?.as_ref()?;
        (*packed == mnemonic.packed && mnemonic.text.is_empty()).then_some(*signature)
    }

    /// Adds the signature of a mnemonic. A mnemonic whose opcode and modifiers do not fit a number is not added.
    pub(crate) fn add(&mut self, mnemonic: &Mnemonic, signature: Signature) {
        if !mnemonic.text.is_empty() {
            return;
        }
        self.0.resize(PLACES, None);
        if let Some(entry) = self.0.get_mut(place(mnemonic.packed)) {
            *entry = Some((mnemonic.packed, signature));
        }
    }
}
