//! Which elements two sequences have in common, in one order.
//!
//! Equal ends are paired first, then elements that occur once in both sequences, then in each gap the longest common
//! subsequence by the algorithm of Myers. That follows at most [`MOST_EDITS`] differences, keeps the path that got
//! farthest, and continues from its end: the cost is linear, for any input.

use alloc::vec::Vec;
use core::ops::Range;

const MOST_EDITS: isize = 128;
/// How often gaps are divided at elements that occur once.
const MOST_DIVISIONS: u32 = 16;

/// A part of both sequences.
type Gap = (Range<usize>, Range<usize>);

/// The pairs of equal elements that stay, in ascending order.
pub(crate) fn common(a: &[u64], b: &[u64]) -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    common_in(a, b, (0..a.len(), 0..b.len()), &mut pairs);
    pairs.sort_unstable();
    pairs
}

/// Adds the pairs in the gaps between `pairs`, which are in order.
pub(crate) fn fill(a: &[u64], b: &[u64], pairs: &mut Vec<(u32, u32)>) {
    let mut found = Vec::new();
    let mut start = (0, 0);
    let end = (a.len() as u32, b.len() as u32);
    for &(x, y) in pairs.iter().chain([&end]) {
        let gap = (start.0..x as usize, start.1..y as usize);
        common_in(a, b, gap, &mut found);
        start = (x as usize + 1, y as usize + 1);
    }
    pairs.append(&mut found);
    pairs.sort_unstable();
}

fn common_in(a: &[u64], b: &[u64], gap: Gap, pairs: &mut Vec<(u32, u32)>) {
    let mut gaps = vec![(gap, MOST_DIVISIONS)];
    while let Some(((x, y), divisions)) = gaps.pop() {
        let (x, y) = trim(a, b, x, y, pairs);
        if x.is_empty() || y.is_empty() {
            continue;
        }
        let anchors = match divisions {
            0 => Vec::new(),
            _ => anchors(a, b, &x, &y),
        };
        if anchors.is_empty() {
            shortest_edits(a, b, (x, y), pairs);
            continue;
        }
        let mut start = (x.start, y.start);
        for &(i, j) in anchors.iter().chain([&(x.end, y.end)]) {
            gaps.push(((start.0..i, start.1..j), divisions - 1));
            start = (i + 1, j + 1);
        }
        pairs.extend(anchors.iter().map(|&(i, j)| (i as u32, j as u32)));
    }
}

/// Pairs equal elements at both ends, and gives what is between.
fn trim(
    a: &[u64],
    b: &[u64],
    mut x: Range<usize>,
    mut y: Range<usize>,
    pairs: &mut Vec<(u32, u32)>,
) -> Gap {
    while !x.is_empty() && !y.is_empty() && a[x.start] == b[y.start] {
        pairs.push((x.start as u32, y.start as u32));
        (x.start, y.start) = (x.start + 1, y.start + 1);
    }
    while !x.is_empty() && !y.is_empty() && a[x.end - 1] == b[y.end - 1] {
        (x.end, y.end) = (x.end - 1, y.end - 1);
        pairs.push((x.end as u32, y.end as u32));
    }
    (x, y)
}

