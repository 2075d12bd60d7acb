//! The statements of two functions that differ, as lines.

use alloc::vec::Vec;
use core::ops::Range;

use ptx_ir::StmtId;

use crate::align;
use crate::code::Code;
use crate::pairing::Pairing;
use crate::token::{RENAMED, mix};

/// Statements of one or of both functions.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Line {
    /// In both, but for the names of registers, labels and variables; with [`Equality::Values`](crate::Equality::Values) also statements
    /// of a basic block that has the same effects and values.
    Same(StmtId, StmtId),
    /// Only in the left function.
    Removed(StmtId),
    /// Only in the right function.
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

    /// Whether it is in one function only.
    #[must_use]
    pub const fn is_change(self) -> bool {
        !matches!(self, Self::Same(..))
    }
}

/// Compares code that differs.
pub(crate) fn compare(a: &Code, b: &Code) -> (Vec<Line>, Pairing) {
    let (shapes, other_shapes) = (a.shapes(), b.shapes());
    let mut aligned = align::common(&in_context(a), &in_context(b));
    align::fill(&shapes, &other_shapes, &mut aligned);
    let mut similar = aligned.clone();
    align::fill(&operands(a), &operands(b), &mut similar);
    let pairing = Pairing::of_most(a, b, [&aligned, &similar]);
    let (x, y) = pairing.keys(a, b);
    let same = align::common(&x, &y);
    let equal = |&(i, j): &(u32, u32)| pairing.equal(a.tokens(i as usize), b.tokens(j as usize));
    let same: Vec<(u32, u32)> = same.into_iter().filter(equal).collect();
    (lines(a, b, &same), pairing)
}

/// Hashes of what follows the mnemonics.
fn operands(code: &Code) -> Vec<u64> {
    let hash = |i| {
        let tokens = code.tokens(i).iter().filter(|t| !t.is_mnemonic());
        tokens.fold(0, |hash, t| mix(hash, t.shape()))
    };
    (0..code.entries.len()).map(hash).collect()
}

/// Hashes of the statements with the ones that mention their registers and labels first, and those of these.
fn in_context(code: &Code) -> Vec<u64> {
    let mut first: [Vec<u32>; RENAMED] = Default::default();
    for i in 0..code.entries.len() {
        for token in code.tokens(i) {
            let Some((kind, id)) = token.renamed() else {
                continue;
            };
            let Some(ids) = first.get_mut(kind) else {
                continue;
            };
            if ids.len() <= id as usize {
                ids.resize(id as usize + 1, u32::MAX);
            }
            if let Some(slot) = ids.get_mut(id as usize).filter(|slot| **slot == u32::MAX) {
                *slot = i as u32;
            }
        }
    }
    let mut hashes = code.shapes();
    for _ in 0..2 {
        let with_first = |(i, shape): (usize, &u64)| {
            code.tokens(i).iter().fold(*shape, |hash, token| {
                let Some((kind, id)) = token.renamed() else {
                    return hash;
                };
                let ids = first.get(kind);
                let at = ids.and_then(|ids| ids.get(id as usize));
                match at.and_then(|at| hashes.get(*at as usize)) {
                    Some(other) => mix(hash, *other),
                    None => hash,
                }
            })
        };
        let shapes = code.shapes();
        hashes = shapes.iter().enumerate().map(with_first).collect();
    }
    hashes
}

/// All lines; between two that are the same, removed ones before added ones.
fn lines(a: &Code, b: &Code, same: &[(u32, u32)]) -> Vec<Line> {
    let mut lines = Vec::new();
    let (mut left, mut right) = (a.entries.iter(), b.entries.iter());
    let (mut i, mut j) = (0, 0);
    let end = (a.entries.len() as u32, b.entries.len() as u32);
    for &(x, y) in same.iter().chain([&end]) {
        let removed = left.by_ref().take((x - i) as usize);
        lines.extend(removed.map(|e| Line::Removed(e.stmt)));
        let added = right.by_ref().take((y - j) as usize);
        lines.extend(added.map(|e| Line::Added(e.stmt)));
        if let (Some(a), Some(b)) = (left.next(), right.next()) {
            lines.push(Line::Same(a.stmt, b.stmt));
        }
        (i, j) = (x + 1, y + 1);
    }
    lines
}

/// The runs of lines that have changes, each with `context` lines before and after that are the same. Runs that touch are one.
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
