//! Functions of a large source are parsed in parallel, before the module around them.
//!
//! The source is divided into [parts](parts) at what looks like the beginning of a function. The functions of each part are
//! parsed into [batches](batch), with separate tables of names, mnemonics and symbols; a name that no function declares is
//! presumed to be a symbol of the module. Then one parser reads the whole source as always, but
//! [adopts](crate::parallel::adoption) each body that is where it expects one, has no errors, and presumes only what is true at
//! that place. It parses the others itself: the result does not depend on the division. At the end, the bodies get the ids of
//! the module, in parallel again.

mod adoption;
mod ahead;
mod batch;
mod parts;

use alloc::vec::Vec;
use core::ops::Range;

use ptx_ir::raw::{Interner, RawModule};
use ptx_ir::{Limits, SourceText};
use rayon::prelude::*;

use crate::parser::{Parser, is_plain};
use batch::Batch;

pub(crate) use adoption::Adoption;
pub(crate) use ahead::Ahead;

/// The least that is worth another thread.
const LEAST_PART: usize = 1 << 17;

/// The length of the parts that a source is divided into, for this number of parts for each thread; `None` where it is not worth the effort.
pub(crate) fn part_len(source: usize, parts_per_thread: usize) -> Option<usize> {
    if source < 2 * LEAST_PART {
        // Without starting any threads.
        return None;
    }
    let threads = ptx_ir::parallel::threads();
    let len = (source / (threads * parts_per_thread)).max(LEAST_PART);
    (threads > 1 && len * 2 <= source).then_some(len)
}

/// The functions of a range of the source, for a parser to adopt.
pub(crate) struct ParsedFunctions {
    batches: Vec<Batch>,
    /// Whether all characters of the range are [plain](is_plain).
    pub(crate) is_plain: bool,
}

/// Parses functions before the parser of the whole source comes to them.
pub(crate) struct FunctionParser<'s> {
    source: &'s SourceText,
    limits: Limits,
    /// Computes the same hashes as the names of the module.
    names: Interner,
    /// The length of the parts that are parsed in parallel; `None` to parse nothing.
    part_len: Option<usize>,
}

impl<'s> FunctionParser<'s> {
    pub(crate) fn new(
        parser: &mut Parser<'_>,
        source: &'s SourceText,
        part_len: Option<usize>,
    ) -> Self {
        Self {
            source,
            limits: parser.limits,
            names: parser.out.module.names_mut().sibling(0),
            part_len,
        }
    }

    /// Parses the functions that begin in a range of the source.
    pub(crate) fn functions(&self, range: Range<usize>) -> ParsedFunctions {
        let plain = |range| is_plain(self.source.get(range).unwrap_or_default());
        let Some(len) = self.part_len else {
            return ParsedFunctions {
                batches: Vec::new(),
                is_plain: plain(range),
            };
        };
        let parts = parts::divide(self.source, range.clone(), len);
        let before = range.start..parts.first().map_or(range.end, |part| part.start);
        // The parser finds the part in the cache.
        let parse = |part: Range<usize>| {
            let is_plain = plain(part.clone());
            let batches = batch::parse(self.source, part, self.limits, &self.names);
            (is_plain, batches)
        };
        let parsed: Vec<(bool, Vec<Batch>)> = parts.into_par_iter().map(parse).collect();
        ParsedFunctions {
            is_plain: plain(before) && parsed.iter().all(|(is_plain, _)| *is_plain),
            batches: parsed
                .into_iter()
                .flat_map(|(_, batches)| batches)
                .collect(),
        }
    }
}
