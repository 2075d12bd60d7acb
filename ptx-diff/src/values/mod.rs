//! Whether two functions have the same effects with the same values.
//!
//! Each function becomes straight sequences of code, in the order of the text. A sequence has effects, in their order: everything
//! that accesses memory, other threads or control flow. Their operands, and the registers at the end of a sequence, are terms over
//! the registers at its beginning ([`terms`]). Two functions are equal if their sequences have the same effects, under the
//! assumption that certain registers are equal where a sequence begins; each assumption is checked at the end of all sequences
//! before it, which may make further assumptions ([`equal`]). What is not recognized makes functions different.

mod equal;
mod terms;

use alloc::vec::Vec;

use ptx_ir::StmtId;

use crate::lines::Line;
use crate::pairing::Pairing;

pub(crate) use equal::equal;
pub(crate) use terms::Terms;

/// Lines without the changes in sequences that have the same effects and values. Of other statements nothing is hidden, nor if
/// no change would be left.
pub(crate) fn without_equal(
    lines: Vec<Line>,
    (a, b): (&mut Terms, &mut Terms),
    registers: &Pairing,
) -> Vec<Line> {
    let Some(different) = equal::different(a, b, registers) else {
        return lines;
    };
    let is_equal = |line: &Line| {
        let of = |terms: &Terms, stmt: Option<StmtId>| {
            stmt.is_none_or(|stmt| different.get(terms.sequence_of(stmt)) == Some(&false))
        };
        of(a, line.left()) && of(b, line.right())
    };
    let mut new = Vec::with_capacity(lines.len());
    for run in lines.chunk_by(|a, b| a.is_change() && b.is_change()) {
        let mut removed = run
            .iter()
            .filter(|l| l.right().is_none())
            .filter_map(|l| l.left());
        let mut added = run
            .iter()
            .filter(|l| l.left().is_none())
            .filter_map(|l| l.right());
        if !run.iter().all(|line| line.is_change()) || !run.iter().all(is_equal) {
            new.extend_from_slice(run);
            continue;
        }
        loop {
            match (removed.next(), added.next()) {
                (Some(a), Some(b)) => new.push(Line::Same(a, b)),
                (Some(a), None) => new.push(Line::Removed(a)),
                (None, Some(b)) => new.push(Line::Added(b)),
                (None, None) => break,
            }
        }
    }
    match new.iter().any(|line| line.is_change()) {
        true => new,
        false => lines,
    }
}
