//! The registers that statements mention.

use ptx_ir::facts::{FunctionFacts, Mentions};
use ptx_ir::{Statement, StmtId};

use crate::cfg::Block;

/// The registers of a statement; `None` if it is neither an instruction nor unrecognized.
pub(crate) fn mentions<'a>(facts: FunctionFacts<'a>, statement: Statement) -> Option<Mentions<'a>> {
    match statement {
        Statement::Inst(inst) => Some(facts.inst(inst).registers()),
        Statement::Opaque(opaque) => Some(facts.opaque(opaque)),
        _ => None,
    }
}

/// The instructions and unrecognized statements of a block with their registers, in the order of the text.
pub(crate) fn block_mentions<'a>(
    facts: FunctionFacts<'a>,
    block: &Block,
) -> impl DoubleEndedIterator<Item = (StmtId, Mentions<'a>)> + use<'a> {
    facts
        .body()
        .range(block.first, block.end)
        .filter_map(move |(stmt, statement)| Some((stmt, mentions(facts, statement)?)))
}
