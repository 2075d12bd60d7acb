//! Digests that identify functions with the same text and the same referenced declarations in two versions of a module.

use ptx_ir::{Body, FuncId, Item, Module};
use ptx_isa::Directive;
use ptx_print::verbatim_item;

use crate::declarations::{Declarations, Parts};

/// The digest of a text. The digests of two different texts are equal with a probability of 2^-128.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Digest([u64; 2]);

impl Digest {
    const EMPTY: Self = Self([0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f]);

    fn add(&mut self, text: &[u8]) {
        for part in text.chunks(8) {
            let mut word = [0; 8];
            if let Some(to) = word.get_mut(..part.len()) {
                to.copy_from_slice(part);
            }
            self.mix(u64::from_le_bytes(word));
        }
        self.mix(text.len() as u64);
    }

    fn mix(&mut self, word: u64) {
        const FACTORS: [u64; 2] = [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53];
        for (state, factor) in self.0.iter_mut().zip(FACTORS) {
            let product = u128::from(*state ^ word).wrapping_mul(u128::from(factor));
            *state = (product as u64 ^ (product >> 64) as u64).rotate_left(23) ^ word;
        }
    }
}

/// The digests of the functions of a module.
pub(super) struct Digests<'m> {
    module: &'m Module,
    declarations: Declarations<'m>,
    /// The digest of the directives that concern all functions.
    common: Digest,
    /// The digest of the declarations of source lines.
    lines: Digest,
}

impl<'m> Digests<'m> {
    pub(super) fn new(module: &'m Module) -> Self {
        let (mut common, mut lines) = (Digest::EMPTY, Digest::EMPTY);
        for (item, kind) in module.items() {
            let directive = module.directive(kind);
            match kind {
                Item::Directive(_) if directive == Some(Directive::File) => {
                    lines.add(&verbatim_item(module, item));
                }
                Item::Directive(_) | Item::Opaque(_) => common.add(&verbatim_item(module, item)),
                Item::Section(_) => lines.add(&verbatim_item(module, item)),
                _ => {}
            }
        }
        Self {
            module,
            declarations: Declarations::new(module),
            common,
            lines,
        }
    }

    /// The digest of a function with this text.
    pub(super) fn of(&self, function: FuncId, text: &[u8]) -> Digest {
        let mut digest = self.common;
        digest.add(text);
        for item in self.declarations.mentioned(text, Parts::Header) {
            digest.add(&self.declarations.text(item, Parts::Header));
        }
        if self.module.body(function).is_some_and(has_lines) {
            let Digest([a, b]) = self.lines;
            digest.mix(a);
            digest.mix(b);
        }
        digest
    }
}

/// Whether directives of a body refer to files and sections.
fn has_lines(body: &Body) -> bool {
    let mut directives = body.directives().values();
    directives.any(|d| matches!(d.directive, Directive::Loc | Directive::LocIntermediate))
}
