use super::*;

/// A graph with boxes of different sizes.
struct Graph {
    sizes: Vec<Size>,
    edges: Vec<Edge>,
    loops: Vec<Loop>,
    innermost: Vec<Option<usize>>,
}

impl Graph {
    fn new(count: usize, pairs: &[(usize, usize)]) -> Self {
        let size = |i: usize| Size {
            width: 40.0 + 10.0 * (i % 7) as f64,
            height: 20.0 + 15.0 * (i % 4) as f64,
        };
        let edge = |(nth, &(from, to)): (usize, &(usize, usize))| Edge {
            from,
            to,
            kind: (nth % 3) as u8,
            fans_out: nth % 11 == 0,
        };
        Self {
            sizes: (0..count).map(size).collect(),
            edges: pairs.iter().enumerate().map(edge).collect(),
            loops: Vec::new(),
            innermost: vec![None; count],
        }
    }

    /// With ranges of boxes as loops, the outer ones first.
    fn with_loops(mut self, ranges: &[std::ops::Range<usize>]) -> Self {
        for (index, range) in ranges.iter().enumerate() {
            let parent = self.innermost[range.start];
            self.innermost[range.clone()].fill(Some(index));
            self.loops.push(Loop {
                parent,
                header: range.start,
            });
        }
        self
    }

    fn input(&self) -> Input<'_> {
        Input {
            sizes: &self.sizes,
            edges: &self.edges,
            loops: &self.loops,
            innermost: &self.innermost,
        }
    }

    fn layout(&self) -> Layout {
        layout(&self.input())
    }
}

impl Rect {
    fn overlaps(&self, other: &Self, gap: f64) -> bool {
        let apart = |a: f64, a_size: f64, b: f64, b_size: f64| {
            a >= b + b_size + gap || b >= a + a_size + gap
        };
        !apart(self.left, self.width, other.left, other.width)
            && !apart(self.top, self.height, other.top, other.height)
    }

    fn contains(&self, other: &Self) -> bool {
        other.left >= self.left - 0.01
            && other.top >= self.top - 0.01
            && other.left + other.width <= self.left + self.width + 0.01
            && other.top + other.height <= self.top + self.height + 0.01
    }
}

fn is_same(a: Point, b: Point) -> bool {
    (a.x - b.x).abs() < 0.01 && (a.y - b.y).abs() < 0.01
}

/// Whether a point is on a line.
fn is_on(line: &Line, p: Point) -> bool {
    line.points.windows(2).any(|s| {
        let (x, y) = ((s[0].x, s[1].x), (s[0].y, s[1].y));
        p.x > x.0.min(x.1) - 0.6
            && p.x < x.0.max(x.1) + 0.6
            && p.y > y.0.min(y.1) - 0.01
            && p.y < y.0.max(y.1) + 0.01
    })
}

fn check(graph: &Graph) -> Layout {
    check_layout(&graph.input())
}

/// Checks what every layout must satisfy.
pub(crate) fn check_layout(graph: &Input<'_>) -> Layout {
    let layout = layout(graph);
    let whole = Rect {
        left: 0.0,
        top: 0.0,
        width: layout.width,
        height: layout.height,
    };
    for (i, a) in layout.boxes.iter().enumerate() {
        assert!(whole.contains(a));
        for b in &layout.boxes[..i] {
            assert!(!a.overlaps(b, 5.0), "{a:?} {b:?}");
        }
    }
    check_loops(graph, &layout);
    check_lines(&layout, &whole);
    check_tracks(graph, &layout);
    for edge in 0..graph.edges.len() {
        follow(graph, &layout, edge);
    }
    layout
}

/// Loops are nested or apart, and contain their boxes only.
fn check_loops(graph: &Input<'_>, layout: &Layout) {
    let is_inside = |mut of: Option<usize>, outer: usize| {
        while let Some(of_loop) = of.filter(|&l| l != outer) {
            of = graph.loops[of_loop].parent;
        }
        of.is_some()
    };
    for (index, rect) in layout.loops.iter().enumerate() {
        let Some(rect) = rect else { continue };
        for (b, of_box) in layout.boxes.iter().enumerate() {
            match is_inside(graph.innermost[b], index) {
                true => assert!(rect.contains(of_box)),
                false => assert!(!rect.overlaps(of_box, 5.0)),
            }
        }
        let inner = layout.loops[index + 1..].iter().flatten();
        for other in inner {
            assert!(rect.contains(other) || !rect.overlaps(other, 5.0));
        }
        for line in &layout.lines {
            if !is_inside(line.region, index) {
                assert!(!crosses(line, rect), "{line:?} {rect:?}");
            }
        }
    }
}

