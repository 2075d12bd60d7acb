//! The words of parameters and results: the parts of a structure are followed separately.

use alloc::vec::Vec;
use core::ops::Range;

use ptx_ir::{Module, Param};
use ptx_isa::Uniformity;

/// The bytes of a word.
const WORD: u64 = 4;
/// The last word that is followed includes all after it.
pub(super) const WORDS: usize = 32;

/// The words of some bytes.
pub(super) fn words(start: u64, bytes: u64) -> Range<usize> {
    let word = |byte: u64| usize::try_from(byte / WORD).map_or(WORDS - 1, |n| n.min(WORDS - 1));
    word(start)..word(start.saturating_add(bytes.max(1) - 1)) + 1
}

/// How many words of a parameter are followed.
pub(super) fn count(module: &Module, param: &Param) -> usize {
    let layout = param.layout(module.pool());
    let size = layout.and_then(|l| l.size);
    size.map_or(1, |size| words(0, size).end)
}

/// How many words of some parameters are followed, which are numbered in their order.
pub(super) fn total(module: &Module, params: &[Param]) -> usize {
    params.iter().map(|p| count(module, p)).sum()
}

/// The numbers of the words of each parameter.
pub(super) fn numbered<'p>(
    module: &Module,
    params: &'p [Param],
) -> impl Iterator<Item = (&'p Param, Range<usize>)> {
    let mut next = 0;
    params.iter().map(move |param| {
        let start = next;
        next += count(module, param);
        (param, start..next)
    })
}

/// In which threads the words of an argument are the same.
#[derive(Clone, Debug)]
pub(super) struct Words {
    pub(super) first: Vec<Uniformity>,
    /// The words after those.
    pub(super) rest: Uniformity,
}

impl Words {
    /// All of them.
    pub(super) const fn all(level: Uniformity) -> Self {
        Self {
            first: Vec::new(),
            rest: level,
        }
    }

    fn get(&self, word: usize) -> Uniformity {
        self.first.get(word).copied().unwrap_or(self.rest)
    }

    /// The words of arguments as the parameters number them.
    pub(super) fn flat(
        module: &Module,
        params: &[Param],
        arguments: &[Self],
        unknown: Uniformity,
    ) -> Vec<Uniformity> {
        let mut flat = Vec::new();
        for (at, param) in params.iter().enumerate() {
            let count = count(module, param);
            let Some(argument) = arguments.get(at) else {
                flat.resize(flat.len() + count, unknown);
                continue;
            };
            flat.extend((0..count - 1).map(|word| argument.get(word)));
            let last = argument.first.iter().skip(count - 1).copied();
            flat.push(last.fold(argument.rest, Uniformity::join));
        }
        flat
    }
}
