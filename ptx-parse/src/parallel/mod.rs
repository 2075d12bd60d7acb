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

use crate::parser::Parser;
use batch::Batch;

pub(crate) use adoption::Adoption;
pub(crate) use ahead::Ahead;
pub(crate) use parts::next_function;

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
    let threads = rayon::current_num_threads();
    let len = (source / (threads * PARTS_PER_THREAD)).max(LEAST_PART);
    (threads > 1 && len * 2 <= source).then_some(len)
}

/// Functions for a parser to adopt.
pub(crate) type ParsedFunctions = Vec<Batch>;

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
        let Some(len) = self.part_len else {
            return Vec::new();
        };
        let batches: Vec<Vec<Batch>> = parts::divide(self.source, range, len)
            .into_par_iter()
            .map(|part| batch::parse(self.source, part, self.limits, &self.names))
            .collect();
        batches.into_iter().flatten().collect()
    }
}
