//! Tracks for the horizontal segments between two layers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use smallvec::SmallVec;

/// Lines that share a horizontal segment.
#[derive(Clone, Default)]
pub(super) struct Net {
    /// The x coordinates where lines enter the segment from above.
    pub(super) above: SmallVec<[f64; 2]>,
    /// The x coordinates where lines leave the segment downwards.
    pub(super) below: SmallVec<[f64; 2]>,
}

/// Vertical segments of two nets must not overlap if their x coordinates differ by less than this, in pixels.
const MIN_VERTICAL_DISTANCE: f64 = 5.0;
/// The least distance of two segments in one track, in pixels.
const MIN_SEGMENT_DISTANCE: f64 = 8.0;

impl Net {
    /// The smallest and the largest x coordinate.
    fn ends(&self) -> (f64, f64) {
        self.above
            .iter()
            .chain(&self.below)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &x| {
                (low.min(x), high.max(x))
            })
    }

    /// Whether the net is a vertical line, which needs no track.
    pub(super) fn is_straight(&self) -> bool {
        let (low, high) = self.ends();
        high - low < 0.5
    }

    /// The key by which nets are sorted before tracks are assigned. Nets that lead to the right get tracks from right to left, the others from
    /// left to right, so that they do not cross.
    fn priority(&self) -> f64 {
        let (above, below) = (mean(&self.above), mean(&self.below));
        if below > above { -above } else { above }
    }
}

/// The mean of the coordinates; 0 without coordinates.
fn mean(coordinates: &[f64]) -> f64 {
    coordinates.iter().sum::<f64>() / coordinates.len().max(1) as f64
}

/// Returns the track of each net, counted from above, and the number of tracks. Segments that overlap are in different tracks. A net is above
/// another one if it comes from above where the other one leaves downwards, unless a cycle prevents that. O(n log n).
pub(super) fn tracks(nets: &[Net]) -> (Vec<usize>, usize) {
    let Constraints {
        successors,
        mut pending,
    } = Constraints::new(nets);
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
    // The nets whose predecessors all have tracks, by their rank.
    let mut ready: BinaryHeap<Reverse<(usize, usize)>> = order
        .iter()
        .filter(|&&net| pending[net] == 0)
        .map(|&net| Reverse((rank[net], net)))
        .collect();
    let mut is_done = vec![false; nets.len()];
    let mut count = 0;
    let mut unassigned = order.iter();
    loop {
        // A cycle is broken at the next net of the order.
        let next = ready.pop().map(|Reverse((_, net))| net);
        let Some(net) = next.or_else(|| unassigned.by_ref().copied().find(|&n| !is_done[n])) else {
            break;
        };
        if std::mem::replace(&mut is_done[net], true) {
            continue;
        }
        let (low, high) = nets[net].ends();
        let (low, high) = (low - MIN_SEGMENT_DISTANCE, high + MIN_SEGMENT_DISTANCE);
        let track = skyline.height(low, high).max(tracks[net]);
        skyline.raise(low, high, track + 1);
        tracks[net] = track;
        count = count.max(track + 1);
        for &next in successors[net].iter().filter(|n| !is_done[**n]) {
            tracks[next] = tracks[next].max(track + 1);
            pending[next] -= 1;
            if pending[next] == 0 {
                ready.push(Reverse((rank[next], next)));
            }
        }
    }
    (tracks, count)
}

/// The order of nets that share an x coordinate.
struct Constraints {
    /// The nets that must be below each net.
    successors: Vec<Vec<usize>>,
    /// The number of nets that must be above each net.
    pending: Vec<usize>,
}

impl Constraints {
    fn new(nets: &[Net]) -> Self {
        struct VerticalEnd {
            x: f64,
            is_above: bool,
            net: usize,
        }
        let mut ends = Vec::new();
        for (index, net) in nets.iter().enumerate().filter(|(_, n)| !n.is_straight()) {
            for (coordinates, is_above) in [(&net.above, true), (&net.below, false)] {
                ends.extend(coordinates.iter().map(|&x| VerticalEnd {
                    x,
                    is_above,
                    net: index,
                }));
            }
        }
        ends.sort_by(|a, b| a.x.total_cmp(&b.x));
        let mut successors = vec![Vec::new(); nets.len()];
        let mut pending = vec![0; nets.len()];
        for pair in ends.windows(2) {
            let (left, right) = (&pair[0], &pair[1]);
            if left.net != right.net
                && right.x - left.x < MIN_VERTICAL_DISTANCE
                && left.is_above != right.is_above
            {
                let (upper, lower) = if left.is_above {
                    (left.net, right.net)
                } else {
                    (right.net, left.net)
                };
                successors[upper].push(lower);
                pending[lower] += 1;
            }
        }
        Self {
            successors,
            pending,
        }
    }
}

/// The height of the segments that are stacked over each coordinate: a segment tree of maxima.
pub(super) struct Skyline {
    /// The coordinates at which segments begin and end, in ascending order.
    coordinates: Vec<f64>,
    /// For each node, the greatest height at any of its coordinates.
    highest: Vec<usize>,
    /// For each node, a height that all of its coordinates have at least.
    lowest: Vec<usize>,
    leaves: usize,
}

impl Skyline {
    pub(super) fn new(mut coordinates: Vec<f64>) -> Self {
        coordinates.sort_by(f64::total_cmp);
        coordinates.dedup();
        let leaves = coordinates.len().next_power_of_two().max(1);
        Self {
            coordinates,
            highest: vec![0; 2 * leaves],
            lowest: vec![0; 2 * leaves],
            leaves,
        }
    }

    /// The range of the coordinates that a segment covers.
    fn range(&self, low: f64, high: f64) -> Range<usize> {
        let start = self.coordinates.partition_point(|x| *x < low);
        let end = self.coordinates.partition_point(|x| *x <= high);
        start..end
    }

    /// Returns the largest nodes that make up the range, and the ancestors of its first and its last leaf, from below.
    fn nodes(&self, range: Range<usize>) -> (Vec<usize>, Vec<usize>) {
        let (mut left, mut right) = (range.start + self.leaves, range.end + self.leaves);
        let mut ancestors = Vec::new();
        if !range.is_empty() {
            for leaf in [left, right - 1] {
                ancestors.extend(
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
        (inside, ancestors)
    }

    /// The greatest height between two x coordinates.
    pub(super) fn height(&self, low: f64, high: f64) -> usize {
        let (inside, ancestors) = self.nodes(self.range(low, high));
        inside
            .iter()
            .map(|&node| self.highest[node])
            .chain(ancestors.iter().map(|&node| self.lowest[node]))
            .max()
            .unwrap_or(0)
    }

    /// Raises the height between two x coordinates to at least `height`.
    pub(super) fn raise(&mut self, low: f64, high: f64, height: usize) {
        let (inside, ancestors) = self.nodes(self.range(low, high));
        for node in inside {
            self.highest[node] = self.highest[node].max(height);
            self.lowest[node] = self.lowest[node].max(height);
        }
        for node in ancestors {
            let children = self.highest[2 * node].max(self.highest[2 * node + 1]);
            self.highest[node] = self.highest[node].max(children);
        }
    }
}