/// The elements that occur once in each part, as far as they are in one order.
fn anchors(a: &[u64], b: &[u64], x: &Range<usize>, y: &Range<usize>) -> Vec<(usize, usize)> {
    // Elements with their indices; those of the right part have the highest bit. Pairs of integers are sorted fastest.
    const RIGHT: u64 = 1 << 63;
    let left = x.clone().map(|i| (a[i], i as u64));
    let right = y.clone().map(|j| (b[j], RIGHT | j as u64));
    let mut all: Vec<(u64, u64)> = left.chain(right).collect();
    all.sort_unstable();
    let mut unique: Vec<(usize, usize)> = Vec::new();
    for same in all.chunk_by(|p, q| p.0 == q.0) {
        if let [(_, i), (_, j)] = same
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
    // For each length the pair that ends such a subsequence with the least number.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, pair) in pairs.iter().enumerate() {
        let len = ends.partition_point(|&end| pairs[end].1 < pair.1);
        before.push(len.checked_sub(1).map(|i| ends[i]));
        match ends.get_mut(len) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut chosen = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied();
    while let Some(i) = at {
        chosen.push(pairs[i]);
        at = before[i];
    }
    chosen.reverse();
    chosen
}

/// Pairs elements so that few remain.
fn shortest_edits(a: &[u64], b: &[u64], gap: Gap, pairs: &mut Vec<(u32, u32)>) {
    let (mut x, mut y) = gap;
    while !x.is_empty() && !y.is_empty() {
        let (i, j) = farthest(&a[x.clone()], &b[y.clone()], |i, j| {
            pairs.push(((x.start + i) as u32, (y.start + j) as u32));
        });
        (x.start, y.start) = (x.start + i, y.start + j);
    }
}

/// How far paths got in `a` after a number of edits, for each diagonal `x - y`; negative where none got.
struct Reached(Vec<isize>);

impl Reached {
    /// Where a path comes from that continues on diagonal `k`: its `x`, and the diagonal before. Of two, the farther one.
    fn before(&self, edits: isize, k: isize, (n, m): (isize, isize)) -> Option<(isize, isize)> {
        let at = |k: isize| {
            let index = usize::try_from(k + edits).ok()?;
            self.0.get(index).copied().filter(|x| *x >= 0)
        };
        let down = at(k + 1).filter(|x| x - k <= m);
        let right = at(k - 1).map(|x| x + 1).filter(|x| *x <= n);
        match (down, right) {
            (Some(down), Some(right)) if down > right => Some((down, k + 1)),
            (_, Some(right)) => Some((right, k - 1)),
            (down, None) => down.map(|x| (x, k + 1)),
        }
    }
}

/// Follows a shortest path for [`MOST_EDITS`] edits, gives its pairs, and says where it ends.
fn farthest(a: &[u64], b: &[u64], mut pair: impl FnMut(usize, usize)) -> (usize, usize) {
    let (n, m) = (a.len() as isize, b.len() as isize);
    let equal = |x: isize, y: isize| a.get(x as usize) == b.get(y as usize);
    // The diagonals of even and odd numbers take turns.
    let mut history: Vec<Reached> = Vec::new();
    let mut end = (0, 0);
    for edits in 0..=MOST_EDITS {
        let mut reached = vec![-1; 2 * edits as usize + 1];
        let mut best = (0, 0);
        for k in (-edits..=edits).step_by(2) {
            let start = match history.last() {
                None => Some(0),
                Some(last) => last.before(edits - 1, k, (n, m)).map(|(x, _)| x),
            };
            let Some(mut x) = start else { continue };
            while x < n && x - k < m && equal(x, x - k) {
                x += 1;
            }
            if let Some(slot) = reached.get_mut((k + edits) as usize) {
                *slot = x;
            }
            if 2 * x - k >= best.0 + best.1 {
                best = (x, x - k);
            }
        }
        end = best;
        history.push(Reached(reached));
        if end == (n, m) {
            break;
        }
    }
    let (mut x, mut y) = end;
    history.pop();
    while let Some(last) = history.pop() {
        let Some((start, before)) = last.before(history.len() as isize, x - y, (n, m)) else {
            break;
        };
        while x > start {
            (x, y) = (x - 1, y - 1);
            pair(x as usize, y as usize);
        }
        // To the other diagonal: along `a` or along `b`.
        if before < x - y { x -= 1 } else { y -= 1 }
    }
    while x > 0 && y > 0 {
        (x, y) = (x - 1, y - 1);
        pair(x as usize, y as usize);
    }
    (end.0 as usize, end.1 as usize)
}
