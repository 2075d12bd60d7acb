//! The order of the vertices in each layer, with few crossings.

use super::layers::Layered;

/// The number of barycentre sweeps; each goes once down or once up.
const SWEEPS: usize = 24;
/// Sweeping stops after this many sweeps without improvement.
const MAX_STALE_SWEEPS: usize = 6;

/// Orders the vertices of each layer so that few arcs cross.
pub(super) fn reduce_crossings(graph: &mut Layered) {
    let mut best = (crossings(graph), graph.layers.clone());
    let mut without_improvement = 0;
    for sweep in 0..SWEEPS {
        if best.0 == 0 || without_improvement == MAX_STALE_SWEEPS {
            break;
        }
        sort_by_barycentre(graph, Direction::of_sweep(sweep));
        let now = crossings(graph);
        without_improvement += 1;
        if now < best.0 {
            best = (now, graph.layers.clone());
            without_improvement = 0;
        }
    }
    graph.layers = best.1;
}

/// The way that a sweep goes through the layers.
#[derive(Copy, Clone, PartialEq)]
pub(super) enum Direction {
    Down,
    Up,
}

impl Direction {
    /// Sweeps go down and up in turn.
    pub(super) fn of_sweep(sweep: usize) -> Self {
        match sweep % 2 {
            0 => Self::Down,
            _ => Self::Up,
        }
    }

    /// The numbers of `layers` layers in this direction.
    pub(super) fn layers(self, layers: usize) -> Box<dyn Iterator<Item = usize>> {
        match self {
            Self::Down => Box::new(0..layers),
            Self::Up => Box::new((0..layers).rev()),
        }
    }

    /// The arcs of a vertex to the layer that the sweep visited before its own: the other vertex with its port, and the port
    /// of the vertex itself.
    pub(super) fn visited(
        self,
        graph: &Layered,
        vertex: usize,
    ) -> impl Iterator<Item = (usize, usize, usize)> {
        let arcs = match self {
            Self::Down => &graph.up[vertex],
            Self::Up => &graph.down[vertex],
        };
        arcs.iter().map(move |&arc| {
            let arc = graph.arcs[arc];
            match self {
                Self::Down => (arc.upper, arc.upper_port, arc.lower_port),
                Self::Up => (arc.lower, arc.lower_port, arc.upper_port),
            }
        })
    }
}

/// The position of each vertex in its layer.
fn positions(graph: &Layered) -> Vec<usize> {
    let mut positions = vec![0; graph.vertices.len()];
    for layer in &graph.layers {
        for (position, &vertex) in layer.iter().enumerate() {
            positions[vertex] = position;
        }
    }
    positions
}

/// Sorts each layer by the mean position of the neighbours in the layer before it.
fn sort_by_barycentre(graph: &mut Layered, direction: Direction) {
    let mut positions = positions(graph);
    for number in direction.layers(graph.layers.len()) {
        let mut layer = std::mem::take(&mut graph.layers[number]);
        let key = |&vertex: &usize| {
            let (mut sum, mut count) = (0.0, 0);
            for (neighbour, port, _) in direction.visited(graph, vertex) {
                // Ports at the border of a region are in order, too.
                let width = graph.vertices[neighbour].size.width.max(1.0);
                sum += positions[neighbour] as f64 + graph.ports.offset(port) / width;
                count += 1;
            }
            match count {
                0 => positions[vertex] as f64,
                _ => sum / f64::from(count),
            }
        };
        let mut keyed: Vec<(f64, usize)> = layer.iter().map(|v| (key(v), *v)).collect();
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        layer.clear();
        for (position, (_, vertex)) in keyed.into_iter().enumerate() {
            positions[vertex] = position;
            layer.push(vertex);
        }
        graph.layers[number] = layer;
    }
}

/// How many pairs of arcs cross: inversions, counted with a Fenwick tree in O(arcs · log).
pub(super) fn crossings(graph: &Layered) -> u64 {
    let positions = positions(graph);
    let mut crossings = 0;
    for (number, layer) in graph.layers.iter().enumerate() {
        let below = graph.layers.get(number + 1).map_or(0, Vec::len);
        let mut tree = vec![0u64; below + 1];
        let mut inserted = 0;
        for &upper in layer {
            let lowers = graph.down[upper]
                .iter()
                .map(|&a| positions[graph.arcs[a].lower]);
            let lowers: Vec<usize> = lowers.collect();
            for &lower in &lowers {
                // The arcs further to the left in this layer that end further to the right.
                let mut at = lower + 1;
                let mut not_right = 0;
                while at > 0 {
                    not_right += tree[at];
                    at &= at - 1;
                }
                crossings += inserted - not_right;
            }
            for lower in lowers {
                let mut at = lower + 1;
                while at < tree.len() {
                    tree[at] += 1;
                    at += at & at.wrapping_neg();
                }
                inserted += 1;
            }
        }
    }
    crossings
}