fn crosses(line: &Line, rect: &Rect) -> bool {
    line.points.windows(2).any(|s| {
        let segment = Rect {
            left: s[0].x.min(s[1].x),
            top: s[0].y.min(s[1].y),
            width: (s[0].x - s[1].x).abs(),
            height: (s[0].y - s[1].y).abs(),
        };
        rect.overlaps(&segment, -0.01)
    })
}

/// Lines are horizontal and vertical, and pass through no box.
fn check_lines(layout: &Layout, whole: &Rect) {
    for line in &layout.lines {
        for rect in &layout.boxes {
            assert!(!crosses(line, rect), "{line:?} {rect:?}");
        }
        for s in line.points.windows(2) {
            assert!(
                (s[0].x - s[1].x).abs() < 0.51 || s[0].y == s[1].y,
                "{line:?}"
            );
            assert!(line.is_back || s[0].y <= s[1].y, "{line:?}");
            let point = Rect {
                left: s[0].x,
                top: s[0].y,
                width: 0.0,
                height: 0.0,
            };
            assert!(whole.contains(&point), "{line:?} {whole:?}");
        }
    }
}

/// Horizontal segments that lead to different boxes do not overlap, unless they come from one place.
fn check_tracks(graph: &Input<'_>, layout: &Layout) {
    let mut segments = Vec::new();
    for line in &layout.lines {
        let edge = graph.edges[line.edge];
        for s in line.points.windows(2).filter(|s| s[0].y == s[1].y) {
            let (left, right) = (s[0].x.min(s[1].x), s[0].x.max(s[1].x));
            let source = edge.fans_out.then_some((edge.from, edge.kind));
            segments.push((s[0].y, left, right, (edge.to, edge.kind), source));
        }
    }
    segments.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    for row in segments.chunk_by(|a, b| a.0 == b.0) {
        let mut furthest = &row[0];
        for segment in &row[1..] {
            let is_shared =
                segment.3 == furthest.3 || segment.4.is_some() && segment.4 == furthest.4;
            assert!(
                is_shared || segment.1 >= furthest.2 - 0.01,
                "{furthest:?} {segment:?}"
            );
            if segment.2 > furthest.2 {
                furthest = segment;
            }
        }
    }
}

/// Follows an edge from its box to the next one.
fn follow(graph: &Input<'_>, layout: &Layout, index: usize) {
    let edge = graph.edges[index];
    let (from, to) = (&layout.boxes[edge.from], &layout.boxes[edge.to]);
    let mut at = layout.starts[index];
    assert!((from.top + from.height - at.y).abs() < 0.01);
    assert!(at.x > from.left && at.x < from.left + from.width);
    let leads_there = |line: &&Line| {
        let other = graph.edges[line.edge];
        (other.to, other.kind) == (edge.to, edge.kind)
    };
    for _ in 0..1_000 {
        let mut lines = layout.lines.iter().filter(leads_there);
        let first = lines.clone().find(|l| is_same(l.points[0], at));
        let line = first.or_else(|| lines.find(|l| is_on(l, at))).unwrap();
        let last = *line.points.last().unwrap();
        match line.end {
            End::Box => {
                assert!((to.top - last.y).abs() < 0.01);
                assert!(last.x > to.left && last.x < to.left + to.width);
                return;
            }
            End::Border => at = last,
            End::Join => {
                let joined = layout.lines.iter().filter(leads_there);
                let mut joined = joined.filter(|l| !std::ptr::eq(*l, line) && is_on(l, last));
                assert!(joined.next().is_some(), "{line:?} joins nothing");
                // The line that it joins goes on from there.
                let next = layout
                    .lines
                    .iter()
                    .filter(leads_there)
                    .find(|l| !std::ptr::eq(*l, line) && is_on(l, last) && l.end != End::Join);
                match next.filter(|l| l.end != End::Box) {
                    Some(next) => at = *next.points.last().unwrap(),
                    None => return,
                }
            }
            End::Cut => return,
        }
    }
    panic!("edge {index} does not end");
}

