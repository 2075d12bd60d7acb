//! Tracks for the horizontal segments between two layers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use smallvec::SmallVec;

/// Lines that share a horizontal segment.
#[derive(Clone, Default)]
pub(super) struct Net {
    /// Where it is reached from above and left downwards.
    pub(super) above: SmallVec<[f64; 2]>,
    pub(super) below: SmallVec<[f64; 2]>,
}

/// Verticals that are closer than this must not overlap.
const SAME_PLACE: f64 = 5.0;
/// The distance of two segments in one track.
const APART: f64 = 8.0;

impl Net {
    fn ends(&self) -> (f64, f64) {
        let all = || self.above.iter().chain(&self.below).copied();
        (
            all().fold(f64::INFINITY, f64::min),
            all().fold(f64::NEG_INFINITY, f64::max),
        )
    }

    /// Whether it is a vertical line, which needs no track.
    pub(super) fn is_straight(&self) -> bool {
        let (low, high) = self.ends();
        high - low < 0.5
    }

    /// Nets that go to the right are in tracks from right to left, the others from left to right: so they do not cross.
    fn priority(&self) -> f64 {
        let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len().max(1) as f64;
        let (above, below) = (mean(&self.above), mean(&self.below));
        if below > above { -above } else { above }
    }
}

/// The track of each net, from above, and the number of tracks. Segments that overlap are in different tracks; a net is above
/// another if it comes from above where the other leaves downwards, as far as no cycle prevents that. O(n log n).
pub(super) fn tracks(nets: &[Net]) -> (Vec<usize>, usize) {
    let (after, mut waits) = constraints(nets);
    let mut tracks = vec![0; nets.len()];
    let mut order: Vec<usize> = (0..nets.len())
        .filter(|&n| !nets[n].is_straight())
        .collect();
    order.sort_by(|&a, &b| nets[a].priority().total_cmp(&nets[b].priority()));
    let mut rank = vec![0; nets.len()];
    for (nth, &net) in order.iter().enumerate() {
        rank[net] = nth;
    }
    let mut skyline = Skyline::new(
        nets.iter()
            .flat_map(|n| <[f64; 2]>::from(n.ends()))
            .collect(),
    );
    let mut ready: BinaryHeap<Reverse<(usize, usize)>> = BinaryHeap::new();
    let ready_now = order.iter().filter(|&&net| waits[net] == 0);
    ready.extend(ready_now.map(|&net| Reverse((rank[net], net))));
    let mut is_done = vec![false; nets.len()];
    let mut count = 0;
    let mut others = order.iter();
    loop {
        // A cycle is broken at the next net of the order.
        let next = ready.pop().map(|Reverse((_, net))| net);
        let Some(net) = next.or_else(|| others.by_ref().copied().find(|&n| !is_done[n])) else {
            break;
        };
        if std::mem::replace(&mut is_done[net], true) {
            continue;
        }
        let (low, high) = nets[net].ends();
        let (low, high) = (low - APART, high + APART);
        let track = skyline.height(low, high).max(tracks[net]);
        skyline.raise(low, high, track + 1);
        tracks[net] = track;
        count = count.max(track + 1);
        for &next in after[net].iter().filter(|n| !is_done[**n]) {
            tracks[next] = tracks[next].max(track + 1);
            waits[next] -= 1;
            if waits[next] == 0 {
                ready.push(Reverse((rank[next], next)));
            }
        }
    }
    (tracks, count)
}

/// The nets that must be below each net, and the number of those that must be above it.
fn constraints(nets: &[Net]) -> (Vec<Vec<usize>>, Vec<usize>) {
    let mut ends = Vec::new();
    for (net, of) in nets.iter().enumerate().filter(|(_, n)| !n.is_straight()) {
        ends.extend(of.above.iter().map(|&x| (x, true, net)));
        ends.extend(of.below.iter().map(|&x| (x, false, net)));
    }
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut after, mut waits) = (vec![Vec::new(); nets.len()], vec![0; nets.len()]);
    for pair in ends.windows(2) {
        let ((x, is_above, a), (y, other_is_above, b)) = (pair[0], pair[1]);
        if a != b && y - x < SAME_PLACE && is_above != other_is_above {
            let (upper, lower) = if is_above { (a, b) } else { (b, a) };
            after[upper].push(lower);
            waits[lower] += 1;
        }
    }
    (after, waits)
}

/// The first free track at each place: a tree of maxima.
pub(super) struct Skyline {
    places: Vec<f64>,
    /// For each node the greatest height in all of its places, and the height of all of them.
    highest: Vec<usize>,
    whole: Vec<usize>,
    leaves: usize,
}

impl Skyline {
    pub(super) fn new(mut places: Vec<f64>) -> Self {
        places.sort_by(f64::total_cmp);
        places.dedup();
        let leaves = places.len().next_power_of_two().max(1);
        Self {
            places,
            highest: vec![0; 2 * leaves],
            whole: vec![0; 2 * leaves],
            leaves,
        }
    }

    /// The places that a segment covers.
    fn range(&self, low: f64, high: f64) -> (usize, usize) {
        (
            self.places.partition_point(|p| *p < low),
            self.places.partition_point(|p| *p <= high),
        )
    }

    /// The largest nodes that make up the range, and all nodes above its ends from below.
    fn nodes(&self, (from, to): (usize, usize)) -> (Vec<usize>, Vec<usize>) {
        let (mut left, mut right) = (from + self.leaves, to + self.leaves);
        let mut above = Vec::new();
        if from < to {
            for leaf in [left, right - 1] {
                above.extend(
                    std::iter::successors(Some(leaf / 2), |n| Some(n / 2)).take_while(|n| *n > 0),
                );
            }
        }
        let mut inside = Vec::new();
        while left < right {
            if left % 2 == 1 {
                inside.push(left);
                left += 1;
            }
            if right % 2 == 1 {
                right -= 1;
                inside.push(right);
            }
            left /= 2;
            right /= 2;
        }
        (inside, above)
    }

    pub(super) fn height(&self, low: f64, high: f64) -> usize {
        let (inside, above) = self.nodes(self.range(low, high));
        let inside = inside.iter().map(|&n| self.highest[n]);
        let above = above.iter().map(|&n| self.whole[n]);
        inside.chain(above).max().unwrap_or(0)
    }

    pub(super) fn raise(&mut self, low: f64, high: f64, height: usize) {
        let (inside, above) = self.nodes(self.range(low, high));
        for node in inside {
            self.highest[node] = self.highest[node].max(height);
            self.whole[node] = self.whole[node].max(height);
        }
        for node in above {
            let children = self.highest[2 * node].max(self.highest[2 * node + 1]);
            self.highest[node] = self.highest[node].max(children);
        }
    }
}
