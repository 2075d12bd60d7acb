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
pub mod testing;

use alloc::vec::Vec;
use core::ops::Range;

use ptx_ir::SourceText;
use ptx_ir::raw::RawModule;
use rayon::prelude::*;

use crate::parser::{Parser, is_plain};
use batch::Batch;

pub(crate) use adoption::Adoption;
pub(crate) use ahead::Ahead;

/// The least that is worth another thread.
const LEAST_PART: usize = 1 << 17;

/// How many parts there are for each thread, so that all end at about the same time.
const PARTS_PER_THREAD: usize = 4;

/// The length of the parts that a source is divided into; `None` where it is not worth the effort.
pub(crate) fn part_len(source: usize) -> Option<usize> {
    if source < 2 * LEAST_PART {
        // Without starting any threads.
        return None;
    }
    let threads = ptx_ir::parallel::threads();
    let len = (source / (threads * PARTS_PER_THREAD)).max(LEAST_PART);
    (threads > 1 && len * 2 <= source).then_some(len)
}

/// Functions that were parsed before the module around them, for a parser to adopt.
pub(crate) struct ParsedFunctions {
    batches: Vec<Batch>,
    /// Whether all characters of the source are [plain](is_plain).
    pub(crate) is_plain: bool,
}

/// Parses the functions of a source in parts of this length; none without it.
pub(crate) fn parse_functions(
    parser: &mut Parser<'_>,
    source: &SourceText,
    part_len: Option<usize>,
) -> ParsedFunctions {
    let plain = |range| is_plain(source.get(range).unwrap_or_default());
    let Some(len) = part_len else {
        return ParsedFunctions {
            batches: Vec::new(),
            is_plain: plain(0..source.len()),
        };
    };
    let limits = parser.limits;
    // They compute the same hashes as those of the module.
    let names = parser.out.module.names_mut().sibling(0);
    let parts = parts::divide(source, len);
    let before = 0..parts.first().map_or(source.len(), |part| part.start);
    // The parser finds the part in the cache.
    let parse = |part: Range<usize>| {
        let is_plain = plain(part.clone());
        (is_plain, batch::parse(source, part, limits, &names))
    };
    let parsed: Vec<(bool, Vec<Batch>)> = parts.into_par_iter().map(parse).collect();
    ParsedFunctions {
        is_plain: plain(before) && parsed.iter().all(|(is_plain, _)| *is_plain),
        batches: parsed.into_iter().flat_map(|(_, b)| b).collect(),
    }
}
