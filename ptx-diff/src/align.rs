//! The alignment of two sequences: pairs of equal elements, in the order of both sequences.
//!
//! Equal ends are paired first, then elements that occur once in both sequences, then in each gap the longest common
//! subsequence by the algorithm of Myers. The search follows at most [`MAX_EDITS`] differences, keeps the path that got
//! farthest, and continues from its end: the cost is linear, for any input.

use alloc::vec::Vec;
use core::ops::Range;

/// The number of differences that one search follows.
const MAX_EDITS: isize = 128;
/// The number of times that gaps are divided at elements that occur once.
const MAX_DIVISIONS: u32 = 16;

/// A part of both sequences.
#[derive(Clone)]
struct Gap {
    left: Range<usize>,
    right: Range<usize>,
}

impl Gap {
    fn is_empty(&self) -> bool {
        self.left.is_empty() || self.right.is_empty()
    }
}

/// Returns the pairs of equal elements in an alignment of both sequences, in ascending order.
pub(crate) fn common(a: &[u64], b: &[u64]) -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    let gap = Gap {
        left: 0..a.len(),
        right: 0..b.len(),
    };
    align_gap(a, b, gap, &mut pairs);
    pairs.sort_unstable();
    pairs
}

/// Adds the pairs in the gaps between `pairs`, which are in order.
pub(crate) fn fill(a: &[u64], b: &[u64], pairs: &mut Vec<(u32, u32)>) {
    let mut new_pairs = Vec::new();
    let mut start = (0, 0);
    let end = (a.len() as u32, b.len() as u32);
    for &(i, j) in pairs.iter().chain([&end]) {
        let gap = Gap {
            left: start.0..i as usize,
            right: start.1..j as usize,
        };
        align_gap(a, b, gap, &mut new_pairs);
        start = (i as usize + 1, j as usize + 1);
    }
    pairs.append(&mut new_pairs);
    pairs.sort_unstable();
}

fn align_gap(a: &[u64], b: &[u64], gap: Gap, pairs: &mut Vec<(u32, u32)>) {
    let mut gaps = vec![(gap, MAX_DIVISIONS)];
    while let Some((gap, divisions)) = gaps.pop() {
        let gap = trim(a, b, gap, pairs);
        if gap.is_empty() {
            continue;
        }
        let anchors = match divisions {
            0 => Vec::new(),
            _ => anchors(a, b, &gap),
        };
        if anchors.is_empty() {
            shortest_edits(a, b, gap, pairs);
            continue;
        }
        let mut start = (gap.left.start, gap.right.start);
        for &(i, j) in anchors.iter().chain([&(gap.left.end, gap.right.end)]) {
            let part = Gap {
                left: start.0..i,
                right: start.1..j,
            };
            gaps.push((part, divisions - 1));
            start = (i + 1, j + 1);
        }
        pairs.extend(anchors.iter().map(|&(i, j)| (i as u32, j as u32)));
    }
}

/// Pairs equal elements at both ends, and returns the gap between them.
fn trim(a: &[u64], b: &[u64], gap: Gap, pairs: &mut Vec<(u32, u32)>) -> Gap {
    let Gap {
        mut left,
        mut right,
    } = gap;
    while !left.is_empty() && !right.is_empty() && a[left.start] == b[right.start] {
        pairs.push((left.start as u32, right.start as u32));
        (left.start, right.start) = (left.start + 1, right.start + 1);
    }
    while !left.is_empty() && !right.is_empty() && a[left.end - 1] == b[right.end - 1] {
        (left.end, right.end) = (left.end - 1, right.end - 1);
        pairs.push((left.end as u32, right.end as u32));
    }
    Gap { left, right }
}

/// The elements that occur once on each side of a gap, as far as they are in one order.
fn anchors(a: &[u64], b: &[u64], gap: &Gap) -> Vec<(usize, usize)> {
    // Elements with their indices. The index of an element of the right side has the highest bit. Pairs of integers are sorted fastest.
    const RIGHT: u64 = 1 << 63;
    let left = gap.left.clone().map(|i| (a[i], i as u64));
    let right = gap.right.clone().map(|j| (b[j], RIGHT | j as u64));
    let mut elements: Vec<(u64, u64)> = left.chain(right).collect();
    elements.sort_unstable();
    let mut unique: Vec<(usize, usize)> = Vec::new();
    for equal in elements.chunk_by(|p, q| p.0 == q.0) {
        if let [(_, i), (_, j)] = equal
            && i & RIGHT == 0
            && j & RIGHT != 0
        {
            unique.push((*i as usize, (j & !RIGHT) as usize));
        }
    }
    unique.sort_unstable();
    increasing(&unique)
}