fn random_graph(random: &mut fastrand::Rng) -> Graph {
    let count = random.usize(1..40);
    let pairs: Vec<_> = (0..random.usize(0..80))
        .map(|_| (random.usize(..count), random.usize(..count)))
        .collect();
    // Nested and separate ranges.
    let mut ranges = Vec::new();
    let mut open: Vec<_> = std::iter::once(0..count).collect();
    while let Some(outer) = open.pop() {
        if outer.len() > 2 && random.u8(..3) > 0 {
            let start = random.usize(outer.start + 1..outer.end);
            let end = random.usize(start + 1..=outer.end);
            ranges.push(start..end);
            open.extend([start..end, end..outer.end]);
        }
    }
    ranges.sort_by_key(|r| std::cmp::Reverse(r.len()));
    Graph::new(count, &pairs).with_loops(&ranges)
}

#[test]
fn random_graphs() {
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..300 {
        let graph = random_graph(&mut random);
        let layout = check(&graph);
        assert_eq!(layout.boxes, graph.layout().boxes);
    }
}

#[test]
fn a_diamond_is_symmetrical() {
    let mut graph = Graph::new(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]);
    graph.sizes.fill(Size {
        width: 40.0,
        height: 20.0,
    });
    let x: Vec<f64> = check(&graph).boxes.iter().map(|r| r.left.round()).collect();
    assert_eq!(x, [36.0, 0.0, 72.0, 36.0]);
}

#[test]
fn a_tree_has_no_crossings() {
    let pairs: Vec<_> = (1..63).map(|i| ((i - 1) / 2, i)).collect();
    let graph = Graph::new(63, &pairs);
    let layout = check(&graph);
    for (i, a) in layout.lines.iter().enumerate() {
        for b in &layout.lines[..i] {
            let mut pairs = a
                .points
                .windows(2)
                .flat_map(|s| b.points.windows(2).map(move |t| (s, t)));
            let touch = pairs.any(|(s, t)| {
                let (h, v) = if s[0].y == s[1].y { (s, t) } else { (t, s) };
                h[0].y == h[1].y
                    && v[0].x == v[1].x
                    && v[0].x > h[0].x.min(h[1].x)
                    && v[0].x < h[0].x.max(h[1].x)
                    && h[0].y > v[0].y
                    && h[0].y < v[1].y
            });
            assert!(!touch, "{a:?} {b:?}");
        }
    }
}

#[test]
fn loops_are_rectangles_with_the_way_back_on_the_left() {
    let graph = Graph::new(5, &[(0, 1), (1, 2), (2, 2), (2, 3), (3, 1), (3, 4)]);
    let layout = check(&graph.with_loops(&[1..4, 2..3]));
    let back: Vec<&Line> = layout.lines.iter().filter(|l| l.is_back).collect();
    assert_eq!(back.len(), 2);
    for line in back {
        let lane = line.points[2].x;
        assert!(layout.boxes[1..4].iter().all(|b| b.left > lane) || line.edge == 2);
        assert_eq!(line.end, End::Box);
    }
}

#[test]
fn size_is_linear() {
    // Each block may leave for a common exit and for one of many others.
    for count in [1_000, 2_000, 4_000] {
        let exits = count / 2;
        let pairs: Vec<_> = (0..exits - 1)
            .flat_map(|i| [(i, i + 1), (i, count - 1), (i, exits + i)])
            .collect();
        let layout = Graph::new(count, &pairs).layout();
        let points: usize = layout.lines.iter().map(|l| l.points.len()).sum();
        assert!(points < 12 * count, "{points} points for {count} boxes");
        assert!(layout.width < 40.0 * count as f64, "{}", layout.width);
    }
}

#[test]
fn very_long_edges_are_cut() {
    let count = 3_000;
    let mut pairs: Vec<_> = (0..count - 1).map(|i| (i, i + 1)).collect();
    pairs.extend((0..count / 2).map(|i| (i, i + count / 2)));
    let graph = Graph::new(count, &pairs);
    let layout = graph.layout();
    let cut = layout.lines.iter().filter(|l| l.end == End::Cut).count();
    assert!(cut > 0 && cut < count, "{cut}");
}

#[test]
fn deep_nests_are_laid_out() {
    let pairs: Vec<_> = (0..99).flat_map(|i| [(i, i + 1), (99, i)]).collect();
    let ranges: Vec<_> = (0..50).map(|i| i..100 - i).collect();
    let layout = check(&Graph::new(100, &pairs).with_loops(&ranges));
    assert_eq!(layout.loops.iter().flatten().count(), MAX_DEPTH);
}
