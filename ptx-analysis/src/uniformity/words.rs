//! The words of parameters and results: the parts of a structure are followed separately.

use alloc::vec::Vec;
use core::ops::Range;

use ptx_ir::{Module, Param};
use ptx_isa::Uniformity;

/// The number of bytes of a word.
const WORD: u64 = 4;
/// The maximum number of words of a variable. The last one includes all bytes after it.
pub(super) const WORDS: usize = 32;

/// The words that contain a number of bytes from `start` on.
pub(super) fn words(start: u64, bytes: u64) -> Range<usize> {
    let word = |byte: u64| usize::try_from(byte / WORD).map_or(WORDS - 1, |n| n.min(WORDS - 1));
    word(start)..word(start.saturating_add(bytes.max(1) - 1)) + 1
}

/// The number of words of a parameter.
pub(super) fn count(module: &Module, param: &Param) -> usize {
    let layout = param.layout(module.pool());
    let size = layout.and_then(|l| l.size);
    size.map_or(1, |size| words(0, size).end)
}

/// The number of words of parameters.
pub(super) fn total(module: &Module, params: &[Param]) -> usize {
    params.iter().map(|p| count(module, p)).sum()
}

/// Numbers the words of parameters in their order.
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

/// The uniformity of the words of an argument.
#[derive(Clone, Debug)]
pub(super) struct Words {
    /// The first words.
    pub(super) first: Vec<Uniformity>,
    /// The uniformity of all words after `first`.
    pub(super) rest: Uniformity,
}

impl Words {
    /// Words with the same uniformity.
    pub(super) const fn all(uniformity: Uniformity) -> Self {
        Self {
            first: Vec::new(),
            rest: uniformity,
        }
    }

    fn get(&self, word: usize) -> Uniformity {
        self.first.get(word).copied().unwrap_or(self.rest)
    }

    /// The words of arguments by the numbers of the words of the parameters. Words without an argument are `unknown`.
    pub(super) fn flat(
        module: &Module,
        params: &[Param],
        arguments: &[Self],
        unknown: Uniformity,
    ) -> Vec<Uniformity> {
        let mut words = Vec::new();
        for (index, param) in params.iter().enumerate() {
            let count = count(module, param);
            let Some(argument) = arguments.get(index) else {
                words.resize(words.len() + count, unknown);
                continue;
            };
            words.extend((0..count - 1).map(|word| argument.get(word)));
            let last = argument.first.iter().skip(count - 1).copied();
            words.push(last.fold(argument.rest, Uniformity::join));
        }
        words
    }
}
