//! The statements of two functions whose code differs, as lines.

use alloc::vec::Vec;
use core::ops::Range;

use ptx_ir::StmtId;

use crate::align;
use crate::code::Code;
use crate::pairing::Pairing;
use crate::token::{LOCAL_KINDS, mix};

/// Statements of one or of both functions.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Line {
    /// A statement of both functions, except for the names of registers, labels and variables; with [`Equality::Values`](crate::Equality::Values) also
    /// a statement of a basic block that has the same effects and values.
    Same(StmtId, StmtId),
    /// A statement of the left function only.
    Removed(StmtId),
    /// A statement of the right function only.
    Added(StmtId),
}

impl Line {
    /// The statement of the left function.
    #[must_use]
    pub const fn left(self) -> Option<StmtId> {
        match self {
            Self::Same(stmt, _) | Self::Removed(stmt) => Some(stmt),
            Self::Added(_) => None,
        }
    }

    /// The statement of the right function.
    #[must_use]
    pub const fn right(self) -> Option<StmtId> {
        match self {
            Self::Same(_, stmt) | Self::Added(stmt) => Some(stmt),
            Self::Removed(_) => None,
        }
    }

    /// Whether only one function has the statement.
    #[must_use]
    pub const fn is_change(self) -> bool {
        !matches!(self, Self::Same(..))
    }
}

/// Compares code that differs.
pub(crate) fn compare(a: &Code, b: &Code) -> (Vec<Line>, Pairing) {
    let mut aligned = align::common(&context_hashes(a), &context_hashes(b));
    align::fill(&a.shapes(), &b.shapes(), &mut aligned);
    let mut similar = aligned.clone();
    align::fill(&operand_hashes(a), &operand_hashes(b), &mut similar);
    let pairing = Pairing::of_most_mentions(a, b, [&aligned, &similar]);
    let (left_keys, right_keys) = pairing.keys(a, b);
    let mut equal = align::common(&left_keys, &right_keys);
    equal.retain(|&(i, j)| pairing.equal(a.tokens(i as usize), b.tokens(j as usize)));
    (lines(a, b, &equal), pairing)
}

/// Hashes of the operands of statements, without their mnemonics.
fn operand_hashes(code: &Code) -> Vec<u64> {
    (0..code.entries.len())
        .map(|entry| {
            code.tokens(entry)
                .iter()
                .filter(|token| !token.is_mnemonic())
                .fold(0, |hash, token| mix(hash, token.shape()))
        })
        .collect()
}

/// Hashes of statements in their context: each includes the hashes of the statements that mention its registers, labels and variables first, and these
/// hashes include those of further statements in the same way.
fn context_hashes(code: &Code) -> Vec<u64> {
    // For each kind and id, the first entry that mentions it.
    let mut first_mentions: [Vec<u32>; LOCAL_KINDS] = Default::default();
    for entry in 0..code.entries.len() {
        for local in code.tokens(entry).iter().filter_map(|token| token.local()) {
            let Some(mentions) = first_mentions.get_mut(local.kind) else {
                continue;
            };
            let index = local.id as usize;
            if mentions.len() <= index {
                mentions.resize(index + 1, u32::MAX);
            }
            if let Some(slot) = mentions.get_mut(index).filter(|slot| **slot == u32::MAX) {
                *slot = entry as u32;
            }
        }
    }
    let shapes = code.shapes();
    let mut hashes = shapes.clone();
    for _ in 0..2 {
        hashes = shapes
            .iter()
            .enumerate()
            .map(|(entry, shape)| {
                code.tokens(entry)
                    .iter()
                    .filter_map(|token| token.local())
                    .filter_map(|local| first_mentions.get(local.kind)?.get(local.id as usize))
                    .filter_map(|mention| hashes.get(*mention as usize))
                    .fold(*shape, |hash, mention| mix(hash, *mention))
            })
            .collect();
    }
    hashes
}

/// All lines. Between two equal statements, removed ones come before added ones.
fn lines(a: &Code, b: &Code, equal: &[(u32, u32)]) -> Vec<Line> {
    let mut lines = Vec::new();
    let (mut left, mut right) = (a.entries.iter(), b.entries.iter());
    let (mut i, mut j) = (0, 0);
    let end = (a.entries.len() as u32, b.entries.len() as u32);
    for &(next_i, next_j) in equal.iter().chain([&end]) {
        let removed = left.by_ref().take((next_i - i) as usize);
        lines.extend(removed.map(|entry| Line::Removed(entry.stmt)));
        let added = right.by_ref().take((next_j - j) as usize);
        lines.extend(added.map(|entry| Line::Added(entry.stmt)));
        if let (Some(a), Some(b)) = (left.next(), right.next()) {
            lines.push(Line::Same(a.stmt, b.stmt));
        }
        (i, j) = (next_i + 1, next_j + 1);
    }
    lines
}

/// The runs of lines that have changes, each with at most `context` equal lines before and after it. Adjacent runs are joined.
///
/// ```
/// use ptx_diff::{Line, hunks};
/// use ptx_ir::StmtId;
/// let same = |i| Line::Same(StmtId::new(i), StmtId::new(i));
/// let lines = [same(0), same(1), Line::Removed(StmtId::new(2)), same(3), same(4)];
/// assert_eq!(hunks(&lines, 1).collect::<Vec<_>>(), [1..4]);
/// ```
pub fn hunks(lines: &[Line], context: usize) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut changes = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.is_change())
        .peekable();
    core::iter::from_fn(move || {
        let (first, _) = changes.next()?;
        let mut last = first;
        while let Some((next, _)) = changes.peek()
            && *next - last <= context.saturating_mul(2).saturating_add(1)
        {
            last = *next;
            changes.next();
        }
        let end = last.saturating_add(context).saturating_add(1);
        Some(first.saturating_sub(context)..end.min(lines.len()))
    })
}
