//! The comparison of two functions by their effects and values.
//!
//! Each function is divided into straight sequences of code, in the order of the text. A sequence has effects, in their order: all instructions
//! that access memory, other threads or control flow. Their operands, and the registers at the end of a sequence, are terms over
//! the registers at its beginning ([`terms`]). Two functions are equal if their sequences have the same effects, under the
//! assumption that certain registers are equal where a sequence begins. Each assumption is checked at the end of all preceding sequences,
//! which may add further assumptions ([`equal`]). Unrecognized statements make functions different.

mod equal;
mod terms;

use alloc::vec::Vec;

use ptx_ir::StmtId;

use crate::lines::Line;
use crate::pairing::Pairing;

pub(crate) use equal::are_equal;
pub(crate) use terms::Terms;

/// Replaces the changes in sequences that have the same effects and values by equal lines. Other changes stay, and all of them if none would be left.
pub(crate) fn without_equal_changes(
    lines: Vec<Line>,
    left: &mut Terms,
    right: &mut Terms,
    registers: &Pairing,
) -> Vec<Line> {
    let Some(different) = equal::different_sequences(left, right, registers) else {
        return lines;
    };
    let has_equal_sequence = |terms: &Terms, stmt: Option<StmtId>| {
        stmt.is_none_or(|stmt| different.get(terms.sequence_of(stmt)) == Some(&false))
    };
    let is_hidden = |line: &Line| {
        line.is_change()
            && has_equal_sequence(left, line.left())
            && has_equal_sequence(right, line.right())
    };
    let mut remaining = Vec::with_capacity(lines.len());
    for run in lines.chunk_by(|a, b| a.is_change() && b.is_change()) {
        if !run.iter().all(is_hidden) {
            remaining.extend_from_slice(run);
            continue;
        }
        let mut removed = run.iter().filter_map(|line| line.left());
        let mut added = run.iter().filter_map(|line| line.right());
        loop {
            match (removed.next(), added.next()) {
                (Some(left), Some(right)) => remaining.push(Line::Same(left, right)),
                (Some(left), None) => remaining.push(Line::Removed(left)),
                (None, Some(right)) => remaining.push(Line::Added(right)),
                (None, None) => break,
            }
        }
    }
    if remaining.iter().any(|line| line.is_change()) {
        remaining
    } else {
        lines
    }
}