/// The longest subsequence whose second numbers increase.
fn increasing(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length, the index of the pair that ends such a subsequence with the least number.
    let mut ends: Vec<usize> = Vec::new();
    let mut predecessors: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (index, pair) in pairs.iter().enumerate() {
        let len = ends.partition_point(|&end| pairs[end].1 < pair.1);
        predecessors.push(len.checked_sub(1).map(|i| ends[i]));
        match ends.get_mut(len) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut subsequence = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(index) = next {
        subsequence.push(pairs[index]);
        next = predecessors[index];
    }
    subsequence.reverse();
    subsequence
}

/// Pairs the elements of a gap so that few remain.
fn shortest_edits(a: &[u64], b: &[u64], mut gap: Gap, pairs: &mut Vec<(u32, u32)>) {
    while !gap.is_empty() {
        let end = farthest_path(&a[gap.left.clone()], &b[gap.right.clone()], |i, j| {
            pairs.push(((gap.left.start + i) as u32, (gap.right.start + j) as u32));
        });
        gap.left.start += end.0;
        gap.right.start += end.1;
    }
}

/// The ends of the farthest paths with a number of edits: the position in `a` for each diagonal `x - y`, or a negative number if no path gets there.
struct PathEnds(Vec<isize>);

/// The start of a path on a diagonal: the position in `a`, and the diagonal from which the path comes.
struct PathStart {
    x: isize,
    previous_diagonal: isize,
}

impl PathEnds {
    /// The start of the farthest path that continues on a diagonal after one more edit. `edits` is the number of edits of these ends, and `lengths` are
    /// the lengths of `a` and `b`.
    fn next_start(
        &self,
        edits: isize,
        diagonal: isize,
        lengths: (isize, isize),
    ) -> Option<PathStart> {
        let end = |diagonal: isize| {
            let index = usize::try_from(diagonal + edits).ok()?;
            self.0.get(index).copied().filter(|x| *x >= 0)
        };
        let down = end(diagonal + 1).filter(|x| x - diagonal <= lengths.1);
        let right = end(diagonal - 1).map(|x| x + 1).filter(|x| *x <= lengths.0);
        let (x, previous_diagonal) = match (down, right) {
            (Some(down), Some(right)) if down > right => (down, diagonal + 1),
            (_, Some(right)) => (right, diagonal - 1),
            (down, None) => (down?, diagonal + 1),
        };
        Some(PathStart {
            x,
            previous_diagonal,
        })
    }
}

/// Follows a shortest path for at most [`MAX_EDITS`] edits, passes its pairs to `add_pair`, and returns its end.
fn farthest_path(a: &[u64], b: &[u64], mut add_pair: impl FnMut(usize, usize)) -> (usize, usize) {
    let lengths = (a.len() as isize, b.len() as isize);
    let mut history: Vec<PathEnds> = Vec::new();
    let mut end = (0, 0);
    for edits in 0..=MAX_EDITS {
        let mut ends = vec![-1; 2 * edits as usize + 1];
        let mut farthest = (0, 0);
        // A path with an even number of edits ends on an even diagonal.
        for diagonal in (-edits..=edits).step_by(2) {
            let start = match history.last() {
                None => Some(0),
                Some(last) => last
                    .next_start(edits - 1, diagonal, lengths)
                    .map(|start| start.x),
            };
            let Some(mut x) = start else { continue };
            while x < lengths.0
                && x - diagonal < lengths.1
                && a.get(x as usize) == b.get((x - diagonal) as usize)
            {
                x += 1;
            }
            if let Some(slot) = ends.get_mut((diagonal + edits) as usize) {
                *slot = x;
            }
            if 2 * x - diagonal >= farthest.0 + farthest.1 {
                farthest = (x, x - diagonal);
            }
        }
        end = farthest;
        history.push(PathEnds(ends));
        if end == lengths {
            break;
        }
    }
    let (mut x, mut y) = end;
    history.pop();
    while let Some(last) = history.pop() {
        let Some(start) = last.next_start(history.len() as isize, x - y, lengths) else {
            break;
        };
        while x > start.x {
            (x, y) = (x - 1, y - 1);
            add_pair(x as usize, y as usize);
        }
        // An edit removes an element of `a` or adds one of `b`.
        if start.previous_diagonal < x - y {
            x -= 1;
        } else {
            y -= 1;
        }
    }
    while x > 0 && y > 0 {
        (x, y) = (x - 1, y - 1);
        add_pair(x as usize, y as usize);
    }
    (end.0 as usize, end.1 as usize)
}
