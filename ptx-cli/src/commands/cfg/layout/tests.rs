use super::*;

fn boxes(count: usize) -> Vec<Size> {
    let size = |i: usize| Size {
        width: 40.0 + 10.0 * (i % 7) as f64,
        height: 20.0 + 15.0 * (i % 4) as f64,
        side: (i % 5) as f64,
    };
    (0..count).map(size).collect()
}

fn edges(pairs: &[(usize, usize)]) -> Vec<Edge> {
    let edge = |&(from, to)| Edge { from, to, style: 0 };
    pairs.iter().map(edge).collect()
}

/// Checks that boxes are apart, that lines lead from and to their boxes, and that none passes through a box.
fn check(sizes: &[Size], edges: &[Edge]) -> Layout {
    let layout = layout(sizes, edges).unwrap();
    let rect = |(&(x, y), size): (&(f64, f64), &Size)| {
        (
            x - size.width / 2.0,
            x + size.width / 2.0,
            y,
            y + size.height,
        )
    };
    let rects: Vec<_> = layout.tops.iter().zip(sizes).map(rect).collect();
    for (i, a) in rects.iter().enumerate() {
        assert!(a.0 > -0.01 && a.1 < layout.width + 0.01 && a.3 < layout.height + 0.01);
        for b in &rects[..i] {
            let apart =
                a.0 >= b.1 + 1.0 || b.0 >= a.1 + 1.0 || a.2 >= b.3 + 1.0 || b.2 >= a.3 + 1.0;
            assert!(apart, "{a:?} {b:?}");
        }
    }
    for line in &layout.lines {
        for (nth, w) in line.waypoints.iter().enumerate() {
            assert!(w.top <= w.bottom);
            assert!(nth == 0 || line.waypoints[nth - 1].bottom < w.top);
            for r in &rects {
                let inside = w.x > r.0 && w.x < r.1 && w.top < r.3 - 0.01 && w.bottom > r.2 + 0.01;
                assert!(!inside, "{w:?} in {r:?}");
            }
        }
        let edge = edges[line.edge];
        let (upper, lower) = match line.arrow {
            Arrow::Top => (edge.to, edge.from),
            Arrow::Bottom => (edge.from, edge.to),
            Arrow::None => continue,
        };
        let (first, last) = (line.waypoints[0], line.waypoints[line.waypoints.len() - 1]);
        assert!(first.top == rects[upper].3 && last.bottom == rects[lower].2);
    }
    for (edge, label) in edges.iter().zip(&layout.labels) {
        assert_eq!(edge.from == edge.to, label.is_none());
    }
    layout
}

#[test]
fn random_graphs_have_no_edge_through_a_box() {
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..300 {
        let count = random.usize(1..40);
        let pairs = random.usize(0..80);
        let pairs: Vec<_> = (0..pairs)
            .map(|_| (random.usize(..count), random.usize(..count)))
            .collect();
        let (sizes, edges) = (boxes(count), edges(&pairs));
        let (a, b) = (check(&sizes, &edges), check(&sizes, &edges));
        assert_eq!(a.tops, b.tops);
    }
}

#[test]
fn a_diamond_is_symmetrical() {
    let sizes = [Size {
        width: 40.0,
        height: 20.0,
        side: 0.0,
    }; 4];
    let layout = check(&sizes, &edges(&[(0, 1), (0, 2), (1, 3), (2, 3)]));
    let x: Vec<f64> = layout.tops.iter().map(|t| t.0.round()).collect();
    assert_eq!(x, [55.0, 20.0, 90.0, 55.0]);
}

#[test]
fn a_tree_has_no_crossings() {
    let pairs: Vec<_> = (1..63).map(|i| ((i - 1) / 2, i)).collect();
    let mut graph = layers::Layered::new(&boxes(63), &edges(&pairs)).unwrap();
    graph.layers.iter_mut().for_each(|layer| layer.reverse());
    graph.layers[3].swap(0, 5);
    assert_ne!(order::crossings(&graph), 0);
    order::reduce_crossings(&mut graph);
    assert_eq!(order::crossings(&graph), 0);
}

#[test]
fn a_loop_is_drawn_upwards() {
    let layout = check(&boxes(4), &edges(&[(0, 1), (1, 2), (2, 1), (1, 3), (2, 2)]));
    assert_eq!(
        layout
            .lines
            .iter()
            .filter(|l| l.arrow == Arrow::Top)
            .count(),
        1
    );
}

#[test]
fn edges_to_one_target_share_their_bends() {
    let count = 1_500;
    let pairs: Vec<_> = (0..count - 1)
        .flat_map(|i| [(i, i + 1), (i, count - 1)])
        .collect();
    let layout = check(&boxes(count), &edges(&pairs));
    let waypoints: usize = layout.lines.iter().map(|l| l.waypoints.len()).sum();
    assert!(waypoints < 6 * count, "{waypoints}");
}

#[test]
fn limits() {
    assert_eq!(
        layout(&boxes(MAX_BOXES + 1), &[]).err(),
        Some(TooLarge::Boxes(2_001))
    );
    let many = edges(&vec![(0, 1); MAX_EDGES + 1]);
    assert_eq!(
        layout(&boxes(2), &many).err(),
        Some(TooLarge::Edges(10_001))
    );
    // A chain, and long edges to different targets.
    let pairs: Vec<_> = (0..999)
        .flat_map(|i| [(i, i + 1), (i / 2, 500 + i / 2)])
        .collect();
    assert_eq!(
        layout(&boxes(1_000), &edges(&pairs)).err(),
        Some(TooLarge::Bends)
    );
    assert!(layout(&[], &[]).is_ok());
}
